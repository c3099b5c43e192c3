package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/cmd/heatsink/deployment"
	"github.com/heatsink-dev/heatsink/pkg/catalog"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
)

// body is an answer of the account routes: a user, an owner or a problem.
type body map[string]json.RawMessage

func (b body) text(name string) string {
	var value string
	_ = json.Unmarshal(b[name], &value)
	return value
}

// account calls a route of users or nicknames and checks its status, and the code of a refusal.
func (s *stage) account(method, path string, in any, status int, code string, headers ...string) body {
	s.Helper()
	var text []byte
	if in != nil {
		var err error
		if text, err = json.Marshal(in); err != nil {
			s.Fatal(err)
		}
	}
	path, query, _ := strings.Cut(path, "?")
	answer, err := s.http.Do(s.Context(), method, path, query, text, headers...)
	if err != nil {
		s.Fatal(err)
	}
	return s.judged(answer, status, code)
}

func (s *stage) judged(answer *deployment.Answer, status int, code string) body {
	s.Helper()
	got := body{}
	if answer.Status == http.StatusNoContent {
		if len(answer.Body) > 0 {
			s.Errorf("204 with a body: %s", answer.Body)
		}
	} else if err := answer.Decode(&got); err != nil {
		s.Fatal(err)
	}
	if answer.Status != status || got.text("code") != code {
		s.Errorf("HTTP %d %s, want %d %s", answer.Status, answer.Body, status, code)
	}
	return got
}

// claim reads who holds a value, strongly consistent. Empty: nobody.
func (s *stage) claim(key string) string {
	s.Helper()
	item := s.item(catalog.ClaimTable, ddb.Item{"pk": text(key)})
	if owner, ok := item["owner"].(*types.AttributeValueMemberS); ok {
		return owner.Value
	}
	return ""
}

func (s *stage) item(table string, key ddb.Item) ddb.Item {
	s.Helper()
	name := s.table(table)
	out, err := s.dynamo.GetItem(s.Context(), &dynamodb.GetItemInput{TableName: &name, Key: key, ConsistentRead: aws.Bool(true)})
	if err != nil {
		s.Fatal(err)
	}
	return out.Item
}

// name is a nickname of the test's own: a run of letters and digits, in one script.
func (s *stage) name(text string) string {
	return text + "-" + s.prefix[strings.LastIndex(s.prefix, "-")+1:]
}

func TestOneOfManySignUpsGetsTheNickname(t *testing.T) {
	t.Parallel()
	s := onStage(t)
	nickname, email := s.name("bücher"), s.name("bob")+"@example.com"
	const callers = 8
	answers := make(chan *deployment.Answer, callers)
	for n := range callers {
		go func() {
			in := fmt.Sprintf(`{"userId":%q,"nickname":%q,"email":%q}`, s.id(n), []string{nickname, strings.ToUpper(nickname)}[n%2], strings.ToUpper(email))
			answer, err := s.http.Do(s.Context(), http.MethodPost, "/v1/users", "", []byte(in))
			if err != nil {
				t.Error(err)
				answer = &deployment.Answer{}
			}
			answers <- answer
		}()
	}
	codes := map[string]int{}
	winner := ""
	for range callers {
		answer := <-answers
		codes[fmt.Sprint(answer.Status, " ", answer.Code())]++
		if answer.Status == http.StatusCreated {
			got := body{}
			if err := answer.Decode(&got); err != nil {
				t.Fatal(err)
			}
			winner = got.text("userId")
		}
	}
	if diff := cmp.Diff(map[string]int{"201 ": 1, "409 nickname_taken": callers - 1}, codes); diff != "" {
		t.Fatal(diff)
	}
	if got := []string{s.claim("NICKNAME#" + nickname), s.claim("EMAIL#" + email)}; got[0] != winner || got[1] != winner {
		t.Errorf("claims of %v, want both of %s", got, winner)
	}
	users := 0
	for n := range callers {
		if s.item(catalog.UserTable, ddb.Item{"userId": text(s.id(n))}) != nil {
			users++
		}
	}
	if users != 1 {
		t.Errorf("%d users, want 1: who is refused leaves nothing", users)
	}
	if got := s.account("GET", "/v1/nicknames?"+url.Values{"nickname": {strings.ToUpper(nickname)}}.Encode(), nil, 200, ""); got.text("userId") != winner {
		t.Errorf("%s", got)
	}
}

func TestALifeOfAUserOverHTTP(t *testing.T) {
	t.Parallel()
	s := onStage(t)
	alice, carol, user, other := s.name("Alice"), s.name("carol"), s.id(1), s.id(2)
	in := map[string]any{
		"userId": user, "nickname": alice, "email": " " + s.name("A") + "@Bücher.example ",
		"attributes": map[string]any{"ID": s.partition, "managedKey": firstTime + 7, "note": "x"},
	}
	created := s.account("POST", "/v1/users", in, 201, "", "Idempotency-Key", "first")
	if created.text("nickname") != alice || created.text("email") != s.name("a")+"@xn--bcher-kva.example" || string(created["managedKey"]) != fmt.Sprint(firstTime+7) {
		t.Errorf("%s", created)
	}
	for name := range created {
		if strings.HasPrefix(name, "_") {
			t.Errorf("private attribute %s left", name)
		}
	}
	if diff := cmp.Diff(created, s.account("POST", "/v1/users", in, 201, "", "Idempotency-Key", "first")); diff != "" {
		t.Errorf("a repeat: %s", diff)
	}
	s.account("POST", "/v1/users", in, 409, "user_exists", "Idempotency-Key", "second")
	if diff := cmp.Diff(created, s.account("GET", "/v1/users/"+user, nil, 200, "")); diff != "" {
		t.Error(diff)
	}

	// Its attributes put it into the index, without what is private.
	s.settled(1, 0)
	page := s.get("managed/items")
	if len(page.Items) != 1 || string(page.Items[0]["userId"]) != `"`+user+`"` {
		t.Fatalf("%v", page.Items)
	}
	for name := range page.Items[0] {
		if strings.HasPrefix(name, "_") {
			t.Errorf("private attribute %s in the index", name)
		}
	}

	s.account("POST", "/v1/users", map[string]any{"userId": other, "nickname": strings.ToUpper(alice)}, 409, "nickname_taken")
	s.account("POST", "/v1/users", map[string]any{"userId": other, "email": s.name("a") + "@xn--bcher-kva.example"}, 409, "email_taken")
	s.account("POST", "/v1/users", map[string]any{"userId": other, "nickname": carol}, 201, "")
	s.account("PUT", "/v1/users/"+other+"/nickname", map[string]any{"nickname": alice}, 409, "nickname_taken")
	s.account("PUT", "/v1/users/"+s.id(9)+"/nickname", map[string]any{"nickname": s.name("dave")}, 404, "user_not_found")
	for range 2 {
		s.account("DELETE", "/v1/users/"+user+"/nickname", nil, 204, "")
	}
	s.account("GET", "/v1/nicknames?nickname="+url.QueryEscape(alice), nil, 404, "nickname_not_found")
	s.account("PUT", "/v1/users/"+other+"/nickname", map[string]any{"nickname": alice}, 200, "")
	s.account("DELETE", "/v1/users/"+user+"/nickname", nil, 204, "")
	if got := s.claim("NICKNAME#" + strings.ToLower(alice)); got != other {
		t.Errorf("the claim belongs to %q", got)
	}
	for range 2 {
		s.account("DELETE", "/v1/users/"+user, nil, 204, "")
		s.account("DELETE", "/v1/users/"+other, nil, 204, "")
	}
	s.account("GET", "/v1/users/"+user, nil, 404, "user_not_found")
	for _, key := range []string{"NICKNAME#" + strings.ToLower(alice), "NICKNAME#" + carol, "EMAIL#" + s.name("a") + "@xn--bcher-kva.example"} {
		if owner := s.claim(key); owner != "" {
			t.Errorf("%s still belongs to %s", key, owner)
		}
	}
	s.settled(0, 1) // the withdrawn user has left the index
}

func TestBadNamesHaveOneReasonEach(t *testing.T) {
	t.Parallel()
	s := onStage(t)
	for nickname, reason := range map[string]string{
		"": "nickname: is empty", "www": "nickname: is reserved", "two words": "at position 4", "a_b": "at position 2", "аdmin": "nickname: mixes scripts",
		strings.Repeat("x", 64): "at most 63", "-edge": "at position 1", "a.b": "at position 2", "👍": "at position 1",
	} {
		got := s.account("POST", "/v1/users", map[string]any{"userId": s.id(1), "nickname": nickname}, 400, "invalid_parameter")
		if !strings.Contains(got.text("detail"), reason) {
			t.Errorf("%q: %s, want %s", nickname, got.text("detail"), reason)
		}
	}
	if item := s.item(catalog.UserTable, ddb.Item{"userId": text(s.id(1))}); item != nil {
		t.Errorf("a refused user was written: %d attributes", len(item))
	}
}
