package ddb

import (
	"bytes"
	"encoding/base64"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// EncodeItem writes an item in DynamoDB JSON, names in order of bytes, everything else in the order given, so that an item has one text.
// It is the inverse of [DecodeItem] and refuses what that refuses, with the same [*ValueError].
func EncodeItem(item Item) ([]byte, error) {
	if err := checkItem(item); err != nil {
		return nil, err
	}
	return appendItem(nil, item), nil
}

// appendItem and appendTagged take checked values alone.
func appendItem(dst []byte, item Item) []byte {
	dst = append(dst, '{')
	for n, name := range slices.Sorted(maps.Keys(item)) {
		if n > 0 {
			dst = append(dst, ',')
		}
		dst = appendText(dst, name)
		dst = append(dst, ':')
		dst = appendTagged(dst, item[name])
	}
	return append(dst, '}')
}

func appendTagged(dst []byte, value types.AttributeValue) []byte {
	dst = append(dst, '{', '"')
	dst = append(dst, tag(value)...)
	dst = append(dst, '"', ':')
	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		dst = appendText(dst, v.Value)
	case *types.AttributeValueMemberN:
		dst = appendText(dst, v.Value)
	case *types.AttributeValueMemberB:
		dst = appendBinary(dst, v.Value)
	case *types.AttributeValueMemberBOOL:
		dst = appendBool(dst, v.Value)
	case *types.AttributeValueMemberNULL:
		dst = appendBool(dst, v.Value)
	case *types.AttributeValueMemberSS:
		dst = appendArray(dst, v.Value, appendText)
	case *types.AttributeValueMemberNS:
		dst = appendArray(dst, v.Value, appendText)
	case *types.AttributeValueMemberBS:
		dst = appendArray(dst, v.Value, appendBinary)
	case *types.AttributeValueMemberL:
		dst = appendArray(dst, v.Value, appendTagged)
	case *types.AttributeValueMemberM:
		dst = appendItem(dst, v.Value)
	}
	return append(dst, '}')
}

// tag is DynamoDB's name of a value's type.
func tag(value types.AttributeValue) string {
	switch value.(type) {
	case *types.AttributeValueMemberS:
		return "S"
	case *types.AttributeValueMemberN:
		return "N"
	case *types.AttributeValueMemberB:
		return "B"
	case *types.AttributeValueMemberBOOL:
		return "BOOL"
	case *types.AttributeValueMemberNULL:
		return "NULL"
	case *types.AttributeValueMemberSS:
		return "SS"
	case *types.AttributeValueMemberNS:
		return "NS"
	case *types.AttributeValueMemberBS:
		return "BS"
	case *types.AttributeValueMemberL:
		return "L"
	case *types.AttributeValueMemberM:
		return "M"
	default:
		return ""
	}
}

func appendBool(dst []byte, truth bool) []byte {
	if truth {
		return append(dst, "true"...)
	}
	return append(dst, "false"...)
}

func appendBinary(dst, data []byte) []byte {
	dst = append(dst, '"')
	dst = base64.StdEncoding.AppendEncode(dst, data)
	return append(dst, '"')
}

func appendArray[E any](dst []byte, list []E, one func([]byte, E) []byte) []byte {
	dst = append(dst, '[')
	for n, element := range list {
		if n > 0 {
			dst = append(dst, ',')
		}
		dst = one(dst, element)
	}
	return append(dst, ']')
}

func compareStrings(a, b string) int { return strings.Compare(a, b) }

func compareBytes(a, b []byte) int { return bytes.Compare(a, b) }
