package edge_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/pkg/edge"
)

type inner struct {
	Data json.RawMessage `json:"data"`
	Note string          `json:"note"`
}

type embedded struct {
	Partition *edge.Scalar `json:"partition"`
}

type body struct {
	embedded
	Under  edge.Scalars   `json:"under"`
	Name   *string        `json:"name"`
	Limit  *int           `json:"limit"`
	Flag   bool           `json:"flag"`
	Events []inner        `json:"events"`
	hidden map[string]int //nolint:unused // shows that a field without a tag is no field of the body
}

func post(t *testing.T, text string) *http.Request {
	t.Helper()
	return httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(text))
}

func TestDecodeBodyKeepsWhatWasSent(t *testing.T) {
	t.Parallel()
	got, err := edge.DecodeBody[body](post(t, ` {"partition":1e2,"under":["a",5],"name":"\ud83d\ude00 \\ud800 ü","limit":7,"flag":true,
		"events":[{"data":{"a":1,"a":[2,"\ud800"]}},{"note":"x","data":null}]} `))
	if err != nil {
		t.Fatal(err)
	}
	name, limit := `😀 \ud800 ü`, 7
	want := body{
		embedded: embedded{&edge.Scalar{Text: "1e2", IsNumber: true}},
		Under:    edge.Scalars{{Text: "a"}, {Text: "5", IsNumber: true}}, Name: &name, Limit: &limit, Flag: true,
		Events: []inner{{Data: json.RawMessage(`{"a":1,"a":[2,"\ud800"]}`)}, {Note: "x", Data: json.RawMessage("null")}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(body{})); diff != "" {
		t.Error(diff)
	}
	one, err := edge.DecodeBody[body](post(t, `{"under":"a"}`))
	if diff := cmp.Diff(edge.Scalars{{Text: "a"}}, one.Under); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestDecodeBodyRefusesByName(t *testing.T) {
	t.Parallel()
	for text, detail := range map[string]string{
		"":                                  "body: must be a JSON object",
		" \n":                               "body: must be a JSON object",
		"[]":                                "body: must be an object",
		"null":                              "body: must be an object",
		`"a"`:                               "body: must be an object",
		"{":                                 "body: is not one JSON object: error at byte 1",
		`{"name":"a"} x`:                    "body: is not one JSON object: error at byte 14",
		`{"name":"a"}{}`:                    "body: is not one JSON object",
		`{"name":"a",}`:                     "body: is not one JSON object",
		`{name:"a"}`:                        "body: is not one JSON object",
		"{\"name\":\"\xff\"}":               "body: must be UTF-8",
		`{"Name":"a"}`:                      `"Name": unknown field`,
		`{"hidden":{}}`:                     `"hidden": unknown field`,
		`{"embedded":{}}`:                   `"embedded": unknown field`,
		`{"name":"a","name":"a"}`:           "name: is given more than once",
		`{"n\u0061me":"a","name":"a"}`:      "name: is given more than once",
		`{"name":5}`:                        "name: must be a string",
		`{"name":null}`:                     "name: must be a string",
		`{"partition":{}}`:                  "partition: must be a string or a number",
		`{"partition":true}`:                "partition: must be a string or a number",
		`{"under":[["a"]]}`:                 "under[0]: must be a string or a number",
		`{"under":{}}`:                      "under: must be a string, a number or an array of them",
		`{"limit":"5"}`:                     "limit: must be a number",
		`{"limit":5.5}`:                     "limit: must be a whole number",
		`{"limit":1e999}`:                   "limit: must be a whole number",
		`{"limit":99999999999999999999}`:    "limit: must be a whole number",
		`{"flag":"true"}`:                   "flag: must be true or false",
		`{"events":{}}`:                     "events: must be an array",
		`{"events":[{"data":1},{"dat":1}]}`: `events[1]."dat": unknown field`,
		`{"events":[{"note":1}]}`:           "events[0].note: must be a string",
		`{"events":[5]}`:                    "events[0]: must be an object",
		`{"name":"\ud800"}`:                 "name: holds half of a surrogate pair",
		`{"name":"\udc00\ud800"}`:           "name: holds half of a surrogate pair",
		`{"name":"x\\\ud83dy"}`:             "name: holds half of a surrogate pair",
		`{"partition":"\ud800\ud800"}`:      "partition: holds half of a surrogate pair",
		`{"under":["a","\uDFFF"]}`:          "under[1]: holds half of a surrogate pair",
		strings.Repeat("[", 2_000_000):      "body: is nested too deep: at most 10,000 levels",
		strings.Repeat("[", 10_000):         "body: is not one JSON object: error at byte 10000",
		deepData(10_000):                    "body: is nested too deep: at most 10,000 levels",
		`{"name":"` + strings.Repeat("[", 20_000): "body: is not one JSON object: error at byte",
		`{"` + strings.Repeat("y", 999) + `":1}`:  `...": unknown field`,
	} {
		_, err := edge.DecodeBody[body](post(t, text))
		problem, ok := errors.AsType[*edge.Problem](err)
		if !ok || problem.Code != edge.InvalidParameter || !strings.Contains(problem.Detail, detail) {
			t.Errorf("%.60q: %v, want %q", text, err, detail)
		}
	}
}

// deepData is a body whose data is that many arrays in each other, after brackets in a text, which are none.
func deepData(levels int) string {
	return `{"name":"\"[[{","events":[{"data":` + strings.Repeat("[", levels) + strings.Repeat("]", levels) + `}]}`
}

func TestABodyMayBeAsDeepAsItsLimit(t *testing.T) {
	t.Parallel()
	if _, err := edge.DecodeBody[body](post(t, deepData(10_000-3))); err != nil {
		t.Error(err)
	}
	if _, err := edge.DecodeBody[body](post(t, deepData(10_000-2))); err == nil || !strings.Contains(err.Error(), "nested too deep") {
		t.Error(err)
	}
}

func TestABodyPastTheLimitIsTooLargeAndTheLimitItselfIsNot(t *testing.T) {
	t.Parallel()
	frame := `{"name":""}`
	fits := `{"name":"` + strings.Repeat("a", edge.MaxBodyBytes-len(frame)) + `"}`
	if got, err := edge.DecodeBody[body](post(t, fits)); err != nil || len(*got.Name) != edge.MaxBodyBytes-len(frame) {
		t.Errorf("a body of the limit: %v", err)
	}
	_, err := edge.DecodeBody[body](post(t, fits+" "))
	if problem, ok := errors.AsType[*edge.Problem](err); !ok || problem.Code != edge.TooLarge || problem.Code.Status() != 413 || !strings.Contains(problem.Detail, "2,500,000") {
		t.Errorf("a byte more: %v", err)
	}
}

func FuzzDecodeBody(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"name":"a","limit":5}`, `{"under":["a",1]}`, `{"events":[{"data":{"a":1}}]}`, `{"name":"\ud83d\ude00"}`, `{"name":"\ud800"}`, `{"a":`, `[`, "\xff", `{"partition":1E5,"partition":2}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := edge.DecodeBody[body](post(t, text))
		if err != nil {
			if _, ok := errors.AsType[*edge.Problem](err); !ok {
				t.Fatalf("%q: not a problem: %v", text, err)
			}
			return
		}
		var loose map[string]any // the standard decoder, which keeps a name's last value
		if err := json.Unmarshal([]byte(text), &loose); err != nil {
			t.Fatalf("%q: accepted, encoding/json: %v", text, err)
		}
		for name := range loose {
			switch name {
			case "partition", "under", "name", "limit", "flag", "events":
			default:
				t.Fatalf("%q: accepted with field %q", text, name)
			}
		}
		if name, ok := loose["name"].(string); ok && (got.Name == nil || *got.Name != name) {
			t.Fatalf("%q: name %v, want %q", text, got.Name, name)
		}
	})
}
