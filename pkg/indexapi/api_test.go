package indexapi_test

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

const managed = "/v1/indexes/managed/"

func ids(from, to int) []string {
	list := []string{}
	for n := from; n < to; n++ {
		list = append(list, fmt.Sprintf("u%03d", n))
	}
	return list
}

// bothForms runs a test with readers on the GSI and on the index table.
func bothForms(t *testing.T, test func(*testing.T, *fixture)) {
	t.Helper()
	for _, form := range []schema.Form{schema.GSI, schema.Table} {
		t.Run(form.String(), func(t *testing.T) {
			t.Parallel()
			test(t, newFixture(t, form))
		})
	}
}

func TestPagesWalkToTheEndAndOnlyTheEndHasNoCursor(t *testing.T) {
	t.Parallel()
	bothForms(t, func(t *testing.T, f *fixture) {
		f.users(23)
		for _, order := range []string{"asc", "desc"} {
			var got []string
			var sizes []int
			parameters := []string{"partition", "p", "limit", "10", "order", order}
			for next := parameters; ; {
				page := f.get(managed+"items", queryString(next...))
				if page.Code != 200 || page.Header().Get("Content-Type") != "application/json" {
					t.Fatalf("status %d: %s", page.Code, page.Body)
				}
				answer := decode(t, page)
				got, sizes = append(got, answer.ids()...), append(sizes, len(answer.Items))
				if answer.Cursor == "" {
					break
				}
				next = append(slices.Clone(parameters), "cursor", answer.Cursor)
			}
			want := ids(0, 23)
			if order == "desc" {
				slices.Reverse(want)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s", order, diff)
			}
			if diff := cmp.Diff([]int{10, 10, 3}, sizes); diff != "" {
				t.Errorf("%s: %s", order, diff)
			}
		}
	})
}

func TestConditionsAreIntervals(t *testing.T) {
	t.Parallel()
	bothForms(t, func(t *testing.T, f *fixture) {
		f.users(10) // at 1000 to 1009
		for _, test := range []struct {
			conditions []string
			want       []string
		}{
			{nil, ids(0, 10)},
			{[]string{"eq", "1004"}, ids(4, 5)},
			{[]string{"eq", "1004.0"}, ids(4, 5)},
			{[]string{"eq", "1.004E3"}, ids(4, 5)},
			{[]string{"eq", "1004.5"}, ids(0, 0)},
			{[]string{"eq", "-1"}, ids(0, 0)},
			{[]string{"lt", "1004"}, ids(0, 4)},
			{[]string{"lte", "1004"}, ids(0, 5)},
			{[]string{"gt", "1004"}, ids(5, 10)},
			{[]string{"gte", "1004"}, ids(4, 10)},
			{[]string{"gte", "1003.5"}, ids(4, 10)},
			{[]string{"lt", "1003.5"}, ids(0, 4)},
			{[]string{"gt", "1002", "lt", "1005"}, ids(3, 5)},
			{[]string{"gte", "1002", "lte", "1005"}, ids(2, 6)},
			{[]string{"gte", "1005", "lte", "1002"}, ids(0, 0)},
			{[]string{"gt", "1005", "lt", "1005"}, ids(0, 0)},
			{[]string{"gte", "-5", "lte", "99999999999999999999"}, ids(0, 10)},
			{[]string{"gt", "9999999999999"}, ids(0, 0)},
		} {
			parameters := append([]string{"partition", "p"}, test.conditions...)
			name := strings.Join(test.conditions, " ")
			if diff := cmp.Diff(test.want, decode(t, f.get(managed+"items", queryString(parameters...))).ids()); diff != "" {
				t.Errorf("items %s: %s", name, diff)
			}
			exists := decode(t, f.get(managed+"exists", queryString(parameters...)))
			if exists.Exists == nil || *exists.Exists != (len(test.want) > 0) || exists.Cursor != "" {
				t.Errorf("exists %s: %+v", name, exists)
			}
			count := decode(t, f.get(managed+"count", queryString(parameters...)))
			if count.Count == nil || *count.Count != len(test.want) || count.Cursor != "" {
				t.Errorf("count %s: %+v", name, count)
			}
		}
	})
}

func TestABodyMeansWhatTheSameQueryDoes(t *testing.T) {
	t.Parallel()
	f := newFixture(t, schema.Table)
	f.users(10)
	for body, want := range map[string]string{
		`{"partition":"p"}`:                                        queryString("partition", "p"),
		`{"partition":"p","gte":"1003","lt":"1006"}`:               queryString("partition", "p", "gte", "1003", "lt", "1006"),
		`{"partition":"p","gte":1003,"lt":1006.0}`:                 queryString("partition", "p", "gte", "1003", "lt", "1006"),
		`{"partition":"p","order":"desc","consistent":true}`:       queryString("partition", "p", "order", "desc", "consistent", "true"),
		`{"partition":"p","order":"asc","consistent":false}`:       queryString("partition", "p", "order", "asc", "consistent", "false"),
		`{"partition":"p","limit":1000,"eq":1.004e3}`:              queryString("partition", "p", "limit", "1000", "eq", "1004"),
		`{"partition":"` + strings.Repeat("ü", 1024) + `"}`:        queryString("partition", strings.Repeat("ü", 1024)),
		`{"partition":"p","gt":"9"}`:                               queryString("partition", "p", "gt", "9"),
		"\n{\"partition\":\"p\",\"lte\":" + `"1.0E3"` + "}\n":      queryString("partition", "p", "lte", "1000"),
		`{"partition":"\u0070"}`:                                   queryString("partition", "p"),
		`{"partition":"p","eq":"` + strings.Repeat("0", 99) + `"}`: queryString("partition", "p", "eq", "0"),
	} {
		got, want := f.post(managed+"items", body), f.get(managed+"items", want)
		if got.Code != 200 || got.Body.String() != want.Body.String() {
			t.Errorf("%.80s: %d %s, by GET %d %s", body, got.Code, got.Body, want.Code, want.Body)
		}
	}
	for _, operation := range []string{"exists", "count"} {
		got, want := f.post(managed+operation, `{"partition":"p","gt":1005}`), f.get(managed+operation, queryString("partition", "p", "gt", "1005"))
		if got.Code != 200 || got.Body.String() != want.Body.String() {
			t.Errorf("%s: %d %s, by GET %s", operation, got.Code, got.Body, want.Body)
		}
	}
}

func TestUnderPinsLeadingParts(t *testing.T) {
	t.Parallel()
	f := newFixture(t, schema.Table)
	for n, key := range [][2]string{{"active", "2026-01"}, {"active", "2026-02"}, {"active", "2026-03"}, {"activex", "2026-02"}, {"left", "2026-02"}} {
		f.put(ddb.Item{"userId": s(fmt.Sprintf("u%03d", n)), "ID": s("p"), "status": s(key[0]), "since": s(key[1])})
	}
	path := "/v1/indexes/by-status/items"
	for parameters, want := range map[string][]string{
		"under=active":                     ids(0, 3),
		"under=active&gte=2026-02":         ids(1, 3),
		"under=active&prefix=2026-0":       ids(0, 3),
		"under=active&eq=2026-03":          ids(2, 3),
		"under=gone":                       ids(0, 0),
		"under=":                           ids(0, 0),
		"prefix=active":                    ids(0, 4),
		"prefix=":                          ids(0, 5),
		"eq=active":                        ids(0, 3),
		"gt=active":                        ids(3, 5),
		"eq=":                              ids(0, 0),
		"gte=":                             ids(0, 5),
		"lt=":                              ids(0, 0),
		"gte=" + strings.Repeat("a", 5000): ids(0, 5),
		"eq=" + strings.Repeat("a", 5000):  ids(0, 0),
	} {
		response := f.get(path, "partition=p&"+parameters)
		if diff := cmp.Diff(want, decode(t, response).ids()); diff != "" {
			t.Errorf("%.60s: %d %s", parameters, response.Code, diff)
		}
	}
	for body, want := range map[string][]string{
		`{"partition":"p","under":"active","gt":"2026-01"}`: ids(1, 3),
		`{"partition":"p","under":["active"]}`:              ids(0, 3),
		`{"partition":"p","under":["active","2026-02"]}`:    ids(1, 2),
		`{"partition":"p","under":[]}`:                      ids(0, 5),
	} {
		response := f.post(path, body)
		if diff := cmp.Diff(want, decode(t, response).ids()); diff != "" {
			t.Errorf("%s: %d %s", body, response.Code, diff)
		}
	}
}

func TestPartitionsOfEachType(t *testing.T) {
	t.Parallel()
	f := newFixture(t, schema.Table)
	raw := []byte{0, 0xff, 7}
	binary := func(b []byte) types.AttributeValue { return &types.AttributeValueMemberB{Value: b} }
	f.put(ddb.Item{"userId": s("u000"), "number": num("12.5"), "number2": num("-3"), "binary": binary(raw), "binary2": binary([]byte{9})})
	text := base64.StdEncoding.EncodeToString(raw)
	for _, call := range [][2]string{
		{"by-number", queryString("partition", "12.5")},
		{"by-number", queryString("partition", "1.25E1", "lte", "-3.0")},
		{"by-binary", queryString("partition", text)},
		{"by-binary", queryString("partition", text, "eq", base64.StdEncoding.EncodeToString([]byte{9}))},
	} {
		response := f.get("/v1/indexes/"+call[0]+"/items", call[1])
		if diff := cmp.Diff(ids(0, 1), decode(t, response).ids()); diff != "" {
			t.Errorf("%s %s: %s %s", call[0], call[1], response.Body, diff)
		}
	}
	if got := decode(t, f.post("/v1/indexes/by-number/items", `{"partition":12.50,"gte":-3}`)).ids(); !slices.Equal(got, ids(0, 1)) {
		t.Errorf("a number in a body: %v", got)
	}
}

func TestItemsArePlainJSONWithoutReservedAndPrivateAttributes(t *testing.T) {
	t.Parallel()
	bothForms(t, func(t *testing.T, f *fixture) {
		item := ddb.Item{
			"userId": s("u000"), "ID": s("p"), "at": num("1000"), "_secret": s("hidden"), "_v": s("own"), "_ttl": num("1"), "_deleted": s("own"), "SK": s("own"),
			"digits": num("12345678901234567890123456789012345678"), "bytes": &types.AttributeValueMemberB{Value: []byte{1, 2, 3}},
			"tags": &types.AttributeValueMemberSS{Value: []string{"a"}}, "none": &types.AttributeValueMemberNULL{Value: true},
			"nested": &types.AttributeValueMemberM{Value: ddb.Item{"l": &types.AttributeValueMemberL{Value: []types.AttributeValue{num("1"), s("<&>")}}}},
		}
		f.put(item)
		want := `{"items":[{"ID":"p","at":1000,"bytes":"AQID","digits":12345678901234567890123456789012345678,"nested":{"l":[1,"<&>"]},"none":null,"tags":["a"],"userId":"u000"}]}`
		got := f.get(managed+"items", "partition=p").Body.String()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestAnEmptyPageHasAnEmptyArray(t *testing.T) {
	t.Parallel()
	bothForms(t, func(t *testing.T, f *fixture) {
		if got := f.get(managed+"items", "partition=nobody").Body.String(); got != `{"items":[]}` {
			t.Errorf("body %s", got)
		}
	})
}
