package accountapi_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/heatsink-dev/heatsink/pkg/account"
	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
	"github.com/heatsink-dev/heatsink/pkg/edge"
	"github.com/heatsink-dev/heatsink/pkg/schema"
	"github.com/heatsink-dev/heatsink/pkg/sortkey"
	"github.com/heatsink-dev/heatsink/pkg/unique"
)

// internal are words of code that no client should read: packages with a colon, Go's own texts, the SDK's.
var internal = []string{
	"sortkey:", "ddb:", "account:", "accountapi:", "unique:", "edge:", "query:", "schema:", "json:", "idna:", "strconv", "goroutine", "dynamodb", "operation error", "RequestID",
	"runtime error", "context ", "unmarshal", "Go ", "value: ", "value at ", "%!", "<nil>", "arn:", ".go:",
}

func wordless(t *testing.T, what, text string) {
	t.Helper()
	for _, word := range internal {
		if strings.Contains(text, word) {
			t.Errorf("%.120s: %q is in %s", what, word, text)
		}
	}
}

// Every way to be refused for what was sent.
func TestNoAnswerHasInternalText(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.want(f.call("POST", "/v1/users", `{"userId":"u1","nickname":"alice","email":"a@b.com"}`), 201, `{"email":"a@b.com","nickname":"alice","userId":"u1"}`)
	seen := 0
	refused := func(method, target, body string, headers ...string) {
		answer := f.call(method, target, body, headers...)
		if answer.Code < 400 || answer.Code >= 500 {
			t.Errorf("%s %s %.80s: %d", method, target, body, answer.Code)
			return
		}
		seen++
		if detail(answer) == "" {
			t.Errorf("%s %s %.80s: no detail", method, target, body)
		}
		wordless(t, method+" "+target+" "+body, answer.Body.String())
	}
	attributes := []string{
		`null`, `5`, `[1]`, `"a"`, `{"":1}`, `{"a":1E126}`, `{"a":1E-131}`, `{"a":1E99999999999999999999999}`, `{"a":[{"b":123456789012345678901234567890123456789}]}`,
		`{"a":1,"a":2}`, `{"a":{"b":1,"b":1}}`, `{"a":"\ud800"}`, `{"a":` + strings.Repeat("[", 33) + strings.Repeat("]", 33) + `}`,
		`{"` + strings.Repeat("n", 65536) + `":1}`, `{"userId":"x"}`, `{"SK":"x"}`, `{"_v":1}`, `{"_request":1}`, `{"ID":5}`, `{"ID":""}`, `{"ID":"` + strings.Repeat("x", 2049) + `"}`,
		`{"managedKey":"x"}`, `{"managedKey":-1}`, `{"managedKey":1.5}`, `{"managedKey":1E20}`, `{"managedKey":1E126}`, `{"status":""}`, `{"status":"` + strings.Repeat("x", 1025) + `"}`,
		`{"a":"` + strings.Repeat("x", 410_000) + `"}`,
	}
	for _, text := range attributes {
		refused("POST", "/v1/users", `{"userId":"u2","attributes":`+text+`}`)
	}
	bodies := []string{
		``, ` `, `x`, `[]`, `null`, `{`, `{}`, `{"a`, `{"userId"`, `{"userId":}`, `{"userId":"a"}{}`, `{"userId":01}`, `{"userId":nul}`, `{"userId":"\x"}`, `{"userId":"\u12"}`, "{\"userId\":\"\x01\"}",
		"{\"userId\":\"\xff\"}", `{"userId":5}`, `{"userId":1e999}`, `{"userId":null}`, `{"userId":{}}`, `{"userId":""}`, `{"userId":".."}`, `{"userId":"a b"}`, `{"userId":"u2","x":1}`,
		`{"userId":"u2","userId":"u2"}`, `{"userId":"` + strings.Repeat("u", 129) + `"}`, `{"userId":"` + strings.Repeat("x", 2_500_000) + `"}`, strings.Repeat("[", 20_000),
		`{"userId":"u1"}`, `{"userId":"u2","nickname":"ALICE"}`, `{"userId":"u2","email":"A@b.com"}`,
	}
	for _, text := range bodies {
		refused("POST", "/v1/users", text)
		refused("PUT", "/v1/users/u1/nickname", text)
	}
	for _, name := range []string{
		``, `-a`, `ab--c`, `a.b`, `a b`, `1א`, `аb`, `www`, `ﷺ`, `xn--abc`, `xn--a-ecp`, `a\u200db`, `\u0301a`, `😀`, strings.Repeat("a", 64), strings.Repeat("ü", 63), strings.Repeat("\\u00ad", 300) + "a", `\ud83d`,
	} {
		refused("POST", "/v1/users", `{"userId":"u2","nickname":"`+name+`"}`)
		refused("PUT", "/v1/users/u1/nickname", `{"nickname":"`+name+`"}`)
	}
	for _, address := range []string{``, `a`, `@`, `a@`, `@b.com`, `a@b`, `a@b@c.com`, `a b@c.com`, `a@-b.com`, `a@xn--zz.com`, `a@127.0.0.1`, `a..b@c.com`, `a@` + strings.Repeat("b", 64) + `.com`, strings.Repeat("a", 65) + `@b.com`, strings.Repeat("a", 999)} {
		refused("POST", "/v1/users", `{"userId":"u2","email":"`+address+`"}`)
	}
	for _, key := range []string{"", "a b", strings.Repeat("k", 65)} {
		refused("POST", "/v1/users", `{"userId":"u2"}`, "Idempotency-Key", key)
	}
	refused("POST", "/v1/users", `{"userId":"u2"}`, "Idempotency-Key", "a", "Idempotency-Key", "b")
	for _, target := range []string{
		"/v1/nicknames", "/v1/nicknames?nickname=", "/v1/nicknames?nickname=-a", "/v1/nicknames?nickname=a&nickname=b", "/v1/nicknames?x=1", "/v1/nicknames?nickname=%zz", "/v1/nicknames?nickname=%ff",
		"/v1/nicknames?nickname=nobody", "/v1/nicknames?a;b", "/v1/users/a!b", "/v1/users/nobody", "/v1/users/u1?x=1", "/v1/nowhere", "/v1/users",
	} {
		refused("GET", target, "")
	}
	if seen < 150 {
		t.Errorf("%d refusals", seen)
	}
}

// And for what happened inside, whatever the error wraps.
func TestNoTroubleInsideLeavesInternalText(t *testing.T) {
	t.Parallel()
	faults := map[string]ddbtest.Fault{
		"denied": ddbtest.Refuse("AccessDeniedException", "User: arn:aws:iam::1:role/x is not authorized to perform: dynamodb:GetItem"), "validation": ddbtest.Refuse("ValidationException", "dynamodb: json: strconv"),
		"no table": ddbtest.Refuse("ResourceNotFoundException", "Requested resource not found: Table: dynamodb"), "server": ddbtest.ServerError(), "dropped": ddbtest.Dropped(),
		"timeout": ddbtest.Timeout(), "throttled": ddbtest.Throttle(ddbtest.CodeProvisioned), "crash": ddbtest.Crash(),
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.want(f.call("POST", "/v1/users", `{"userId":"u1","nickname":"alice"}`), 201, `{"nickname":"alice","userId":"u1"}`)
			f.faults.Add(ddbtest.Rule{Do: fault})
			for _, step := range []struct{ method, target, body string }{
				{"POST", "/v1/users", `{"userId":"u2","nickname":"bob"}`},
				{"GET", "/v1/users/u1", ""},
				{"PUT", "/v1/users/u1/nickname", `{"nickname":"bob"}`},
				{"DELETE", "/v1/users/u1/nickname", ""},
				{"DELETE", "/v1/users/u1", ""},
				{"GET", "/v1/nicknames?nickname=alice", ""},
			} {
				answer := f.call(step.method, step.target, step.body)
				if answer.Code < 400 {
					t.Errorf("%s %s: %d", step.method, step.target, answer.Code)
				}
				wordless(t, step.method+" "+step.target, answer.Body.String())
			}
		})
	}
}

// The problems of errors that no request can bring about.
func TestNoErrorOfAPackageIsADetail(t *testing.T) {
	t.Parallel()
	_, tooLarge := sortkey.CanonicalNumber("1E126")
	for _, err := range []error{
		tooLarge, errors.New("ddb: goroutine"), fmt.Errorf("json: %w", context.DeadlineExceeded), unique.ErrTokenReused, &unique.RequestError{Label: "user", Reason: "dynamodb"},
		fmt.Errorf("sign up: %w: dynamodb: %w", unique.ErrTryAgain, context.Canceled), fmt.Errorf("strconv: %w", unique.ErrUnknown), fmt.Errorf("account: %w", account.ErrUserExists),
		&schema.Error{}, http.ErrAbortHandler,
	} {
		wordless(t, err.Error(), edge.ProblemFor(err).Detail)
	}
	for _, err := range []error{account.ErrUserExists, account.ErrNicknameTaken, account.ErrEmailTaken, account.ErrUserNotFound, account.ErrWithdrawing, account.ErrNicknameNotFound} {
		wordless(t, err.Error(), err.Error())
	}
	for reason := range account.Reason(20) {
		bad := account.FieldError{Field: "nickname", Reason: reason, Limit: 1, Got: 2, Unit: "bytes", Position: 3}
		wordless(t, fmt.Sprint(reason), bad.Text())
	}
}
