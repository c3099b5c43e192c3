package ddb_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
	"github.com/heatsink-dev/heatsink/pkg/schema"
	"github.com/heatsink-dev/heatsink/pkg/sortkey"
)

// awkward are numbers within DynamoDB's limits in texts that it refuses, or that nobody should send it, with what is sent instead.
func awkward() map[string]string {
	zeros := strings.Repeat("0", 300)
	return map[string]string{
		"0e999": "0", "0E+99999": "0", "0e126": "0", "0e200": "0", "-0e500": "0", "0e-500": "0", "0e-131": "0", "0.0e300": "0", "0e0": "0",
		"0e999999999999999999999999": "0", "0." + zeros: "0", "-0." + zeros + "E5": "0",
		"1" + zeros + "e-300": "1", "1." + zeros: "1", "0." + zeros + "12e301": "1.2", "15e" + zeros + "2": "1500", "15E+0002": "1500",
		"1" + strings.Repeat("0", 40): "1" + strings.Repeat("0", 40),
	}
}

// Texts that stay byte for byte.
func ordinary() []string {
	return []string{
		"0", "-0", "0.0", "0.00", "1.50", "1E125", "1e-130", "-9.9999999999999999999999999999999999999E+125", "12345678901234567890123456789012345678", "100", "1e5", "10e124",
	}
}

func TestFromPlainGivesNumbersThatDynamoDBTakes(t *testing.T) {
	t.Parallel()
	for text, want := range awkward() {
		value, err := ddb.FromPlain([]byte(`[{"a":` + text + `}]`))
		if err != nil || diff(list(object(ddb.Item{"a": number(want)})), value) != "" {
			t.Errorf("FromPlain of %.40s: %v %v, want %s", text, value, err, want)
		}
		item, err := ddb.PlainItem([]byte(`{"a":` + text + `}`))
		if err != nil || diff(ddb.Item{"a": number(want)}, item) != "" {
			t.Errorf("PlainItem of %.40s: %v %v, want %s", text, item, err, want)
		}
	}
	for _, text := range ordinary() {
		if value, err := ddb.FromPlain([]byte(text)); err != nil || diff(number(text), value) != "" {
			t.Errorf("%s: %v %v", text, value, err)
		}
	}
}

func TestStorableChangesNumbersAloneAndLeavesTheGivenItem(t *testing.T) {
	t.Parallel()
	set := func(texts ...string) types.AttributeValue { return &types.AttributeValueMemberNS{Value: texts} }
	for spelling, want := range awkward() {
		given := func() ddb.Item {
			return ddb.Item{"n": number(spelling), "s": text(spelling), "l": list(number("1.50"), number(spelling)), "m": object(ddb.Item{"n": number(spelling), "x": binary("b")}), "ns": set("7", spelling)}
		}
		item := given()
		got := ddb.Storable(item)
		expected := ddb.Item{"n": number(want), "s": text(spelling), "l": list(number("1.50"), number(want)), "m": object(ddb.Item{"n": number(want), "x": binary("b")}), "ns": set("7", want)}
		if d := diff(expected, got); d != "" {
			t.Errorf("%.40s: %s", spelling, d)
		}
		if d := diff(given(), item); d != "" {
			t.Errorf("%.40s: the given item changed: %s", spelling, d)
		}
	}
	same := ddb.Item{"a": number("1.50"), "b": number("no number"), "c": nil}
	if got := ddb.Storable(same); diff(same, got) != "" {
		t.Error(got)
	}
	if ddb.Storable(nil) != nil {
		t.Error("nil became an item")
	}
}

// drawSpelling draws JSON numbers of every odd spelling, about half of them within DynamoDB's limits.
func drawSpelling(t *rapid.T) string {
	zeros := func(name string, most int) string { return strings.Repeat("0", rapid.IntRange(0, most).Draw(t, name)) }
	text := rapid.SampledFrom([]string{"", "-"}).Draw(t, "sign")
	if rapid.Bool().Draw(t, "whole") {
		text += rapid.StringMatching(`[1-9][0-9]{0,37}`).Draw(t, "digits") + zeros("padding", 140)
	} else {
		text += "0"
	}
	if rapid.Bool().Draw(t, "point") {
		text += "." + zeros("places", 140) + rapid.StringMatching(`0|[1-9][0-9]{0,5}`).Draw(t, "fraction") + zeros("end", 60)
	}
	if rapid.Bool().Draw(t, "exponential") {
		text += rapid.SampledFrom([]string{"e", "E", "e+", "E-", "e-"}).Draw(t, "e") + zeros("leading", 20) + strconv.Itoa(rapid.IntRange(0, 400).Draw(t, "exponent"))
	}
	return text
}

// Whatever FromPlain and PlainItem take, DynamoDB takes, and keeps its value.
func TestWhatPlainJSONGivesIsStoredByTheEngine(t *testing.T) {
	t.Parallel()
	client := ddbtest.Client(t)
	table := ddbtest.Table(t, &schema.BaseTable{Name: "Numbers", PartitionKey: schema.Attribute{Name: "k", Type: schema.String}})
	check := func(fatalf func(string, ...any), spelling string) {
		item, err := ddb.PlainItem([]byte(`{"k":"x","n":` + spelling + `,"l":[{"n":` + spelling + `}]}`))
		if err != nil {
			return
		}
		if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: item}); err != nil {
			fatalf("%s: %v", spelling, err)
		}
		out, err := client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &table, Key: ddb.Item{"k": text("x")}})
		if err != nil || !ddb.EqualItems(out.Item, item) || !ddb.Equal(out.Item["n"], number(spelling)) {
			fatalf("%s came back as %v, %v", spelling, out.Item, err)
		}
	}
	taken := 0
	for text := range awkward() {
		check(t.Fatalf, text)
	}
	rapid.Check(t, func(t *rapid.T) {
		text := drawSpelling(t)
		if _, err := sortkey.CanonicalNumber(text); err == nil {
			taken++
		}
		check(t.Fatalf, text)
	})
	if taken == 0 {
		t.Error("no number was drawn that is within the limits")
	}
}
