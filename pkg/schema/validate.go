package schema

import (
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/heatsink-dev/heatsink/pkg/sortkey"
)

const (
	// StreamRetention is how long a stream keeps a record (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Streams.html).
	StreamRetention = 24 * time.Hour
	// MaxGSIKeyParts is the largest number of sort key attributes of one GSI
	// (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.DesignPattern.MultiAttributeKeys.html).
	MaxGSIKeyParts = 4
	// maxNumberDigits is the precision of a DynamoDB number.
	maxNumberDigits = 38
)

var (
	tableName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]{0,63}$`)
	indexName = regexp.MustCompile(`^[A-Za-z0-9_.-]{3,255}$`)
)

func compileTable(d TableDefinition, faults *faults) *BaseTable {
	bad := func(field, reason string, args ...any) { faults.add(d.Name, "", field, fmt.Sprintf(reason, args...)) }
	table := &BaseTable{Name: d.Name, TTL: d.TTL, Private: slices.Clone(d.Private), attributes: map[string]Attribute{}}
	if !tableName.MatchString(d.Name) {
		bad("Name", "must be a letter and then letters and digits, at most 64, is %q", d.Name)
	}
	for n, attribute := range d.Attributes {
		field := fmt.Sprintf("Attributes[%d]", n)
		if attribute.Name == "" || len(attribute.Name) > 255 {
			bad(field, "needs a name of 1 to 255 bytes")
		}
		if attribute.Type < String || attribute.Type > Binary {
			bad(field, "attribute %q needs a type: String, Number or Binary", attribute.Name)
		}
		if _, twice := table.attributes[attribute.Name]; twice {
			bad(field, "attribute %q is declared twice", attribute.Name)
		}
		table.attributes[attribute.Name] = attribute
	}
	table.PartitionKey = table.key(d.PartitionKey, "PartitionKey", bad)
	if d.SortKey != "" {
		table.SortKey = table.key(d.SortKey, "SortKey", bad)
		if d.SortKey == d.PartitionKey {
			bad("SortKey", "is the partition key too")
		}
	}
	if _, key := table.attributes[d.TTL]; key && (d.TTL == d.PartitionKey || d.TTL == d.SortKey) {
		bad("TTL", "attribute %q is a key of the table", d.TTL)
	}
	for _, definition := range d.Indexes {
		table.Indexes = append(table.Indexes, compileIndex(table, definition, faults))
	}
	return table
}

// key resolves a key attribute of the table or of an index.
func (t *BaseTable) key(name, field string, bad func(field, reason string, args ...any)) Attribute {
	attribute, known := t.attributes[name]
	switch {
	case name == "":
		bad(field, "is missing")
	case Reserved(name):
		bad(field, "attribute %q is reserved for index rows", name)
	case !known:
		bad(field, "unknown attribute %q: declare it in the table's Attributes", name)
	case t.IsPrivate(name):
		bad(field, "attribute %q is private", name)
	}
	return attribute
}

func compileIndex(table *BaseTable, d IndexDefinition, faults *faults) *Index {
	bad := func(field, reason string, args ...any) {
		faults.add(table.Name, d.Name, field, fmt.Sprintf(reason, args...))
	}
	index := &Index{
		Name: d.Name, Source: table, Projection: Projection{Kind: d.Projection.Kind, Attributes: slices.Clone(d.Projection.Attributes)},
		TombstoneRetention: d.TombstoneRetention, Version: d.Version, Build: d.Build, Type: d.Type,
	}
	if !indexName.MatchString(d.Name) || pascal(d.Name) == "" {
		bad("Name", "must be 3 to 255 of A-Z a-z 0-9 _ . -, with a letter or digit, is %q", d.Name)
	}
	index.PartitionKey = table.key(d.PartitionKey, "PartitionKey", bad)
	for n, part := range d.SortKey {
		field := fmt.Sprintf("SortKey[%d]", n)
		attribute := table.key(part.Name, field, bad)
		if part.Width < 0 || part.Width > maxNumberDigits || part.Width > 0 && attribute.Type != Number {
			bad(field, "Width must be 0 to %d, and 0 unless the attribute is a Number, is %d", maxNumberDigits, part.Width)
		}
		if part.Name == d.PartitionKey || slices.ContainsFunc(d.SortKey[:n], func(p Part) bool { return p.Name == part.Name }) {
			bad(field, "attribute %q is in the key already", part.Name)
		}
		index.SortKey = append(index.SortKey, KeyPart{Attribute: attribute, Width: part.Width})
	}
	checkForms(index, bad)
	checkProjection(index, bad)
	checkVersion(index, bad)
	index.Codec = codec(index, bad)
	return index
}

func checkForms(index *Index, bad func(field, reason string, args ...any)) {
	if index.Build == 0 || !(GSI | Table).Has(index.Build) {
		bad("Build", "must be GSI, Table or GSI | Table")
		return
	}
	if index.Type == 0 && (index.Build == GSI || index.Build == Table) {
		index.Type = index.Build
	}
	switch {
	case index.Type != GSI && index.Type != Table:
		bad("Type", "must be GSI or Table")
	case !index.Build.Has(index.Type):
		bad("Type", "readers use the %s, which Build leaves out: move them first, drop the form in a later deploy", index.Type)
	}
	if index.Build.Has(GSI) && len(index.SortKey) > MaxGSIKeyParts {
		bad("SortKey", "a GSI takes at most %d parts, has %d", MaxGSIKeyParts, len(index.SortKey))
	}
	if index.Build.Has(Table) && index.TombstoneRetention <= StreamRetention {
		bad("TombstoneRetention", "must be more than %s, the life of a stream record, is %s", StreamRetention, index.TombstoneRetention)
	}
	if !index.Build.Has(Table) && index.TombstoneRetention != 0 {
		bad("TombstoneRetention", "only an index table has tombstones")
	}
}

func checkProjection(index *Index, bad func(field, reason string, args ...any)) {
	p := index.Projection
	switch {
	case p.Kind < KeysOnly || p.Kind > All:
		bad("Projection", "Kind must be KeysOnly, Include or All")
	case p.Kind == Include && len(p.Attributes) == 0:
		bad("Projection", "Include needs Attributes")
	case p.Kind != Include && len(p.Attributes) > 0:
		bad("Projection", "Attributes go with Include alone")
	}
	for n, name := range p.Attributes {
		field := fmt.Sprintf("Projection.Attributes[%d]", n)
		switch {
		case name == "":
			bad(field, "is empty")
		case Reserved(name):
			bad(field, "attribute %q is reserved for index rows", name)
		case index.Source.IsPrivate(name):
			bad(field, "attribute %q is private", name)
		case slices.Contains(p.Attributes[:n], name):
			bad(field, "attribute %q stands twice", name)
		}
	}
}

func checkVersion(index *Index, bad func(field, reason string, args ...any)) {
	v := index.Version
	switch {
	case v.Attribute == "" && v.Width != 0:
		bad("Version", "Width goes with Attribute alone")
	case v.Attribute == "":
	case !index.Build.Has(Table):
		bad("Version", "only an index table is versioned")
	case Reserved(v.Attribute):
		bad("Version", "attribute %q is reserved for index rows", v.Attribute)
	case v.Width < 1 || v.Width > maxNumberDigits:
		bad("Version", "Width must be 1 to %d, is %d", maxNumberDigits, v.Width)
	}
}

// codec builds the sort key codec, unless a part of it has no type: that fault is named already, where the attribute is.
func codec(index *Index, bad func(field, reason string, args ...any)) *sortkey.Codec {
	var parts []sortkey.Part
	for _, part := range index.SortKey {
		parts = append(parts, sortkey.Part{Name: part.Name, Kind: part.Type.Kind(), Width: part.Width})
	}
	for _, attribute := range index.Source.Key() {
		parts = append(parts, sortkey.Part{Name: attribute.Name, Kind: attribute.Type.Kind()})
	}
	if slices.ContainsFunc(parts, func(p sortkey.Part) bool { return p.Kind == 0 }) {
		return nil
	}
	built, err := sortkey.New(parts...)
	if err != nil {
		bad("SortKey", "%s", err)
	}
	return built
}
