package eventapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/pkg/buffer"
	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
	"github.com/heatsink-dev/heatsink/pkg/edge"
	"github.com/heatsink-dev/heatsink/pkg/eventapi"
)

func TestAnEventsLife(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	data := `{"n":1.50,"big":123456789012345678901234567890,"text":"<ü & \u2028>"}`
	id := f.create(data)[0]
	got := f.do("GET", "/v1/events/"+id, "")
	want := item{ID: id, BatchID: got.item.BatchID, Date: today, Time: 1796040000000, Data: json.RawMessage(data)}
	if diff := cmp.Diff(want, got.item); diff != "" || got.status != http.StatusOK {
		t.Error(diff, got.status)
	}
	f.clock.Advance(time.Minute)
	retried := f.do("POST", "/v1/events/"+id+"/retry", `{"error":"no answer"}`)
	if retried.status != http.StatusCreated || retried.item.ID == "" || retried.item.ID == id {
		t.Fatalf("%+v", retried)
	}
	next := retried.item.ID
	if old := f.do("GET", "/v1/events/"+id, ""); old.item.DoneAt != "2026-11-30T12:01:00.000Z" || old.item.Successor != next {
		t.Errorf("%+v", old)
	}
	if fresh := f.do("GET", "/v1/events/"+next, ""); fresh.item.Retry != 1 || fresh.item.LastError != "no answer" || fresh.item.Time != 1796040060000 || fresh.item.BatchID != got.item.BatchID {
		t.Errorf("%+v", fresh)
	}
	for _, call := range []string{"complete", "retry"} {
		again := f.do("POST", "/v1/events/"+id+"/"+call, map[string]string{"complete": "", "retry": "{}"}[call])
		if again.status != http.StatusConflict || again.Code != "event_retried" || again.item.Successor != next {
			t.Errorf("%s: %+v", call, again)
		}
	}
	for _, body := range []string{"", "{}"} {
		if done := f.do("POST", "/v1/events/"+next+"/complete", body); done.status != http.StatusNoContent {
			t.Errorf("%+v", done)
		}
	}
	if refused := f.do("POST", "/v1/events/"+next+"/retry", `{"error":""}`); refused.status != http.StatusConflict || refused.Code != "event_done" {
		t.Errorf("%+v", refused)
	}
	if f.rows() != 2 {
		t.Errorf("%d rows", f.rows())
	}
}

func TestListsAndStats(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ids := f.create("0", "1", "2", "3", "4")
	next := f.do("POST", "/v1/events/"+ids[1]+"/retry", `{"error":"x"}`).item.ID
	f.do("POST", "/v1/events/"+ids[2]+"/complete", "")
	list := func(query string) (got []string) {
		t.Helper()
		cursor := ""
		for {
			page := f.do("GET", "/v1/events?date="+today+query+cursor, "")
			if page.status != http.StatusOK {
				t.Fatalf("%+v", page)
			}
			for _, item := range page.Items {
				got = append(got, string(item.Data))
			}
			if page.Cursor == "" {
				return got
			}
			cursor = "&cursor=" + page.Cursor
		}
	}
	sorted := func(query string) string { // equal times: the retry's random part may sort it before the others
		got := list(query)
		return fmt.Sprint(len(got), strings.Count(strings.Join(got, ""), "1"))
	}
	if got := list("&state=failed"); len(got) != 1 || got[0] != "1" {
		t.Errorf("failed: %v", got)
	}
	if got := sorted("&state=pending&limit=2"); got != "4 1" {
		t.Errorf("pending: %s", got)
	}
	if got := sorted("&state=all&limit=3&order=desc"); got != "6 2" {
		t.Errorf("all: %s", got)
	}
	for query, want := range map[string]int{
		"&state=all&from=1796040000000": 6, "&state=all&from=1796040000001": 0, "&state=all&to=1796040000000": 6, "&state=all&to=1796039999999": 0,
		"&state=all&from=1796040000000&to=1796040000000": 6, "&state=all&from=2&to=1": 0,
	} {
		if got := list(query); len(got) != want {
			t.Errorf("%s: %d events, want %d", query, len(got), want)
		}
	}
	if got := f.do("GET", "/v1/events/stats?date="+today, ""); got.status != 200 || *got.Pending != 4 || *got.Failed != 1 {
		t.Errorf("%+v", got)
	}
	if got := f.do("GET", "/v1/events?date=2026-11-29&state=all", ""); got.status != 200 || got.Items == nil || len(got.Items) != 0 {
		t.Errorf("%+v", got)
	}
	_ = next
}

func TestBadInputHasTheCodesOfTheContract(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	some := today + ".7.1796040000000-0123456789abcdef-0000042"
	large := `"` + strings.Repeat("x", buffer.MaxDataBytes) + `"`
	tests := []struct {
		method, target, body string
		status               int
		code, detail         string
	}{
		{"POST", "/v1/events", ``, 400, "invalid_parameter", "body"},
		{"POST", "/v1/events", `{}`, 400, "invalid_parameter", "events: must hold at least one event"},
		{"POST", "/v1/events", `{"events":[]}`, 400, "invalid_parameter", "events: must hold at least one event"},
		{"POST", "/v1/events", `{"events":{}}`, 400, "invalid_parameter", "events"},
		{"POST", "/v1/events", `{"events":[{"data":1},{}]}`, 400, "invalid_parameter", "events[1].data: is missing"},
		{"POST", "/v1/events", `{"events":[{"data":1},{"dat":1}]}`, 400, "invalid_parameter", "dat"},
		{"POST", "/v1/events", `{"events":[{"data":1}],"more":1}`, 400, "invalid_parameter", "more"},
		{"POST", "/v1/events", `{"events":[{"data":1}]} {}`, 400, "invalid_parameter", "body"},
		{"POST", "/v1/events?x=1", `{"events":[{"data":1}]}`, 400, "invalid_parameter", `"x"`},
		{"POST", "/v1/events", body("1", large), 413, "too_large", "events[1].data: at most 400000 bytes, has 400002"},
		{"POST", "/v1/events", `{"events":[{"data":"` + strings.Repeat("x", edge.MaxBodyBytes) + `"}]}`, 413, "too_large", "2,500,000"},
		{"POST", "/v1/events", body(strings.Split(strings.Repeat("1", eventapi.MaxEvents+1), "")...), 413, "too_large", "at most 60000"},
		{"GET", "/v1/events?state=all", "", 400, "invalid_parameter", "date: is missing"},
		{"GET", "/v1/events?date=" + today, "", 400, "invalid_parameter", "state: is missing"},
		{"GET", "/v1/events?date=2026-02-30&state=all", "", 400, "invalid_parameter", "date: must be a day"},
		{"GET", "/v1/events?date=1969-12-31&state=all", "", 400, "invalid_parameter", "date: must be a day"},
		{"GET", "/v1/events?date=" + today + "&state=done", "", 400, "invalid_parameter", "state: must be pending, failed or all"},
		{"GET", "/v1/events?date=" + today + "&state=all&from=x", "", 400, "invalid_parameter", "from: must be epoch milliseconds"},
		{"GET", "/v1/events?date=" + today + "&state=all&from=-1", "", 400, "invalid_parameter", "from: "},
		{"GET", "/v1/events?date=" + today + "&state=all&to=10000000000000", "", 400, "invalid_parameter", "to: must be epoch milliseconds, 0 to 9999999999999"},
		{"GET", "/v1/events?date=" + today + "&state=all&to=1.5", "", 400, "invalid_parameter", "to: "},
		{"GET", "/v1/events?date=" + today + "&state=all&order=up", "", 400, "invalid_parameter", "order: must be asc or desc"},
		{"GET", "/v1/events?date=" + today + "&state=all&limit=0", "", 400, "invalid_parameter", "limit: "},
		{"GET", "/v1/events?date=" + today + "&state=all&limit=1001", "", 400, "invalid_parameter", "limit: must be a whole number from 1 to 1000"},
		{"GET", "/v1/events?date=" + today + "&state=all&limit=x", "", 400, "invalid_parameter", "limit: "},
		{"GET", "/v1/events?date=" + today + "&state=all&cursor=forged", "", 400, "invalid_cursor", ""},
		{"GET", "/v1/events?date=" + today + "&state=all&cursor=", "", 400, "invalid_cursor", ""},
		{"GET", "/v1/events?date=" + today + "&date=" + today + "&state=all", "", 400, "invalid_parameter", "date"},
		{"GET", "/v1/events/stats", "", 400, "invalid_parameter", "date: is missing"},
		{"GET", "/v1/events/stats?date=today", "", 400, "invalid_parameter", "date: must be a day"},
		{"GET", "/v1/events/" + some, "", 404, "event_not_found", ""},
		{"GET", "/v1/events/nobody", "", 404, "event_not_found", ""},
		{"POST", "/v1/events/" + some + "/complete", "", 404, "event_not_found", ""},
		{"POST", "/v1/events/" + some + "/complete", `{"x":1}`, 400, "invalid_parameter", "x"},
		{"POST", "/v1/events/" + some + "/retry", `{}`, 404, "event_not_found", ""},
		{"POST", "/v1/events/" + some + "/retry", ``, 400, "invalid_parameter", "body"},
		{"POST", "/v1/events/" + some + "/retry", `{"error":1}`, 400, "invalid_parameter", "error"},
		{"POST", "/v1/events/" + some + "/retry", `{"error":"` + strings.Repeat("x", 2049) + `"}`, 400, "invalid_parameter", "error: at most 2048 bytes"},
	}
	for _, test := range tests {
		got := f.do(test.method, test.target, test.body)
		if got.status != test.status || got.Code != test.code || !strings.Contains(got.Detail, test.detail) || got.header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s %s %.60s: %d %s %s", test.method, test.target, test.body, got.status, got.Code, got.Detail)
		}
	}
	if n := f.rows(); n != 0 {
		t.Errorf("%d rows: something was written", n)
	}
	if got := f.do("POST", "/v1/events", body("1", large)); got.Position == nil || *got.Position != 1 {
		t.Errorf("%+v", got)
	}
}

func TestAnIdempotencyKeyIsReadFromItsHeader(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.do("POST", "/v1/events", body("1", "2"), "Idempotency-Key", "k")
	again := f.do("POST", "/v1/events", body("1", "2"), "Idempotency-Key", "k")
	if diff := cmp.Diff(first.IDs, again.IDs); diff != "" || again.status != http.StatusCreated || first.item.BatchID != again.item.BatchID {
		t.Error(diff, again.status)
	}
	if got := f.do("POST", "/v1/events", body("1", "3"), "Idempotency-Key", "k"); got.status != http.StatusConflict || got.Code != "idempotency_mismatch" {
		t.Errorf("%+v", got)
	}
	for _, header := range [][]string{{"Idempotency-Key", ""}, {"Idempotency-Key", "a", "Idempotency-Key", "b"}, {"Idempotency-Key", "a, b"}} {
		if got := f.do("POST", "/v1/events", body("1"), header...); got.status != 400 || !strings.HasPrefix(got.Detail, "Idempotency-Key: ") {
			t.Errorf("%v: %+v", header, got)
		}
	}
	if f.rows() != 2 {
		t.Errorf("%d rows", f.rows())
	}
}

// The problem of a write that could not store all says which, and has the ids of the others.
func TestWhatWasNotStoredIsNamed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault  ddbtest.Fault
		status int
		code   string
	}{
		"throttled": {ddbtest.Throttle(ddbtest.CodeProvisioned), 429, "throttled"},
		"refused":   {ddbtest.Refuse("AccessDeniedException", "secret text"), 500, "internal"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, func(c *buffer.Config) {
				c.BatchConcurrency = 1
				var waits atomic.Int32
				c.Retry.Sleep = func(context.Context, time.Duration) error {
					if waits.Add(1) > 3 {
						return context.DeadlineExceeded
					}
					return nil
				}
			})
			f.faults.Add(ddbtest.Rule{Operation: "BatchWriteItem", From: 2, Do: test.fault})
			got := f.do("POST", "/v1/events", body(strings.Split(strings.Repeat("1", 50), "")...))
			if got.status != test.status || got.Code != test.code || len(got.IDs) != 50 || got.Unknown == nil {
				t.Fatalf("%+v", got)
			}
			var missing []int
			for position, id := range got.IDs {
				if id == nil {
					missing = append(missing, position)
				}
			}
			if diff := cmp.Diff(missing, got.NotStored); diff != "" || len(missing) != 25 || f.rows() != 25 {
				t.Errorf("%s, %d rows", diff, f.rows())
			}
			if (got.header.Get("Retry-After") != "") != (test.status == 429) || strings.Contains(got.Detail, "secret") {
				t.Errorf("%v %s", got.header, got.Detail)
			}
		})
	}
}

// The largest request is within the answer's limit, also where nothing of it was stored.
func TestTheLargestRequestIsAnswered(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(c *buffer.Config) {
		c.Retry.Sleep = func(context.Context, time.Duration) error { return context.DeadlineExceeded }
	})
	f.faults.Add(ddbtest.Rule{Operation: "BatchWriteItem", Nth: 1, Do: ddbtest.Throttle(ddbtest.CodeProvisioned)})
	f.faults.Add(ddbtest.Rule{Operation: "BatchWriteItem", Do: ddbtest.Unprocessed(0)})
	got := f.do("POST", "/v1/events", body(strings.Split(strings.Repeat("1", eventapi.MaxEvents), "")...))
	if got.status != 429 || len(got.NotStored) != eventapi.MaxEvents {
		t.Errorf("%d, %d positions", got.status, len(got.NotStored))
	}
	const idBytes = len(`"2026-11-30.19.1796040000000-0123456789abcdef-0000042",`)
	if most := eventapi.MaxEvents*idBytes + 1000; most > edge.MaxAnswerBytes {
		t.Errorf("ids take %d bytes", most)
	}
}

func TestAPageOfLargeEventsFitsIntoAnAnswer(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	large := `"` + strings.Repeat("x", buffer.MaxDataBytes-2) + `"`
	for range 2 {
		f.create(large, large, large, large, large, large)
	}
	query, seen := "/v1/events?state=all&limit=100&date="+today, 0
	for target := query; target != ""; {
		got := f.do("GET", target, "")
		size := 0
		for _, item := range got.Items {
			size += len(item.Data)
		}
		if got.status != 200 || size > edge.MaxAnswerBytes {
			t.Fatalf("%d, %d bytes", got.status, size)
		}
		seen += len(got.Items)
		if target = ""; got.Cursor != "" {
			target = query + "&cursor=" + got.Cursor
		}
	}
	if seen != 12 {
		t.Errorf("%d events", seen)
	}
}

// Log and metrics tell what was done and hold nothing of it.
func TestNothingOfAnEventIsLogged(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.create(`"very secret"`)[0]
	f.do("POST", "/v1/events/"+id+"/retry", `{"error":"very secret"}`)
	f.do("GET", "/v1/events?state=pending&date="+today, "")
	for _, text := range []string{f.log.String(), f.metrics.String()} {
		if strings.Contains(text, "secret") || strings.Contains(text, id) {
			t.Error(text)
		}
	}
	for _, name := range []string{"EventsStored", "EventsNotStored", "EventsRetried", "ItemsReturned", "ReadUnits"} {
		if !strings.Contains(f.metrics.String(), `"`+name+`"`) {
			t.Errorf("no metric %s", name)
		}
	}
}

func TestEverySampleOfEventsIsAnswered(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	gateway := edge.Adapt(f.handler, edge.AdapterOptions{Logger: slog.New(slog.DiscardHandler)})
	for sample, want := range map[string]int{"events-create": 201, "events-list": 200, "events-stats": 200} {
		text, err := os.ReadFile("../../events/" + sample + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var event events.APIGatewayV2HTTPRequest
		if err := json.Unmarshal(text, &event); err != nil {
			t.Fatal(err)
		}
		if answer, err := gateway(t.Context(), event); err != nil || answer.StatusCode != want {
			t.Errorf("%s: %+v, %v", sample, answer, err)
		}
	}
}

func TestATenantsCursorIsNoOneElses(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create("1", "2")
	gateway := edge.Adapt(f.handler, edge.AdapterOptions{Logger: slog.New(slog.DiscardHandler)})
	list := func(tenant, cursor string) (status int, next string) {
		t.Helper()
		var event events.APIGatewayV2HTTPRequest
		event.RawPath, event.RawQueryString, event.RequestContext.HTTP.Method = "/v1/events", "state=all&limit=1&date="+today+cursor, "GET"
		event.RequestContext.Authorizer = &events.APIGatewayV2HTTPRequestContextAuthorizerDescription{
			JWT: &events.APIGatewayV2HTTPRequestContextAuthorizerJWTDescription{Claims: map[string]string{"tenant": tenant}},
		}
		got, err := gateway(t.Context(), event)
		var page answer
		if err != nil || json.Unmarshal([]byte(got.Body), &page) != nil {
			t.Fatal(err, got.Body)
		}
		return got.StatusCode, page.Cursor
	}
	_, next := list("a", "")
	for tenant, want := range map[string]int{"a": 200, "b": 400, "": 400} {
		if got, _ := list(tenant, "&cursor="+next); got != want {
			t.Errorf("tenant %q: %d, want %d", tenant, got, want)
		}
	}
}

func TestWithoutAServiceThereIsNoSurface(t *testing.T) {
	t.Parallel()
	if _, err := eventapi.New(nil, eventapi.Options{}); err == nil {
		t.Error("it was made")
	}
}
