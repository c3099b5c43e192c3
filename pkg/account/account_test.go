package account_test

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/pkg/account"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
)

func TestAUserKeepsItsOwnSpellingAndTheClaimTheMappedForm(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	a := application("u1", "BÜCHER", " Bob@Bücher.Example ")
	a.Attributes = ddb.Item{"ID": s("t1"), "managedKey": num("1699900000000"), "tags": &types.AttributeValueMemberL{Value: []types.AttributeValue{num("9007199254740993")}}}
	u, err := k.service.SignUp(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"ID":"t1","email":"bob@xn--bcher-kva.example","managedKey":1699900000000,"nickname":"BÜCHER","tags":[9007199254740993],"userId":"u1"}`
	for what, user := range map[string]*account.User{"the answer": u, "what is stored": get(t, k, "u1")} {
		got, err := ddb.AppendPlain(nil, user.Public(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	_, claims := k.state()
	if diff := cmp.Diff(map[string]string{"NICKNAME#bücher": "u1", "EMAIL#bob@xn--bcher-kva.example": "u1"}, claims); diff != "" {
		t.Error(diff)
	}
	k.whole()
}

func get(t *testing.T, k *kit, id string) *account.User {
	t.Helper()
	u, err := k.calm.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestRequestsAndUnits(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		units   float64
		do      func(ctx context.Context, k *kit) error
		request []string
	}{
		{"sign up with both names", 6, func(ctx context.Context, k *kit) error {
			_, err := k.service.SignUp(ctx, application("new", "newcomer", "new@example.com"))
			return err
		}, []string{"TransactWriteItems"}},
		{"sign up with a nickname", 4, func(ctx context.Context, k *kit) error {
			_, err := k.service.SignUp(ctx, application("new", "newcomer", ""))
			return err
		}, []string{"TransactWriteItems"}},
		{"sign up without a name", 2, func(ctx context.Context, k *kit) error {
			_, err := k.service.SignUp(ctx, application("new", "", ""))
			return err
		}, []string{"TransactWriteItems"}},
		{"rename", 6, func(ctx context.Context, k *kit) error {
			_, err := k.service.Rename(ctx, "old", "another")
			return err
		}, []string{"GetItem", "TransactWriteItems"}},
		{"another spelling", 1, func(ctx context.Context, k *kit) error {
			_, err := k.service.Rename(ctx, "old", "OldTimer")
			return err
		}, []string{"GetItem", "UpdateItem"}},
		{"the same spelling", 0, func(ctx context.Context, k *kit) error {
			_, err := k.service.Rename(ctx, "old", "oldtimer")
			return err
		}, []string{"GetItem"}},
		{"release", 4, func(ctx context.Context, k *kit) error { return k.service.ReleaseNickname(ctx, "old") }, []string{"GetItem", "TransactWriteItems"}},
		{"withdraw", 7, func(ctx context.Context, k *kit) error { return k.service.Withdraw(ctx, "old") }, []string{"GetItem", "UpdateItem", "TransactWriteItems"}},
		{"withdraw nobody", 0, func(ctx context.Context, k *kit) error { return k.service.Withdraw(ctx, "nobody") }, []string{"GetItem"}},
		{"get", 0, func(ctx context.Context, k *kit) error {
			_, err := k.service.Get(ctx, "old")
			return err
		}, []string{"GetItem"}},
		{"who has a nickname", 0, func(ctx context.Context, k *kit) error {
			_, err := k.service.NicknameOwner(ctx, "OLDTIMER")
			return err
		}, []string{"GetItem", "GetItem"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var k *kit
			var meter *ddb.Meter
			for again := true; again; {
				k = newKit(t)
				k.signUp("old", "oldtimer", "old@example.com")
				var ctx context.Context
				ctx, meter = ddb.WithMeter(t.Context())
				if err := test.do(ctx, k); err != nil {
					t.Fatal(err)
				}
				again = meter.Usage().Unknown > 0 // the engine closed a connection: what was sent again is not what is counted here
			}
			if got := meter.Usage(); got.WriteUnits != test.units || got.Requests != len(test.request) || got.Attempts != len(test.request) {
				t.Errorf("%+v, want %d requests and %v write units", got, len(test.request), test.units)
			}
			if diff := cmp.Diff(test.request, operations(k.faults.Calls())); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPrecedenceOfRefusals(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.signUp("u1", "alice", "alice@example.com")
	for _, test := range []struct {
		id, nickname, email string
		want                error
	}{
		{"u1", "alice", "alice@example.com", account.ErrUserExists},
		{"u1", "bob", "bob@example.com", account.ErrUserExists},
		{"u2", "ALICE", "ALICE@example.com", account.ErrNicknameTaken},
		{"u2", "alice", "bob@example.com", account.ErrNicknameTaken},
		{"u2", "bob", "Alice@Example.com", account.ErrEmailTaken},
		{"u2", "", "alice@example.com", account.ErrEmailTaken},
	} {
		_, err := k.service.SignUp(t.Context(), application(test.id, test.nickname, test.email))
		if !errors.Is(err, test.want) {
			t.Errorf("%+v: %v", test, err)
		}
	}
	users, _ := k.state()
	if len(users) != 1 {
		t.Errorf("a refused sign-up left a user: %v", users)
	}
	k.whole()
}

func TestARepeatedKeyIsTheSameSignUp(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	a := application("u1", "alice", "alice@example.com")
	a.IdempotencyKey, a.Attributes = "key-1", ddb.Item{"a": num("1"), "b": s("x"), "c": &types.AttributeValueMemberM{Value: ddb.Item{"d": num("1"), "e": num("2")}}}
	first, err := k.service.SignUp(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	for range 10 { // maps are encoded in one order
		again, err := k.service.SignUp(t.Context(), a)
		if err != nil {
			t.Fatal(err)
		}
		if again.Incarnation != first.Incarnation || !ddb.EqualItems(again.Public(), first.Public()) {
			t.Error("a repeat must give the user that stands")
		}
	}
	for name, change := range map[string]func(*account.Application){
		"another key":        func(a *account.Application) { a.IdempotencyKey = "key-2" },
		"no key":             func(a *account.Application) { a.IdempotencyKey = "" },
		"another nickname":   func(a *account.Application) { a.Nickname = new("Alice") },
		"no nickname":        func(a *account.Application) { a.Nickname = nil },
		"another e-mail":     func(a *account.Application) { a.Email = new("b@example.com") },
		"another attribute":  func(a *account.Application) { a.Attributes = ddb.Item{"a": num("2")} },
		"without attributes": func(a *account.Application) { a.Attributes = nil },
	} {
		other := a
		change(&other)
		if _, err := k.service.SignUp(t.Context(), other); !errors.Is(err, account.ErrUserExists) {
			t.Errorf("%s: %v, want user exists", name, err)
		}
	}
	// After a rename the repeat still meets its own user, as it is now; who has the old name then is no matter.
	if _, err := k.calm.Rename(t.Context(), "u1", "alicia"); err != nil {
		t.Fatal(err)
	}
	k.signUp("u2", "alice", "")
	again, err := k.service.SignUp(t.Context(), a)
	if err != nil || again.Nickname != "alicia" {
		t.Errorf("%v %+v", err, again)
	}
	k.whole()
}

// A repeat is known by the user itself, also where it has no claim or none any more.
func TestARepeatedKeyNeedsNoClaim(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	bare, named := application("u1", "", ""), application("u2", "alice", "")
	bare.IdempotencyKey, named.IdempotencyKey = "key", "key"
	for range 2 {
		for _, a := range []account.Application{bare, named} {
			if _, err := k.service.SignUp(t.Context(), a); err != nil {
				t.Errorf("%s: %v", a.UserID, err)
			}
		}
		if err := k.calm.ReleaseNickname(t.Context(), "u2"); err != nil {
			t.Fatal(err)
		}
	}
	if _, claims := k.state(); len(claims) != 0 {
		t.Errorf("the repeat took the name again: %v", claims)
	}
	k.whole()
}

func TestRenameMovesTheClaim(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.signUp("u1", "alice", "a@example.com")
	k.signUp("u2", "bob", "")
	u, err := k.service.Rename(t.Context(), "u1", "Álice")
	if err != nil || u.Nickname != "Álice" {
		t.Fatalf("%v %+v", err, u)
	}
	if _, err := k.service.Rename(t.Context(), "u1", "BOB"); !errors.Is(err, account.ErrNicknameTaken) {
		t.Errorf("%v, want taken", err)
	}
	if _, err := k.service.Rename(t.Context(), "u3", "carol"); !errors.Is(err, account.ErrUserNotFound) {
		t.Errorf("%v, want not found", err)
	}
	// A name that was freed is free for others, and a user without a name can take one.
	k.signUp("u4", "", "")
	if _, err := k.service.Rename(t.Context(), "u4", "Alice"); err != nil {
		t.Error(err)
	}
	_, claims := k.state()
	want := map[string]string{"NICKNAME#álice": "u1", "NICKNAME#bob": "u2", "NICKNAME#alice": "u4", "EMAIL#a@example.com": "u1"}
	if diff := cmp.Diff(want, claims); diff != "" {
		t.Error(diff)
	}
	k.whole()
}

func TestReleaseIsRepeatableAndFreesNobodyElsesName(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.signUp("u1", "alice", "a@example.com")
	for range 3 {
		if err := k.service.ReleaseNickname(t.Context(), "u1"); err != nil {
			t.Fatal(err)
		}
	}
	k.signUp("u2", "alice", "")
	for _, id := range []string{"u1", "nobody"} {
		if err := k.service.ReleaseNickname(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	users, claims := k.state()
	if users["u1"] != "" || users["u2"] != "alice" || claims["NICKNAME#alice"] != "u2" {
		t.Errorf("%v %v", users, claims)
	}
	if u := get(t, k, "u1"); u.Public()["nickname"] != nil || u.Email != "a@example.com" {
		t.Errorf("%v", u.Public())
	}
	k.whole()
}

func TestWithdrawalTakesEverythingAndNothingElse(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.signUp("u1", "alice", "a@example.com")
	k.signUp("u2", "bob", "b@example.com")
	for range 3 {
		if err := k.service.Withdraw(t.Context(), "u1"); err != nil {
			t.Fatal(err)
		}
	}
	users, claims := k.state()
	if diff := cmp.Diff(map[string]string{"u2": "bob"}, users); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"NICKNAME#bob": "u2", "EMAIL#b@example.com": "u2"}, claims); diff != "" {
		t.Error(diff)
	}
	if _, err := k.service.Get(t.Context(), "u1"); !errors.Is(err, account.ErrUserNotFound) {
		t.Errorf("%v, want not found", err)
	}
	again := k.signUp("u1", "alice", "a@example.com")
	if again.Incarnation == "" {
		t.Error("no incarnation")
	}
	k.whole()
}

func TestWhoHasANickname(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.signUp("u1", "Bücher", "")
	for _, spelling := range []string{"bücher", "BÜCHER", "xn--bcher-kva", "bu\u0308cher"} {
		u, err := k.service.NicknameOwner(t.Context(), spelling)
		if err != nil || u.ID != "u1" || u.Nickname != "Bücher" {
			t.Errorf("%q: %v %+v", spelling, err, u)
		}
	}
	for name, claim := range map[string]ddb.Item{
		"nobody's":                         nil,
		"of a user that is gone":           {"owner": s("gone"), "incarnation": s("i")},
		"of another incarnation":           {"owner": s("u1"), "incarnation": s("i")},
		"of a user that has another name":  {"owner": s("u1"), "incarnation": s(get(t, k, "u1").Incarnation)},
		"without incarnation, of one with": {"owner": s("u1")},
	} {
		if claim != nil {
			claim["pk"] = s("NICKNAME#dangling")
			k.put(k.claims, claim)
		}
		if u, err := k.service.NicknameOwner(t.Context(), "dangling"); !errors.Is(err, account.ErrNicknameNotFound) {
			t.Errorf("%s: %v %+v, want not found", name, err, u)
		}
	}
	for name, claim := range map[string]ddb.Item{
		"an earlier life's": {"owner": s("u1"), "incarnation": s("earlier")},
		"a keyless owner's": {"owner": s("u1")},
		"a stranger's":      {"owner": s("u2"), "incarnation": s(get(t, k, "u1").Incarnation)},
	} {
		claim["pk"] = s("NICKNAME#bücher")
		k.put(k.claims, claim)
		if u, err := k.service.NicknameOwner(t.Context(), "bücher"); !errors.Is(err, account.ErrNicknameNotFound) {
			t.Errorf("the user's own name, but the claim is %s: %v %+v, want not found", name, err, u)
		}
	}
	// A name that became reserved still tells its owner, and a reserved one that nobody has is not found.
	if _, err := k.service.NicknameOwner(t.Context(), "www"); !errors.Is(err, account.ErrNicknameNotFound) {
		t.Errorf("www: %v", err)
	}
	if _, err := k.service.NicknameOwner(t.Context(), "a b"); !errors.As(err, new(*account.FieldError)) {
		t.Errorf("a b: %v", err)
	}
	for _, call := range k.faults.Calls() {
		if call.Operation != "GetItem" || call.Index != "" {
			t.Errorf("%+v: only reads of base tables", call)
		}
	}
}

// Users that were there before: no incarnation, no key, perhaps a claim by a backfill.
func TestUsersThatWereNotSignedUpHere(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	for id, nickname := range map[string]string{"keyless": "Old One", "plain": "Veteran", "backfilled": "Pioneer", "robbed": "Famous", "bare": ""} {
		item := ddb.Item{"userId": s(id), "since": num("1")}
		if nickname != "" {
			item["nickname"] = s(nickname)
		}
		k.put(k.users, item)
	}
	k.put(k.claims, ddb.Item{"pk": s("NICKNAME#pioneer"), "owner": s("backfilled")})
	k.put(k.claims, ddb.Item{"pk": s("NICKNAME#famous"), "owner": s("somebody")})
	k.put(k.users, ddb.Item{"userId": s("somebody"), "nickname": s("famous")})

	for id, want := range map[string]error{"keyless": nil, "plain": nil, "backfilled": nil, "bare": nil, "robbed": nil} {
		if _, err := k.service.Rename(t.Context(), id, id+"-new"); !errors.Is(err, want) {
			t.Errorf("rename %s: %v", id, err)
		}
	}
	users, claims := k.state()
	if claims["NICKNAME#pioneer"] != "" || claims["NICKNAME#famous"] != "somebody" || claims["NICKNAME#backfilled-new"] != "backfilled" {
		t.Errorf("%v %v", users, claims)
	}
	// Its own name, spelled as it was: now it gets a claim.
	k.put(k.users, ddb.Item{"userId": s("adopter"), "nickname": s("Adopted")})
	if _, err := k.service.Rename(t.Context(), "adopter", "Adopted"); err != nil {
		t.Error(err)
	}
	if _, claims := k.state(); claims["NICKNAME#adopted"] != "adopter" {
		t.Errorf("%v", claims)
	}
	k.put(k.users, ddb.Item{"userId": s("twin"), "nickname": s("adopted")})
	if _, err := k.service.Rename(t.Context(), "twin", "Adopted"); !errors.Is(err, account.ErrNicknameTaken) {
		t.Errorf("twin: %v, want taken", err)
	}
	for _, id := range []string{"keyless", "plain", "backfilled", "bare", "robbed", "adopter", "twin"} {
		if err := k.service.Withdraw(t.Context(), id); err != nil {
			t.Errorf("withdraw %s: %v", id, err)
		}
	}
	users, claims = k.state()
	if diff := cmp.Diff(map[string]string{"somebody": "famous"}, users); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"NICKNAME#famous": "somebody"}, claims); diff != "" {
		t.Error(diff)
	}
}

func TestTheConfigurationIsChecked(t *testing.T) {
	t.Parallel()
	users, claims := tables(t)
	client := ddbtest.Client(t)
	good := account.Config{Client: client, Users: users, UserTable: "u", ClaimTable: "c"}
	for name, change := range map[string]func(*account.Config){
		"no client":         func(c *account.Config) { c.Client = nil },
		"no schema":         func(c *account.Config) { c.Users = nil },
		"no table":          func(c *account.Config) { c.UserTable = "" },
		"no claim table":    func(c *account.Config) { c.ClaimTable = "" },
		"another key":       func(c *account.Config) { c.Users = claims },
		"a dependent":       func(c *account.Config) { c.Dependents = []account.Dependent{{Name: "posts"}} },
		"reserved unmapped": func(c *account.Config) { c.Reserved = []string{"WWW"} },
	} {
		config := good
		change(&config)
		if _, err := account.New(config); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := account.New(good); err != nil {
		t.Error(err)
	}
}
