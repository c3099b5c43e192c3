package edge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// Scalar is a field that takes a JSON string or a JSON number, kept as the text of either.
type Scalar struct {
	Text string
	// IsNumber tells 5 from "5".
	IsNumber bool
}

// UnmarshalJSON takes what the walk has let through.
func (s *Scalar) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '"' {
		return json.Unmarshal(raw, &s.Text)
	}
	*s = Scalar{Text: string(raw), IsNumber: true}
	return nil
}

// Scalars is a field that takes one [Scalar] or an array of them.
type Scalars []Scalar

// UnmarshalJSON takes what the walk has let through.
func (s *Scalars) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '[' {
		return json.Unmarshal(raw, (*[]Scalar)(s))
	}
	*s = make(Scalars, 1)
	return (*s)[0].UnmarshalJSON(raw)
}

// walker goes through a valid JSON text and a Go type side by side.
type walker struct {
	decoder *json.Decoder
	body    []byte
}

var (
	rawType     = reflect.TypeFor[json.RawMessage]()
	scalarType  = reflect.TypeFor[Scalar]()
	scalarsType = reflect.TypeFor[Scalars]()
)

// value checks the next value, at path, against t.
func (w walker) value(path string, t reflect.Type) error { return w.within(path, t, "") }

// within is value for a field whose number has limits, if span is not empty: the messages name them.
func (w walker) within(path string, t reflect.Type, span string) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == rawType {
		var skipped json.RawMessage
		return w.decoder.Decode(&skipped)
	}
	start := w.decoder.InputOffset()
	token, err := w.decoder.Token()
	if err != nil {
		return Invalid(path, "does not parse")
	}
	switch token := token.(type) {
	case json.Delim:
		switch {
		case token == '{' && t.Kind() == reflect.Struct && t != scalarType:
			return w.object(path, t)
		case token == '[' && t.Kind() == reflect.Slice:
			return w.array(path, t.Elem())
		}
	case string:
		if t.Kind() == reflect.String || t == scalarType || t == scalarsType {
			return checkText(path, w.body[start:w.decoder.InputOffset()])
		}
	case json.Number:
		if t.Kind() >= reflect.Int && t.Kind() <= reflect.Int64 {
			if _, err := strconv.ParseInt(token.String(), 10, t.Bits()); err != nil {
				return Invalid(path, "must be a whole number%s", from(span, ", not too large"))
			}
			return nil
		}
		if t == scalarType || t == scalarsType || t.Kind() >= reflect.Int && t.Kind() <= reflect.Float64 {
			return nil
		}
	case bool:
		if t.Kind() == reflect.Bool {
			return nil
		}
	}
	return Invalid(path, "must be %s%s", expected(t), from(span, ""))
}

// from names a span, or says something else where there is none.
func from(span, otherwise string) string {
	if span == "" {
		return otherwise
	}
	return " from " + span
}

// spanTag is the tag of a field whose number has limits: `span:"1 to 1000"`. The walk names them; whoever reads the field holds it to them.
const spanTag = "span"

// object checks the members after an opening brace.
func (w walker) object(path string, t reflect.Type) error {
	fields := map[string]reflect.StructField{}
	for _, field := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" && name != "-" {
			fields[name] = field
		}
	}
	seen := map[string]bool{}
	for w.decoder.More() {
		token, err := w.decoder.Token()
		name, isText := token.(string)
		if err != nil || !isText {
			return Invalid(path, "does not parse")
		}
		field, known := fields[name]
		if !known {
			return Invalid(member(path, quoted(name)), "unknown field")
		}
		if seen[name] {
			return Invalid(member(path, name), "is given more than once")
		}
		seen[name] = true
		if err := w.within(member(path, name), field.Type, field.Tag.Get(spanTag)); err != nil {
			return err
		}
	}
	_, err := w.decoder.Token()
	return err
}

func (w walker) array(path string, element reflect.Type) error {
	for n := 0; w.decoder.More(); n++ {
		if err := w.value(fmt.Sprintf("%s[%d]", path, n), element); err != nil {
			return err
		}
	}
	_, err := w.decoder.Token()
	return err
}

// member is the path of a field: of the body itself just the name.
func member(path, name string) string {
	if path == "body" {
		return name
	}
	return path + "." + name
}

func expected(t reflect.Type) string {
	switch {
	case t == scalarType:
		return "a string or a number"
	case t == scalarsType:
		return "a string, a number or an array of them"
	case t.Kind() == reflect.String:
		return "a string"
	case t.Kind() == reflect.Bool:
		return "true or false"
	case t.Kind() == reflect.Slice:
		return "an array"
	case t.Kind() == reflect.Struct:
		return "an object"
	default:
		return "a number"
	}
}

// checkText refuses the one thing in a valid JSON string that encoding/json replaces by U+FFFD: half of a surrogate pair.
func checkText(path string, raw []byte) error {
	for at := bytes.IndexByte(raw, '\\'); at >= 0 && at+1 < len(raw); {
		next := at + 2
		if raw[at+1] == 'u' {
			next = at + 6
			switch unit := hexUnit(raw, at); {
			case unit>>10 == 0xDC00>>10:
				return Invalid(path, "holds half of a surrogate pair")
			case unit>>10 == 0xD800>>10:
				if hexUnit(raw, next)>>10 != 0xDC00>>10 {
					return Invalid(path, "holds half of a surrogate pair")
				}
				next += 6
			}
		}
		more := bytes.IndexByte(raw[min(next, len(raw)):], '\\')
		if more < 0 {
			return nil
		}
		at = next + more
	}
	return nil
}

// hexUnit is the UTF-16 unit of the \uXXXX at an offset, or 0 if there is none.
func hexUnit(raw []byte, at int) uint64 {
	if at+6 > len(raw) || raw[at] != '\\' || raw[at+1] != 'u' {
		return 0
	}
	unit, err := strconv.ParseUint(string(raw[at+2:at+6]), 16, 16)
	if err != nil {
		return 0
	}
	return unit
}
