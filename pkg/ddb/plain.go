package ddb

import (
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// AppendPlain appends an item as plain JSON: names in order of bytes, numbers with all their digits, sets as arrays, binary as base64, NULL as null.
// keep chooses the item's own attributes; nil keeps all. Types that JSON lacks are lost: [FromPlain] gives lists for sets and text for binary.
// The error is a [*ValueError]; what [DecodeItem] or the SDK's client returned never causes one. Dst is unchanged then.
func AppendPlain(dst []byte, item Item, keep func(name string) bool) ([]byte, error) {
	names := make([]string, 0, len(item))
	for name := range item {
		if keep == nil || keep(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	out, err := appendPlainMap(dst, item, names, 0)
	if err != nil {
		return dst, err
	}
	return out, nil
}

func appendPlainMap(dst []byte, item Item, names []string, depth int) ([]byte, *ValueError) {
	dst = append(dst, '{')
	for n, name := range names {
		if err := checkName(name); err != nil {
			return nil, err.underName(name)
		}
		if n > 0 {
			dst = append(dst, ',')
		}
		dst = appendText(dst, name)
		dst = append(dst, ':')
		var err *ValueError
		if dst, err = appendPlain(dst, item[name], depth); err != nil {
			return nil, err.underName(name)
		}
	}
	return append(dst, '}'), nil
}

func appendPlain(dst []byte, value types.AttributeValue, depth int) ([]byte, *ValueError) {
	if depth >= MaxDepth {
		return nil, invalid(tooDeep)
	}
	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		return appendPlainText(dst, v.Value)
	case *types.AttributeValueMemberN:
		return appendPlainNumber(dst, v.Value)
	case *types.AttributeValueMemberB:
		return appendBinary(dst, v.Value), nil
	case *types.AttributeValueMemberBOOL:
		return appendBool(dst, v.Value), nil
	case *types.AttributeValueMemberNULL:
		return append(dst, "null"...), nil
	case *types.AttributeValueMemberSS:
		return appendPlainArray(dst, v.Value, appendPlainText)
	case *types.AttributeValueMemberNS:
		return appendPlainArray(dst, v.Value, appendPlainNumber)
	case *types.AttributeValueMemberBS:
		return appendArray(dst, v.Value, appendBinary), nil
	case *types.AttributeValueMemberL:
		return appendPlainArray(dst, v.Value, func(dst []byte, element types.AttributeValue) ([]byte, *ValueError) {
			return appendPlain(dst, element, depth+1)
		})
	case *types.AttributeValueMemberM:
		return appendPlainMap(dst, v.Value, slices.Sorted(maps.Keys(v.Value)), depth+1)
	case nil:
		return nil, invalid("is nil")
	default:
		return nil, invalid("has a type that DynamoDB does not know")
	}
}

func appendPlainArray[E any](dst []byte, list []E, one func([]byte, E) ([]byte, *ValueError)) ([]byte, *ValueError) {
	dst = append(dst, '[')
	for n, element := range list {
		if n > 0 {
			dst = append(dst, ',')
		}
		var err *ValueError
		if dst, err = one(dst, element); err != nil {
			return nil, err.underIndex(n)
		}
	}
	return append(dst, ']'), nil
}

func appendPlainText(dst []byte, text string) ([]byte, *ValueError) {
	if err := checkText(text); err != nil {
		return nil, err
	}
	return appendText(dst, text), nil
}

// appendPlainNumber keeps the text where JSON has the same grammar, which it has for all that DynamoDB itself returns.
func appendPlainNumber(dst []byte, text string) ([]byte, *ValueError) {
	if length := jsonNumber(text); length > 0 && length == len(text) {
		return append(dst, text...), nil
	}
	if err := checkNumber(text); err != nil {
		return nil, err
	}
	// "+5", ".5", "5." and "007" are numbers to DynamoDB and not to JSON. The digits stay as they are.
	mantissa, exponent := text, ""
	if at := strings.IndexAny(text, "eE"); at >= 0 {
		mantissa, exponent = text[:at], text[at:]
	}
	mantissa = strings.TrimPrefix(mantissa, "+")
	if rest, negative := strings.CutPrefix(mantissa, "-"); negative {
		dst, mantissa = append(dst, '-'), rest
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	if whole = strings.TrimLeft(whole, "0"); whole == "" {
		whole = "0"
	}
	dst = append(dst, whole...)
	if fraction != "" {
		dst = append(append(dst, '.'), fraction...)
	}
	return append(dst, exponent...), nil
}

// FromPlain reads plain JSON into a value: an object is a map, an array a list, and a number keeps its digits, in the text that was
// sent where DynamoDB takes that (see [Storable]). JSON is taken strictly: a name
// twice in an object, invalid UTF-8, half a surrogate pair or anything after the end is refused. So is a number that DynamoDB cannot hold (38 digits,
// 1E-130 to 9.99E+125) and a nesting past [MaxDepth] (the value itself is at level 1), each by a [*ValueError] that names the path.
func FromPlain(raw []byte) (types.AttributeValue, error) {
	s := &scanner{raw: raw}
	value, err := s.plain(0)
	if err == nil {
		err = s.end()
	}
	if err != nil {
		return nil, err
	}
	return value, nil
}

// PlainItem reads a plain JSON object into an item, as [FromPlain] reads a value: the object's members are the attributes.
func PlainItem(raw []byte) (Item, error) {
	s := &scanner{raw: raw}
	item, err := s.plainMap(0)
	if err == nil {
		err = s.end()
	}
	if _, has := item[""]; has && err == nil {
		err = invalid("an attribute name is empty").underName("")
	}
	if err != nil {
		return nil, err
	}
	return item, nil
}

// plain takes the number of arrays and objects around the value.
func (s *scanner) plain(depth int) (types.AttributeValue, *ValueError) {
	if depth >= MaxDepth {
		return nil, s.fail(tooDeep)
	}
	switch s.peek() {
	case '"':
		text, err := s.text()
		return &types.AttributeValueMemberS{Value: text}, err
	case 't', 'f':
		truth, err := s.boolean()
		return &types.AttributeValueMemberBOOL{Value: truth}, err
	case 'n':
		return &types.AttributeValueMemberNULL{Value: true}, s.literal("null")
	case '[':
		list, err := elements(s, func() (types.AttributeValue, *ValueError) { return s.plain(depth + 1) })
		return &types.AttributeValueMemberL{Value: list}, err
	case '{':
		item, err := s.plainMap(depth + 1)
		return &types.AttributeValueMemberM{Value: item}, err
	default:
		text, err := s.number()
		if err == nil {
			err = checkNumber(text)
		}
		if err != nil {
			return nil, err
		}
		return &types.AttributeValueMemberN{Value: storableNumber(text)}, nil
	}
}

func (s *scanner) plainMap(depth int) (Item, *ValueError) {
	item := Item{}
	err := s.object(func(name string) *ValueError {
		if err := checkName(name); err != nil {
			return err.underName(name)
		}
		value, err := s.plain(depth)
		if err != nil {
			return err.underName(name)
		}
		item[name] = value
		return nil
	})
	return item, err
}
