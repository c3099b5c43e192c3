package ddb_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
)

func TestPlainJSONOfAllTypes(t *testing.T) {
	t.Parallel()
	item := ddb.Item{
		"s": text("é\"\\\n\x01😀\u2028<&>"), "empty": text(""),
		"n38": number("12345678901234567890123456789012345678"), "n125": number("1E125"), "n130": number("-1e-130"), "n0": number("-0"), "n1": number("1.500"),
		"b": binary("\x00\xff"), "t": &types.AttributeValueMemberBOOL{Value: true}, "f": &types.AttributeValueMemberBOOL{},
		"z": &types.AttributeValueMemberNULL{Value: true}, "ss": &types.AttributeValueMemberSS{Value: []string{"b", "a"}},
		"ns": &types.AttributeValueMemberNS{Value: []string{"10", "9"}}, "bs": &types.AttributeValueMemberBS{Value: [][]byte{{1}, {2}}},
		"l": list(text("x"), list(), object(ddb.Item{})), "m": object(ddb.Item{"b": number("2"), "a": number("1")}),
		"_v": text("secret"),
	}
	got, err := ddb.AppendPlain([]byte(">"), item, func(name string) bool { return name != "_v" })
	if err != nil {
		t.Fatal(err)
	}
	want := `>{"b":"AP8=","bs":["AQ==","Ag=="],"empty":"","f":false,"l":["x",[],{}],"m":{"a":1,"b":2},` +
		`"n0":-0,"n1":1.500,"n125":1E125,"n130":-1e-130,"n38":12345678901234567890123456789012345678,"ns":[10,9],` +
		`"s":"é\"\\\n\u0001😀` + "\u2028" + `<&>","ss":["b","a"],"t":true,"z":null}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestNumbersThatJSONSpellsOtherwise(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"+5": "5", ".5": "0.5", "-.5": "-0.5", "5.": "5", "007": "7", "-007.10E+05": "-7.10E+05", "00": "0", "0.10": "0.10", "-0": "-0", "1E5": "1E5", "+.5e-3": "0.5e-3",
	} {
		got, err := ddb.AppendPlain(nil, ddb.Item{"n": number(in)}, nil)
		if err != nil || string(got) != `{"n":`+want+`}` || !json.Valid(got) {
			t.Errorf("%s: got %s, %v, want %s", in, got, err, want)
			continue
		}
		back, err := ddb.FromPlain([]byte(want))
		if err != nil || !ddb.Equal(back, number(in)) {
			t.Errorf("%s: back %v, %v", in, back, err)
		}
	}
}

func TestWhatPlainJSONCannotShow(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]types.AttributeValue{
		"nil": nil, "an unknown type": &types.UnknownUnionMember{}, "NaN": number("NaN"), "Infinity": number("-Infinity"), "no number": number(""),
		"an injection": number(`1,"b":2`), "invalid UTF-8": text("\xff"), "a broken set": &types.AttributeValueMemberNS{Value: []string{"x"}},
		"a nil in a list": list(nil), "a broken name": object(ddb.Item{"\xff": text("")}), "33 levels": lists(32),
	} {
		got, err := ddb.AppendPlain([]byte("before"), ddb.Item{"a": value}, nil)
		if fault, ok := errors.AsType[*ddb.ValueError](err); !ok || !strings.HasPrefix(fault.Path, "a") || string(got) != "before" {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}

func TestFromPlainKeepsDigits(t *testing.T) {
	t.Parallel()
	raw := `{"n":[0,-0,9007199254740993,12345678901234567890123456789012345678,1E125,1e-130,1.500,9.9999999999999999999999999999999999999E+125],"s":"x","t":true,"f":false,"z":null,"m":{"":{}}}`
	got, err := ddb.FromPlain([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	want := object(ddb.Item{
		"n": list(number("0"), number("-0"), number("9007199254740993"), number("12345678901234567890123456789012345678"), number("1E125"), number("1e-130"),
			number("1.500"), number("9.9999999999999999999999999999999999999E+125")),
		"s": text("x"), "t": &types.AttributeValueMemberBOOL{Value: true}, "f": &types.AttributeValueMemberBOOL{},
		"z": &types.AttributeValueMemberNULL{Value: true}, "m": object(ddb.Item{"": object(ddb.Item{})}),
	})
	if d := diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestWhatFromPlainRefuses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, raw, path, reason string }{
		{"nothing", ` `, "", "ends where a value should be"},
		{"39 digits", `{"a":[1,{"b":123456789012345678901234567890123456789}]}`, "a[1].b", "39 significant digits"},
		{"too large", `{"a":1E126}`, "a", "1E126"},
		{"far too large", `[1E99999999999999999999]`, "[0]", "not a DynamoDB number"},
		{"too small", `{"a":{"b":1E-131}}`, "a.b", "1E-131"},
		{"NaN", `{"a":NaN}`, "a", "where a value should be"},
		{"Infinity", `[Infinity]`, "[0]", "where a value should be"},
		{"a plus", `+1`, "", "where a value should be"},
		{"a leading zero", `[01]`, "[0]", "where a value should be"},
		{"no digits before the point", `.5`, "", "where a value should be"},
		{"no digits behind the point", `[5.]`, "[0]", "where a value should be"},
		{"no digits in the exponent", `[5e]`, "[0]", "where a value should be"},
		{"a name twice", `{"a":1,"a":1}`, "a", "stands twice"},
		{"a name twice far down", `[{"a":{"b":1,"\u0062":1}}]`, "[0].a.b", "stands twice"},
		{"a name twice of many", `{` + manyNames(40) + `"n7":1}`, "n7", "stands twice"},
		{"a comment", `{} // x`, "", "after its end"},
		{"two values", `1 2`, "", "after its end"},
		{"single quotes", `{'a':1}`, "", "where a string should be"},
		{"half a surrogate pair", `"\ud800"`, "", "half of a surrogate pair"},
		{"invalid UTF-8", "\"\xc3\"", "", "not valid UTF-8"},
		{"33 levels", strings.Repeat("[", 33) + strings.Repeat("]", 33), strings.Repeat("[0]", 32), "deeper than 32"},
		{"a million levels", strings.Repeat(`{"a":`, 1_000_000), strings.Repeat("a.", 31) + "a", "deeper than 32"},
		{"a name too long", `{"` + strings.Repeat("n", 65536) + `":1}`, "", "the limit is 65535"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			value, err := ddb.FromPlain([]byte(test.raw))
			fault, ok := errors.AsType[*ddb.ValueError](err)
			if !ok || value != nil {
				t.Fatalf("got %v, %v; want a ValueError", value, err)
			}
			if !strings.Contains(fault.Reason, test.reason) || test.path != "" && fault.Path != test.path {
				t.Errorf("got %q at %q, want %q at %q", fault.Reason, fault.Path, test.reason, test.path)
			}
		})
	}
}

func TestAnItemOfPlainJSON(t *testing.T) {
	t.Parallel()
	deepest := strings.Repeat("[", 31) + `""` + strings.Repeat("]", 31) // one level less than FromPlain: the object is not a value
	item, err := ddb.PlainItem([]byte(` {"a":1.0,"b":` + deepest + `} `))
	if err != nil || diff(ddb.Item{"a": number("1.0"), "b": lists(31)}, item) != "" {
		t.Errorf("%v, %v", item, err)
	}
	for _, raw := range []string{``, `null`, `[]`, `{"":1}`, `{"a":1}x`, `{"a":[` + deepest + `]}`, `{"a":1,"a":2}`, `{"a":1E126}`} {
		item, err := ddb.PlainItem([]byte(raw))
		if _, ok := errors.AsType[*ddb.ValueError](err); !ok || item != nil {
			t.Errorf("%s: %v, %v", raw, item, err)
		}
	}
}

func manyNames(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(`"n` + string(rune('0'+i%10)) + strings.Repeat("x", i/10) + `":1,`)
	}
	return b.String()
}

func TestPlainJSONReadBackIsTheSameWhereJSONHasTheType(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		item := drawItem(t, 3, 0)
		raw, err := ddb.AppendPlain(nil, item, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid(raw) {
			t.Fatalf("not JSON: %s", raw)
		}
		back, err := ddb.FromPlain(raw)
		if err != nil {
			t.Fatalf("%v in %s", err, raw)
		}
		again, err := ddb.AppendPlain(nil, back.(*types.AttributeValueMemberM).Value, nil)
		want, _ := ddb.AppendPlain(nil, ddb.Storable(item), nil)
		if err != nil || string(again) != string(want) {
			t.Fatalf("%s, then %s, want %s, %v", raw, again, want, err)
		}
	})
}

// FuzzFromPlain: no input makes it panic; what it takes is JSON and comes back equal.
func FuzzFromPlain(f *testing.F) {
	for _, seed := range []string{
		`null`, `{"a":[1,-2.5e3,"x\u0000\ud83d\ude00",true,null,{}]}`, `1E125`, `12345678901234567890123456789012345678`, `[[[[]]]]`, `{"a":1,"a":2}`,
		`NaN`, `"\ud800"`, `01`, `1E999999999999999999999999`, strings.Repeat("[", 40),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		value, err := ddb.FromPlain(raw)
		if err != nil {
			if _, ok := errors.AsType[*ddb.ValueError](err); !ok || value != nil {
				t.Fatalf("%v, %v", value, err)
			}
			return
		}
		if !json.Valid(raw) {
			t.Fatal("taken, though no JSON")
		}
		if err := ddb.Check(value); err != nil {
			t.Fatalf("DynamoDB would not take it: %v", err)
		}
		plain, err := ddb.AppendPlain(nil, ddb.Item{"v": value}, nil)
		if err != nil {
			t.Fatalf("taken, but not given back: %v", err)
		}
		back, err := ddb.FromPlain(plain)
		if fault, ok := errors.AsType[*ddb.ValueError](err); ok && strings.Contains(fault.Reason, "deeper") {
			return // the item around it is one level more
		}
		if err != nil || !ddb.Equal(back, object(ddb.Item{"v": value})) {
			t.Fatalf("%s: %v", plain, err)
		}
	})
}
