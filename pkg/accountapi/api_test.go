package accountapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/heatsink-dev/heatsink/pkg/account"
	"github.com/heatsink-dev/heatsink/pkg/accountapi"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
	"github.com/heatsink-dev/heatsink/pkg/edge"
)

// nobody is a service without users.
type nobody struct{ accountapi.Service }

func (nobody) NicknameOwner(context.Context, string) (*account.User, error) {
	return nil, account.ErrNicknameNotFound
}

func Example() {
	api, err := accountapi.New(nobody{})
	if err != nil {
		fmt.Println(err)
		return
	}
	router := edge.NewRouter(edge.RouterConfig{Logger: edge.NewLogger(os.Stderr, slog.LevelError), Metrics: edge.NewMetrics(&strings.Builder{}, "Heatsink", "nickname", nil)})
	api.Register(router)
	answer := httptest.NewRecorder()
	router.ServeHTTP(answer, httptest.NewRequestWithContext(context.Background(), "GET", "/v1/nicknames?nickname=alice", nil))
	var problem struct{ Code string }
	fmt.Println(answer.Code, json.Unmarshal(answer.Body.Bytes(), &problem), problem.Code)
	// Output: 404 <nil> nickname_not_found
}

func TestALifeOverHTTP(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.want(f.call("POST", "/v1/users", `{"userId":"u1","nickname":"BÜCHER","email":" Bob@Example.com","attributes":{"ID":"t1","managedKey":1699900000000,"big":12345678901234567890123456789012345678,"f":1.50,"n":null,"o":{"b":[true,""]}}}`),
		201, `{"ID":"t1","big":12345678901234567890123456789012345678,"email":"bob@example.com","f":1.50,"managedKey":1699900000000,"n":null,"nickname":"BÜCHER","o":{"b":[true,""]},"userId":"u1"}`)
	stored := `{"ID":"t1","big":12345678901234567890123456789012345678,"email":"bob@example.com","f":1.5,"managedKey":1699900000000,"n":null,"nickname":"BÜCHER","o":{"b":[true,""]},"userId":"u1"}`
	f.want(f.call("GET", "/v1/users/u1", ""), 200, stored)
	f.want(f.call("POST", "/v1/users", `{"userId":"u2"}`), 201, `{"userId":"u2"}`)
	f.want(f.call("POST", "/v1/users", `{"userId":"u1","nickname":"bücher","email":"bob@example.com"}`), 409, "user_exists")
	f.want(f.call("POST", "/v1/users", `{"userId":"u3","nickname":"bücher","email":"bob@example.com"}`), 409, "nickname_taken")
	f.want(f.call("POST", "/v1/users", `{"userId":"u3","nickname":"buch","email":"BOB@example.com"}`), 409, "email_taken")
	f.want(f.call("GET", "/v1/nicknames?nickname=xn--bcher-kva", ""), 200, `{"nickname":"BÜCHER","userId":"u1"}`)
	f.want(f.call("GET", "/v1/nicknames?nickname=B%C3%BCcher", ""), 200, `{"nickname":"BÜCHER","userId":"u1"}`)
	f.want(f.call("GET", "/v1/nicknames?nickname=nobody-has-it", ""), 404, "nickname_not_found")
	f.want(f.call("PUT", "/v1/users/u2/nickname", `{"nickname":"bÜcher"}`), 409, "nickname_taken")
	f.want(f.call("PUT", "/v1/users/u2/nickname", `{"nickname":"Alice"}`), 200, `{"nickname":"Alice","userId":"u2"}`)
	f.want(f.call("PUT", "/v1/users/u2/nickname", `{"nickname":"ALICE"}`), 200, `{"nickname":"ALICE","userId":"u2"}`)
	f.want(f.call("PUT", "/v1/users/nobody/nickname", `{"nickname":"carol"}`), 404, "user_not_found")
	for range 2 {
		f.want(f.call("DELETE", "/v1/users/u2/nickname", ""), 204, "")
		f.want(f.call("DELETE", "/v1/users/u1", ""), 204, "")
	}
	f.want(f.call("GET", "/v1/users/u1", ""), 404, "user_not_found")
	f.want(f.call("GET", "/v1/users/u2", ""), 200, `{"userId":"u2"}`)
	f.want(f.call("DELETE", "/v1/users/nobody/nickname", ""), 204, "")
	f.want(f.call("GET", "/v1/nicknames?nickname=alice", ""), 404, "nickname_not_found")
	if left := ddbtest.Dump(t, f.plain, f.claims); len(left) != 0 {
		t.Errorf("claims left: %v", left)
	}
}

func TestTheAnswerOfASignUpIsWhatItSent(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const body = `{"userId":"u1","nickname":"alice","attributes":{"a":1}}`
	const user = `{"a":1,"nickname":"alice","userId":"u1"}`
	for range 3 {
		f.want(f.call("POST", "/v1/users", body, "Idempotency-Key", "k-1"), 201, user)
	}
	f.want(f.call("POST", "/v1/users", body, "idempotency-key", "k-1"), 201, user)
	f.want(f.call("POST", "/v1/users", body, "Idempotency-Key", "k-2"), 409, "user_exists")
	f.want(f.call("POST", "/v1/users", body), 409, "user_exists")
	f.want(f.call("POST", "/v1/users", `{"userId":"u1","nickname":"alice","attributes":{"a":2}}`, "Idempotency-Key", "k-1"), 409, "user_exists")
	// The same contents in another order and spacing are the same.
	f.want(f.call("POST", "/v1/users", `{ "attributes": {"a":1}, "nickname":"alice", "userId":"u1" }`, "Idempotency-Key", "k-1"), 201, user)
	// The same key for another user is another sign-up.
	f.want(f.call("POST", "/v1/users", `{"userId":"u2"}`, "Idempotency-Key", "k-1"), 201, `{"userId":"u2"}`)
}

func TestBadInputNamesTheField(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.want(f.call("POST", "/v1/users", `{"userId":"u1"}`), 201, `{"userId":"u1"}`)
	const users, rename = "/v1/users", "/v1/users/u1/nickname"
	before := f.faults.Count("")
	for _, test := range []struct{ method, target, body, detail string }{
		{"POST", users, ``, "body: must be a JSON object, is empty"},
		{"POST", users, `[]`, "body: must be an object"},
		{"POST", users, `{}`, "userId: is missing"},
		{"POST", users, `{"userId":""}`, "userId: is empty"},
		{"POST", users, `{"userId":"u","attributes":{"a":1E126}}`, "attributes.a: is not a DynamoDB number: the number's magnitude is 1E126, DynamoDB's limit is 1E125"},
		{"POST", users, `{"userId":"u","attributes":{"a":` + strings.Repeat("[", 10_000) + `}}`, "body: is nested too deep: at most 10,000 levels"},
		{
			"POST", users, `{"userId":"u","attributes":{"a":` + strings.Repeat("[", 33) + strings.Repeat("]", 33) + `}}`,
			"attributes.a" + strings.Repeat("[0]", 32) + ": is nested deeper than 32 levels (byte 37)",
		},
		{"POST", users, `{"userId":5}`, "userId: must be a string"},
		{"POST", users, `{"userId":null}`, "userId: must be a string"},
		{"POST", users, `{"userId":"u","userId":"u"}`, "userId: is given more than once"},
		{"POST", users, `{"userId":"u","name":"x"}`, `"name": unknown field`},
		{"POST", users, `{"userId":"a b"}`, "userId: has a character that is not allowed, at position 2 (allowed: A-Z a-z 0-9 - _ . ~)"},
		{"POST", users, `{"userId":".."}`, "userId: must not be . or .."},
		{"POST", users, `{"userId":"` + strings.Repeat("u", 129) + `"}`, "userId: is too long: at most 128 bytes, is 129"},
		{"POST", users, `{"userId":"u","nickname":null}`, "nickname: must be a string"},
		{"POST", users, `{"userId":"u","nickname":""}`, "nickname: is empty"},
		{"POST", users, `{"userId":"u","nickname":"www"}`, "nickname: is reserved"},
		{"POST", users, `{"userId":"u","nickname":"al ice"}`, "nickname: has a character that is not allowed, at position 3"},
		{"POST", users, `{"userId":"u","nickname":"\ud83d\ude00"}`, "nickname: has a character that is not allowed, at position 1"},
		{"POST", users, `{"userId":"u","nickname":"\ud83d"}`, "nickname: holds half of a surrogate pair"},
		{"POST", users, `{"userId":"u","nickname":"раypal"}`, "nickname: mixes scripts: the character at position 3 is not of the script of those before it"},
		{"POST", users, `{"userId":"u","nickname":"` + strings.Repeat("a", 64) + `"}`, "nickname: is too long: at most 63 octets in ASCII form, is 64"},
		{"POST", users, `{"userId":"u","email":"x"}`, "email: must have exactly one @"},
		{"POST", users, `{"userId":"u","email":""}`, "email: is empty"},
		{"POST", users, `{"userId":"u","attributes":null}`, "attributes: must be an object"},
		{"POST", users, `{"userId":"u","attributes":[1]}`, "attributes: must be an object"},
		{"POST", users, `{"userId":"u","attributes":{"SK":"x"}}`, "attributes.SK: is reserved for index rows"},
		{"POST", users, `{"userId":"u","attributes":{"_request":"x"}}`, "attributes._request: is reserved"},
		{"POST", users, `{"userId":"u","attributes":{"userId":"x"}}`, "attributes.userId: is a name of its own: give it beside attributes"},
		{"POST", users, `{"userId":"u","attributes":{"managedKey":"1"}}`, "attributes.managedKey: must be a number, as the key of an index, or absent"},
		{"POST", users, `{"userId":"u","attributes":{"managedKey":null}}`, "attributes.managedKey: must be a number, as the key of an index, or absent"},
		{"POST", users, `{"userId":"u","attributes":{"managedKey":16999000000000}}`, "attributes.managedKey: must have at most 13 digits, as the key of an index, has 14"},
		{"POST", users, `{"userId":"u","attributes":{"ID":""}}`, "attributes.ID: must not be empty, as the key of an index, or absent"},
		{"POST", users + "?x=1", `{"userId":"u"}`, "x: unknown parameter"},
		{"PUT", rename, `{}`, "nickname: is missing"},
		{"PUT", rename, `{"nickname":"-a"}`, "nickname: has a hyphen where none may be, at position 1: hyphens stand inside, and not third and fourth together"},
		{"PUT", rename, `{"nickname":"admin"}`, "nickname: is reserved"},
		{"GET", "/v1/users/a!b", ``, "userId: has a character that is not allowed, at position 2 (allowed: A-Z a-z 0-9 - _ . ~)"},
		{"DELETE", "/v1/users/a!b", ``, "userId: has a character that is not allowed, at position 2 (allowed: A-Z a-z 0-9 - _ . ~)"},
		{"DELETE", "/v1/users/a!b/nickname", ``, "userId: has a character that is not allowed, at position 2 (allowed: A-Z a-z 0-9 - _ . ~)"},
		{"GET", "/v1/users/u1?consistent=true", ``, ""},
		{"DELETE", "/v1/users/u1?x=1", ``, ""},
		{"GET", "/v1/nicknames", ``, "nickname: is missing"},
		{"GET", "/v1/nicknames?nickname=", ``, "nickname: is empty"},
		{"GET", "/v1/nicknames?nickname=a&nickname=b", ``, ""},
		{"GET", "/v1/nicknames?nickname=a&userId=b", ``, ""},
		{"GET", "/v1/nicknames?nickname=%zz", ``, ""},
	} {
		answer := f.call(test.method, test.target, test.body)
		f.want(answer, 400, "invalid_parameter")
		if got := detail(answer); test.detail != "" && got != test.detail && !strings.HasPrefix(test.detail, "x: unknown") {
			t.Errorf("%s %s %s: %s, want %s", test.method, test.target, test.body, got, test.detail)
		}
	}
	for _, key := range []string{"", "a b", strings.Repeat("k", 65), "k,k"} {
		answer := f.call("POST", users, `{"userId":"u"}`, "Idempotency-Key", key)
		f.want(answer, 400, "invalid_parameter")
		if !strings.HasPrefix(detail(answer), "Idempotency-Key: ") {
			t.Errorf("%q: %s", key, detail(answer))
		}
	}
	f.want(f.call("POST", users, `{"userId":"u"}`, "Idempotency-Key", "a", "Idempotency-Key", "b"), 400, "invalid_parameter")
	big := f.call("POST", users, `{"userId":"u","attributes":{"a":"`+strings.Repeat("x", 410_000)+`"}}`)
	f.want(big, 413, "too_large")
	if !strings.Contains(detail(big), "at most 407552 bytes") {
		t.Error(detail(big))
	}
	f.want(f.call("POST", users, `{"userId":"`+strings.Repeat("x", 2_500_000)+`"}`), 413, "too_large")
	if after := f.faults.Count(""); after != before {
		t.Errorf("%d requests to the table for what is refused", after-before)
	}
}

func TestReadsAreStronglyConsistentAndNeverOfAnIndex(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.want(f.call("POST", "/v1/users", `{"userId":"u1","nickname":"alice"}`), 201, `{"nickname":"alice","userId":"u1"}`)
	f.faults.Add(ddbtest.Rule{Operation: "GetItem", When: func(in any) bool { return !aws.ToBool(in.(*dynamodb.GetItemInput).ConsistentRead) }, Do: ddbtest.Refuse("X", "eventual")})
	f.want(f.call("GET", "/v1/users/u1", ""), 200, `{"nickname":"alice","userId":"u1"}`)
	f.want(f.call("GET", "/v1/nicknames?nickname=Alice", ""), 200, `{"nickname":"alice","userId":"u1"}`)
	f.want(f.call("PUT", "/v1/users/u1/nickname", `{"nickname":"bob"}`), 200, `{"nickname":"bob","userId":"u1"}`)
	f.want(f.call("DELETE", "/v1/users/u1", ""), 204, "")
	for _, call := range f.faults.Calls() {
		if call.Operation == "Query" || call.Operation == "Scan" || call.Index != "" {
			t.Errorf("%+v", call)
		}
	}
}

func TestADanglingClaimIsNobodys(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if _, err := f.plain.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &f.claims, Item: ddb.Item{"pk": s("NICKNAME#ghost"), "owner": s("gone")}}); err != nil {
		t.Fatal(err)
	}
	f.want(f.call("GET", "/v1/nicknames?nickname=ghost", ""), 404, "nickname_not_found")
}

func TestTroubleHasItsCodes(t *testing.T) {
	t.Parallel()
	const signUp = `{"userId":"u1","nickname":"alice"}`
	for name, test := range map[string]struct {
		rules  []ddbtest.Rule
		status int
		code   string
		retry  bool
	}{
		"throttled":          {[]ddbtest.Rule{{Do: ddbtest.Throttle(ddbtest.CodeProvisioned)}}, 429, "throttled", true},
		"throttled inside":   {[]ddbtest.Rule{{Do: ddbtest.Cancel("ThrottlingError", "None")}}, 429, "throttled", true},
		"conflicts":          {[]ddbtest.Rule{{Do: ddbtest.Conflict()}}, 503, "try_again", true},
		"unknown":            {[]ddbtest.Rule{{Do: ddbtest.Dropped()}}, 503, "try_again", true},
		"lost, then taken":   {[]ddbtest.Rule{{Do: ddbtest.LostAnswer()}}, 201, `{"nickname":"alice","userId":"u1"}`, false},
		"unknown, throttled": {[]ddbtest.Rule{{Nth: 1, Do: ddbtest.Dropped()}, {Do: ddbtest.Throttle(ddbtest.CodeProvisioned)}}, 503, "try_again", true},
		"denied":             {[]ddbtest.Rule{{Do: ddbtest.Refuse("AccessDeniedException", "User: arn:aws:secret is not authorized")}}, 500, "internal", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			for _, rule := range test.rules {
				rule.Operation = "TransactWriteItems"
				f.faults.Add(rule)
			}
			answer := f.call("POST", "/v1/users", signUp)
			f.want(answer, test.status, test.code)
			if (answer.Header().Get("Retry-After") != "") != test.retry {
				t.Errorf("Retry-After: %q", answer.Header().Get("Retry-After"))
			}
			if strings.Contains(answer.Body.String(), "arn:aws") {
				t.Error("internal text left in the body")
			}
		})
	}
}

func TestAWithdrawingUserHasACodeOfItsOwn(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(c *account.Config) {
		c.Dependents = []account.Dependent{{Name: "posts", Remove: func(context.Context, string, string) error { return errors.New("later") }}}
	})
	f.want(f.call("POST", "/v1/users", `{"userId":"u1","nickname":"alice"}`), 201, `{"nickname":"alice","userId":"u1"}`)
	f.want(f.call("DELETE", "/v1/users/u1", ""), 500, "internal")
	f.want(f.call("PUT", "/v1/users/u1/nickname", `{"nickname":"bob"}`), 409, "user_withdrawing")
	f.want(f.call("GET", "/v1/users/u1", ""), 200, `{"nickname":"alice","userId":"u1"}`)
}

func TestTheSummaryLineHasCountsAndNoValues(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.call("POST", "/v1/users", `{"userId":"secret-user","nickname":"secret-name","email":"secret@example.com"}`)
	f.call("POST", "/v1/users", `{"userId":"secret-user2","nickname":"secret-name"}`)
	f.call("GET", "/v1/users/secret-user", "")
	f.call("GET", "/v1/nicknames?nickname=secret-name", "")
	if strings.Contains(f.log.String()+f.metrics.String(), "secret") {
		t.Errorf("a value is in the log: %s", f.log)
	}
	var line struct {
		Route      string  `json:"route"`
		Requests   int     `json:"requests"`
		WriteUnits float64 `json:"writeUnits"`
		Status     int     `json:"status"`
	}
	first, _, _ := strings.Cut(f.log.String(), "\n")
	if err := json.Unmarshal([]byte(first), &line); err != nil || line.Route != "POST /v1/users" || line.Requests != 1 || line.Status != 201 {
		t.Errorf("%s: %+v %v", first, line, err)
	}
	if !strings.Contains(f.metrics.String(), `"WriteUnits":6`) {
		t.Errorf("%s", f.metrics)
	}
}
