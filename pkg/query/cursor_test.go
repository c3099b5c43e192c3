package query_test

import (
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/pkg/cursor"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/query"
	"github.com/heatsink-dev/heatsink/pkg/schema"
	"github.com/heatsink-dev/heatsink/pkg/sortkey"
)

func TestTheFirstRequestCarriesTheCursorBothWaysAndOnBothForms(t *testing.T) {
	t.Parallel()
	for _, descending := range []bool{false, true} {
		for form, key := range map[schema.Form]func(int) ddb.Item{schema.Table: tableKey, schema.GSI: gsiKey} {
			reader, s := scripted(t, query.Budget{}, answer(1, key(5), answerRow(form, 5)), answer(0, nil))
			request := query.Request{Limit: 1, Form: form, Descending: descending}
			request.Cursor = page(t, reader, request).Cursor
			page(t, reader, request)
			if diff := cmp.Diff(key(5), s.inputs[1].ExclusiveStartKey, ignoreInternals); diff != "" {
				t.Errorf("%s, descending %t: start key (-want +got):\n%s", form, descending, diff)
			}
		}
	}
}

func answerRow(form schema.Form, n int) ddb.Item {
	if form == schema.GSI {
		return user(n)
	}
	return tableRow(n)
}

// TestACursorOpensForItsOwnQuestionAlone: another partition, order, condition, tenant or index, one changed bit, and text that never was a cursor: one error, no call.
func TestACursorOpensForItsOwnQuestionAlone(t *testing.T) {
	t.Parallel()
	bounds := sortkey.Condition{Lower: lower(sortkey.Number("1"), true)}
	own := query.Request{Partition: partition("t"), Where: bounds, Tenant: "acme", Limit: 1}
	reader, s := scripted(t, query.Budget{}, answer(1, tableKey(5), tableRow(5)), answer(0, nil), answer(0, nil), answer(0, nil), answer(0, nil))
	first, err := reader.Query(t.Context(), own)
	if err != nil {
		t.Fatal(err)
	}
	own.Cursor = first.Cursor
	change := func(edit func(*query.Request)) query.Request {
		r := own
		edit(&r)
		return r
	}
	flipped := []byte(own.Cursor)
	flipped[len(flipped)/2] ^= 1
	for name, request := range map[string]query.Request{
		"another partition": change(func(r *query.Request) { r.Partition = partition("T") }),
		"another order":     change(func(r *query.Request) { r.Descending = true }),
		"another bound":     change(func(r *query.Request) { r.Where.Lower = lower(sortkey.Number("2"), true) }),
		"no condition":      change(func(r *query.Request) { r.Where = sortkey.Condition{} }),
		"an equality":       change(func(r *query.Request) { r.Where = equal(sortkey.Number("1")) }),
		"pinned":            change(func(r *query.Request) { r.Where = sortkey.Condition{}; r.Under = []sortkey.Value{sortkey.Number("1")} }),
		"another tenant":    change(func(r *query.Request) { r.Tenant = "evil" }),
		"one bit":           change(func(r *query.Request) { r.Cursor = string(flipped) }),
		"no cursor at all":  change(func(r *query.Request) { r.Cursor = "eyJTSyI6IjEifQ" }),
		"an empty interval": change(func(r *query.Request) { r.Where = equal(sortkey.Number("-1")) }),
	} {
		_, err := reader.Query(t.Context(), request)
		_, errCount := reader.Count(t.Context(), request)
		_, errAll := collect(t.Context(), reader, request)
		if !errors.Is(err, cursor.ErrInvalid) || !errors.Is(errCount, cursor.ErrInvalid) || !errors.Is(errAll, cursor.ErrInvalid) {
			t.Errorf("%s: %v, %v, %v", name, err, errCount, errAll)
		}
	}
	if len(s.inputs) != 1 {
		t.Errorf("%d calls for cursors that do not open", len(s.inputs)-1)
	}
	for name, request := range map[string]query.Request{
		"itself":                  own,
		"another spelling":        change(func(r *query.Request) { r.Where.Lower = lower(sortkey.Number("0.5"), false) }),
		"another page size":       change(func(r *query.Request) { r.Limit = 7 }),
		"fewer attributes, count": change(func(r *query.Request) { r.Projection = []string{"name"} }),
	} {
		if _, err := reader.Query(t.Context(), request); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestACursorOfAnotherIndexIsInvalid(t *testing.T) {
	t.Parallel()
	table := shapes(t)
	s := &script{answers: []any{answer(1, ddb.Item{"p": text("t"), "SK": text("001#a#0")}, ddb.Item{"p": text("t"), "SK": text("001#a#0"), "id": text("a"), "seq": number("0"), "n": number("1")})}}
	reader := func(name string) *query.Reader {
		r, err := query.New(indexOf(t, table, name), query.Config{Client: s, IndexTable: name, Cursors: sealer(t)})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	first, err := reader("width3").Query(t.Context(), query.Request{Partition: partition("t"), Limit: 1})
	if err != nil || first.Cursor == "" {
		t.Fatal(first, err)
	}
	if _, err := reader("width13").Query(t.Context(), query.Request{Partition: partition("t"), Limit: 1, Cursor: first.Cursor}); !errors.Is(err, cursor.ErrInvalid) {
		t.Error(err)
	}
}

// TestAPositionBeyondTheIndexIsInvalid: what a seal holds is ours, but the index's definition may have changed since.
func TestAPositionBeyondTheIndexIsInvalid(t *testing.T) {
	t.Parallel()
	n, base := sortkey.Number("5"), sortkey.Text("u")
	for name, at := range map[string]cursor.Position{
		"a part too few":       {Form: schema.Table, Base: []sortkey.Value{base}},
		"a part too many":      {Form: schema.Table, Parts: []sortkey.Value{n, n}, Base: []sortkey.Value{base}},
		"another type":         {Form: schema.Table, Parts: []sortkey.Value{sortkey.Text("5")}, Base: []sortkey.Value{base}},
		"another base key":     {Form: schema.Table, Parts: []sortkey.Value{n}, Base: []sortkey.Value{base, base}},
		"another base type":    {Form: schema.GSI, Parts: []sortkey.Value{n}, Base: []sortkey.Value{n}},
		"an empty base key":    {Form: schema.GSI, Parts: []sortkey.Value{n}, Base: []sortkey.Value{sortkey.Text("")}},
		"below the condition":  {Form: schema.Table, Parts: []sortkey.Value{sortkey.Number("0")}, Base: []sortkey.Value{base}},
		"above the condition":  {Form: schema.GSI, Parts: []sortkey.Value{sortkey.Number("10")}, Base: []sortkey.Value{base}},
		"wider than its part":  {Form: schema.Table, Parts: []sortkey.Value{sortkey.Number("5.5")}, Base: []sortkey.Value{base}},
		"not a position":       {},
		"a position and a row": {Form: schema.GSI | schema.Table, Parts: []sortkey.Value{n}, Base: []sortkey.Value{base}},
	} {
		reader, s := scripted(t, query.Budget{}, answer(0, nil))
		request := query.Request{
			Partition: partition("t"), Where: sortkey.Condition{Lower: lower(sortkey.Number("1"), true), Upper: upper(sortkey.Number("9"), true)},
		}
		payload, err := at.MarshalBinary()
		if err != nil {
			payload = []byte{9}
		}
		if request.Cursor, err = reader.SealForTest(t.Context(), request, payload); err != nil {
			t.Fatal(err)
		}
		if _, err := reader.Query(t.Context(), request); !errors.Is(err, cursor.ErrInvalid) || len(s.inputs) > 0 {
			t.Errorf("%s: %v after %d calls", name, err, len(s.inputs))
		}
	}
}

// TestACursorSurvivesTheSwitch: made on one form, it resumes on the other at its sort value, inclusively, by a key condition: a start key would need to know the order of ties.
func TestACursorSurvivesTheSwitch(t *testing.T) {
	t.Parallel()
	between := sortkey.Condition{Lower: lower(sortkey.Number("1"), true), Upper: upper(sortkey.Number("9"), true)}
	tests := []struct {
		name       string
		from, to   schema.Form
		descending bool
		condition  string
		values     map[string]types.AttributeValue
	}{
		{
			"to the GSI", schema.Table, schema.GSI, false, "#h_p = :h_p AND #h_s BETWEEN :h_l AND :h_h",
			map[string]types.AttributeValue{":h_p": text("t"), ":h_l": number("5"), ":h_h": number("9")},
		},
		{
			"to the GSI, descending", schema.Table, schema.GSI, true, "#h_p = :h_p AND #h_s BETWEEN :h_l AND :h_h",
			map[string]types.AttributeValue{":h_p": text("t"), ":h_l": number("1"), ":h_h": number("5")},
		},
		{
			"to the table", schema.GSI, schema.Table, false, "#h_p = :h_p AND #h_s BETWEEN :h_l AND :h_h",
			map[string]types.AttributeValue{":h_p": text("t"), ":h_l": text("0000000000005"), ":h_h": text("0000000000009$")},
		},
		{
			"to the table, descending", schema.GSI, schema.Table, true, "#h_p = :h_p AND #h_s BETWEEN :h_l AND :h_h",
			map[string]types.AttributeValue{":h_p": text("t"), ":h_l": text("0000000000001"), ":h_h": text("0000000000005$")},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			key := map[schema.Form]func(int) ddb.Item{schema.Table: tableKey, schema.GSI: gsiKey}[test.from]
			reader, s := scripted(t, query.Budget{}, answer(1, key(5), answerRow(test.from, 5)), answer(0, nil))
			request := query.Request{Limit: 1, Form: test.from, Where: between, Descending: test.descending}
			request.Cursor = page(t, reader, request).Cursor
			request.Form = test.to
			page(t, reader, request)
			in := s.inputs[1]
			if in.ExclusiveStartKey != nil || *in.KeyConditionExpression != test.condition {
				t.Errorf("start key %v, condition %s", in.ExclusiveStartKey, *in.KeyConditionExpression)
			}
			if diff := cmp.Diff(test.values, in.ExpressionAttributeValues, ignoreInternals); diff != "" {
				t.Errorf("values (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAResumedWalkEndsItsPagesBetweenSegments: behind ("a", "m") on a GSI is first a = "a" and b >= "m", then a > "a". Wherever a page ends, its cursor goes on there.
func TestAResumedWalkEndsItsPagesBetweenSegments(t *testing.T) {
	t.Parallel()
	s := newStore(t, shapes(t))
	item := func(a, b, id string) ddb.Item {
		return ddb.Item{"id": text(id), "seq": number("1"), "p": text("t"), "a": text(a), "b": text(b)}
	}
	s.put(t, item("a", "k", "1"), item("a", "m", "2"), item("a", "m", "3"), item("a", "z", "4"), item("b", "a", "5"), item("b", "c", "6"), item("c", "a", "7"))
	for from, to := range map[schema.Form]schema.Form{schema.Table: schema.GSI, schema.GSI: schema.Table} {
		for descending, want := range map[bool]string{false: "234567", true: "54321"} {
			for _, pages := range []int{1, 40} {
				for limit := 1; limit <= 7; limit++ {
					reader := s.reader("texts", query.Budget{Pages: pages})
					request := query.Request{Limit: 3, Form: from, Descending: descending}
					request.Cursor = page(t, reader, request).Cursor
					request.Form, request.Limit = to, limit
					var got string
					for request.Cursor != "" {
						next := page(t, reader, request)
						if next.Cost.Requests > pages {
							t.Errorf("%d requests of a budget of %d", next.Cost.Requests, pages)
						}
						for _, item := range next.Items {
							got += item["id"].(*types.AttributeValueMemberS).Value
						}
						request.Cursor = next.Cursor
					}
					if got != want {
						t.Errorf("to %s, descending %t, pages of %d, budget of %d requests: %s, want %s", to, descending, limit, pages, got, want)
					}
				}
			}
		}
	}
}

func TestTiesComeOnceOnOneForm(t *testing.T) {
	t.Parallel()
	s := newStore(t, userTable(t))
	var items []ddb.Item
	for n := range 25 {
		items = append(items, with(user(n), "managedKey", number("7")))
	}
	s.put(t, items...)
	reader := s.reader("managed", query.Budget{})
	for _, form := range []schema.Form{schema.GSI, schema.Table} {
		for _, descending := range []bool{false, true} {
			request := query.Request{Limit: 10, Form: form, Descending: descending}
			seen := map[string]int{}
			var sizes []int
			for {
				got := page(t, reader, request)
				sizes = append(sizes, len(got.Items))
				for _, id := range ids(got.Items) {
					seen[id]++
				}
				if request.Cursor = got.Cursor; got.Cursor == "" {
					break
				}
			}
			if diff := cmp.Diff([]int{10, 10, 5}, sizes); diff != "" || len(seen) != 25 {
				t.Errorf("%s, descending %t: %d different items in pages of %v", form, descending, len(seen), sizes)
			}
		}
	}
}

func TestAStartKeyIsExclusiveBothWays(t *testing.T) {
	t.Parallel()
	s := newStore(t, userTable(t))
	s.put(t, user(1), user(2), user(3))
	reader := s.reader("managed", query.Budget{})
	for _, form := range []schema.Form{schema.GSI, schema.Table} {
		request := query.Request{Limit: 2, Form: form, Descending: true}
		first := page(t, reader, request)
		wantIDs(t, first.Items, names(3, 2))
		request.Cursor = first.Cursor
		last := page(t, reader, request)
		wantIDs(t, last.Items, names(1, 1))
	}
}

func TestNumbersSurviveCursorAndKey(t *testing.T) {
	t.Parallel()
	s := newStore(t, shapes(t))
	values := []string{"-9007199254740993", "-20", "-5", "0.1", "3", "900", "2800", "9007199254740992", "9007199254740993", "9007199254740994"}
	var items []ddb.Item
	for _, m := range values {
		items = append(items, ddb.Item{"id": text("i" + m), "seq": number("9007199254740993"), "p": text("t"), "m": number(m)})
	}
	s.put(t, items...)
	reader := s.reader("number", query.Budget{})
	for _, form := range []schema.Form{schema.GSI, schema.Table} {
		var got []string
		request := query.Request{Partition: partition("t"), Limit: 1, Form: form}
		for {
			next, err := reader.Query(t.Context(), request)
			if err != nil {
				t.Fatal(err)
			}
			for _, item := range next.Items {
				got = append(got, item["m"].(*types.AttributeValueMemberN).Value)
				if seq := item["seq"].(*types.AttributeValueMemberN).Value; seq != "9007199254740993" {
					t.Errorf("%s: seq %s", form, seq)
				}
			}
			if request.Cursor = next.Cursor; next.Cursor == "" {
				break
			}
		}
		if diff := cmp.Diff(values, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", form, diff)
		}
	}
}

// TestAGSICursorAtARowThatTheTableCannotHoldStillSwitches: a GSI walk may stop at a fraction, a too wide number or a key past 1,024 bytes.
func TestAGSICursorAtARowThatTheTableCannotHoldStillSwitches(t *testing.T) {
	t.Parallel()
	for _, descending := range []bool{false, true} {
		for at, want := range map[string]string{"4.5": "0000000000005", "12": "0000000000012"} {
			if descending {
				want = map[string]string{"4.5": "0000000000004$", "12": "0000000000012$"}[at]
			}
			odd := with(gsiKey(4), "managedKey", number(at))
			reader, s := scripted(t, query.Budget{Pages: 1}, answer(1, odd), answer(0, nil))
			request := query.Request{Limit: 1, Form: schema.GSI, Descending: descending}
			request.Cursor = page(t, reader, request).Cursor
			request.Form = schema.Table
			page(t, reader, request)
			end := ":h_l"
			if descending {
				end = ":h_h"
			}
			if got := s.inputs[1].ExpressionAttributeValues[end].(*types.AttributeValueMemberS).Value; got != want {
				t.Errorf("behind %s, descending %t: from %q, want %q", at, descending, got, want)
			}
		}
	}
}

// TestAnEmptyFirstSegmentGoesOnWithTheNext: as long as there is no position to hand out, the budget cannot end the call.
func TestAnEmptyFirstSegmentGoesOnWithTheNext(t *testing.T) {
	t.Parallel()
	key := ddb.Item{"p": text("t"), "SK": text("a#m#1#p500.1")}
	s := &script{answers: []any{answer(1, key, key), answer(0, nil), answer(0, nil)}}
	reader, err := query.New(indexOf(t, shapes(t), "texts"), query.Config{
		Client: s, BaseTable: "base", IndexTable: "index", Cursors: sealer(t), Budget: query.Budget{Pages: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	request := query.Request{Limit: 1, Form: schema.Table, Projection: []string{"name"}}
	request.Cursor = page(t, reader, request).Cursor
	request.Form = schema.GSI
	if got := page(t, reader, request); len(got.Items) != 0 || got.Cursor != "" || got.Cost.Requests != 2 {
		t.Errorf("%+v", got)
	}
	for n, want := range map[int]string{
		1: "#h_p = :h_p AND #h_0 = :h_0 AND #h_s >= :h_l",
		2: "#h_p = :h_p AND #h_s > :h_l",
	} {
		if got := *s.inputs[n].KeyConditionExpression; got != want {
			t.Errorf("segment %d: %s, want %s", n, got, want)
		}
	}
}

// TestACursorAtAnExcludedEndStillExcludesIt: a GSI's BETWEEN reads the end, and a walk may stand there.
func TestACursorAtAnExcludedEndStillExcludesIt(t *testing.T) {
	t.Parallel()
	for _, descending := range []bool{false, true} {
		end := map[bool]string{false: "1", true: "9"}[descending]
		row := ddb.Item{"p": text("t"), "m": number(end), "id": text("a"), "seq": number("0")}
		s := &script{answers: []any{answer(1, row, row), answer(0, nil)}}
		reader, err := query.New(indexOf(t, shapes(t), "number"), query.Config{
			Client: s, BaseTable: "base", IndexTable: "index", Cursors: sealer(t), Budget: query.Budget{Pages: 1},
		})
		if err != nil {
			t.Fatal(err)
		}
		request := query.Request{Limit: 1, Form: schema.GSI, Descending: descending}
		request.Where.Lower, request.Where.Upper = lower(sortkey.Number("1"), false), upper(sortkey.Number("9"), false)
		first := page(t, reader, request)
		if len(first.Items) != 0 || first.Cursor == "" {
			t.Fatalf("%+v", first)
		}
		request.Form, request.Cursor = schema.Table, first.Cursor
		page(t, reader, request)
		want := map[string]types.AttributeValue{":h_p": text("t"), ":h_l": text("p500.1$"), ":h_h": text("p500.9")}
		if diff := cmp.Diff(want, s.inputs[1].ExpressionAttributeValues, ignoreInternals); diff != "" {
			t.Errorf("descending %t (-want +got):\n%s", descending, diff)
		}
	}
}
