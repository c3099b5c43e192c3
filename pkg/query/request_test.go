package query_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/query"
	"github.com/heatsink-dev/heatsink/pkg/schema"
	"github.com/heatsink-dev/heatsink/pkg/sortkey"
)

// TestBadRequestsNameTheFieldAndMakeNoCall on both forms, and never repeat a value.
func TestBadRequestsNameTheFieldAndMakeNoCall(t *testing.T) {
	t.Parallel()
	txt, num := sortkey.Text, sortkey.Number
	filter := func(expression string, names map[string]string, values map[string]types.AttributeValue) func(*query.Request) {
		return func(r *query.Request) { r.Filter = &query.Filter{Expression: expression, Names: names, Values: values} }
	}
	plan, paid := map[string]string{"#plan": "plan"}, map[string]types.AttributeValue{":v": text("paid")}
	many := make([]string, query.MaxProjection+1)
	for n := range many {
		many[n] = fmt.Sprint("a", n)
	}
	tests := []struct {
		name, field, says string
		edit              func(*query.Request)
	}{
		{"no partition", "Partition", "text", func(r *query.Request) { r.Partition = sortkey.Value{} }},
		{"a number for a text", "Partition", "text", func(r *query.Request) { r.Partition = num("1") }},
		{"an empty partition", "Partition", "empty", func(r *query.Request) { r.Partition = txt("") }},
		{"a partition past the limit", "Partition", "2048", func(r *query.Request) { r.Partition = txt(strings.Repeat("secret!", 300)) }},
		{"a partition that is no text", "Partition", "UTF-8", func(r *query.Request) { r.Partition = txt("secret\xff") }},
		{"too many leading values", "Under", "2 parts", func(r *query.Request) { r.Under = []sortkey.Value{txt("a"), txt("b"), txt("c")} }},
		{"a leading value of another type", "Under[1]", "number", func(r *query.Request) { r.Under = []sortkey.Value{txt("a"), num("1")} }},
		{"no part left", "Where", "no part", func(r *query.Request) {
			r.Under, r.Where = []sortkey.Value{txt("a"), txt("b")}, equal(txt("c"))
		}},
		{"an operand of another type", "Where", "number", func(r *query.Request) { r.Where = equal(num("1")) }},
		{"a contradiction", "Where", "contradictory", func(r *query.Request) {
			r.Where = equal(txt("a"))
			r.Where.Prefix = new("a")
		}},
		{"an operand that is no text", "Where", "UTF-8", func(r *query.Request) { r.Where = sortkey.Condition{Lower: lower(txt("secret\xff"), true)} }},
		{"a negative limit", "Limit", "1000", func(r *query.Request) { r.Limit = -1 }},
		{"a limit past the largest page", "Limit", "1000", func(r *query.Request) { r.Limit = query.MaxLimit + 1 }},
		{"a form that is none", "Form", "GSI or TABLE", func(r *query.Request) { r.Form = schema.GSI | schema.Table }},
		{"too many attributes", "Projection", "100", func(r *query.Request) { r.Projection = many }},
		{"an empty name", "Projection[1]", "empty", func(r *query.Request) { r.Projection = []string{"plan", ""} }},
		{"a name twice", "Projection[1]", "twice", func(r *query.Request) { r.Projection = []string{"plan", "plan"} }},
		{"a reserved name", "Projection[0]", "no attribute", func(r *query.Request) { r.Projection = []string{"_v"} }},
		{"a private name", "Projection[0]", "no attribute", func(r *query.Request) { r.Projection = []string{"_secret"} }},
		{"an empty filter", "Filter", "empty", filter(" ", nil, nil)},
		{"a filter past the limit", "Filter", "4000", filter(strings.Repeat(" ", 4001), nil, nil)},
		{"a bare name", "Filter", "#placeholders", filter("plan = :v", nil, paid)},
		{"a bare nested name", "Filter", "#placeholders", filter("#plan.x = :v", plan, paid)},
		{"a sign of no expression", "Filter", "stands in no expression", filter("#plan = 'secret'", plan, nil)},
		{"a lone sign", "Filter", "#placeholders", filter("# = :v", nil, paid)},
		{"it closes what is not its own", "Filter", "never opened", filter("#plan = :v) OR (#plan = :v", plan, paid)},
		{"it does not close", "Filter", "does not close", filter("(#plan = :v", plan, paid)},
		{"a name missing", "Filter", "Names", filter("#plan = :v", nil, paid)},
		{"a value missing", "Filter", "Values", filter("#plan = :v", plan, nil)},
		{"a name too many", "Filter", "Names", filter("#plan = :v", map[string]string{"#plan": "plan", "#x": "x"}, paid)},
		{"a value too many", "Filter", "Values", filter("attribute_exists(#plan)", plan, paid)},
		{"a placeholder without its sign", "Filter", "Names", filter("#plan = :v", map[string]string{"#plan": "plan", "": "x"}, paid)},
		{"a placeholder of ours", "Filter", "reserved", filter("#h_d = :v", map[string]string{"#h_d": "plan"}, paid)},
		{"a value of ours", "Filter", "reserved", filter("#plan = :h_p", plan, map[string]types.AttributeValue{":h_p": text("T")})},
		{"a filter on a reserved name", "Filter", "no attribute", filter("attribute_exists(#d)", map[string]string{"#d": "_deleted"}, nil)},
		{"a filter on a private name", "Filter", "no attribute", filter("#d = :v", map[string]string{"#d": "_secret"}, paid)},
		{"a filter on a key of the index", "Filter", "Under or Where", filter("#a = :v", map[string]string{"#a": "a"}, paid)},
		{"a filter on the partition", "Filter", "Under or Where", filter("#a = :v", map[string]string{"#a": "p"}, paid)},
	}
	for _, test := range tests {
		for _, form := range []schema.Form{schema.GSI, schema.Table} {
			t.Run(test.name+"/"+form.String(), func(t *testing.T) {
				t.Parallel()
				s := &script{}
				reader, err := query.New(indexOf(t, shapes(t), "texts"), query.Config{Client: s, BaseTable: "base", IndexTable: "index", Cursors: sealer(t)})
				if err != nil {
					t.Fatal(err)
				}
				request := query.Request{Partition: partition("t"), Form: form}
				test.edit(&request)
				_, err = reader.Query(t.Context(), request)
				bad, ok := errors.AsType[*query.RequestError](err)
				if !ok || bad.Field != test.field || !strings.Contains(bad.Reason, test.says) {
					t.Fatalf("%v, want field %s and %q", err, test.field, test.says)
				}
				if strings.Contains(err.Error(), "secret!") || strings.Contains(err.Error(), "\xff") {
					t.Errorf("the error repeats a value: %v", err)
				}
				if _, err := reader.Explain(request); err == nil {
					t.Error("Explain takes it")
				}
				if len(s.inputs) > 0 {
					t.Error("a call was made")
				}
			})
		}
	}
}

func TestProjectionsOfAnIncludeIndexAreItsOwn(t *testing.T) {
	t.Parallel()
	reader, err := query.New(indexOf(t, shapes(t), "number"), query.Config{Client: &script{}, IndexTable: "index", Cursors: sealer(t)})
	if err != nil {
		t.Fatal(err)
	}
	_, err = reader.Query(t.Context(), query.Request{Partition: partition("t"), Projection: []string{"plan", "name"}})
	if bad, ok := errors.AsType[*query.RequestError](err); !ok || bad.Field != "Projection[1]" {
		t.Error(err)
	}
	// Not deployed here: no base table is named.
	_, err = reader.Query(t.Context(), query.Request{Partition: partition("t"), Form: schema.GSI})
	if bad, ok := errors.AsType[*query.RequestError](err); !ok || bad.Field != "Form" {
		t.Error(err)
	}
}

func TestAConfigurationNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	index := indexOf(t, userTable(t), "managed")
	gsi := *index
	gsi.Build, gsi.Type = schema.GSI, schema.GSI
	whole := query.Config{Client: &script{}, BaseTable: "base", IndexTable: "index", Cursors: sealer(t)}
	edit := func(change func(*query.Config)) query.Config {
		c := whole
		change(&c)
		return c
	}
	for field, test := range map[string]struct {
		index  *schema.Index
		config query.Config
	}{
		"no index":         {nil, whole},
		"Client":           {index, edit(func(c *query.Config) { c.Client = nil })},
		"Cursors":          {index, edit(func(c *query.Config) { c.Cursors = nil })},
		"IndexTable":       {index, edit(func(c *query.Config) { c.IndexTable = "" })},
		"BaseTable":        {&gsi, edit(func(c *query.Config) { c.BaseTable, c.IndexTable = "", "" })},
		"no index table":   {&gsi, whole},
		"Budget.Pages":     {index, edit(func(c *query.Config) { c.Budget.Pages = -1 })},
		"Budget.Evaluated": {index, edit(func(c *query.Config) { c.Budget.Evaluated = -1 })},
		"Budget.Bytes":     {index, edit(func(c *query.Config) { c.Budget.Bytes = -1 })},
	} {
		if _, err := query.New(test.index, test.config); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
	if _, err := query.New(index, whole); err != nil {
		t.Error(err)
	}
}

func TestFiltersKeepTheirMeaningBesideTheLiveFilter(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]string{
		"#p = :v":                          "attribute_not_exists(#h_d) AND #p = :v",
		"#p = :v OR #p <> :v":              "attribute_not_exists(#h_d) AND (#p = :v OR #p <> :v)",
		"#p = :v or #p <> :v":              "attribute_not_exists(#h_d) AND (#p = :v or #p <> :v)",
		"(#p = :v OR #p <> :v)":            "attribute_not_exists(#h_d) AND (#p = :v OR #p <> :v)",
		"NOT #p IN (:v) AND size(#p) > :v": "attribute_not_exists(#h_d) AND NOT #p IN (:v) AND size(#p) > :v",
		"#p.#p[12] BETWEEN :v AND :v":      "attribute_not_exists(#h_d) AND #p.#p[12] BETWEEN :v AND :v",
	} {
		plan, err := query.Explain(indexOf(t, userTable(t), "managed"), "base", "index", query.Request{
			Partition: partition("t"),
			Filter:    &query.Filter{Expression: expression, Names: map[string]string{"#p": "plan"}, Values: map[string]types.AttributeValue{":v": text("x")}},
		})
		if err != nil || plan.Filter != want {
			t.Errorf("%s becomes %s, %v", expression, plan.Filter, err)
		}
		if plan.Names["#p"] != "plan" || plan.Names["#h_d"] != schema.DeletedAttribute || plan.Values[":v"] == nil {
			t.Errorf("%s: placeholders %v", expression, plan.Names)
		}
	}
}

// FuzzFilter: no expression reaches past its own condition: what is taken has balanced parentheses, and no word that is not a placeholder or of the grammar.
func FuzzFilter(f *testing.F) {
	for _, seed := range []string{
		"#p = :v", "#p = :v OR #p <> :v", ") OR (", "size(#p) >= :v", "#p[0].#p IN (:v, :v)", "attribute_not_exists(#h_d)", "#p = :v\x00", "((#p = :v))", "#é = :v", "p = :v",
	} {
		f.Add(seed)
	}
	index := indexOf(f, userTable(f), "managed")
	f.Fuzz(func(t *testing.T, expression string) {
		plan, err := query.Explain(index, "base", "index", query.Request{
			Partition: partition("t"),
			Filter:    &query.Filter{Expression: expression, Names: map[string]string{"#p": "plan"}, Values: map[string]types.AttributeValue{":v": text("x")}},
		})
		if err != nil {
			if _, ok := errors.AsType[*query.RequestError](err); !ok {
				t.Fatalf("%v", err)
			}
			return
		}
		own, ok := strings.CutPrefix(plan.Filter, "attribute_not_exists(#h_d) AND ")
		if !ok || strings.Contains(own, "#h_") {
			t.Fatalf("%q", plan.Filter)
		}
		depth := 0
		for n, r := range own {
			switch r {
			case '(':
				depth++
			case ')':
				if depth--; depth < 0 {
					t.Fatalf("%q closes what it did not open", own)
				}
			}
			if depth == 0 && n+2 <= len(own) && strings.EqualFold(own[n:n+2], "or") && (n == 0 || !wordByte(own[n-1])) && (n+2 == len(own) || !wordByte(own[n+2])) {
				t.Fatalf("%q has an OR beside the live filter", own)
			}
		}
		if depth != 0 {
			t.Fatalf("%q leaves a parenthesis open", own)
		}
	})
}

func wordByte(c byte) bool {
	return c == '_' || c == '#' || c == ':' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
