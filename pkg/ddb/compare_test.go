package ddb_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/sortkey"
)

func TestEqualIsDynamoDBsEquality(t *testing.T) {
	t.Parallel()
	ss := func(v ...string) types.AttributeValue { return &types.AttributeValueMemberSS{Value: v} }
	ns := func(v ...string) types.AttributeValue { return &types.AttributeValueMemberNS{Value: v} }
	bs := func(v ...string) types.AttributeValue {
		set := &types.AttributeValueMemberBS{}
		for _, s := range v {
			set.Value = append(set.Value, []byte(s))
		}
		return set
	}
	yes, null := &types.AttributeValueMemberBOOL{Value: true}, &types.AttributeValueMemberNULL{Value: true}
	for _, test := range []struct {
		name string
		a, b types.AttributeValue
		want bool
	}{
		{"numbers by value", number("1.0"), number("10E-1"), true},
		{"large numbers by every digit", number("12345678901234567890123456789012345678"), number("12345678901234567890123456789012345679"), false},
		{"minus zero", number("-0"), number("0"), true},
		{"a number is no text", number("1"), text("1"), false},
		{"text is no binary", text("a"), binary("a"), false},
		{"case counts", text("a"), text("A"), false},
		{"sets without order", ss("a", "b"), ss("b", "a"), true},
		{"number sets by value", ns("1", "20"), ns("2E1", "1.0"), true},
		{"binary sets without order", bs("a", "b"), bs("b", "a"), true},
		{"sets of other sizes", ss("a"), ss("a", "b"), false},
		{"lists with order", list(text("a"), text("b")), list(text("b"), text("a")), false},
		{"lists far down", list(object(ddb.Item{"x": ns("1", "2")})), list(object(ddb.Item{"x": ns("2", "1")})), true},
		{"maps with another name", object(ddb.Item{"a": null}), object(ddb.Item{"b": null}), false},
		{"empty and nil bytes", binary(""), &types.AttributeValueMemberB{}, true},
		{"booleans", yes, &types.AttributeValueMemberBOOL{}, false},
		{"true is not NULL", yes, null, false},
		{"NULL", null, &types.AttributeValueMemberNULL{Value: true}, true},
		{"nil and nil", nil, nil, true},
		{"nil and something", nil, null, false},
		{"something and nil", null, nil, false},
	} {
		if got := ddb.Equal(test.a, test.b); got != test.want {
			t.Errorf("%s: %t", test.name, got)
		}
		if got := ddb.Equal(test.b, test.a); got != test.want {
			t.Errorf("%s, the other way round: %t", test.name, got)
		}
	}
}

func TestKeyValuesThereAndBack(t *testing.T) {
	t.Parallel()
	for _, value := range []types.AttributeValue{text("a#"), text(""), number("1.50"), binary("\x00\xff")} {
		key, ok := ddb.KeyValue(value)
		if !ok || diff(value, ddb.Attribute(key)) != "" {
			t.Errorf("%v: %v, %t", value, key, ok)
		}
	}
	for _, value := range []types.AttributeValue{nil, list(), object(nil), &types.AttributeValueMemberBOOL{}, &types.AttributeValueMemberNULL{Value: true}, &types.AttributeValueMemberSS{}} {
		if key, ok := ddb.KeyValue(value); ok {
			t.Errorf("%v is no key, got %v", value, key)
		}
	}
	if ddb.Attribute(sortkey.Value{}) != nil {
		t.Error("a value out of nothing")
	}
}

func TestSizesAsMeasuredOnDynamoDB(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		value types.AttributeValue
		want  int
	}{
		{number("0"), 1},
		{number("-0"), 1},
		{number("100"), 2},
		{number("1E125"), 2},
		{number("1.5"), 3},
		{number("-42"), 3},
		{number("1.50"), 3},
		{number("007"), 2},
		{number("0.001"), 2},
		{number("10.01"), 3},
		{number("1699900000000"), 4},
		{number("1699900000001"), 8},
		{number("12345678901234567890123456789012345678"), 20},
		{text(""), 0},
		{text("é😀"), 6},
		{binary("\x00\x01"), 2},
		{&types.AttributeValueMemberBOOL{}, 1},
		{&types.AttributeValueMemberNULL{Value: true}, 1},
		{&types.AttributeValueMemberSS{Value: []string{"a", "bc"}}, 3},
		{&types.AttributeValueMemberNS{Value: []string{"1", "-1"}}, 5},
		{&types.AttributeValueMemberBS{Value: [][]byte{{1, 2}, {3}}}, 3},
		{list(), 3},
		{list(text("ab"), number("1")), 3 + 1 + 2 + 1 + 2},
		{object(ddb.Item{}), 3},
		{object(ddb.Item{"é": text("ab")}), 3 + 2 + 1 + 2},
	} {
		if got := ddb.Size(ddb.Item{"name": test.value}) - len("name"); got != test.want {
			t.Errorf("%#v: %d bytes, want %d", test.value, got, test.want)
		}
	}
	if ddb.Size(nil) != 0 {
		t.Error("nothing has a size")
	}
}

func TestUnitsRoundUp(t *testing.T) {
	t.Parallel()
	for size, want := range map[int][3]float64{
		0: {1, 1, 0.5}, 1: {1, 1, 0.5}, 1024: {1, 1, 0.5}, 1025: {2, 1, 0.5}, 4096: {4, 1, 0.5}, 4097: {5, 2, 1}, ddb.MaxItemSize: {400, 100, 50},
	} {
		if got := [3]float64{ddb.WriteUnits(size), ddb.ReadUnits(size, true), ddb.ReadUnits(size, false)}; got != want {
			t.Errorf("%d bytes: %v, want %v", size, got, want)
		}
	}
	if got := len(strings.Repeat("x", ddb.MaxItemSize)); got != 409_600 {
		t.Errorf("the limit is %d bytes, want 409,600", got)
	}
}
