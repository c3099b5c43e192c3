package ddb

import (
	"encoding/base64"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// DecodeItem reads an item in DynamoDB JSON: an image or the keys of a stream record, or the Item of an export's line.
//
// It is total and strict, where the ready-made decoders lose or invent data: aws-lambda-go fails a whole batch at one unknown tag and panics at
// a wrong set element (https://github.com/aws/aws-lambda-go/issues/466), the SDK's attributevalue lets {} through as nil. All ten types are
// known, at up to [MaxDepth] levels; numbers are checked and their text is kept byte for byte. Everything else is a [*ValueError] that names the
// path: null in place of an item or value, an unknown tag, no tag or two, a wrong JSON type, bad base64, an empty set or one with an
// element twice, a name twice, anything after the end. It never panics.
func DecodeItem(raw []byte) (Item, error) {
	s := &scanner{raw: raw}
	if s.peek() == 'n' && s.literal("null") == nil {
		return nil, invalid("is null, not an item")
	}
	item, err := s.item(0)
	if err == nil {
		err = s.end()
	}
	if err != nil {
		return nil, err
	}
	return item, nil
}

// item reads an object of tagged values. depth counts the lists and maps around it.
func (s *scanner) item(depth int) (Item, *ValueError) {
	item := Item{}
	err := s.object(func(name string) *ValueError {
		if err := checkName(name); err != nil {
			return err.underName(name)
		}
		if name == "" && depth == 0 {
			return s.fail("an attribute name is empty").underName(name)
		}
		value, err := s.tagged(depth)
		if err != nil {
			return err.underName(name)
		}
		item[name] = value
		return nil
	})
	if err != nil {
		return nil, err
	}
	return item, nil
}

// tagged reads {"S":"x"}: exactly one tag.
func (s *scanner) tagged(depth int) (types.AttributeValue, *ValueError) {
	if depth >= MaxDepth {
		return nil, s.fail(tooDeep)
	}
	var value types.AttributeValue
	err := s.object(func(tag string) (err *ValueError) {
		if value != nil {
			return s.fail("has two types, must have one")
		}
		value, err = s.member(tag, depth)
		return err
	})
	if err == nil && value == nil {
		err = s.fail("has no type, must have one")
	}
	if err != nil {
		return nil, err
	}
	return value, nil
}

func (s *scanner) member(tag string, depth int) (types.AttributeValue, *ValueError) {
	switch tag {
	case "S":
		text, err := s.text()
		return &types.AttributeValueMemberS{Value: text}, err
	case "N":
		text, err := s.numberText()
		return &types.AttributeValueMemberN{Value: text}, err
	case "B":
		data, err := s.binary()
		return &types.AttributeValueMemberB{Value: data}, err
	case "BOOL":
		truth, err := s.boolean()
		return &types.AttributeValueMemberBOOL{Value: truth}, err
	case "NULL":
		truth, err := s.boolean()
		if err == nil && !truth {
			err = s.fail("NULL must be true")
		}
		return &types.AttributeValueMemberNULL{Value: truth}, err
	case "SS":
		set, err := elements(s, s.text)
		return checked(&types.AttributeValueMemberSS{Value: set}, err)
	case "NS":
		set, err := elements(s, s.numberText)
		return checked(&types.AttributeValueMemberNS{Value: set}, err)
	case "BS":
		set, err := elements(s, s.binary)
		return checked(&types.AttributeValueMemberBS{Value: set}, err)
	case "L":
		list, err := elements(s, func() (types.AttributeValue, *ValueError) { return s.tagged(depth + 1) })
		return &types.AttributeValueMemberL{Value: list}, err
	case "M":
		item, err := s.item(depth + 1)
		return &types.AttributeValueMemberM{Value: item}, err
	default:
		return nil, s.fail("has the unknown type " + pathName(tag))
	}
}

// elements reads an array; the result is never nil.
func elements[E any](s *scanner, read func() (E, *ValueError)) ([]E, *ValueError) {
	list := []E{}
	err := s.array(func(n int) *ValueError {
		element, err := read()
		if err != nil {
			return err.underIndex(n)
		}
		list = append(list, element)
		return nil
	})
	return list, err
}

// checked applies the rules of sets.
func checked(set types.AttributeValue, err *ValueError) (types.AttributeValue, *ValueError) {
	if err != nil {
		return nil, err
	}
	if err := check(set, 0); err != nil {
		return nil, err
	}
	return set, nil
}

func (s *scanner) numberText() (string, *ValueError) {
	text, err := s.text()
	if err != nil {
		return "", err
	}
	if err := checkNumber(text); err != nil {
		return "", err
	}
	return text, nil
}

func (s *scanner) binary() ([]byte, *ValueError) {
	text, err := s.text()
	if err != nil {
		return nil, err
	}
	// The strict decoder still skips line ends.
	data, fault := base64.StdEncoding.Strict().DecodeString(text)
	if fault != nil || strings.ContainsAny(text, "\r\n") {
		return nil, s.fail("is not base64")
	}
	return data, nil
}

func (s *scanner) boolean() (bool, *ValueError) {
	switch s.peek() {
	case 't':
		return true, s.literal("true")
	case 'f':
		return false, s.literal("false")
	default:
		return false, s.unexpected("true or false")
	}
}
