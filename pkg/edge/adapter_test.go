package edge_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/pkg/edge"
)

// lambdaLimit is the size of the largest answer that Lambda takes (https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html).
const lambdaLimit = 6 * 1024 * 1024

func event(method, path, query string) events.APIGatewayV2HTTPRequest {
	event := events.APIGatewayV2HTTPRequest{Version: "2.0", RawPath: path, RawQueryString: query}
	event.RequestContext.HTTP.Method = method
	event.RequestContext.RequestID = "gateway-1"
	return event
}

// adapted serves one event with a handler and returns the answer and the log.
func adapted(t *testing.T, event events.APIGatewayV2HTTPRequest, handler http.HandlerFunc) (events.APIGatewayV2HTTPResponse, string) {
	t.Helper()
	var log bytes.Buffer
	answer, err := edge.Adapt(handler, edge.AdapterOptions{Logger: edge.NewLogger(&log, slog.LevelInfo)})(t.Context(), event)
	if err != nil {
		t.Fatalf("an adapted handler must never return an error, got %v", err)
	}
	return answer, log.String()
}

func problemOf(t *testing.T, answer events.APIGatewayV2HTTPResponse) map[string]any {
	t.Helper()
	if got := answer.Headers["Content-Type"]; got != "application/problem+json" {
		t.Fatalf("content type %q", got)
	}
	var problem map[string]any
	if err := json.Unmarshal([]byte(answer.Body), &problem); err != nil {
		t.Fatalf("body %q: %v", answer.Body, err)
	}
	return problem
}

func TestThePathIsTheRawPathUndecodedAgain(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/v1/users/u1", "/a%b", "/a%2Fb", "/ü", "/a b", "/a+b"} {
		answer, _ := adapted(t, event("GET", path, "x=%2B"), func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != path || r.URL.RawQuery != "x=%2B" || r.Method != "GET" {
				t.Errorf("path %q, query %q, method %q; want %q", r.URL.Path, r.URL.RawQuery, r.Method, path)
			}
			w.WriteHeader(http.StatusNoContent)
		})
		if answer.StatusCode != http.StatusNoContent || answer.Body != "" {
			t.Errorf("answer %+v", answer)
		}
	}
}

func TestHeadersStayWholeAndCookiesJoin(t *testing.T) {
	t.Parallel()
	sent := event("GET", "/", "")
	sent.Headers = map[string]string{"x-list": "a, b,c", "host": "api.example", "if-modified-since": "Sat, 29 Oct 1994 19:43:31 GMT"}
	sent.Cookies = []string{"a=1", "b=2"}
	answer, _ := adapted(t, sent, func(w http.ResponseWriter, r *http.Request) {
		if diff := cmp.Diff([]string{"a, b,c"}, r.Header.Values("X-List")); diff != "" {
			t.Error(diff)
		}
		if cookie, err := r.Cookie("b"); err != nil || cookie.Value != "2" {
			t.Errorf("cookie %v, %v", cookie, err)
		}
		if r.Host != "api.example" {
			t.Errorf("host %q", r.Host)
		}
		w.Header().Add("Set-Cookie", "c=3")
		w.Header().Add("Set-Cookie", "d=4, e")
		w.Header().Add("Vary", "A")
		w.Header().Add("Vary", "B")
	})
	want := events.APIGatewayV2HTTPResponse{StatusCode: 200, Headers: map[string]string{"Vary": "A, B"}, Cookies: []string{"c=3", "d=4, e"}}
	if diff := cmp.Diff(want, answer); diff != "" {
		t.Error(diff)
	}
}

func TestBodiesComeThroughAsTextOrBase64(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{"text": `{"a":"ü"}`, "empty": "", "bytes": "\x00\xff\xfe", "quotes": strings.Repeat(`"`, 300)} {
		for _, encoded := range []bool{false, true} {
			if !encoded && !utf8.ValidString(body) {
				continue // the gateway sends such a body in base64 alone
			}
			sent := event("POST", "/", "")
			if sent.Body, sent.IsBase64Encoded = body, encoded; encoded {
				sent.Body = base64.StdEncoding.EncodeToString([]byte(body))
			}
			answer, _ := adapted(t, sent, func(w http.ResponseWriter, r *http.Request) {
				got, err := io.ReadAll(r.Body)
				if err != nil || string(got) != body || r.ContentLength != int64(len(body)) {
					t.Errorf("%s: body %q (%d), %v", name, got, r.ContentLength, err)
				}
				_, _ = w.Write(got)
			})
			got := answer.Body
			if answer.IsBase64Encoded {
				decoded, err := base64.StdEncoding.DecodeString(got)
				if err != nil {
					t.Fatal(err)
				}
				got = string(decoded)
			}
			if got != body {
				t.Errorf("%s: answered %q", name, got)
			}
		}
	}
}

func TestABodyThatIsNotBase64IsRefused(t *testing.T) {
	t.Parallel()
	sent := event("POST", "/", "")
	sent.Body, sent.IsBase64Encoded = "%%%", true
	answer, _ := adapted(t, sent, func(http.ResponseWriter, *http.Request) { t.Error("the handler ran") })
	if problem := problemOf(t, answer); answer.StatusCode != 400 || problem["code"] != "invalid_parameter" || problem["requestId"] != "gateway-1" {
		t.Errorf("status %d, problem %v", answer.StatusCode, problem)
	}
}

func TestAPanicIsAnInternalProblemAndItsTextStaysOutOfBodyAndLog(t *testing.T) {
	t.Parallel()
	for name, reason := range map[string]any{"text": "secret-item", "error": errors.New("secret-item"), "abort": http.ErrAbortHandler} {
		answer, log := adapted(t, event("GET", "/", ""), func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Half", "secret-item")
			_, _ = w.Write([]byte("secret-item"))
			panic(reason)
		})
		if problem := problemOf(t, answer); answer.StatusCode != 500 || problem["code"] != "internal" {
			t.Errorf("%s: status %d, problem %v", name, answer.StatusCode, problem)
		}
		whole, _ := json.Marshal(answer)
		if strings.Contains(string(whole), "secret-item") || strings.Contains(log, "secret-item") {
			t.Errorf("%s: the panic's text got out: %s, log %s", name, whole, log)
		}
		if !strings.Contains(log, "adapter_test.go") {
			t.Errorf("%s: no stack in the log: %s", name, log)
		}
	}
}

func TestTheLargestAnswerFitsWhatLambdaTakes(t *testing.T) {
	t.Parallel()
	for name, unit := range map[string]string{"letters": "a", "quotes": `"`, "backslashes": `\`, "controls": "\x01", "line separators": "\u2028", "bytes": "\xff", "newlines": "\n", "mixed": `{"k":"v","n":[1,2,3]}`} {
		body := []byte(strings.Repeat(unit, edge.MaxAnswerBytes/len(unit)))
		answer, _ := adapted(t, event("GET", "/", ""), func(w http.ResponseWriter, _ *http.Request) { edge.WriteBody(w, 200, body) })
		if answer.StatusCode != 200 {
			t.Errorf("%s: status %d", name, answer.StatusCode)
		}
		var sent bytes.Buffer
		encoder := json.NewEncoder(&sent) // as aws-lambda-go does
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(answer); err != nil {
			t.Fatal(err)
		}
		if sent.Len() > lambdaLimit {
			t.Errorf("%s: %d bytes, Lambda takes %d", name, sent.Len(), lambdaLimit)
		}
	}
}

func TestAnAnswerPastTheLimitIsOurFault(t *testing.T) {
	t.Parallel()
	answer, log := adapted(t, event("GET", "/", ""), func(w http.ResponseWriter, _ *http.Request) {
		edge.WriteBody(w, 200, make([]byte, edge.MaxAnswerBytes+1))
	})
	if problem := problemOf(t, answer); answer.StatusCode != 500 || problem["code"] != "internal" {
		t.Errorf("status %d, problem %v", answer.StatusCode, problem)
	}
	if !strings.Contains(log, "answer is too large") {
		t.Errorf("log %q", log)
	}
}

func TestTheFirstFinalStatusCounts(t *testing.T) {
	t.Parallel()
	answer, _ := adapted(t, event("GET", "/", ""), func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Set("X-Sent", "yes")
		w.WriteHeader(http.StatusTeapot)
		w.Header().Set("X-Late", "no")
		w.WriteHeader(http.StatusOK)
	})
	if answer.StatusCode != http.StatusTeapot || answer.Headers["X-Sent"] != "yes" || answer.Headers["X-Late"] != "" {
		t.Errorf("answer %+v", answer)
	}
}

func TestTheDeadlineIsTheEarlierOfTheBudgetAndLambdas(t *testing.T) {
	t.Parallel()
	now := time.Now().Add(time.Hour)
	for name, test := range map[string]struct{ lambda, want time.Duration }{
		"lambda has more": {60 * time.Second, edge.HTTPDeadline},
		"lambda has less": {10 * time.Second, 10*time.Second - edge.AnswerMargin},
		"lambda has none": {0, edge.HTTPDeadline},
	} {
		ctx := t.Context()
		if test.lambda > 0 {
			limited, cancel := context.WithDeadline(ctx, now.Add(test.lambda))
			defer cancel()
			ctx = limited
		}
		var got time.Time
		handler := edge.Adapt(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got, _ = r.Context().Deadline() }),
			edge.AdapterOptions{Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return now }})
		if _, err := handler(ctx, event("GET", "/", "")); err != nil || !got.Equal(now.Add(test.want)) {
			t.Errorf("%s: deadline %s from now, want %s (%v)", name, got.Sub(now), test.want, err)
		}
	}
}

func FuzzAdapt(f *testing.F) {
	f.Add("GET", "/v1/indexes/managed/items", "partition=a", "x-header", "a, b", `{"a":1}`, false)
	f.Add("POST", "/a%b/../c//", "%zz;=&", "Cookie", "\x00", "////", true)
	f.Add("", "", "", "", "", "\xff\xfe", false)
	f.Fuzz(func(t *testing.T, method, path, query, name, value, body string, encoded bool) {
		sent := event(method, path, query)
		sent.Headers, sent.Body, sent.IsBase64Encoded = map[string]string{name: value}, body, encoded
		want, decodes := body, true
		if encoded {
			decoded, err := base64.StdEncoding.DecodeString(body)
			want, decodes = string(decoded), err == nil
		}
		answer, err := edge.Adapt(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != path || r.URL.RawQuery != query || r.Method != method {
				t.Errorf("%q %q %q became %q %q %q", method, path, query, r.Method, r.URL.Path, r.URL.RawQuery)
			}
			got, _ := io.ReadAll(r.Body)
			_, _ = w.Write(got)
		}), edge.AdapterOptions{Logger: slog.New(slog.DiscardHandler)})(t.Context(), sent)
		if err != nil {
			t.Fatal(err)
		}
		if !decodes {
			if answer.StatusCode != 400 {
				t.Fatalf("status %d for a body that is not base64", answer.StatusCode)
			}
			return
		}
		got := answer.Body
		if answer.IsBase64Encoded {
			plain, err := base64.StdEncoding.DecodeString(got)
			if err != nil {
				t.Fatal(err)
			}
			got = string(plain)
		}
		if answer.StatusCode != 200 || got != want {
			t.Fatalf("status %d, body %q, want %q", answer.StatusCode, got, want)
		}
	})
}
