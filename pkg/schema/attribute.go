package schema

import "github.com/heatsink-dev/heatsink/pkg/sortkey"

// AttributeType is a DynamoDB scalar type, the only kind that a key may have
// (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html). Zero is unspecified and invalid.
type AttributeType uint8

// The three scalar types of a key attribute.
const (
	String AttributeType = iota + 1
	Number
	Binary
)

// String gives DynamoDB's own letter: S, N or B.
func (t AttributeType) String() string {
	switch t {
	case String:
		return "S"
	case Number:
		return "N"
	case Binary:
		return "B"
	default:
		return "unspecified"
	}
}

// Kind is the same type in the words of package sortkey.
func (t AttributeType) Kind() sortkey.Kind {
	switch t {
	case String:
		return sortkey.KindText
	case Number:
		return sortkey.KindNumber
	case Binary:
		return sortkey.KindBinary
	default:
		return 0
	}
}

// Attribute is a named, typed attribute of a table.
type Attribute struct {
	Name string
	Type AttributeType
}

// Part is one attribute of a composite sort key, as a definition names it.
type Part struct {
	// Name of an attribute that the table declares.
	Name string
	// Width zero-pads a Number to that many digits (1 to 38) and refuses negative, fractional and longer ones. Zero sorts any number.
	Width int
}

// KeyPart is a [Part] with the type of its attribute.
type KeyPart struct {
	Attribute
	// Width as in [Part].
	Width int
}

// The attributes that an index table keeps for itself. A base attribute of such a name is left out of index rows and of answers.
const (
	SortKeyAttribute = "SK"       // S: the composite sort key
	DeletedAttribute = "_deleted" // BOOL: true on a tombstone, absent on a live row
	TTLAttribute     = "_ttl"     // N: epoch seconds at which a tombstone expires
	VersionAttribute = "_v"       // S: the version that wrote the row, compared as text
)

// Reserved reports whether an index table keeps name for itself.
func Reserved(name string) bool {
	switch name {
	case SortKeyAttribute, DeletedAttribute, TTLAttribute, VersionAttribute:
		return true
	default:
		return false
	}
}
