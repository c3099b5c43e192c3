package sortkey

import (
	"cmp"
	"strings"
)

// Kind is the DynamoDB type of a part or a value. The zero Kind is unspecified
// and accepted nowhere.
type Kind uint8

// The kinds that a DynamoDB key attribute can have.
const (
	// KindText is DynamoDB's S: valid UTF-8, sorted by bytes.
	KindText Kind = iota + 1
	// KindNumber is DynamoDB's N: kept as text, sorted by value.
	KindNumber
	// KindBinary is DynamoDB's B: sorted by unsigned bytes.
	KindBinary
)

// String returns the kind's name, such as "text".
func (k Kind) String() string {
	switch k {
	case KindText:
		return "text"
	case KindNumber:
		return "number"
	case KindBinary:
		return "binary"
	default:
		return "unspecified"
	}
}

// Value is one immutable, typed key value. It is comparable with ==, which for
// numbers compares their texts; [Compare] compares by value. The zero Value has
// no kind and is refused everywhere.
type Value struct {
	kind Kind
	text string
}

// Text returns a text value. It is checked (valid UTF-8) where it is used.
func Text(s string) Value { return Value{kind: KindText, text: s} }

// Number returns a number value from DynamoDB's number text, such as "-1.5E3".
// The text is kept as it is, never converted to a float, and checked where it is used.
func Number(n string) Value { return Value{kind: KindNumber, text: n} }

// Binary returns a binary value that holds a copy of b.
func Binary(b []byte) Value { return Value{kind: KindBinary, text: string(b)} }

// Kind returns the value's kind.
func (v Value) Kind() Kind { return v.kind }

// String returns what the value holds: the text, the number's text, or a binary's raw bytes.
func (v Value) String() string { return v.text }

// Bytes returns a copy of what the value holds: the text's UTF-8, the number's text, or a binary's bytes.
func (v Value) Bytes() []byte { return []byte(v.text) }

// Compare orders two values of one kind as DynamoDB does: texts and binaries by
// bytes, numbers by value (see [CompareNumbers]). It returns -1, 0 or 1. Values
// of different kinds never share a part; they are ordered by kind.
func Compare(a, b Value) int {
	if a.kind != b.kind {
		return cmp.Compare(a.kind, b.kind)
	}
	if a.kind == KindNumber {
		return CompareNumbers(a.text, b.text)
	}
	return strings.Compare(a.text, b.text)
}
