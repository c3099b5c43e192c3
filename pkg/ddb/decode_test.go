package ddb_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
	"github.com/heatsink-dev/heatsink/pkg/sortkey"
)

// diff compares SDK values by what they hold: each of their structs has an unexported marker. Where they are equal it must not ask cmp, whose time doubles
// with each level of lists.
func diff(want, got any) string {
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return cmp.Diff(want, got, cmp.FilterPath(func(p cmp.Path) bool {
		field, ok := p.Last().(cmp.StructField)
		return ok && field.Name() == "noSmithyDocumentSerde"
	}, cmp.Ignore()))
}

func TestAllTenTypesAtAnyDepth(t *testing.T) {
	t.Parallel()
	raw := `{
		"s":{"S":""},"s2":{"S":"é\u00e9\ud83d\ude00\"\\\/\b\f\n\r\t"},
		"n":{"N":"0"},"n2":{"N":"-0.5"},"n3":{"N":"12345678901234567890123456789012345678"},"n4":{"N":"1E125"},"n5":{"N":"1.500"},
		"b":{"B":""},"b2":{"B":"AQID"},
		"t":{"BOOL":true},"f":{"BOOL":false},"z":{"NULL":true},
		"ss":{"SS":["b","a"]},"ns":{"NS":["10","9.0"]},"bs":{"BS":["AQ==","Ag=="]},
		"l":{"L":[]},"m":{"M":{}},
		"deep":{"L":[{"M":{"x":{"L":[{"NULL":true},{"N":"1e-130"}]},"":{"S":"nested names may be empty"}}}]}
	}`
	item, err := ddb.DecodeItem([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	want := ddb.Item{
		"s": text(""), "s2": text("éé😀\"\\/\b\f\n\r\t"),
		"n": number("0"), "n2": number("-0.5"), "n3": number("12345678901234567890123456789012345678"), "n4": number("1E125"), "n5": number("1.500"),
		"b": binary(""), "b2": binary("\x01\x02\x03"),
		"t": &types.AttributeValueMemberBOOL{Value: true}, "f": &types.AttributeValueMemberBOOL{}, "z": &types.AttributeValueMemberNULL{Value: true},
		"ss": &types.AttributeValueMemberSS{Value: []string{"b", "a"}}, "ns": &types.AttributeValueMemberNS{Value: []string{"10", "9.0"}},
		"bs": &types.AttributeValueMemberBS{Value: [][]byte{{1}, {2}}},
		"l":  list([]types.AttributeValue{}...), "m": object(ddb.Item{}),
		"deep": list(object(ddb.Item{"x": list(&types.AttributeValueMemberNULL{Value: true}, number("1e-130")), "": text("nested names may be empty")})),
	}
	want["l"] = &types.AttributeValueMemberL{Value: []types.AttributeValue{}}
	if d := diff(want, item); d != "" {
		t.Error(d)
	}
}

func TestWhatDecodingRefuses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, raw, path, reason string }{
		{"nothing", ``, "", "ends where '{' should be"},
		{"a null image", `null`, "", "is null, not an item"},
		{"no object", `[]`, "", "is not JSON where '{' should be"},
		{"an unknown tag", `{"a":{"X":"1"}}`, "a", "unknown type X"},
		{"a tag in lower case", `{"a":{"s":"1"}}`, "a", "unknown type s"},
		{"an unknown tag far down", `{"a":{"L":[{"S":""},{"M":{"b":{"Q":1}}}]}}`, "a[1].b", "unknown type Q"},
		{"no tag", `{"a":{}}`, "a", "has no type"},
		{"two tags", `{"a":{"S":"1","N":"1"}}`, "a", "has two types"},
		{"one tag twice", `{"a":{"S":"1","S":"1"}}`, "a.S", "stands twice"},
		{"a null value", `{"a":null}`, "a", "is not JSON where '{' should be"},
		{"a bare value", `{"a":"x"}`, "a", "is not JSON where '{' should be"},
		{"a null in a tag", `{"a":{"S":null}}`, "a", "where a string should be"},
		{"a number in S", `{"a":{"S":1}}`, "a", "where a string should be"},
		{"a bare number in N", `{"a":{"N":1}}`, "a", "where a string should be"},
		{"a text in BOOL", `{"a":{"BOOL":"true"}}`, "a", "where true or false should be"},
		{"NULL false", `{"a":{"NULL":false}}`, "a", "NULL must be true"},
		{"a text in NULL", `{"a":{"NULL":"true"}}`, "a", "where true or false should be"},
		{"an object in L", `{"a":{"L":{}}}`, "a", "where '[' should be"},
		{"an array in M", `{"a":{"M":[]}}`, "a", "where '{' should be"},
		{"a null in L", `{"a":{"L":[null]}}`, "a[0]", "where '{' should be"},
		{"a non-text in SS", `{"a":{"SS":["x",1]}}`, "a[1]", "where a string should be"},
		{"a non-text in BS", `{"a":{"BS":["AQ==",{"B":"AQ=="}]}}`, "a[1]", "where a string should be"},
		{"a null in BS", `{"a":{"BS":[null]}}`, "a[0]", "where a string should be"},
		{"an empty SS", `{"a":{"SS":[]}}`, "a", "empty set"},
		{"an empty NS", `{"a":{"NS":[]}}`, "a", "empty set"},
		{"an empty BS", `{"a":{"BS":[]}}`, "a", "empty set"},
		{"SS with a repeat", `{"a":{"SS":["x","y","x"]}}`, "a", "element twice"},
		{"NS with a repeat by value", `{"a":{"NS":["1","1.0"]}}`, "a", "element twice"},
		{"BS with a repeat", `{"a":{"BS":["AQ==","AQ=="]}}`, "a", "element twice"},
		{"bad base64", `{"a":{"B":"AQI"}}`, "a", "is not base64"},
		{"base64 with a line end", `{"a":{"B":"AQ\n=="}}`, "a", "is not base64"},
		{"base64 with stray bits", `{"a":{"B":"AR=="}}`, "a", "is not base64"},
		{"base64 of URLs", `{"a":{"B":"-_-_"}}`, "a", "is not base64"},
		{"N not a number", `{"a":{"N":"x"}}`, "a", "not a DynamoDB number"},
		{"N empty", `{"a":{"N":""}}`, "a", "not a DynamoDB number"},
		{"N NaN", `{"a":{"N":"NaN"}}`, "a", "not a DynamoDB number"},
		{"N Infinity", `{"a":{"N":"Infinity"}}`, "a", "not a DynamoDB number"},
		{"N in hex", `{"a":{"N":"0x10"}}`, "a", "not a DynamoDB number"},
		{"N with white space", `{"a":{"N":" 1"}}`, "a", "not a DynamoDB number"},
		{"N of 39 digits", `{"a":{"N":"123456789012345678901234567890123456789"}}`, "a", "39 significant digits"},
		{"N of 1E126", `{"a":{"N":"1E126"}}`, "a", "1E126"},
		{"N of 1E-131", `{"a":{"NS":["1","1E-131"]}}`, "a[1]", "1E-131"},
		{"a name twice", `{"a":{"S":"1"},"a":{"S":"2"}}`, "a", "stands twice"},
		{"a name twice, spelled differently", `{"a":{"S":"1"},"\u0061":{"S":"2"}}`, "a", "stands twice"},
		{"a name twice far down", `{"a":{"M":{"b":{"S":""},"b":{"S":""}}}}`, "a.b", "stands twice"},
		{"an empty name", `{"":{"S":"1"}}`, `""`, "name is empty"},
		{"a name too long", `{"` + strings.Repeat("n", 65536) + `":{"S":"1"}}`, "", "65536 bytes long, the limit is 65535"},
		{"something after it", `{} x`, "", "after its end"},
		{"a second item", `{}{}`, "", "after its end"},
		{"a comma too many", `{"a":{"S":"1"},}`, "", "where a string should be"},
		{"a cut text", `{"a":{"S":"1`, "a", "ends in a string"},
		{"a cut escape", `{"a":{"S":"1\`, "a", "ends in a string"},
		{"a cut unicode escape", `{"a":{"S":"\u12`, "a", `bad \u escape`},
		{"an unknown escape", `{"a":{"S":"\x"}}`, "a", "unknown escape"},
		{"half a surrogate pair", `{"a":{"S":"\ud83d"}}`, "a", "half of a surrogate pair"},
		{"half a surrogate pair at the end", `{"a":{"S":"\ud83d`, "a", "half of a surrogate pair"},
		{"the wrong half first", `{"a":{"S":"\ude00\ud83d"}}`, "a", "half of a surrogate pair"},
		{"a raw control character", "{\"a\":{\"S\":\"\x01\"}}", "a", "raw control character"},
		{"a raw control character after an escape", "{\"a\":{\"S\":\"\\n\x01\"}}", "a", "raw control character"},
		{"invalid UTF-8", "{\"a\":{\"S\":\"\xff\"}}", "a", "not valid UTF-8"},
		{"invalid UTF-8 after an escape", "{\"a\":{\"S\":\"\\n\xff\"}}", "a", "not valid UTF-8"},
		{"a strange name", `{"a b.c":{"M":{"d\"":{"X":1}}}}`, `"a b.c"."d\""`, "unknown type"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			item, err := ddb.DecodeItem([]byte(test.raw))
			fault, ok := errors.AsType[*ddb.ValueError](err)
			if !ok {
				t.Fatalf("got %v, %v; want a ValueError", item, err)
			}
			if item != nil {
				t.Error("an item beside the error")
			}
			if !strings.Contains(fault.Reason, test.reason) || test.path != "" && fault.Path != test.path {
				t.Errorf("got %q at %q, want %q at %q", fault.Reason, fault.Path, test.reason, test.path)
			}
			if len(err.Error()) > 300 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
		})
	}
}

func TestNumberErrorsCarryTheLimit(t *testing.T) {
	t.Parallel()
	_, err := ddb.DecodeItem([]byte(`{"a":{"N":"1E126"}}`))
	cause, ok := errors.AsType[*sortkey.Error](err)
	if !ok || cause.Reason != sortkey.ReasonMagnitude || cause.Limit != sortkey.MaxNumberExponent || cause.Got != 126 {
		t.Errorf("got %#v", cause)
	}
}

// nested stands n lists in each other around an empty text.
func nested(n int) string {
	return `{"a":` + strings.Repeat(`{"L":[`, n) + `{"S":""}` + strings.Repeat(`]}`, n) + `}`
}

func TestNestingEndsAtDynamoDBsLimit(t *testing.T) {
	t.Parallel()
	const most = ddb.MaxDepth - 1 // lists around a text, which is at level 32
	item, err := ddb.DecodeItem([]byte(nested(most)))
	if err != nil {
		t.Fatalf("%d lists: %v", most, err)
	}
	if raw, err := ddb.EncodeItem(item); err != nil || string(raw) != nested(most) {
		t.Errorf("%s, %v", raw, err)
	}
	for _, n := range []int{most + 1, 1_000_000} { // a million levels must not take a stack or the time of a million
		_, err := ddb.DecodeItem([]byte(nested(n)))
		if fault, ok := errors.AsType[*ddb.ValueError](err); !ok || !strings.Contains(fault.Reason, "deeper than 32 levels") {
			t.Errorf("%d lists: %v", n, err)
		}
	}
	maps := `{"a":` + strings.Repeat(`{"M":{"b":`, 32) + `{"S":""}` + strings.Repeat(`}}`, 32) + `}`
	if _, err := ddb.DecodeItem([]byte(maps)); err == nil {
		t.Error("32 maps were taken")
	}
	if _, err := ddb.EncodeItem(ddb.Item{"a": lists(most + 1)}); err == nil {
		t.Error("32 lists were written")
	}
}

// lists stands n lists in each other around an empty text.
func lists(n int) types.AttributeValue {
	value := text("")
	for range n {
		value = list(value)
	}
	return value
}

// TestTheEngineEndsWhereWeDo at every border of a value: what Check takes can be stored, and what it refuses cannot.
func TestTheEngineEndsWhereWeDo(t *testing.T) {
	t.Parallel()
	client := ddbtest.Client(t)
	table := userTable(t)
	for name, value := range map[string]types.AttributeValue{
		"31 lists": lists(31), "32 lists": lists(32), "38 digits": number("12345678901234567890123456789012345678"),
		"39 digits": number("123456789012345678901234567890123456789"), "1E125": number("1E125"), "1E126": number("1E126"),
		"1E-130": number("1E-130"), "1E-131": number("1E-131"), "no number": number("x"), "an empty set": &types.AttributeValueMemberSS{Value: []string{}},
		"a set with a repeat": &types.AttributeValueMemberNS{Value: []string{"1", "1.0"}}, "an empty text": text(""), "an empty binary": binary(""),
		"NULL false": &types.AttributeValueMemberNULL{}, "an empty list": list([]types.AttributeValue{}...), "an empty name far down": object(ddb.Item{"": text("")}),
	} {
		_, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: ddb.Item{"userId": text(name), "a": value}})
		if class := ddb.Classify(err).Class; class != ddb.None && class != ddb.Invalid {
			t.Fatalf("%s: %v", name, err)
		}
		if ours := ddb.Check(value); (ours == nil) != (err == nil) {
			t.Errorf("%s: we say %v, the engine says %v", name, ours, err)
		}
	}
}

func TestEveryItemSurvivesEncodingAndDecoding(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		item := drawItem(t, 4, 1)
		raw, err := ddb.EncodeItem(item)
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid(raw) {
			t.Fatalf("not JSON: %s", raw)
		}
		back, err := ddb.DecodeItem(raw)
		if err != nil {
			t.Fatalf("%v in %s", err, raw)
		}
		if d := diff(item, back); d != "" { // byte for byte, numbers included
			t.Fatal(d)
		}
		again, err := ddb.EncodeItem(back)
		if err != nil || string(again) != string(raw) {
			t.Fatalf("%s, then %s, %v", raw, again, err)
		}
		if !ddb.EqualItems(item, back) || ddb.Size(item) != ddb.Size(back) {
			t.Fatal("equal items that are not")
		}
	})
}

func TestWhatEncodingRefuses(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]types.AttributeValue{
		"nil":              nil,
		"an unknown type":  &types.UnknownUnionMember{Tag: "X"},
		"nil in a list":    list(nil),
		"nil in a map":     object(ddb.Item{"b": nil}),
		"invalid UTF-8":    text("\xff"),
		"a broken number":  number("1x"),
		"NULL false":       &types.AttributeValueMemberNULL{},
		"an empty set":     &types.AttributeValueMemberSS{},
		"a repeat in a NS": &types.AttributeValueMemberNS{Value: []string{"1", "1E0"}},
		"a broken NS":      &types.AttributeValueMemberNS{Value: []string{"1", "x"}},
		"a broken SS":      &types.AttributeValueMemberSS{Value: []string{"1", "\xff"}},
		"a repeat in a BS": &types.AttributeValueMemberBS{Value: [][]byte{{1}, {1}}},
		"a broken name":    object(ddb.Item{"\xff": text("")}),
	} {
		raw, err := ddb.EncodeItem(ddb.Item{"a": value})
		if fault, ok := errors.AsType[*ddb.ValueError](err); !ok || !strings.HasPrefix(fault.Path, "a") || raw != nil {
			t.Errorf("%s: %s, %v", name, raw, err)
		}
		if err := ddb.Check(value); err == nil {
			t.Errorf("%s: Check took it", name)
		}
	}
	if _, err := ddb.EncodeItem(nil); err == nil {
		t.Error("nil was written as an item")
	}
	if _, err := ddb.EncodeItem(ddb.Item{"": text("")}); err == nil {
		t.Error("an empty name was written")
	}
}

// FuzzDecodeItem: no input makes it panic; what it takes is JSON, and means the same to encoding/json.
func FuzzDecodeItem(f *testing.F) {
	for _, seed := range []string{
		`{}`, `null`, nested(3), nested(40), `{"a":{"S":"\ud83d\ude00"},"b":{"N":"-1.5E3"},"c":{"B":"AQID"}}`,
		`{"a":{"M":{"b":{"SS":["x"]},"c":{"NS":["1","2"]},"d":{"BS":["AQ=="]}}},"e":{"BOOL":true},"f":{"NULL":true}}`,
		`{"a":{}}`, `{"a":{"X":1}}`, `{"a":{"S":"1","N":"2"}}`, `{"a":{"BS":[1]}}`, `{"a":null}`, `{"a":{"S":"x`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		item, err := ddb.DecodeItem(raw)
		if err != nil {
			if _, ok := errors.AsType[*ddb.ValueError](err); !ok || item != nil {
				t.Fatalf("%v, %v", item, err)
			}
			return
		}
		var reference map[string]map[string]any
		if err := json.Unmarshal(raw, &reference); err != nil {
			t.Fatalf("taken, though no JSON: %v", err)
		}
		if len(reference) != len(item) {
			t.Fatalf("%d attributes, encoding/json has %d", len(item), len(reference))
		}
		for name, tagged := range reference {
			if s, has := tagged["S"]; has && !ddb.Equal(item[name], text(s.(string))) {
				t.Fatalf("%q: %v, encoding/json has %q", name, item[name], s)
			}
			if b, has := tagged["B"]; has {
				data, err := base64.StdEncoding.DecodeString(b.(string))
				if err != nil || !ddb.Equal(item[name], &types.AttributeValueMemberB{Value: data}) {
					t.Fatalf("%q: %v, %v", name, item[name], err)
				}
			}
		}
		encoded, err := ddb.EncodeItem(item)
		if err != nil {
			t.Fatalf("taken, but not given back: %v", err)
		}
		back, err := ddb.DecodeItem(encoded)
		if err != nil || diff(item, back) != "" {
			t.Fatalf("%v, %s", err, diff(item, back))
		}
	})
}
