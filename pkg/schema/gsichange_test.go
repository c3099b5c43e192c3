package schema_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/pkg/schema"
)

// withGSIs is a table Order with GSIs of the given names, all of one key.
func withGSIs(names ...string) schema.TableDefinition {
	table := schema.TableDefinition{
		Name: "Order",
		Attributes: []schema.Attribute{
			{Name: "id", Type: schema.String},
			{Name: "customer", Type: schema.String},
			{Name: "at", Type: schema.Number},
			{Name: "state", Type: schema.String},
		},
		PartitionKey: "id",
	}
	for _, name := range names {
		table.Indexes = append(table.Indexes, schema.IndexDefinition{
			Name: name, PartitionKey: "customer", SortKey: []schema.Part{{Name: "at"}},
			Projection: schema.Projection{Kind: schema.Include, Attributes: []string{"total", "note"}}, Build: schema.GSI,
		})
	}
	return table
}

func compiled(t *testing.T, tables ...schema.TableDefinition) *schema.Catalog {
	t.Helper()
	catalog, err := schema.Compile(tables...)
	if err != nil {
		t.Fatal(err)
	}
	return catalog
}

// shapes is what a catalog looks like once it is deployed.
func shapes(catalog *schema.Catalog) map[string][]schema.GSIShape {
	deployed := map[string][]schema.GSIShape{}
	for _, table := range catalog.Tables() {
		id := schema.TableResource(table.Name)
		deployed[id] = []schema.GSIShape{}
		for _, index := range table.Indexes {
			if index.Build.Has(schema.GSI) {
				deployed[id] = append(deployed[id], index.GSIShape())
			}
		}
	}
	return deployed
}

func TestGSIChangesOfOneUpdate(t *testing.T) {
	t.Parallel()
	rebuilt := withGSIs("by-customer")
	rebuilt.Indexes[0].Projection = schema.Projection{Kind: schema.All}
	otherKey := withGSIs("by-customer")
	otherKey.Indexes[0].SortKey = []schema.Part{{Name: "at"}, {Name: "state"}}
	otherType := withGSIs("by-customer")
	otherType.Attributes[2].Type = schema.String
	reordered := withGSIs("by-customer")
	reordered.Indexes[0].Projection.Attributes = []string{"note", "total"}
	tableForm := withGSIs("by-customer")
	tableForm.Indexes[0].Build, tableForm.Indexes[0].TombstoneRetention = schema.Table, 48*60*60*1e9
	otherTable := withGSIs("by-customer")
	otherTable.Name = "Invoice"
	otherTable.Indexes[0].Name = "by-payer"

	for _, test := range []struct {
		name         string
		before, then []schema.TableDefinition
		want         []schema.GSIChange
		refused      string // part of the error; empty where one update does it
	}{
		{name: "nothing changed", before: one(withGSIs("by-customer")), then: one(withGSIs("by-customer"))},
		{
			name: "one more is one update", before: one(withGSIs("by-customer")), then: one(withGSIs("by-customer", "by-day")),
			want: []schema.GSIChange{{Table: "Order", Create: []string{"by-day"}}},
		},
		{
			name: "one less is one update", before: one(withGSIs("by-customer", "by-day")), then: one(withGSIs("by-day")),
			want: []schema.GSIChange{{Table: "Order", Delete: []string{"by-customer"}}},
		},
		{
			name: "two more are refused", before: one(withGSIs()), then: one(withGSIs("by-week", "by-day")),
			want:    []schema.GSIChange{{Table: "Order", Create: []string{"by-day", "by-week"}}},
			refused: "table Order: CloudFormation adds or deletes one GSI of a table per update, and this needs 2: create by-day, by-week. Deploy with by-day alone added first",
		},
		{
			name: "two less are refused", before: one(withGSIs("by-week", "by-day")), then: one(withGSIs()),
			want:    []schema.GSIChange{{Table: "Order", Delete: []string{"by-day", "by-week"}}},
			refused: "delete by-day, by-week. Deploy with by-day alone taken away first",
		},
		{
			name: "a new name is one more and one less", before: one(withGSIs("by-day")), then: one(withGSIs("per-day")),
			want:    []schema.GSIChange{{Table: "Order", Create: []string{"per-day"}, Delete: []string{"by-day"}}},
			refused: "create per-day; delete by-day. Deploy with per-day alone added first",
		},
		{
			name: "another projection is refused", before: one(withGSIs("by-customer")), then: one(rebuilt),
			want:    []schema.GSIChange{{Table: "Order", Rebuild: []string{"by-customer"}}},
			refused: "rebuild by-customer. Its key or projection cannot be altered: build a second index under a new name",
		},
		{
			name: "another key is refused", before: one(withGSIs("by-customer")), then: one(otherKey),
			want: []schema.GSIChange{{Table: "Order", Rebuild: []string{"by-customer"}}}, refused: "rebuild by-customer",
		},
		{
			name: "another type of a key attribute is refused", before: one(withGSIs("by-customer")), then: one(otherType),
			want: []schema.GSIChange{{Table: "Order", Rebuild: []string{"by-customer"}}}, refused: "rebuild by-customer",
		},
		{name: "the order of projected attributes means nothing", before: one(withGSIs("by-customer")), then: one(reordered)},
		{
			name: "dropping the GSI form of an index is one update", before: one(withGSIs("by-customer")), then: one(tableForm),
			want: []schema.GSIChange{{Table: "Order", Delete: []string{"by-customer"}}},
		},
		{name: "a new table takes all of its GSIs at once", then: one(withGSIs("by-week", "by-day"))},
		{
			name: "each table has an update of its own", before: []schema.TableDefinition{withGSIs(), otherTable},
			then: []schema.TableDefinition{withGSIs("by-day"), func() schema.TableDefinition { t := otherTable; t.Indexes = nil; return t }()},
			want: []schema.GSIChange{{Table: "Order", Create: []string{"by-day"}}, {Table: "Invoice", Delete: []string{"by-payer"}}},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			catalog, deployed := compiled(t, test.then...), shapes(compiled(t, test.before...))
			if diff := cmp.Diff(test.want, catalog.GSIChanges(deployed)); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
			err := catalog.CheckGSIChanges(deployed)
			if test.refused == "" {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			refused, ok := errors.AsType[*schema.GSIChangeError](err)
			if !ok || !strings.Contains(err.Error(), test.refused) {
				t.Fatalf("error is %v, want one with %q", err, test.refused)
			}
			if refused.Steps() < 2 {
				t.Errorf("a refused change takes %d steps", refused.Steps())
			}
		})
	}
}

func one(table schema.TableDefinition) []schema.TableDefinition {
	return []schema.TableDefinition{table}
}

const ordersTemplate = `{"Resources": {
  "OrderTable": {"Type": "AWS::DynamoDB::Table", "Properties": {
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}, {"AttributeName": "customer", "AttributeType": "S"},
      {"AttributeName": "at", "AttributeType": "N"}, {"AttributeName": "state", "AttributeType": "B"}],
    "GlobalSecondaryIndexes": [{"IndexName": "by-customer",
      "KeySchema": [{"AttributeName": "customer", "KeyType": "HASH"}, {"AttributeName": "at", "KeyType": "RANGE"}, {"AttributeName": "state", "KeyType": "RANGE"}],
      "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["total"]}}]}},
  "ClaimTable": {"Type": "AWS::DynamoDB::Table", "Properties": {"TableName": {"Ref": "X"}}},
  "Bucket": {"Type": "AWS::S3::Bucket"}}}`

func TestTemplateGSIsReadsEveryTable(t *testing.T) {
	t.Parallel()
	got, err := schema.TemplateGSIs([]byte(ordersTemplate))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]schema.GSIShape{
		"ClaimTable": {},
		"OrderTable": {{
			Name: "by-customer", PartitionKey: schema.Attribute{Name: "customer", Type: schema.String},
			SortKey:    []schema.Attribute{{Name: "at", Type: schema.Number}, {Name: "state", Type: schema.Binary}},
			Projection: schema.Projection{Kind: schema.Include, Attributes: []string{"total"}},
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTemplateGSIsRefusesWhatIsNoTemplate(t *testing.T) {
	t.Parallel()
	for name, template := range map[string]string{
		"not JSON":             `Resources: {}`,
		"no resources":         `{"Outputs": {}}`,
		"properties of a kind": `{"Resources": {"T": {"Type": "AWS::DynamoDB::Table", "Properties": []}}}`,
		"key without a type": `{"Resources": {"T": {"Type": "AWS::DynamoDB::Table", "Properties": {"GlobalSecondaryIndexes": [
			{"IndexName": "i", "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}], "Projection": {"ProjectionType": "ALL"}}]}}}}`,
		"unknown projection": `{"Resources": {"T": {"Type": "AWS::DynamoDB::Table", "Properties": {
			"AttributeDefinitions": [{"AttributeName": "a", "AttributeType": "S"}],
			"GlobalSecondaryIndexes": [{"IndexName": "i", "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}], "Projection": {"ProjectionType": "SOME"}}]}}}}`,
	} {
		if got, err := schema.TemplateGSIs([]byte(template)); err == nil {
			t.Errorf("%s: read as %v", name, got)
		} else if !strings.HasPrefix(err.Error(), "read template: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzTemplateGSIs(f *testing.F) {
	f.Add([]byte(ordersTemplate))
	f.Add([]byte(`{"Resources": {"T": {"Type": "AWS::DynamoDB::Table"}}}`))
	f.Add([]byte(`{"Resources": {"T": {"Type": "AWS::DynamoDB::Table", "Properties": null}}}`))
	f.Add([]byte(`{`))
	f.Fuzz(func(t *testing.T, template []byte) {
		deployed, err := schema.TemplateGSIs(template)
		if err != nil && deployed != nil {
			t.Errorf("both an answer and an error: %v", err)
		}
	})
}

func ExampleCatalog_CheckGSIChanges() {
	catalog, _ := schema.Compile(schema.TableDefinition{
		Name: "Order", Attributes: []schema.Attribute{{Name: "id", Type: schema.String}, {Name: "customer", Type: schema.String}},
		PartitionKey: "id",
		Indexes: []schema.IndexDefinition{
			{Name: "by-customer", PartitionKey: "customer", Projection: schema.Projection{Kind: schema.KeysOnly}, Build: schema.GSI},
			{Name: "of-customer", PartitionKey: "customer", Projection: schema.Projection{Kind: schema.All}, Build: schema.GSI},
		},
	})
	deployed, _ := schema.TemplateGSIs([]byte(`{"Resources": {"OrderTable": {"Type": "AWS::DynamoDB::Table", "Properties": {}}}}`))
	fmt.Println(catalog.CheckGSIChanges(deployed))
	// Output:
	// table Order: CloudFormation adds or deletes one GSI of a table per update, and this needs 2: create by-customer, of-customer. Deploy with by-customer alone added first, the rest as deployed.
}
