package cursor

import (
	"encoding"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/heatsink-dev/heatsink/pkg/schema"
	"github.com/heatsink-dev/heatsink/pkg/sortkey"
)

const (
	// maxParts bounds the lists of a position; the count is one byte.
	maxParts = 255
	// maxValueBytes is the longest key value of DynamoDB.
	maxValueBytes = sortkey.MaxPartitionKeyBytes
)

// errPosition tells that bytes are not a position. It has no detail: they came out of a seal, so that they are ours and of another version, or a bug.
var errPosition = errors.New("cursor: not a position")

// Position is where a walk over an index stands: behind the row with these key values. It is logical: the values, not the text of a form's key, so
// that another form of the index can resume from it.
type Position struct {
	// Form that the row was read from: schema.GSI or schema.Table.
	Form schema.Form
	// Parts are the values of the index's sort key, in order: none where the index has no sort key.
	Parts []sortkey.Value
	// Base is the base table's key: one value or two.
	Base []sortkey.Value
}

// MarshalBinary encodes the position: form, then both lists as a count and, for each value, its kind, the length of its text (a varint) and the text. Numbers are
// written canonically, so that equal positions have equal bytes. Its error names the field at fault.
func (p Position) MarshalBinary() ([]byte, error) {
	if p.Form != schema.GSI && p.Form != schema.Table {
		return nil, fmt.Errorf("cursor: marshal position: Form must be GSI or TABLE, is %s", p.Form)
	}
	if len(p.Base) < 1 || len(p.Base) > 2 {
		return nil, fmt.Errorf("cursor: marshal position: Base must hold 1 or 2 values, holds %d", len(p.Base))
	}
	if len(p.Parts) > maxParts {
		return nil, fmt.Errorf("cursor: marshal position: Parts must hold at most %d values, holds %d", maxParts, len(p.Parts))
	}
	out, err := appendValues([]byte{byte(p.Form)}, "Parts", p.Parts)
	if err != nil {
		return nil, err
	}
	return appendValues(out, "Base", p.Base)
}

func appendValues(out []byte, field string, values []sortkey.Value) ([]byte, error) {
	out = append(out, byte(len(values))) //nolint:gosec // at most maxParts
	for n, value := range values {
		text, err := canonical(value)
		if err != nil {
			return nil, fmt.Errorf("cursor: marshal position: %s[%d]: %w", field, n, err)
		}
		out = append(out, byte(value.Kind()))
		out = binary.AppendUvarint(out, uint64(len(text)))
		out = append(out, text...)
	}
	return out, nil
}

// canonical is the value's one text.
func canonical(value sortkey.Value) (string, error) {
	text := value.String()
	switch value.Kind() {
	case sortkey.KindNumber:
		return sortkey.CanonicalNumber(text)
	case sortkey.KindText:
		if !utf8.ValidString(text) {
			return "", errors.New("the text is not valid UTF-8")
		}
	case sortkey.KindBinary:
	default:
		return "", errors.New("the value has no kind")
	}
	if len(text) > maxValueBytes {
		return "", fmt.Errorf("the value has %d bytes, the limit of a key value is %d", len(text), maxValueBytes)
	}
	return text, nil
}

// UnmarshalBinary is the strict inverse of [Position.MarshalBinary]: it accepts exactly what that writes. On an error the position is unchanged.
func (p *Position) UnmarshalBinary(data []byte) error {
	if len(data) == 0 {
		return errPosition
	}
	read := Position{Form: schema.Form(data[0])}
	if read.Form != schema.GSI && read.Form != schema.Table {
		return errPosition
	}
	var ok bool
	if read.Parts, data, ok = cutValues(data[1:]); !ok {
		return errPosition
	}
	if read.Base, data, ok = cutValues(data); !ok || len(data) != 0 || len(read.Base) < 1 || len(read.Base) > 2 {
		return errPosition
	}
	*p = read
	return nil
}

func cutValues(data []byte) (values []sortkey.Value, rest []byte, ok bool) {
	if len(data) == 0 {
		return nil, nil, false
	}
	count := int(data[0])
	data = data[1:]
	for range count {
		var value sortkey.Value
		if value, data, ok = cutValue(data); !ok {
			return nil, nil, false
		}
		values = append(values, value)
	}
	return values, data, true
}

func cutValue(data []byte) (value sortkey.Value, rest []byte, ok bool) {
	if len(data) == 0 {
		return value, nil, false
	}
	kind := sortkey.Kind(data[0])
	length, n := binary.Uvarint(data[1:])
	// One length has one varint: the shortest.
	if n <= 0 || length > maxValueBytes || !slices.Equal(data[1:1+n], binary.AppendUvarint(nil, length)) {
		return value, nil, false
	}
	data = data[1+n:]
	if uint64(len(data)) < length {
		return value, nil, false
	}
	text := data[:length]
	switch kind {
	case sortkey.KindText:
		value = sortkey.Text(string(text))
	case sortkey.KindNumber:
		value = sortkey.Number(string(text))
	case sortkey.KindBinary:
		value = sortkey.Binary(text)
	default:
		return value, nil, false
	}
	if one, err := canonical(value); err != nil || one != string(text) {
		return sortkey.Value{}, nil, false
	}
	return value, data[length:], true
}

var (
	_ encoding.BinaryMarshaler   = Position{}
	_ encoding.BinaryUnmarshaler = (*Position)(nil)
)
