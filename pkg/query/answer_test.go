package query_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/query"
	"github.com/heatsink-dev/heatsink/pkg/schema"
	"github.com/heatsink-dev/heatsink/pkg/sortkey"
)

type (
	queryInput  = dynamodb.QueryInput
	queryOutput = dynamodb.QueryOutput
	optFn       = func(*dynamodb.Options)
)

func TestAnswersCarryNoReservedNorPrivateAttribute(t *testing.T) {
	t.Parallel()
	s := newStore(t, userTable(t))
	item := user(1)
	for _, name := range []string{"SK", "_v", "_deleted", "_ttl", "_secret"} {
		item[name] = text("mine")
	}
	s.put(t, item)
	reader := s.reader("managed", query.Budget{})
	for _, form := range []schema.Form{schema.GSI, schema.Table} {
		for _, projection := range [][]string{nil, {"name", "userId"}} {
			request := query.Request{Partition: partition("t"), Form: form, Projection: projection}
			want := user(1)
			if projection != nil {
				want = ddb.Item{"name": want["name"], "userId": want["userId"]}
			}
			all, err := collect(t.Context(), reader, request)
			if err != nil {
				t.Fatal(err)
			}
			for call, got := range map[string][]ddb.Item{"Query": page(t, reader, request).Items, "All": all} {
				if diff := cmp.Diff([]ddb.Item{want}, got, ignoreInternals); diff != "" {
					t.Errorf("%s, %s (-want +got):\n%s", call, form, diff)
				}
			}
		}
	}
}

func TestAProjectionReadsTheKeysThatTheCursorNeedsAndDropsThem(t *testing.T) {
	t.Parallel()
	for form, want := range map[schema.Form][]string{schema.Table: {"SK", "name"}, schema.GSI: {"managedKey", "name", "userId"}} {
		row := answerRow(form, 5)
		for name := range row {
			if !slices.Contains(want, name) {
				delete(row, name)
			}
		}
		key := map[schema.Form]func(int) ddb.Item{schema.Table: tableKey, schema.GSI: gsiKey}[form]
		second := answerRow(form, 6)
		reader, s := scripted(t, query.Budget{}, answer(2, key(6), row, second), answer(0, nil))
		request := query.Request{Form: form, Projection: []string{"name"}, Limit: 1}
		got := page(t, reader, request)
		if diff := cmp.Diff([]ddb.Item{{"name": text("user 5")}}, got.Items, ignoreInternals); diff != "" {
			t.Errorf("%s (-want +got):\n%s", form, diff)
		}
		var read []string
		for placeholder := range strings.SplitSeq(*s.inputs[0].ProjectionExpression, ", ") {
			read = append(read, s.inputs[0].ExpressionAttributeNames[placeholder])
		}
		slices.Sort(read)
		if diff := cmp.Diff(want, read); diff != "" {
			t.Errorf("%s reads (-want +got):\n%s", form, diff)
		}
		request.Cursor = got.Cursor
		page(t, reader, request)
		if diff := cmp.Diff(key(5), s.inputs[1].ExclusiveStartKey, ignoreInternals); diff != "" {
			t.Errorf("%s resumes (-want +got):\n%s", form, diff)
		}
	}
}

// TestAGSIThatProjectsMoreThanItsDefinition: a projection cannot be changed once the GSI stands, a definition can.
func TestAGSIThatProjectsMoreThanItsDefinition(t *testing.T) {
	t.Parallel()
	row := ddb.Item{"id": text("a"), "seq": number("1"), "p": text("t"), "m": number("5"), "plan": text("paid"), "name": text("more"), "_secret": text("x"), "_v": text("y")}
	s := &script{answers: []any{answer(1, nil, row)}}
	reader, err := query.New(indexOf(t, shapes(t), "number"), query.Config{Client: s, BaseTable: "base", IndexTable: "index", Cursors: sealer(t)})
	if err != nil {
		t.Fatal(err)
	}
	got := page(t, reader, query.Request{Form: schema.GSI})
	want := ddb.Item{"id": text("a"), "seq": number("1"), "p": text("t"), "m": number("5"), "plan": text("paid")}
	if diff := cmp.Diff([]ddb.Item{want}, got.Items, ignoreInternals); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCountReadsNoItemsOfATableAndOnlyKeysOfAGSI(t *testing.T) {
	t.Parallel()
	for _, form := range []schema.Form{schema.GSI, schema.Table} {
		reader, s := scripted(t, query.Budget{}, answer(0, nil))
		if _, err := reader.Count(t.Context(), query.Request{Partition: partition("t"), Form: form}); err != nil {
			t.Fatal(err)
		}
		in := s.inputs[0]
		if (in.Select == types.SelectCount) != (form == schema.Table) || (in.ProjectionExpression != nil) != (form == schema.GSI) {
			t.Errorf("%s: select %q, projection %s", form, in.Select, aws.ToString(in.ProjectionExpression))
		}
		if in.ReturnConsumedCapacity != types.ReturnConsumedCapacityTotal {
			t.Errorf("%s: capacity %q", form, in.ReturnConsumedCapacity)
		}
	}
}

// TestTheRowCheckAgreesWithTheCodec: its short cut says the same as encoding the row.
func TestTheRowCheckAgreesWithTheCodec(t *testing.T) {
	t.Parallel()
	table := shapes(t)
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(values ...types.AttributeValue) types.AttributeValue { return values[random.IntN(len(values))] }
	for range 5_000 {
		row := ddb.Item{
			"id":  pick(text("a"), text("#"), text(strings.Repeat("i", random.IntN(600))), text(strings.Repeat("#", random.IntN(600)))),
			"seq": pick(number("0"), number("-1E-5")), "p": text("t"),
			"n": pick(number("5"), number("005"), number("5.0"), number("-0"), number("-1"), number("9999999999999"), number("10000000000000"), number("1E3"), number("1E13"), number("0.5"), number("1E-5")),
			"m": pick(number("-1E125"), number("12345678901234567890123456789012345678")),
			"a": pick(text("a"), text(strings.Repeat("é", random.IntN(300))), text(strings.Repeat("\x01", random.IntN(400)))),
			"b": pick(text("b"), text(strings.Repeat("$", random.IntN(300)))),
			"x": pick(binary("x"), binary(strings.Repeat("y", random.IntN(600)))),
		}
		for _, index := range table.Indexes {
			reader, err := query.New(index, query.Config{Client: &script{}, BaseTable: "base", IndexTable: "index", Cursors: sealer(t)})
			if err != nil {
				t.Fatal(err)
			}
			var values []sortkey.Value
			want := true
			for _, part := range index.Codec.Parts() {
				value, _ := ddb.KeyValue(row[part.Name])
				want = want && value.String() != ""
				values = append(values, value)
			}
			if _, err := index.Codec.Encode(values...); err != nil {
				want = false
			}
			if got := reader.IndexedForTest(row); got != want {
				t.Fatalf("%s: %v is indexed %t, want %t", index.Name, row, got, want)
			}
		}
	}
}

func TestTheRowCheckAllocatesNothing(t *testing.T) {
	reader, _ := scripted(t, query.Budget{})
	row := user(1699900000)
	if n := testing.AllocsPerRun(100, func() {
		if !reader.IndexedForTest(row) {
			t.Fatal("not indexed")
		}
	}); n != 0 {
		t.Errorf("%v allocations a row", n)
	}
}

type member struct {
	UserID string                `dynamodbav:"userId"`
	Key    int64                 `dynamodbav:"managedKey"`
	Text   string                `dynamodbav:"big"`
	Exact  attributevalue.Number `dynamodbav:"exact"`
	Small  int8                  `dynamodbav:"small"`
	Any    any                   `dynamodbav:"any"`
}

func TestAsDecodesNumbersExactly(t *testing.T) {
	t.Parallel()
	digits := "12345678901234567890123456789012345678"
	item := ddb.Item{
		"userId": text("u"), "managedKey": number("9007199254740993"), "big": number(digits), "exact": number("0." + digits[:30]), "any": number(digits), "unknown": text("x"),
	}
	got, err := query.As[member]([]ddb.Item{item, {"userId": text("v")}})
	want := []member{
		{UserID: "u", Key: 9007199254740993, Text: digits, Exact: attributevalue.Number("0." + digits[:30]), Any: attributevalue.Number(digits)}, {UserID: "v"},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	maps, err := query.As[map[string]any]([]ddb.Item{{"n": number(digits)}})
	if err != nil || maps[0]["n"] != attributevalue.Number(digits) {
		t.Errorf("%v, %v", maps, err)
	}
	if none, err := query.As[member](nil); err != nil || len(none) != 0 {
		t.Errorf("%v, %v", none, err)
	}
}

func TestAsNamesItemAndAttributeAndNeverTheValue(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]ddb.Item{
		"userId":     {"userId": &types.AttributeValueMemberBOOL{Value: true}, "managedKey": number("1")},
		"managedKey": {"userId": text("u"), "managedKey": number("4242.5")},
		"small":      {"small": number("4242")},
	} {
		_, err := query.As[member]([]ddb.Item{{"userId": text("u")}, bad})
		misfit, ok := errors.AsType[*query.DecodeError](err)
		if !ok || misfit.Item != 1 || misfit.Attribute != name || strings.Contains(err.Error(), "4242") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
