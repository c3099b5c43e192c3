package schema

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/heatsink-dev/heatsink/pkg/sortkey"
)

// Catalog is a checked set of tables and indexes. It is immutable.
type Catalog struct {
	tables  []*BaseTable
	indexes map[string]*Index
}

// BaseTable is a checked table.
type BaseTable struct {
	Name         string
	PartitionKey Attribute
	// SortKey has an empty name where the table has none.
	SortKey Attribute
	TTL     string
	Private []string
	Indexes []*Index

	attributes map[string]Attribute
}

// Index is a checked index with its attributes typed and its codec built.
type Index struct {
	Name         string
	Source       *BaseTable
	PartitionKey Attribute
	SortKey      []KeyPart
	Projection   Projection
	// TombstoneRetention is zero where no index table is built.
	TombstoneRetention time.Duration
	Version            VersionSource
	// Build holds the forms that exist, Type the one that readers use.
	Build, Type Form
	// Codec encodes the sort key of the index table: the parts of SortKey, then the key of Source.
	Codec *sortkey.Codec
}

// Compile checks the definitions and resolves their names. The error joins one [*Error] for each fault.
func Compile(definitions ...TableDefinition) (*Catalog, error) {
	faults := &faults{}
	catalog := &Catalog{indexes: map[string]*Index{}}
	names := map[string]string{} // table and index-table names -> what holds them
	for _, definition := range definitions {
		table := compileTable(definition, faults)
		if holder, taken := names[table.Name]; taken {
			faults.add(table.Name, "", "Name", "is already the name of "+holder)
		}
		names[table.Name] = "a table"
		catalog.tables = append(catalog.tables, table)
		for _, index := range table.Indexes {
			if _, taken := catalog.indexes[index.Name]; taken {
				faults.add(table.Name, index.Name, "Name", "is already the name of another index")
			}
			catalog.indexes[index.Name] = index
		}
	}
	for _, index := range catalog.indexes {
		if !index.Build.Has(Table) {
			continue
		}
		if holder, taken := names[index.TableName()]; taken {
			faults.add(index.Source.Name, index.Name, "Name", "its index table "+index.TableName()+" would take the name of "+holder)
		}
		names[index.TableName()] = "the table of index " + index.Name
	}
	if err := faults.join(); err != nil {
		return nil, err
	}
	return catalog, nil
}

// Tables in the order of their definition.
func (c *Catalog) Tables() []*BaseTable { return slices.Clone(c.tables) }

// Table finds a table by name.
func (c *Catalog) Table(name string) (*BaseTable, bool) {
	i := slices.IndexFunc(c.tables, func(t *BaseTable) bool { return t.Name == name })
	if i < 0 {
		return nil, false
	}
	return c.tables[i], true
}

// Index finds an index by name.
func (c *Catalog) Index(name string) (*Index, bool) {
	index, ok := c.indexes[name]
	return index, ok
}

// Key lists the attributes of the table's key: the partition key, then the sort key if there is one.
func (t *BaseTable) Key() []Attribute {
	if t.SortKey.Name == "" {
		return []Attribute{t.PartitionKey}
	}
	return []Attribute{t.PartitionKey, t.SortKey}
}

// Attribute finds a declared attribute.
func (t *BaseTable) Attribute(name string) (Attribute, bool) {
	attribute, ok := t.attributes[name]
	return attribute, ok
}

// IsPrivate reports whether name never leaves the table.
func (t *BaseTable) IsPrivate(name string) bool { return slices.Contains(t.Private, name) }

// StreamIndexes lists the indexes that the table's change stream keeps: those with an index table.
func (t *BaseTable) StreamIndexes() []*Index {
	var kept []*Index
	for _, index := range t.Indexes {
		if index.Build.Has(Table) {
			kept = append(kept, index)
		}
	}
	return kept
}

// TableName is the logical name of the index table: source, index, "Index", each with a capital, so User and managed give UserManagedIndex.
func (i *Index) TableName() string { return i.Source.Name + pascal(i.Name) + "Index" }

// Projects reports whether an index row carries the attribute of a base item. Reserved and private ones never do; keys always do.
func (i *Index) Projects(attribute string) bool {
	if Reserved(attribute) || i.Source.IsPrivate(attribute) {
		return false
	}
	return i.Projection.Kind == All || i.IsKey(attribute) ||
		i.Projection.Kind == Include && slices.Contains(i.Projection.Attributes, attribute)
}

// IsKey reports whether the attribute is part of the key of the index or of its source.
func (i *Index) IsKey(attribute string) bool {
	return attribute == i.PartitionKey.Name || attribute == i.Source.PartitionKey.Name || attribute == i.Source.SortKey.Name ||
		slices.ContainsFunc(i.SortKey, func(p KeyPart) bool { return p.Name == attribute })
}

// pascal turns an index name into a word of letters and digits: "failed-pending-index" gives "FailedPendingIndex".
func pascal(name string) string {
	var word strings.Builder
	for part := range strings.FieldsFuncSeq(name, func(r rune) bool { return r == '-' || r == '_' || r == '.' }) {
		word.WriteString(strings.ToUpper(part[:1]))
		word.WriteString(part[1:])
	}
	return word.String()
}

// faults collects errors so that one run names them all.
type faults struct{ list []error }

func (f *faults) add(table, index, field, reason string) {
	f.list = append(f.list, &Error{Table: table, Index: index, Field: field, Reason: reason})
}

func (f *faults) join() error { return errors.Join(f.list...) }
