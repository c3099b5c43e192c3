package schema

import (
	"strings"
	"time"
)

// Form is a physical form of an index: a set of bits, since an index may be built in both. Zero is unspecified.
type Form uint8

// The two forms. As a definition's Type exactly one of them; as its Build one or both, joined by |.
const (
	// GSI is a global secondary index of the base table: kept by DynamoDB, eventually consistent, and able to refuse base writes by back-pressure.
	GSI Form = 1 << iota
	// Table is an index table: a table of its own, kept by the stream indexer, which can throttle without touching the base table.
	Table
)

// Has reports whether every form of other is in f.
func (f Form) Has(other Form) bool { return other != 0 && f&other == other }

// String names the forms: "GSI", "TABLE", "GSI|TABLE" or "unspecified".
func (f Form) String() string {
	var names []string
	if f.Has(GSI) {
		names = append(names, "GSI")
	}
	if f.Has(Table) {
		names = append(names, "TABLE")
	}
	if len(names) == 0 {
		return "unspecified"
	}
	return strings.Join(names, "|")
}

// ProjectionKind says which attributes an index carries. Zero is unspecified and invalid.
type ProjectionKind uint8

// The three projections of DynamoDB (https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Projection.html).
const (
	KeysOnly ProjectionKind = iota + 1
	Include
	All
)

// String gives DynamoDB's own word.
func (k ProjectionKind) String() string {
	switch k {
	case KeysOnly:
		return "KEYS_ONLY"
	case Include:
		return "INCLUDE"
	case All:
		return "ALL"
	default:
		return "unspecified"
	}
}

// Projection is the set of attributes that an index carries beside the keys of the index and of its table, which it always does.
type Projection struct {
	Kind ProjectionKind
	// Attributes beside the keys, for Include alone.
	Attributes []string
}

// VersionSource says what orders two writes of one item. The zero value is the change stream: its label, then the sequence number.
type VersionSource struct {
	// Attribute is a non-negative integer of the base item that grows with every write, also when a deleted item is created again.
	// Empty means the stream.
	Attribute string
	// Width is the number of digits that the attribute can ever have, 1 to 38. Only with Attribute.
	Width int
}

// IndexDefinition describes one index of a table, whatever its form.
type IndexDefinition struct {
	// Name of the index, unique in the catalog: 3 to 255 of A-Z a-z 0-9 _ . - (DynamoDB's rule for GSI names).
	Name string
	// PartitionKey names a declared attribute of the table.
	PartitionKey string
	// SortKey lists the parts of the sort key, most significant first: none, or at most four where a GSI is built. In an index table the base table's key closes it.
	SortKey []Part
	// Projection of the index.
	Projection Projection
	// TombstoneRetention is how long a deleted row stays marked, and so how late an event may come without reviving it.
	// More than 24 h, the life of a stream record. Only where an index table is built.
	TombstoneRetention time.Duration
	// Version orders the writes of one item. Zero: the stream.
	Version VersionSource
	// Build says which forms exist: GSI, Table, or GSI | Table. Dropping one is a deploy of its own, after readers have left it.
	Build Form
	// Type is the form that readers use: GSI or Table. It may be left out where only one form is built.
	Type Form
}

// TableDefinition describes a table and its indexes.
type TableDefinition struct {
	// Name of the table, unique in the catalog: a letter, then letters and digits. Deployed names are CloudFormation's.
	Name string
	// Attributes declares every attribute that serves in a key of the table or of an index.
	Attributes []Attribute
	// PartitionKey and SortKey name declared attributes. SortKey may be empty.
	PartitionKey, SortKey string
	// TTL names the attribute of epoch seconds after which DynamoDB deletes an item. Empty: none.
	TTL string
	// Private attributes belong to heatsink: they never enter an index row or an answer.
	Private []string
	// Indexes of the table.
	Indexes []IndexDefinition
}
