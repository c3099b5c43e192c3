package edge_test

import (
	"errors"
	"maps"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/pkg/edge"
)

var queryNames = []string{"partition", "eq", "limit"}

func TestParseQueryTakesEachKnownNameOnce(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]edge.Parameters{
		"":                             {},
		"partition=a":                  {"partition": "a"},
		"partition=a&limit=5":          {"partition": "a", "limit": "5"},
		"partition=a%23%24%00&&eq=":    {"partition": "a#$\x00", "eq": ""},
		"partition=a+b%2B":             {"partition": "a b+"},
		"eq":                           {"eq": ""},
		"eq=a=b":                       {"eq": "a=b"},
		"p%61rtition=%F0%9F%98%80":     {"partition": "😀"},
		"eq=" + strings.Repeat("a", 9): {"eq": "aaaaaaaaa"},
	} {
		got, err := edge.ParseQuery(raw, queryNames...)
		if err != nil {
			t.Errorf("%q: %v", raw, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", raw, diff)
		}
	}
}

func TestParseQueryRefusesByName(t *testing.T) {
	t.Parallel()
	for raw, detail := range map[string]string{
		"limt=5":                           `"limt": unknown parameter`,
		"=5":                               `"": unknown parameter`,
		"Partition=a":                      `"Partition": unknown parameter`,
		"partition=a&partition=a":          "partition: is given more than once",
		"eq=1&limit=2&eq=1":                "eq: is given more than once",
		"eq=%zz":                           "eq: does not parse",
		"eq=%":                             "eq: does not parse",
		"eq=%ff":                           "eq: must be UTF-8",
		"%zz=1":                            "query string: does not parse",
		"%ff=1":                            "query string: does not parse",
		"partition=a;limit=5":              "query string: does not parse",
		strings.Repeat("x", 9000) + "=1":   `"` + strings.Repeat("x", 64) + `...": unknown parameter`,
		"%0a%22=1":                         `"\n\"": unknown parameter`,
		strings.Repeat("%C3%BC", 99) + "=": `...": unknown parameter`,
	} {
		_, err := edge.ParseQuery(raw, queryNames...)
		problem, ok := errors.AsType[*edge.Problem](err)
		if !ok || problem.Code != edge.InvalidParameter || !strings.Contains(problem.Detail, detail) || len(problem.Detail) > 500 {
			t.Errorf("%.60q: %v, want %q", raw, err, detail)
		}
	}
}

func FuzzParseQuery(f *testing.F) {
	for _, seed := range []string{"", "partition=a&eq=b", "partition=%ff", "a;b", "eq=%zz", "eq=1&eq=2", "&&=&", "partition=a+b", "limit"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		got, err := edge.ParseQuery(raw, queryNames...)
		standard, standardErr := url.ParseQuery(raw)
		if err != nil {
			if _, ok := errors.AsType[*edge.Problem](err); !ok {
				t.Fatalf("%q: not a problem: %v", raw, err)
			}
			return
		}
		if standardErr != nil {
			t.Fatalf("%q: accepted, net/url: %v", raw, standardErr)
		}
		want := edge.Parameters{}
		for name := range maps.Keys(standard) {
			if len(standard[name]) != 1 {
				t.Fatalf("%q: accepted with %q repeated", raw, name)
			}
			want[name] = standard.Get(name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%q: %s", raw, diff)
		}
	})
}
