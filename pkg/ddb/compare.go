package ddb

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/sortkey"
)

// Equal compares two values as DynamoDB does: the type counts, sets have no order, numbers are equal by value. Nil equals nil alone.
func Equal(a, b types.AttributeValue) bool {
	switch x := a.(type) {
	case *types.AttributeValueMemberS:
		y, ok := b.(*types.AttributeValueMemberS)
		return ok && x.Value == y.Value
	case *types.AttributeValueMemberN:
		y, ok := b.(*types.AttributeValueMemberN)
		return ok && sortkey.CompareNumbers(x.Value, y.Value) == 0
	case *types.AttributeValueMemberB:
		y, ok := b.(*types.AttributeValueMemberB)
		return ok && compareBytes(x.Value, y.Value) == 0
	case *types.AttributeValueMemberBOOL:
		y, ok := b.(*types.AttributeValueMemberBOOL)
		return ok && x.Value == y.Value
	case *types.AttributeValueMemberNULL:
		y, ok := b.(*types.AttributeValueMemberNULL)
		return ok && x.Value == y.Value
	case *types.AttributeValueMemberSS:
		y, ok := b.(*types.AttributeValueMemberSS)
		return ok && equalSets(x.Value, y.Value, compareStrings)
	case *types.AttributeValueMemberNS:
		y, ok := b.(*types.AttributeValueMemberNS)
		return ok && equalSets(x.Value, y.Value, sortkey.CompareNumbers)
	case *types.AttributeValueMemberBS:
		y, ok := b.(*types.AttributeValueMemberBS)
		return ok && equalSets(x.Value, y.Value, compareBytes)
	case *types.AttributeValueMemberL:
		y, ok := b.(*types.AttributeValueMemberL)
		return ok && slices.EqualFunc(x.Value, y.Value, Equal)
	case *types.AttributeValueMemberM:
		y, ok := b.(*types.AttributeValueMemberM)
		return ok && EqualItems(x.Value, y.Value)
	default:
		return a == nil && b == nil
	}
}

// EqualItems compares two items attribute by attribute with [Equal].
func EqualItems(a, b Item) bool {
	if len(a) != len(b) {
		return false
	}
	for name, x := range a {
		if y, has := b[name]; !has || !Equal(x, y) {
			return false
		}
	}
	return true
}

func equalSets[E any](a, b []E, compare func(a, b E) int) bool {
	if len(a) != len(b) {
		return false
	}
	a, b = slices.Clone(a), slices.Clone(b)
	slices.SortFunc(a, compare)
	slices.SortFunc(b, compare)
	return slices.EqualFunc(a, b, func(x, y E) bool { return compare(x, y) == 0 })
}

// KeyValue gives the value of a key attribute. False: the type cannot be a key. Whether the value can (empty, too long, a broken number) is for package sortkey
// to say.
func KeyValue(value types.AttributeValue) (sortkey.Value, bool) {
	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		return sortkey.Text(v.Value), true
	case *types.AttributeValueMemberN:
		return sortkey.Number(v.Value), true
	case *types.AttributeValueMemberB:
		return sortkey.Binary(v.Value), true
	default:
		return sortkey.Value{}, false
	}
}

// Attribute is the inverse of [KeyValue]. The zero [sortkey.Value] gives nil.
func Attribute(value sortkey.Value) types.AttributeValue {
	switch value.Kind() {
	case sortkey.KindText:
		return &types.AttributeValueMemberS{Value: value.String()}
	case sortkey.KindNumber:
		return &types.AttributeValueMemberN{Value: value.String()}
	case sortkey.KindBinary:
		return &types.AttributeValueMemberB{Value: value.Bytes()}
	default:
		return nil
	}
}
