package query_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/query"
	"github.com/heatsink-dev/heatsink/pkg/schema"
	"github.com/heatsink-dev/heatsink/pkg/sortkey"
)

// TestWhatAConditionBecomes shows the key conditions of both forms.
func TestWhatAConditionBecomes(t *testing.T) {
	t.Parallel()
	table := shapes(t)
	num, txt := sortkey.Number, sortkey.Text
	const begins, between = "#h_p = :h_p AND begins_with(#h_s, :h_l)", "#h_p = :h_p AND #h_s BETWEEN :h_l AND :h_h"
	tests := []struct {
		name, index                string
		under                      []sortkey.Value
		where                      sortkey.Condition
		table, tableLow, tableHigh string
		gsi                        string
		gsiValues                  map[string]types.AttributeValue // beside :h_p
		checks                     int
	}{
		{
			name: "EQ on the leading part is a prefix with its end", index: "texts", where: equal(txt("100")),
			table: begins, tableLow: "100#",
			gsi: "#h_p = :h_p AND #h_0 = :h_0", gsiValues: map[string]types.AttributeValue{":h_0": text("100")}, checks: 1,
		},
		{
			name: "it stops at the first absent part", index: "mixed", under: []sortkey.Value{txt("A1")},
			table: begins, tableLow: "A1#",
			gsi:       "#h_p = :h_p AND #h_0 = :h_0 AND #h_s BETWEEN :h_l AND :h_h",
			gsiValues: map[string]types.AttributeValue{":h_0": text("A1"), ":h_l": number("0"), ":h_h": number("9999999999999")}, checks: 1,
		},
		{
			name: "escapes", index: "texts", where: equal(txt("a#")), table: begins, tableLow: "a$S#",
			gsi: "#h_p = :h_p AND #h_0 = :h_0", gsiValues: map[string]types.AttributeValue{":h_0": text("a#")}, checks: 1,
		},
		{
			name: "from inclusive to exclusive is one BETWEEN", index: "texts",
			where: sortkey.Condition{Lower: lower(txt("a"), true), Upper: upper(txt("b"), false)},
			table: between, tableLow: "a", tableHigh: "b",
			gsi: between, gsiValues: map[string]types.AttributeValue{":h_l": text("a"), ":h_h": text("b")}, checks: 2,
		},
		{
			name: "LTE includes what is longer below it", index: "texts", where: sortkey.Condition{Upper: upper(txt("2024"), true)},
			table: between, tableLow: "#", tableHigh: "2024$",
			gsi: "#h_p = :h_p AND #h_s <= :h_h", gsiValues: map[string]types.AttributeValue{":h_h": text("2024")}, checks: 1,
		},
		{
			name: "a prefix", index: "texts", where: sortkey.Condition{Prefix: new("20")}, table: begins, tableLow: "20",
			gsi: begins, gsiValues: map[string]types.AttributeValue{":h_l": text("20")}, checks: 1,
		},
		{
			name: "an exclusive number in a width", index: "width3", where: sortkey.Condition{Lower: lower(num("41"), false)},
			table: between, tableLow: "042", tableHigh: ":",
			gsi: between, gsiValues: map[string]types.AttributeValue{":h_l": number("42"), ":h_h": number("999")}, checks: 1,
		},
		{
			name: "bounds with fractions and beyond the width mean what they say", index: "width3",
			where: sortkey.Condition{Lower: lower(num("-7.5"), true), Upper: upper(num("5.5"), true)},
			table: between, tableLow: "000", tableHigh: "005$",
			gsi: between, gsiValues: map[string]types.AttributeValue{":h_l": number("0"), ":h_h": number("5")}, checks: 1,
		},
		{
			name: "lower and upper may be equal", index: "width3", where: sortkey.Condition{Lower: lower(num("7"), true), Upper: upper(num("7.0"), true)},
			table: between, tableLow: "007", tableHigh: "007$",
			gsi: between, gsiValues: map[string]types.AttributeValue{":h_l": number("7"), ":h_h": number("7")}, checks: 1,
		},
		{
			name: "a number of any kind, both ends open", index: "number",
			where: sortkey.Condition{Lower: lower(num("1e0"), false), Upper: upper(num("2"), false)},
			table: between, tableLow: "p500.1$", tableHigh: "p500.2",
			gsi: between, gsiValues: map[string]types.AttributeValue{":h_l": number("1"), ":h_h": number("2")}, checks: 3,
		},
		{
			name: "one open end needs no check", index: "number", where: sortkey.Condition{Lower: lower(num("1"), false)},
			table: between, tableLow: "p500.1$", tableHigh: "q",
			gsi: "#h_p = :h_p AND #h_s > :h_l", gsiValues: map[string]types.AttributeValue{":h_l": number("1")}, checks: 1,
		},
		{name: "no condition", index: "texts", table: "#h_p = :h_p", gsi: "#h_p = :h_p", checks: 1},
		{
			name: "everything pinned", index: "texts", under: []sortkey.Value{txt("a"), txt("b")}, table: begins, tableLow: "a#b#",
			gsi: "#h_p = :h_p AND #h_0 = :h_0 AND #h_1 = :h_1", gsiValues: map[string]types.AttributeValue{":h_0": text("a"), ":h_1": text("b")}, checks: 1,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			request := query.Request{Partition: partition("t"), Under: test.under, Where: test.where, Form: schema.Table}
			plan, err := query.Explain(indexOf(t, table, test.index), "base", "index", request)
			if err != nil {
				t.Fatal(err)
			}
			values := map[string]types.AttributeValue{":h_p": text("t")}
			for placeholder, value := range map[string]string{":h_l": test.tableLow, ":h_h": test.tableHigh} {
				if value != "" {
					values[placeholder] = text(value)
				}
			}
			if plan.KeyCondition != test.table || plan.Table != "index" || plan.Index != "" || plan.Filter != "attribute_not_exists(#h_d)" {
				t.Errorf("table: %+v", plan)
			}
			if diff := cmp.Diff(values, plan.Values, ignoreInternals); diff != "" {
				t.Errorf("table (-want +got):\n%s", diff)
			}
			request.Form = schema.GSI
			if plan, err = query.Explain(indexOf(t, table, test.index), "base", "index", request); err != nil {
				t.Fatal(err)
			}
			values = map[string]types.AttributeValue{":h_p": text("t")}
			maps.Copy(values, test.gsiValues)
			if plan.KeyCondition != test.gsi || plan.Table != "base" || plan.Index != test.index || plan.Filter != "" || len(plan.Checks) != test.checks {
				t.Errorf("GSI: %+v", plan)
			}
			if diff := cmp.Diff(values, plan.Values, ignoreInternals); diff != "" {
				t.Errorf("GSI (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnEmptyIntervalIsAnEmptyAnswerWithoutACall(t *testing.T) {
	t.Parallel()
	num, txt := sortkey.Number, sortkey.Text
	long := strings.Repeat("x", sortkey.MaxSortKeyBytes+1)
	for name, test := range map[string]struct {
		index string
		under []sortkey.Value
		where sortkey.Condition
	}{
		"lower above upper":            {"number", nil, sortkey.Condition{Lower: lower(num("2"), true), Upper: upper(num("1"), true)}},
		"equal ends, one open":         {"number", nil, sortkey.Condition{Lower: lower(num("2"), true), Upper: upper(num("2.0"), false)}},
		"nothing between integers":     {"width3", nil, sortkey.Condition{Lower: lower(num("1"), false), Upper: upper(num("2"), false)}},
		"above the width":              {"width3", nil, sortkey.Condition{Lower: lower(num("1000"), true)}},
		"below zero":                   {"width3", nil, sortkey.Condition{Upper: upper(num("0"), false)}},
		"a fraction":                   {"width3", nil, equal(num("1.5"))},
		"a negative":                   {"width3", nil, equal(num("-1"))},
		"the empty text":               {"texts", nil, equal(txt(""))},
		"below the empty text":         {"texts", nil, sortkey.Condition{Upper: upper(txt(""), true)}},
		"longer than a key":            {"texts", nil, equal(txt(long))},
		"a prefix longer than a key":   {"texts", nil, sortkey.Condition{Prefix: &long}},
		"pinned to the empty text":     {"texts", []sortkey.Value{txt("")}, sortkey.Condition{}},
		"pinned to what cannot be":     {"mixed", []sortkey.Value{txt("a"), num("-1")}, equal(num("1"))},
		"an empty binary":              {"binary", nil, equal(sortkey.Binary(nil))},
		"a binary longer than a key":   {"binary", nil, equal(sortkey.Binary([]byte(long)))},
		"no part can hold both bounds": {"width1", nil, sortkey.Condition{Lower: lower(num("9"), false)}},
	} {
		for _, form := range []schema.Form{schema.GSI, schema.Table} {
			s := &script{}
			index := indexOf(t, shapes(t), test.index)
			reader, err := query.New(index, query.Config{Client: s, BaseTable: "base", IndexTable: "index", Cursors: sealer(t)})
			if err != nil {
				t.Fatal(err)
			}
			request := query.Request{Partition: partition("t"), Under: test.under, Where: test.where, Form: form}
			if index.PartitionKey.Type == schema.Number {
				request.Partition = num("1")
			}
			got, err := reader.Query(t.Context(), request)
			if err != nil || got.Items == nil || len(got.Items) != 0 || got.Cursor != "" || got.Cost != (query.Cost{}) {
				t.Errorf("%s, %s: %+v, %v", name, form, got, err)
			}
			counted, err := reader.Count(t.Context(), request)
			if err != nil || counted != (query.Counted{}) {
				t.Errorf("%s, %s: %+v, %v", name, form, counted, err)
			}
			if all, err := collect(t.Context(), reader, request); err != nil || len(all) != 0 {
				t.Errorf("%s, %s: %v, %v", name, form, all, err)
			}
			if plan, err := reader.Explain(request); err != nil || !plan.Empty {
				t.Errorf("%s, %s: %+v, %v", name, form, plan, err)
			}
		}
	}
}

// TestBordersOnTheEngine: what joined keys of other libraries get wrong, on both forms.
func TestBordersOnTheEngine(t *testing.T) {
	t.Parallel()
	s := newStore(t, shapes(t))
	txt, num := sortkey.Text, sortkey.Number
	row := func(id, a, b string) ddb.Item {
		return ddb.Item{"id": text(id), "seq": number("0"), "p": text("t"), "a": text(a), "b": text(b)}
	}
	s.put(t,
		row("1", "a", "#b"), row("2", "a#", "b"), row("3", "a#x", "b"), row("4", "a!", "b"), // injective, and # within a value
		row("5", "1", "x"), row("6", "10", "x"), row("7", "Case", "x"), row("8", "case", "x"),
		row("9", "2024", "12"), row("A", "2024#12", "x"), row("B", "2023", "12"),
	)
	for n, value := range []string{"5", "5.5", "-1", "1000", "999", "1000000000000000000"} {
		item := ddb.Item{"id": text("n" + fmt.Sprint(n)), "seq": number("0"), "p": text("t"), "n": number(value)}
		s.put(t, item)
	}
	long := strings.Repeat("€", 320) // 960 bytes: alone it fits, with what is escaped or with a long base key it does not
	s.put(t,
		ddb.Item{"id": text(strings.Repeat("i", 60)), "seq": number("0"), "p": text("long"), "a": text(long), "b": text("x")},
		ddb.Item{"id": text("i"), "seq": number("0"), "p": text("long"), "a": text(long), "b": text("x")},
		ddb.Item{"id": text("e"), "seq": number("0"), "p": text("long"), "a": text(strings.Repeat("#", 600)), "b": text("x")},
		ddb.Item{"id": text(strings.Repeat("k", 1500)), "seq": number("0"), "p": text("long"), "a": text("a"), "b": text("x")},
	)
	for name, test := range map[string]struct {
		index, partition string
		under            []sortkey.Value
		where            sortkey.Condition
		want             string
	}{
		"a is not a# nor a!":       {"texts", "t", nil, equal(txt("a")), "1"},
		"a# is not a nor a#x":      {"texts", "t", nil, equal(txt("a#")), "2"},
		"a and #b":                 {"texts", "t", []sortkey.Value{txt("a"), txt("#b")}, sortkey.Condition{}, "1"},
		"a# and b":                 {"texts", "t", []sortkey.Value{txt("a#")}, equal(txt("b")), "2"},
		"1 is not 10":              {"texts", "t", nil, equal(txt("1")), "5"},
		"prefix 1 is both":         {"texts", "t", nil, sortkey.Condition{Prefix: new("1")}, "5 6"},
		"case is kept":             {"texts", "t", nil, equal(txt("Case")), "7"},
		"LTE 2024 without 2024#12": {"texts", "t", nil, sortkey.Condition{Lower: lower(txt("2023"), true), Upper: upper(txt("2024"), true)}, "B 9"},
		"LT 2024":                  {"texts", "t", nil, sortkey.Condition{Lower: lower(txt("2023"), true), Upper: upper(txt("2024"), false)}, "B"},
		"GT 2024":                  {"texts", "t", nil, sortkey.Condition{Lower: lower(txt("2024"), false), Upper: upper(txt("2025"), false)}, "A"},
		"width 3 holds 5 and 999":  {"width3", "t", nil, sortkey.Condition{}, "n0 n4"},
		"width 13 holds 1000 too":  {"width13", "t", nil, sortkey.Condition{}, "n0 n4 n3"},
		"width 1 holds 5":          {"width1", "t", nil, sortkey.Condition{}, "n0"},
		"GT a fraction":            {"width13", "t", nil, sortkey.Condition{Lower: lower(num("5.5"), false)}, "n4 n3"},
		"past the width":           {"width3", "t", nil, sortkey.Condition{Upper: upper(num("1E30"), true)}, "n0 n4"},
		"keys past 1,024 bytes":    {"texts", "long", nil, sortkey.Condition{}, "i"},
		"one with its long value":  {"texts", "long", nil, equal(txt(long)), "i"},
	} {
		for _, form := range []schema.Form{schema.GSI, schema.Table} {
			reader := s.reader(test.index, query.Budget{})
			request := query.Request{Partition: partition(test.partition), Under: test.under, Where: test.where, Form: form}
			got, err := reader.Query(t.Context(), request)
			if err != nil {
				t.Fatalf("%s, %s: %v", name, form, err)
			}
			var found []string
			for _, item := range got.Items {
				found = append(found, item["id"].(*types.AttributeValueMemberS).Value)
			}
			if strings.Join(found, " ") != test.want {
				t.Errorf("%s, %s: %q, want %q", name, form, strings.Join(found, " "), test.want)
			}
			counted, err := reader.Count(t.Context(), request)
			if err != nil || int(counted.Count) != len(found) {
				t.Errorf("%s, %s: count %+v, %v", name, form, counted, err)
			}
			exists, err := reader.Exists(t.Context(), request)
			if err != nil || exists.Exists != (len(found) > 0) {
				t.Errorf("%s, %s: exists %+v, %v", name, form, exists, err)
			}
		}
	}
}

func TestConsistentReadsAreOfTheTableAlone(t *testing.T) {
	t.Parallel()
	reader, s := scripted(t, query.Budget{}, answer(0, nil))
	request := query.Request{Partition: partition("t"), Consistent: true, Form: schema.GSI}
	_, err := reader.Query(t.Context(), request)
	_, errCount := reader.Count(t.Context(), request)
	_, errPlan := reader.Explain(request)
	if !errors.Is(err, query.ErrConsistentGSI) || !errors.Is(errCount, query.ErrConsistentGSI) || !errors.Is(errPlan, query.ErrConsistentGSI) || len(s.inputs) > 0 {
		t.Errorf("%v, %v, %v after %d calls", err, errCount, errPlan, len(s.inputs))
	}
	request.Form = schema.Table
	if _, err := reader.Query(t.Context(), request); err != nil || s.inputs[0].ConsistentRead == nil || !*s.inputs[0].ConsistentRead {
		t.Errorf("%v, %+v", err, s.inputs)
	}
}
