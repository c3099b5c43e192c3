package ddb

import (
	"maps"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/sortkey"
)

// Storable is the item with every number in a text that DynamoDB takes. Its limits are those of a value, which [Check] checks, but it refuses some texts of
// values within them: of a zero with an exponent or with many digits it counts the place of the last digit, though there is none to lose. Such a text becomes
// plain digits, and so does one that is longer than any number needs, with zeros before or behind its digits or its exponent. All others, and what is no number,
// stay byte for byte. The given item is not changed; where nothing is to be done it is the answer.
func Storable(item Item) Item {
	storable, _ := storableMap(item, 0)
	return storable
}

// storableNumber gives the text itself where it is ordinary, else the canonical one. The text must be a number.
func storableNumber(text string) string {
	if ordinaryNumber(text) {
		return text
	}
	canonical, err := sortkey.CanonicalNumber(text)
	if err != nil {
		return text
	}
	return canonical
}

// ordinaryNumber: at most 38 digits, zeros counted, and an exponent of at most three, of a value that is not zero.
func ordinaryNumber(text string) bool {
	const exponentDigits = 3
	mantissa, exponent := text, ""
	if at := strings.IndexAny(text, "eE"); at >= 0 {
		mantissa, exponent = text[:at], strings.TrimLeft(text[at+1:], "+-")
	}
	digits, significant := 0, 0
	for _, c := range []byte(mantissa) {
		if c >= '0' && c <= '9' {
			digits++
		}
		if c >= '1' && c <= '9' {
			significant++
		}
	}
	return digits <= sortkey.MaxNumberDigits && len(exponent) <= exponentDigits && (significant > 0 || exponent == "")
}

// storable gives a value's storable form, and whether it is another one. Past [MaxDepth], which no value may be, it leaves things as they are.
func storable(value types.AttributeValue, depth int) (types.AttributeValue, bool) {
	if depth >= MaxDepth {
		return value, false
	}
	switch v := value.(type) {
	case *types.AttributeValueMemberN:
		if text := storableNumber(v.Value); text != v.Value {
			return &types.AttributeValueMemberN{Value: text}, true
		}
	case *types.AttributeValueMemberNS:
		if list, changed := storableList(v.Value, func(text string) (string, bool) {
			other := storableNumber(text)
			return other, other != text
		}); changed {
			return &types.AttributeValueMemberNS{Value: list}, true
		}
	case *types.AttributeValueMemberL:
		if list, changed := storableList(v.Value, func(element types.AttributeValue) (types.AttributeValue, bool) {
			return storable(element, depth+1)
		}); changed {
			return &types.AttributeValueMemberL{Value: list}, true
		}
	case *types.AttributeValueMemberM:
		if item, changed := storableMap(v.Value, depth+1); changed {
			return &types.AttributeValueMemberM{Value: item}, true
		}
	}
	return value, false
}

func storableList[E any](list []E, one func(E) (E, bool)) ([]E, bool) {
	var out []E
	for n, element := range list {
		other, changed := one(element)
		if changed && out == nil {
			out = append(make([]E, 0, len(list)), list...)
		}
		if changed {
			out[n] = other
		}
	}
	return out, out != nil
}

func storableMap(item Item, depth int) (Item, bool) {
	var out Item
	for name, value := range item {
		other, changed := storable(value, depth)
		if !changed {
			continue
		}
		if out == nil {
			out = maps.Clone(item)
		}
		out[name] = other
	}
	if out == nil {
		return item, false
	}
	return out, true
}
