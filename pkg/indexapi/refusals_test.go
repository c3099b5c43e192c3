package indexapi_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

func TestBadInputIsRefusedByNameWithoutARead(t *testing.T) {
	t.Parallel()
	f := newFixture(t, schema.GSI)
	long := strings.Repeat("x", 2049)
	for _, test := range []struct{ path, query, code, detail string }{
		{managed + "items", "", "invalid_parameter", "partition: is missing"},
		{managed + "items", "partition=", "invalid_parameter", "partition: must be 1 to 2048 bytes"},
		{managed + "items", "partition=" + long, "invalid_parameter", "partition: must be 1 to 2048 bytes"},
		{managed + "items", "partition=p&partition=p", "invalid_parameter", "partition: is given more than once"},
		{managed + "items", "partition=p&eq=1&eq=2&eq=3", "invalid_parameter", "eq: is given more than once"},
		{managed + "items", "partition=p&unknown=1", "invalid_parameter", `"unknown": unknown parameter`},
		{managed + "items", "partition=p&LIMIT=1", "invalid_parameter", `"LIMIT": unknown parameter`},
		{managed + "items", "partition=%ff", "invalid_parameter", "partition: must be UTF-8"},
		{managed + "items", "partition=%zz", "invalid_parameter", "partition: does not parse"},
		{managed + "items", "partition=p;limit=1", "invalid_parameter", "query string: does not parse"},
		{managed + "items", "partition=p&limit=0", "invalid_parameter", "limit: must be a whole number from 1 to 1000"},
		{managed + "items", "partition=p&limit=1001", "invalid_parameter", "limit: must be a whole number from 1 to 1000"},
		{managed + "items", "partition=p&limit=-1", "invalid_parameter", "limit: "},
		{managed + "items", "partition=p&limit=", "invalid_parameter", "limit: "},
		{managed + "items", "partition=p&limit=5.0", "invalid_parameter", "limit: "},
		{managed + "items", "partition=p&limit=05", "invalid_parameter", "limit: "},
		{managed + "items", "partition=p&limit=99999999999999999999", "invalid_parameter", "limit: "},
		{managed + "items", "partition=p&order=up", "invalid_parameter", "order: must be asc or desc"},
		{managed + "items", "partition=p&consistent=1", "invalid_parameter", "consistent: must be true or false"},
		{managed + "items", "partition=p&consistent=true", "invalid_parameter", "consistent: "},
		{managed + "items", "partition=p&eq=abc", "invalid_parameter", "eq: must be a DynamoDB number"},
		{managed + "items", "partition=p&eq=", "invalid_parameter", "eq: must be a DynamoDB number"},
		{managed + "items", "partition=p&gte=0x10", "invalid_parameter", "gte: must be a DynamoDB number"},
		{managed + "items", "partition=p&gt=NaN", "invalid_parameter", "gt: must be a DynamoDB number"},
		{managed + "items", "partition=p&lt=1E999", "invalid_parameter", "lt: must be a DynamoDB number"},
		{managed + "items", "partition=p&lte=" + strings.Repeat("7", 39), "invalid_parameter", "lte: must be a DynamoDB number: it has more than 38"},
		{managed + "items", "partition=p&prefix=1", "invalid_parameter", "prefix: only a text has one"},
		{managed + "items", "partition=p&eq=1&lt=2", "invalid_parameter", "eq: contradicts"},
		{managed + "items", "partition=p&gt=1&gte=2", "invalid_parameter", "gt: contradicts"},
		{managed + "items", "partition=p&lt=1&lte=2", "invalid_parameter", "lt: contradicts"},
		{managed + "items", "partition=p&prefix=1&eq=1", "invalid_parameter", "prefix: contradicts"},
		{managed + "items", "partition=p&under=1&eq=1", "invalid_parameter", "eq: the index's sort key has no part left"},
		{managed + "items", "partition=p&under=x", "invalid_parameter", "under: must be a DynamoDB number"},
		{managed + "exists", "partition=p&limit=1", "invalid_parameter", `"limit": unknown parameter`},
		{managed + "count", "partition=p&order=asc", "invalid_parameter", `"order": unknown parameter`},
		{managed + "count", "", "invalid_parameter", "partition: is missing"},
		{"/v1/indexes/unsorted/items", "partition=p&eq=1", "invalid_parameter", "eq: the index's sort key has no part left"},
		{"/v1/indexes/unsorted/items", "partition=p&under=1", "invalid_parameter", "under: the index's sort key has 0 parts"},
		{"/v1/indexes/by-number/items", "partition=p", "invalid_parameter", "partition: must be a DynamoDB number"},
		{"/v1/indexes/by-binary/items", "partition=%21", "invalid_parameter", "partition: must be standard base64"},
		{"/v1/indexes/by-binary/items", "partition=", "invalid_parameter", "partition: must be 1 to 2048 bytes"},
		{"/v1/indexes/by-status/items", "partition=p&prefix=a&gt=b", "invalid_parameter", "prefix: contradicts"},
		{managed + "items", "partition=p&cursor=", "invalid_cursor", "cursor: "},
		{managed + "items", "partition=p&cursor=abc", "invalid_cursor", "cursor: "},
		{"/v1/indexes/nobody/items", "partition=p", "unknown_index", "index: "},
		{"/v1/indexes/nobody/items", "partition=%zz", "unknown_index", "index: "},
		{"/v1/indexes/Managed/count", "partition=p", "unknown_index", "index: "},
		{"/v1/indexes/managed", "partition=p", "unknown_route", ""},
		{"/v1/indexes//items", "partition=p", "unknown_route", ""},
		{"/v1/indexes/managed/items/", "partition=p", "unknown_route", ""},
		{"/", "", "unknown_route", ""},
	} {
		check(t, f, f.get(test.path, test.query).Result(), test.path+"?"+test.query, test.code, test.detail)
	}
	if calls := f.faults.Count(""); calls != 0 {
		t.Errorf("%d requests went to DynamoDB", calls)
	}
}

func TestABadBodyIsRefusedByNameWithoutARead(t *testing.T) {
	t.Parallel()
	f := newFixture(t, schema.GSI)
	for _, test := range []struct{ path, body, code, detail string }{
		{managed + "items", ``, "invalid_parameter", "body: must be a JSON object"},
		{managed + "items", `[]`, "invalid_parameter", "body: must be an object"},
		{managed + "items", `{"partition":"p"`, "invalid_parameter", "body: is not one JSON object"},
		{managed + "items", `{}`, "invalid_parameter", "partition: is missing"},
		{managed + "items", `{"partition":5}`, "invalid_parameter", "partition: must be a string"},
		{managed + "items", `{"partition":"p","extra":1}`, "invalid_parameter", `"extra": unknown field`},
		{managed + "items", `{"partition":"p","Limit":1}`, "invalid_parameter", `"Limit": unknown field`},
		{managed + "items", `{"partition":"p","limit":1,"limit":1}`, "invalid_parameter", "limit: is given more than once"},
		{managed + "items", `{"partition":"p","limit":"1"}`, "invalid_parameter", "limit: must be a number from 1 to 1000"},
		{managed + "items", `{"partition":"p","limit":1e30}`, "invalid_parameter", "limit: must be a whole number from 1 to 1000"},
		{managed + "items", `{"partition":"p","limit":99999999999999999999}`, "invalid_parameter", "limit: must be a whole number from 1 to 1000"},
		{managed + "items", `{"partition":"p","limit":null}`, "invalid_parameter", "limit: must be a number from 1 to 1000"},
		{managed + "items", `{"partition":"p","limit":1001}`, "invalid_parameter", "limit: must be a whole number from 1 to 1000"},
		{managed + "items", `{"partition":"p","limit":1.5}`, "invalid_parameter", "limit: must be a whole number from 1 to 1000"},
		{managed + "items", `{"partition":"p","limit":0}`, "invalid_parameter", "limit: must be a whole number from 1 to 1000"},
		{managed + "items", `{"partition":"p","consistent":"true"}`, "invalid_parameter", "consistent: must be true or false"},
		{managed + "items", `{"partition":"p","consistent":true}`, "invalid_parameter", "consistent: "},
		{managed + "items", `{"partition":"p","eq":true}`, "invalid_parameter", "eq: must be a string or a number"},
		{managed + "items", `{"partition":"p","eq":null}`, "invalid_parameter", "eq: must be a string or a number"},
		{managed + "items", `{"partition":"p","eq":1e999}`, "invalid_parameter", "eq: must be a DynamoDB number"},
		{managed + "items", `{"partition":"p","gt":1,"gte":1}`, "invalid_parameter", "gt: contradicts"},
		{managed + "items", `{"partition":"\ud800"}`, "invalid_parameter", "partition: holds half of a surrogate pair"},
		{managed + "items", `{"partition":"p","under":[1,2]}`, "invalid_parameter", "under: the index's sort key has 1 parts"},
		{managed + "items", `{"partition":"p","cursor":"x"}`, "invalid_cursor", "cursor: "},
		{managed + "count", `{"partition":"p","limit":1}`, "invalid_parameter", `"limit": unknown field`},
		{"/v1/indexes/by-status/items", `{"partition":"p","eq":5}`, "invalid_parameter", "eq: must be a string"},
		{"/v1/indexes/by-status/items", `{"partition":"p","prefix":5}`, "invalid_parameter", "prefix: must be a string"},
		{"/v1/indexes/nobody/items", `[`, "unknown_index", "index: "},
		{managed + "items", `{"partition":"` + strings.Repeat("p", 2_500_000) + `"}`, "too_large", "body: at most 2,500,000 bytes"},
		{managed + "items?limit=1", `{"partition":"p"}`, "invalid_parameter", `"limit": unknown parameter`},
	} {
		check(t, f, f.post(test.path, test.body).Result(), test.body, test.code, test.detail)
	}
	if calls := f.faults.Count(""); calls != 0 {
		t.Errorf("%d requests went to DynamoDB", calls)
	}
}

// check compares a refusal with the contract: status by code, problem+json, the parameter first in the detail.
func check(t *testing.T, f *fixture, response *http.Response, call, code, detail string) {
	t.Helper()
	statuses := map[string]int{
		"invalid_parameter": 400, "invalid_cursor": 400, "unknown_index": 404, "unknown_route": 404, "too_large": 413, "throttled": 429, "try_again": 503, "internal": 500,
	}
	defer func() { _ = response.Body.Close() }()
	var problem struct {
		Code, Detail, Title, Type string
		Status                    int
	}
	if err := json.NewDecoder(response.Body).Decode(&problem); err != nil {
		t.Errorf("%.80s: %v", call, err)
		return
	}
	if problem.Code != code || !strings.HasPrefix(problem.Detail, detail) || response.StatusCode != statuses[code] || problem.Status != statuses[code] ||
		response.Header.Get("Content-Type") != "application/problem+json" || problem.Type == "" || problem.Title == "" {
		t.Errorf("%.80s: HTTP %d, %+v; want %s %q", call, response.StatusCode, problem, code, detail)
	}
}

func TestAWrongMethodSaysWhichOnesThereAre(t *testing.T) {
	t.Parallel()
	f := newFixture(t, schema.Table)
	request, _ := http.NewRequestWithContext(context.Background(), http.MethodDelete, managed+"items", nil)
	response := f.serve(request)
	if got := decode(t, response); response.Code != 405 || got.Code != "method_not_allowed" || !strings.Contains(response.Header().Get("Allow"), "POST") {
		t.Errorf("status %d, allow %q, %+v", response.Code, response.Header().Get("Allow"), got)
	}
}

func TestEveryCursorThatIsNotOursForThisQuestionGetsTheSameAnswer(t *testing.T) {
	t.Parallel()
	f := newFixture(t, schema.Table)
	f.users(3)
	valid := decode(t, f.get(managed+"items", "partition=p&limit=1")).Cursor
	if valid == "" {
		t.Fatal("no cursor")
	}
	if response := f.get(managed+"items", "partition=p&limit=2&cursor="+valid); response.Code != 200 {
		t.Fatalf("the cursor itself: %s", response.Body)
	}
	last := map[byte]string{'A': "B"}[valid[len(valid)-1]]
	if last == "" {
		last = "A"
	}
	var first string
	for name, response := range map[string]string{
		"garbage":           "partition=p&cursor=x",
		"long garbage":      "partition=p&cursor=" + strings.Repeat("A", 8000),
		"not base64":        "partition=p&cursor=%2B%2F%3D",
		"cut":               "partition=p&cursor=" + valid[:len(valid)-2],
		"changed":           "partition=p&cursor=" + valid[:len(valid)-1] + last,
		"other key id":      "partition=p&cursor=AQ" + strings.Repeat("A", len(valid)-2),
		"another partition": "partition=q&cursor=" + valid,
		"another condition": "partition=p&gt=1&cursor=" + valid,
		"another order":     "partition=p&order=desc&cursor=" + valid,
	} {
		got := f.get(managed+"items", response)
		if got.Code != 400 || decode(t, got).Code != "invalid_cursor" {
			t.Errorf("%s: %d %s", name, got.Code, got.Body)
		}
		if first == "" {
			first = got.Body.String()
		}
		if got.Body.String() != first {
			t.Errorf("%s: answer %s differs from %s", name, got.Body, first)
		}
	}
	if got := f.get("/v1/indexes/unsorted/items", "partition=p&cursor="+valid); decode(t, got).Code != "invalid_cursor" {
		t.Errorf("another index: %s", got.Body)
	}
}

func TestWhatStopsDynamoDBBecomesItsCodeAndNoTextOfItLeaves(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault ddbtest.Fault
		code  string
		retry bool
	}{
		"throttled":      {ddbtest.Throttle(ddbtest.CodeThrottling), "throttled", true},
		"quota":          {ddbtest.Throttle(ddbtest.CodeProvisioned), "throttled", true},
		"server error":   {ddbtest.ServerError(), "try_again", true},
		"answer lost":    {ddbtest.LostAnswer(), "try_again", true},
		"denied":         {ddbtest.Refuse("AccessDeniedException", "secret role"), "internal", false},
		"table is gone":  {ddbtest.Refuse("ResourceNotFoundException", "secret table"), "internal", false},
		"refused by AWS": {ddbtest.Refuse("ValidationException", "secret key"), "internal", false},
	} {
		f := newFixture(t, schema.Table)
		f.faults.Add(ddbtest.Rule{Operation: "Query", Do: test.fault})
		for _, operation := range []string{"items", "exists", "count"} {
			response := f.get(managed+operation, "partition=p")
			if strings.Contains(response.Body.String(), "secret") || strings.Contains(response.Body.String(), "Exception") {
				t.Errorf("%s: internal text in %s", name, response.Body)
			}
			if got := response.Header().Get("Retry-After"); test.retry != (got == "1") {
				t.Errorf("%s: Retry-After %q", name, got)
			}
			check(t, f, response.Result(), name, test.code, "")
		}
		if !strings.Contains(f.log.String(), `"category":"`+test.code+`"`) {
			t.Errorf("%s: log %s", name, f.log)
		}
	}
}
