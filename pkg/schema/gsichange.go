package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// GSIShape is what DynamoDB fixes when it creates a GSI. Neither key nor projection can be altered later
// (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.OnlineOps.html).
type GSIShape struct {
	Name         string
	PartitionKey Attribute
	SortKey      []Attribute
	Projection   Projection
}

// GSIShape is the shape that the index has as a GSI.
func (i *Index) GSIShape() GSIShape {
	shape := GSIShape{Name: i.Name, PartitionKey: i.PartitionKey, Projection: i.Projection}
	for _, part := range i.SortKey {
		shape.SortKey = append(shape.SortKey, part.Attribute)
	}
	return shape
}

// equal compares shapes; the order of projected attributes means nothing.
func (s GSIShape) equal(other GSIShape) bool {
	return s.PartitionKey == other.PartitionKey && slices.Equal(s.SortKey, other.SortKey) && s.Projection.Kind == other.Projection.Kind &&
		slices.Equal(slices.Sorted(slices.Values(s.Projection.Attributes)), slices.Sorted(slices.Values(other.Projection.Attributes)))
}

// GSIChange is what an update of one deployed table would have to do to its GSIs. All names are of indexes, sorted.
type GSIChange struct {
	Table string
	// Create and Delete are one update each.
	Create, Delete []string
	// Rebuild lists those whose key or projection differs: each must go in one update and come back in another, and cannot be read in between.
	Rebuild []string
}

// Steps is the number of updates that the change takes; zero where nothing changes.
func (c GSIChange) Steps() int { return len(c.Create) + len(c.Delete) + 2*len(c.Rebuild) }

// Err is a [*GSIChangeError] where the change cannot be deployed at once, else nil.
func (c GSIChange) Err() error {
	if c.Steps() <= 1 {
		return nil
	}
	return &GSIChangeError{GSIChange: c}
}

// GSIChangeError says that CloudFormation would refuse an update: it adds or deletes one GSI of a table per update
// (https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-dynamodb-table.html).
type GSIChangeError struct{ GSIChange }

// Error names the table, what would change, and what to deploy first.
func (e *GSIChangeError) Error() string {
	var parts []string
	for _, part := range []struct {
		verb  string
		names []string
	}{{"create", e.Create}, {"delete", e.Delete}, {"rebuild", e.Rebuild}} {
		if len(part.names) > 0 {
			parts = append(parts, part.verb+" "+strings.Join(part.names, ", "))
		}
	}
	return fmt.Sprintf("table %s: CloudFormation adds or deletes one GSI of a table per update, and this needs %d: %s. %s",
		e.Table, e.Steps(), strings.Join(parts, "; "), e.advice())
}

// advice is the first step: what comes before what goes, so that readers can be moved in between.
func (e *GSIChangeError) advice() string {
	switch {
	case len(e.Create) > 0:
		return "Deploy with " + e.Create[0] + " alone added first, the rest as deployed."
	case len(e.Delete) > 0:
		return "Deploy with " + e.Delete[0] + " alone taken away first, the rest as deployed."
	default:
		return "Its key or projection cannot be altered: build a second index under a new name, move its readers, then drop " + e.Rebuild[0] + "."
	}
}

// GSIChanges compares the catalog with the deployed GSIs, given by the logical id of their table ([TableResource], [TemplateGSIs]), and lists the tables
// whose GSIs change, in the catalog's order. A table that is not deployed yet is created with all of its GSIs at once, so it is not listed.
func (c *Catalog) GSIChanges(deployed map[string][]GSIShape) []GSIChange {
	var changes []GSIChange
	for _, table := range c.tables {
		existing, known := deployed[TableResource(table.Name)]
		if !known {
			continue
		}
		if change := table.gsiChange(existing); change.Steps() > 0 {
			changes = append(changes, change)
		}
	}
	return changes
}

// CheckGSIChanges joins a [*GSIChangeError] for each table whose change cannot be deployed at once; nil where all can.
func (c *Catalog) CheckGSIChanges(deployed map[string][]GSIShape) error {
	var faults []error
	for _, change := range c.GSIChanges(deployed) {
		faults = append(faults, change.Err())
	}
	return errors.Join(faults...)
}

func (t *BaseTable) gsiChange(deployed []GSIShape) GSIChange {
	change := GSIChange{Table: t.Name}
	old := map[string]GSIShape{}
	for _, shape := range deployed {
		old[shape.Name] = shape
	}
	for _, index := range t.Indexes {
		if !index.Build.Has(GSI) {
			continue
		}
		shape, exists := old[index.Name]
		switch {
		case !exists:
			change.Create = append(change.Create, index.Name)
		case !shape.equal(index.GSIShape()):
			change.Rebuild = append(change.Rebuild, index.Name)
		}
		delete(old, index.Name)
	}
	for name := range old {
		change.Delete = append(change.Delete, name)
	}
	slices.Sort(change.Create)
	slices.Sort(change.Delete)
	slices.Sort(change.Rebuild)
	return change
}

// TemplateGSIs reads the GSIs of every table in a CloudFormation template (JSON, as GetTemplate answers), by the table's logical id. A table without GSIs has an
// empty list. The error names what is not as CloudFormation writes it.
func TemplateGSIs(template []byte) (map[string][]GSIShape, error) {
	var parsed struct {
		Resources map[string]struct {
			Type       string
			Properties json.RawMessage
		}
	}
	if err := json.Unmarshal(template, &parsed); err != nil {
		return nil, fmt.Errorf("read template: %w", err)
	}
	if parsed.Resources == nil {
		return nil, errors.New("read template: it has no Resources")
	}
	deployed := map[string][]GSIShape{}
	for id, resource := range parsed.Resources {
		if resource.Type != "AWS::DynamoDB::Table" {
			continue
		}
		var table tableProperties
		if err := json.Unmarshal(resource.Properties, &table); err != nil {
			return nil, fmt.Errorf("read template: table %s: %w", id, err)
		}
		shapes, err := table.shapes()
		if err != nil {
			return nil, fmt.Errorf("read template: table %s: %w", id, err)
		}
		deployed[id] = shapes
	}
	return deployed, nil
}

// tableProperties is the part of AWS::DynamoDB::Table that says what its GSIs are.
type tableProperties struct {
	AttributeDefinitions []struct{ AttributeName, AttributeType string }

	GlobalSecondaryIndexes []struct {
		IndexName  string
		KeySchema  []struct{ AttributeName, KeyType string }
		Projection struct {
			ProjectionType   string
			NonKeyAttributes []string
		}
	}
}

func (t tableProperties) shapes() ([]GSIShape, error) {
	kinds := map[string]AttributeType{}
	for _, definition := range t.AttributeDefinitions {
		for _, kind := range []AttributeType{String, Number, Binary} {
			if kind.String() == definition.AttributeType {
				kinds[definition.AttributeName] = kind
			}
		}
	}
	shapes := []GSIShape{}
	for _, index := range t.GlobalSecondaryIndexes {
		shape := GSIShape{Name: index.IndexName}
		for _, key := range index.KeySchema {
			attribute := Attribute{Name: key.AttributeName, Type: kinds[key.AttributeName]}
			if attribute.Type == 0 {
				return nil, fmt.Errorf("GSI %s: key attribute %q has no type", index.IndexName, key.AttributeName)
			}
			if key.KeyType == "HASH" {
				shape.PartitionKey = attribute
			} else {
				shape.SortKey = append(shape.SortKey, attribute)
			}
		}
		for _, kind := range []ProjectionKind{KeysOnly, Include, All} {
			if kind.String() == index.Projection.ProjectionType {
				shape.Projection.Kind = kind
			}
		}
		if shape.Projection.Kind == 0 {
			return nil, fmt.Errorf("GSI %s: unknown projection %q", index.IndexName, index.Projection.ProjectionType)
		}
		shape.Projection.Attributes = index.Projection.NonKeyAttributes
		shapes = append(shapes, shape)
	}
	return shapes, nil
}
