package accountapi_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/heatsink-dev/heatsink/pkg/account"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
	"github.com/heatsink-dev/heatsink/pkg/edge"
)

// A number in a text that DynamoDB refuses is not the server's fault, and not the client's either: it is a number.
func TestNumbersInTextsThatDynamoDBRefusesAreStored(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for n, number := range []string{"0e999", "0e126", "-0e500", "0e-131", "0." + strings.Repeat("0", 300), "[0e999]", `{"a":[0E+99999]}`} {
		user := fmt.Sprintf("/v1/users/u%d", n)
		want := strings.NewReplacer("-0e500", "0", "0e999", "0", "0e126", "0", "0e-131", "0", "0E+99999", "0", "0."+strings.Repeat("0", 300), "0").Replace(number)
		want = fmt.Sprintf(`{"n":%s,"userId":"u%d"}`, want, n)
		f.want(f.call("POST", "/v1/users", fmt.Sprintf(`{"userId":"u%d","attributes":{"n":%s}}`, n, number)), 201, want)
		f.want(f.call("GET", user, ""), 200, want)
	}
	f.want(f.call("POST", "/v1/users", `{"userId":"key","attributes":{"ID":"zz","managedKey":0e999}}`), 201, `{"ID":"zz","managedKey":0,"userId":"key"}`)
	f.want(f.call("GET", "/v1/users/key", ""), 200, `{"ID":"zz","managedKey":0,"userId":"key"}`)
}

func TestAttributesMayBeAsDeepAsAnItem(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	deepest := strings.Repeat("[", 31) + `""` + strings.Repeat("]", 31)
	f.want(f.call("POST", "/v1/users", `{"userId":"u1","attributes": {"a":`+deepest+`}}`), 201, `{"a":`+deepest+`,"userId":"u1"}`)
	f.want(f.call("GET", "/v1/users/u1", ""), 200, `{"a":`+deepest+`,"userId":"u1"}`)
	f.want(f.call("POST", "/v1/users", `{"userId":"u2","attributes":{"a":[`+deepest+`]}}`), 400, "invalid_parameter")
}

func TestAThrottledReadIsThrottledAndSoon(t *testing.T) {
	t.Parallel()
	for _, code := range []string{ddbtest.CodeProvisioned, "RequestLimitExceeded", "ThrottlingException"} {
		for _, target := range []string{"/v1/users/u1", "/v1/nicknames?nickname=alice"} {
			t.Run(code+target[3:], func(t *testing.T) {
				t.Parallel()
				var waited time.Duration
				f := newFixture(t, func(c *account.Config) {
					// The policy as it is deployed, with the longest waits.
					c.Retry = ddb.Policy{Random: func(n int64) int64 { return n - 1 }, Sleep: func(_ context.Context, wait time.Duration) error {
						waited += wait
						return nil
					}}
				})
				f.want(f.call("POST", "/v1/users", `{"userId":"u1","nickname":"alice"}`), 201, `{"nickname":"alice","userId":"u1"}`)
				f.faults.Add(ddbtest.Rule{Operation: "GetItem", Do: ddbtest.Throttle(code)})
				answer := f.call("GET", target, "")
				f.want(answer, 429, "throttled")
				if answer.Header().Get("Retry-After") == "" {
					t.Error("no Retry-After")
				}
				// Attempts and not attempts times the SDK's, whose waits are up to 20 s.
				if n := f.faults.Count("GetItem"); n != 8 || waited <= 0 || waited > edge.HTTPDeadline/4 {
					t.Errorf("%d attempts, %v of waiting", n, waited)
				}
				f.faults.Clear()
				// What passes is not told.
				f.faults.Add(ddbtest.Rule{Operation: "GetItem", Nth: 1, Do: ddbtest.Dropped()})
				if answer := f.call("GET", target, ""); answer.Code != 200 {
					t.Errorf("after a lost connection: %s", answer.Body)
				}
			})
		}
	}
}

// A step that ends in a conflict says nothing of what it has not done: a withdrawal has marked the user by then.
func TestAConflictNeverSaysThatNothingWasDone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.want(f.call("POST", "/v1/users", `{"userId":"u1","nickname":"alice"}`), 201, `{"nickname":"alice","userId":"u1"}`)
	f.faults.Add(ddbtest.Rule{Operation: "TransactWriteItems", Do: ddbtest.Conflict()})
	for _, step := range []struct{ method, target, body string }{
		{"POST", "/v1/users", `{"userId":"u2","nickname":"bob"}`},
		{"PUT", "/v1/users/u1/nickname", `{"nickname":"bob"}`},
		{"DELETE", "/v1/users/u1/nickname", ""},
		{"DELETE", "/v1/users/u1", ""},
	} {
		answer := f.call(step.method, step.target, step.body)
		f.want(answer, 503, "try_again")
		if text := detail(answer); strings.Contains(text, "nothing") || !strings.Contains(text, "not finished: try again") {
			t.Errorf("%s %s: %s", step.method, step.target, text)
		}
	}
	f.faults.Clear()
	f.want(f.call("PUT", "/v1/users/u1/nickname", `{"nickname":"bob"}`), 409, "user_withdrawing")
	f.want(f.call("DELETE", "/v1/users/u1", ""), 204, "")
}
