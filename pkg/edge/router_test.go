package edge_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/pkg/edge"
)

// desk is a router with what it wrote.
type desk struct {
	*edge.Router
	log, metrics bytes.Buffer
}

func newDesk() *desk {
	d := &desk{}
	tick := time.Unix(1700000000, 0)
	d.Router = edge.NewRouter(edge.RouterConfig{
		Logger: edge.NewLogger(&d.log, slog.LevelInfo), Metrics: edge.NewMetrics(&d.metrics, "Heatsink", "f", at(0)),
		Now: func() time.Time { tick = tick.Add(3 * time.Millisecond); return tick },
	})
	return d
}

func (d *desk) call(t *testing.T, method, path string) (*httptest.ResponseRecorder, map[string]any) {
	t.Helper()
	answer := httptest.NewRecorder()
	d.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), method, path, nil))
	var body map[string]any
	_ = json.Unmarshal(answer.Body.Bytes(), &body)
	return answer, body
}

func TestEveryCodeHasTheStatusOfTheContract(t *testing.T) {
	t.Parallel()
	for status, codes := range map[int][]edge.Code{
		400: {edge.InvalidParameter, edge.InvalidCursor},
		404: {edge.UnknownIndex, edge.UnknownRoute, edge.UserNotFound, edge.NicknameNotFound, edge.EventNotFound, edge.BatchNotFound},
		405: {edge.MethodNotAllowed},
		409: {edge.UserExists, edge.UserWithdrawing, edge.NicknameTaken, edge.EmailTaken, edge.IdempotencyMismatch, edge.EventDone, edge.EventRetried},
		413: {edge.TooLarge}, 429: {edge.Throttled}, 503: {edge.TryAgain}, 500: {edge.Internal, "never heard of"},
	} {
		for _, code := range codes {
			if code.Status() != status {
				t.Errorf("%s is %d, want %d", code, code.Status(), status)
			}
		}
	}
}

func TestAProblemIsWhatTheHandlerSaysAndNothingOfItsCause(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err        error
		status     int
		want       map[string]any
		retryAfter string
	}{
		"invalid":    {edge.Invalid("limit", "must be %d", 5), 400, map[string]any{"code": "invalid_parameter", "detail": "limit: must be 5", "title": "Bad Request"}, ""},
		"wrapped":    {fmt.Errorf("outer secret: %w", edge.Invalid("limit", "no")), 400, map[string]any{"code": "invalid_parameter", "detail": "limit: no"}, ""},
		"members":    {&edge.Problem{Code: edge.EventRetried, Members: map[string]any{"successor": "e2", "status": 200, "code": "ok"}}, 409, map[string]any{"code": "event_retried", "successor": "e2", "status": 409.0}, ""},
		"no JSON":    {&edge.Problem{Code: edge.EventDone, Members: map[string]any{"successor": func() {}}}, 409, map[string]any{"code": "event_done"}, ""},
		"unknown":    {errors.New("secret"), 500, map[string]any{"code": "internal", "detail": "something went wrong on our side"}, ""},
		"cause":      {&edge.Problem{Code: edge.TryAgain, Cause: errors.New("secret")}, 503, map[string]any{"code": "try_again"}, "1"},
		"wait":       {&edge.Problem{Code: edge.Throttled, RetryAfter: 1500 * time.Millisecond}, 429, map[string]any{"code": "throttled"}, "2"},
		"deadline":   {fmt.Errorf("secret: %w", context.DeadlineExceeded), 503, map[string]any{"code": "try_again"}, "1"},
		"cancelled":  {fmt.Errorf("secret: %w", context.Canceled), 503, map[string]any{"code": "try_again"}, "1"},
		"wait asked": {&edge.Problem{Code: edge.UserWithdrawing, RetryAfter: time.Second}, 409, map[string]any{"code": "user_withdrawing"}, "1"},
	} {
		d := newDesk()
		d.Handle("GET /x", func(http.ResponseWriter, *http.Request) error { return test.err })
		answer, body := d.call(t, "GET", "/x")
		if answer.Code != test.status || answer.Header().Get("Content-Type") != "application/problem+json" || answer.Header().Get("Retry-After") != test.retryAfter ||
			body["status"] != float64(test.status) || body["type"] != "about:blank" {
			t.Errorf("%s: HTTP %d %v, %v", name, answer.Code, answer.Header(), body)
		}
		for field, want := range test.want {
			if diff := cmp.Diff(want, body[field]); diff != "" {
				t.Errorf("%s: %s: %s", name, field, diff)
			}
		}
		if strings.Contains(answer.Body.String(), "secret") {
			t.Errorf("%s: the cause is in the body: %s", name, answer.Body)
		}
	}
}

func TestOurFaultsAreLoggedWithTheirCauseAndTheCallersAreNot(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		err   error
		lines int
	}{{errors.New("disk"), 2}, {&edge.Problem{Code: edge.Throttled, Cause: errors.New("disk")}, 2}, {edge.Invalid("a", "b"), 1}, {nil, 1}} {
		d := newDesk()
		d.Handle("GET /x", func(http.ResponseWriter, *http.Request) error { return test.err })
		d.call(t, "GET", "/x")
		if got := strings.Count(d.log.String(), "\n"); got != test.lines || (test.lines == 2) != strings.Contains(d.log.String(), "disk") {
			t.Errorf("%v: %d lines: %s", test.err, got, d.log.String())
		}
	}
}

func TestOneLineSumsUpARequest(t *testing.T) {
	t.Parallel()
	d := newDesk()
	d.Handle("GET /v1/users/{userId}", func(w http.ResponseWriter, r *http.Request) error {
		note := edge.NoteOf(r.Context())
		note.Log(slog.Int("returned", 7))
		note.Count("ItemsReturned", 7)
		note.Dimension("Index", "managed")
		return edge.WriteJSON(w, http.StatusCreated, map[string]string{"a": "<&>"})
	})
	answer, _ := d.call(t, "GET", "/v1/users/secret")
	if answer.Code != 201 || answer.Body.String() != `{"a":"<&>"}` {
		t.Errorf("HTTP %d %s", answer.Code, answer.Body)
	}
	var line map[string]any
	if err := json.Unmarshal(d.log.Bytes(), &line); err != nil {
		t.Fatal(err)
	}
	delete(line, "timestamp")
	want := map[string]any{
		"level": "INFO", "message": "request", "route": "GET /v1/users/{userId}", "status": 201.0, "category": "", "elapsedMs": 3.0, "gatewayRequestId": "", "returned": 7.0,
	}
	if diff := cmp.Diff(want, line); diff != "" {
		t.Error(diff)
	}
	var emitted map[string]any
	if err := json.Unmarshal(d.metrics.Bytes(), &emitted); err != nil {
		t.Fatal(err)
	}
	delete(emitted, "_aws")
	if diff := cmp.Diff(map[string]any{"Function": "f", "Index": "managed", "Requests": 1.0, "Errors5xx": 0.0, "Elapsed": 3.0, "ItemsReturned": 7.0}, emitted); diff != "" {
		t.Error(diff)
	}
}

func TestAnUnknownPathOrMethodIsAProblemToo(t *testing.T) {
	t.Parallel()
	d := newDesk()
	d.Handle("GET /v1/a/{x}", func(w http.ResponseWriter, _ *http.Request) error { w.WriteHeader(http.StatusNoContent); return nil })
	d.Handle("POST /v1/a/{x}", func(w http.ResponseWriter, _ *http.Request) error { w.WriteHeader(http.StatusNoContent); return nil })
	for call, want := range map[string]string{
		"GET /v1/a/b": "", "GET /": "unknown_route", "GET /v1/a": "unknown_route", "GET /v1/a/b/c": "unknown_route", "GET /v1/a/b/": "unknown_route", "GET /v1//a/b": "unknown_route",
		"GET /v1/../v1/a/b": "unknown_route", "DELETE /v1/a/b": "method_not_allowed", "PUT /v1/a/b": "method_not_allowed", "DELETE /nowhere": "unknown_route",
	} {
		method, path, _ := strings.Cut(call, " ")
		answer, body := d.call(t, method, path)
		code, _ := body["code"].(string)
		if code != want || want == "" && answer.Code != 204 || (want == "method_not_allowed") != (answer.Header().Get("Allow") != "") {
			t.Errorf("%s: HTTP %d, %v, %v", call, answer.Code, body, answer.Header())
		}
	}
}

func TestAPanicIsCountedAsAServerError(t *testing.T) {
	t.Parallel()
	d := newDesk()
	d.Handle("GET /x", func(http.ResponseWriter, *http.Request) error { panic("secret") })
	handler := edge.Adapt(d, edge.AdapterOptions{Logger: edge.NewLogger(&d.log, slog.LevelInfo)})
	answer, err := handler(t.Context(), event("GET", "/x", ""))
	if err != nil || answer.StatusCode != 500 {
		t.Fatalf("%+v, %v", answer, err)
	}
	for _, want := range []string{`"status":500`, `"category":"panic"`, `"gatewayRequestId":"gateway-1"`} {
		if !strings.Contains(d.log.String(), want) {
			t.Errorf("no %s in %s", want, d.log.String())
		}
	}
	if !strings.Contains(d.metrics.String(), `"Errors5xx":1`) || strings.Contains(d.log.String(), "secret") {
		t.Errorf("metrics %s, log %s", d.metrics.String(), d.log.String())
	}
}

func TestAnAnswerThatHasNoJSONIsAnInternalProblem(t *testing.T) {
	t.Parallel()
	d := newDesk()
	d.Handle("GET /x", func(w http.ResponseWriter, _ *http.Request) error { return edge.WriteJSON(w, 200, func() {}) })
	if answer, body := d.call(t, "GET", "/x"); answer.Code != 500 || body["code"] != "internal" {
		t.Errorf("HTTP %d, %v", answer.Code, body)
	}
}
