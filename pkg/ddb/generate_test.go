package ddb_test

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
)

func text(s string) types.AttributeValue   { return &types.AttributeValueMemberS{Value: s} }
func number(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }
func binary(s string) types.AttributeValue { return &types.AttributeValueMemberB{Value: []byte(s)} }
func list(values ...types.AttributeValue) types.AttributeValue {
	return &types.AttributeValueMemberL{Value: values}
}
func object(item ddb.Item) types.AttributeValue { return &types.AttributeValueMemberM{Value: item} }

// drawNumber makes numbers in many spellings, all within DynamoDB's limits.
func drawNumber(t *rapid.T) string {
	sign := rapid.SampledFrom([]string{"", "", "-"}).Draw(t, "sign")
	digits := rapid.StringMatching(`[0-9]{1,38}`).Draw(t, "digits")
	switch rapid.IntRange(0, 3).Draw(t, "form") {
	case 0:
		return sign + digits
	case 1:
		at := rapid.IntRange(1, len(digits)).Draw(t, "point")
		if at == len(digits) {
			return sign + digits + ".0"
		}
		return sign + digits[:at] + "." + digits[at:]
	case 2:
		return sign + digits[:1] + rapid.SampledFrom([]string{"e", "E"}).Draw(t, "e") + fmt.Sprint(rapid.IntRange(-130, 125).Draw(t, "exponent"))
	default:
		return fmt.Sprint(rapid.Int().Draw(t, "int"))
	}
}

// drawDistinct makes a set by a key that tells its elements apart.
func drawDistinct[E any](t *rapid.T, draw func(*rapid.T) E, key func(E) string) []E {
	var set []E
	seen := map[string]bool{}
	for range rapid.IntRange(1, 5).Draw(t, "size") {
		element := draw(t)
		if k := key(element); !seen[k] {
			seen[k] = true
			set = append(set, element)
		}
	}
	return set
}

func drawText(t *rapid.T) string  { return rapid.String().Draw(t, "text") }
func drawBytes(t *rapid.T) []byte { return rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "bytes") }

// drawValue makes any of the ten types, with at most depth levels of lists and maps.
func drawValue(t *rapid.T, depth int) types.AttributeValue {
	kinds := 10
	if depth == 0 {
		kinds = 8
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return text(drawText(t))
	case 1:
		return number(drawNumber(t))
	case 2:
		return &types.AttributeValueMemberB{Value: drawBytes(t)}
	case 3:
		return &types.AttributeValueMemberBOOL{Value: rapid.Bool().Draw(t, "bool")}
	case 4:
		return &types.AttributeValueMemberNULL{Value: true}
	case 5:
		return &types.AttributeValueMemberSS{Value: drawDistinct(t, drawText, func(s string) string { return s })}
	case 6:
		draw := func(t *rapid.T) string { return fmt.Sprint(rapid.Int().Draw(t, "n")) }
		return &types.AttributeValueMemberNS{Value: drawDistinct(t, draw, func(s string) string { return s })}
	case 7:
		return &types.AttributeValueMemberBS{Value: drawDistinct(t, drawBytes, func(b []byte) string { return string(b) })}
	case 8:
		values := []types.AttributeValue{}
		for range rapid.IntRange(0, 4).Draw(t, "elements") {
			values = append(values, drawValue(t, depth-1))
		}
		return list(values...)
	default:
		return object(drawItem(t, depth-1, 0))
	}
}

func drawItem(t *rapid.T, depth, shortest int) ddb.Item {
	item := ddb.Item{}
	for range rapid.IntRange(0, 4).Draw(t, "attributes") {
		name := rapid.StringN(shortest, 8, -1).Draw(t, "name")
		item[name] = drawValue(t, depth)
	}
	return item
}
