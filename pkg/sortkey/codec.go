package sortkey

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Codec encodes tuples of one shape. It is immutable and safe for concurrent use;
// make one with [New].
type Codec struct {
	parts []Part
}

// New returns the codec for a key of these parts, in sort order; the parts that
// make the key unique (the base table's key) come last. It returns an [*Error]
// with ReasonDefinition for a part that is not sound.
func New(parts ...Part) (*Codec, error) {
	if len(parts) == 0 {
		return nil, fault{reason: ReasonDefinition}.in("")
	}
	for i := range parts {
		if err := parts[i].check(); err != nil {
			return nil, err
		}
	}
	return &Codec{parts: slices.Clone(parts)}, nil
}

// Parts returns a copy of the parts.
func (c *Codec) Parts() []Part { return slices.Clone(c.parts) }

// Encode returns the text of one value per part, 1 to [MaxSortKeyBytes] bytes.
// It returns an [*Error] that names the part: ReasonCount, ReasonKind,
// ReasonUTF8, ReasonTooLong or ReasonEmpty, for numbers ReasonNotANumber, ReasonDigits or
// ReasonMagnitude, and where the part has a width ReasonNegative,
// ReasonFraction or ReasonWidth.
func (c *Codec) Encode(values ...Value) (string, error) {
	// Large enough for usual keys without a second allocation, small enough to clear for free.
	var stack [256]byte
	b, err := c.Append(stack[:0], values...)
	if err != nil {
		return "", err
	}
	return string(b), nil
}

// Append appends what [Codec.Encode] returns to dst. On an error it returns dst as it was.
func (c *Codec) Append(dst []byte, values ...Value) ([]byte, error) {
	if len(values) != len(c.parts) {
		return dst, fault{reason: ReasonCount, limit: len(c.parts), got: len(values)}.in("")
	}
	out, err := c.appendParts(dst, values)
	if err != nil {
		return dst, err
	}
	switch n := len(out) - len(dst); {
	case n > MaxSortKeyBytes:
		return dst, c.tooLong(values)
	case n == 0:
		return dst, fault{reason: ReasonEmpty}.in(c.parts[0].Name)
	}
	return out, nil
}

// appendParts appends the leading parts with separators between them.
func (c *Codec) appendParts(dst []byte, values []Value) ([]byte, error) {
	for i, v := range values {
		if i > 0 {
			dst = append(dst, separator)
		}
		var f fault
		dst, f = c.parts[i].append(dst, v)
		if f.reason == ReasonTooLong {
			return nil, c.tooLong(values)
		}
		if f.reason != 0 {
			return nil, f.in(c.parts[i].Name)
		}
	}
	return dst, nil
}

// tooLong makes the error of a key past the limit, with its full length and its
// longest part, which is where to look.
func (c *Codec) tooLong(values []Value) *Error {
	total, longest, at := len(values)-1, -1, 0
	for i, v := range values {
		n := c.parts[i].encodedLen(v)
		total += n
		if n > longest {
			longest, at = n, i
		}
	}
	return fault{reason: ReasonTooLong, limit: MaxSortKeyBytes, got: total}.in(c.parts[at].Name)
}

// Decode returns the values of a text, one per part; numbers come back
// canonical (see [CanonicalNumber]). It accepts exactly the texts that Encode
// writes and returns an [*Error] with ReasonMalformed for any other (ReasonEmpty
// and ReasonTooLong for its length, ReasonUTF8 for its bytes). Values without
// escapes share the text's memory.
func (c *Codec) Decode(text string) ([]Value, error) {
	switch {
	case text == "":
		return nil, fault{reason: ReasonEmpty}.in(c.parts[0].Name)
	case len(text) > MaxSortKeyBytes:
		return nil, fault{reason: ReasonTooLong, limit: MaxSortKeyBytes, got: len(text)}.in("")
	case !utf8.ValidString(text):
		return nil, fault{reason: ReasonUTF8}.in("")
	}
	if n := strings.Count(text, string(rune(separator))) + 1; n != len(c.parts) {
		return nil, fault{reason: ReasonMalformed, limit: len(c.parts), got: n}.in("")
	}
	values := make([]Value, len(c.parts))
	for i := range c.parts {
		part, rest, _ := strings.Cut(text, string(rune(separator)))
		v, ok := c.parts[i].decode(part)
		if !ok {
			return nil, fault{reason: ReasonMalformed}.in(c.parts[i].Name)
		}
		values[i], text = v, rest
	}
	return values, nil
}
