package account_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/pkg/account"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
	"github.com/heatsink-dev/heatsink/pkg/unique"
)

// The process dies at its n-th call, before or after the call took effect, for each n there is. A new process that repeats the step must end it, and leave alone
// what belongs to the bystander.
func TestEveryCrashPoint(t *testing.T) {
	t.Parallel()
	type step struct {
		name string
		do   func(context.Context, *account.Service) error
		// users and claims that are right in the end.
		users, claims map[string]string
	}
	bystanders := func(users map[string]string) map[string]string {
		users["bystander"] = "bob"
		return users
	}
	claims := func(mine map[string]string) map[string]string {
		mine["NICKNAME#bob"], mine["EMAIL#bob@example.com"] = "bystander", "bystander"
		return mine
	}
	keyed := application("u2", "carol", "carol@example.com")
	keyed.IdempotencyKey = "once"
	alice := map[string]string{"NICKNAME#alice": "u1", "EMAIL#alice@example.com": "u1"}
	for _, test := range []step{
		{
			"sign up", func(ctx context.Context, s *account.Service) error {
				_, err := s.SignUp(ctx, keyed)
				return err
			}, bystanders(map[string]string{"u1": "alice", "u2": "carol"}),
			claims(map[string]string{"NICKNAME#alice": "u1", "EMAIL#alice@example.com": "u1", "NICKNAME#carol": "u2", "EMAIL#carol@example.com": "u2"}),
		},
		{
			"rename", func(ctx context.Context, s *account.Service) error {
				_, err := s.Rename(ctx, "u1", "Alicia")
				return err
			}, bystanders(map[string]string{"u1": "Alicia"}), claims(map[string]string{"NICKNAME#alicia": "u1", "EMAIL#alice@example.com": "u1"}),
		},
		{
			"another spelling", func(ctx context.Context, s *account.Service) error {
				_, err := s.Rename(ctx, "u1", "ALICE")
				return err
			}, bystanders(map[string]string{"u1": "ALICE"}), claims(alice),
		},
		{
			"release", func(ctx context.Context, s *account.Service) error { return s.ReleaseNickname(ctx, "u1") },
			bystanders(map[string]string{"u1": ""}), claims(map[string]string{"EMAIL#alice@example.com": "u1"}),
		},
		{
			"withdraw", func(ctx context.Context, s *account.Service) error { return s.Withdraw(ctx, "u1") },
			bystanders(map[string]string{}), claims(map[string]string{}),
		},
	} {
		for what, fault := range map[string]ddbtest.Fault{
			"before": ddbtest.Crash(), "after": ddbtest.CrashAfter(), "lost answer": ddbtest.LostAnswer(), "conflict": ddbtest.Conflict(), "500": ddbtest.ServerErrorAfter(),
		} {
			t.Run(test.name+", "+what, func(t *testing.T) {
				t.Parallel()
				for n := 1; ; n++ {
					if n > 20 {
						t.Fatal("the step does not end")
					}
					k := newKit(t)
					k.signUp("u1", "alice", "alice@example.com")
					k.signUp("bystander", "bob", "bob@example.com")
					rule := ddbtest.Rule{Nth: n, Do: fault}
					if what == "before" || what == "after" {
						rule.Nth, rule.From = 0, n+1 // dead after it
						k.faults.Add(ddbtest.Rule{Nth: n, Do: fault}).Add(ddbtest.Rule{From: n, Do: ddbtest.Crash()})
					} else {
						k.faults.Add(rule)
					}
					err := test.do(t.Context(), k.service)
					reached := false
					for _, call := range k.faults.Calls() {
						reached = reached || call.Fault != ""
					}
					if !reached {
						if err != nil || n == 1 {
							t.Fatalf("without a fault: %v", err)
						}
						break
					}
					if (what == "before" || what == "after") && !errors.Is(err, ddbtest.ErrCrashed) {
						t.Errorf("call %d: %v, want the crash", n, err)
					}
					if err := insist(func() error { return test.do(t.Context(), k.open(ddbtest.Client(t))) }); err != nil {
						t.Errorf("call %d: repeated: %v", n, err)
					}
					users, claims := k.state()
					if diff := cmp.Diff(test.users, users); diff != "" {
						t.Errorf("call %d: users: %s", n, diff)
					}
					if diff := cmp.Diff(test.claims, claims); diff != "" {
						t.Errorf("call %d: claims: %s", n, diff)
					}
					k.whole()
				}
			})
		}
	}
}

func TestWhatHangsOnAUserGoesFirstAndInOrder(t *testing.T) {
	t.Parallel()
	var log []string
	fail := true
	dependent := func(name string) account.Dependent {
		return account.Dependent{Name: name, Remove: func(_ context.Context, userID, incarnation string) error {
			if incarnation == "" {
				return errors.New("no incarnation")
			}
			log = append(log, name+" of "+userID)
			if name == "photos" && fail {
				return errors.New("storage is away")
			}
			return nil
		}}
	}
	k := newKit(t, func(c *account.Config) { c.Dependents = []account.Dependent{dependent("posts"), dependent("photos")} })
	keyed := application("u1", "alice", "")
	keyed.IdempotencyKey = "key"
	if _, err := k.calm.SignUp(t.Context(), keyed); err != nil {
		t.Fatal(err)
	}
	if err := k.service.Withdraw(t.Context(), "u1"); err == nil || err.Error() != "withdraw: remove photos: storage is away" {
		t.Errorf("%v", err)
	}
	// Marked: still there and whole, but no name can be taken and the id is in use.
	if u := get(t, k, "u1"); !u.Withdrawing || u.Nickname != "alice" {
		t.Errorf("%+v", u)
	}
	if _, err := k.service.Rename(t.Context(), "u1", "alicia"); !errors.Is(err, account.ErrWithdrawing) {
		t.Errorf("rename: %v", err)
	}
	if _, err := k.service.Rename(t.Context(), "u1", "ALICE"); !errors.Is(err, account.ErrWithdrawing) {
		t.Errorf("another spelling: %v", err)
	}
	if _, err := k.service.SignUp(t.Context(), application("u1", "other", "")); !errors.Is(err, account.ErrUserExists) {
		t.Errorf("sign up: %v", err)
	}
	if _, err := k.service.SignUp(t.Context(), keyed); !errors.Is(err, account.ErrUserExists) {
		t.Errorf("the repeat of its sign-up: %v, want user exists: it is going", err)
	}
	if _, err := k.service.SignUp(t.Context(), application("u2", "alice", "")); !errors.Is(err, account.ErrNicknameTaken) {
		t.Errorf("sign up: %v", err)
	}
	k.whole()
	fail = false
	if err := k.service.Withdraw(t.Context(), "u1"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"posts of u1", "photos of u1", "posts of u1", "photos of u1"}, log); diff != "" {
		t.Error(diff)
	}
	if users, claims := k.state(); len(users)+len(claims) != 0 {
		t.Errorf("%v %v", users, claims)
	}
}

// What hangs on a user is written together with the check that the user stands, so it cannot come after the withdrawal has looked.
func TestNothingCanBeHungOnAUserThatIsGoing(t *testing.T) {
	t.Parallel()
	k := newKit(t, func(c *account.Config) {
		c.Dependents = []account.Dependent{{Name: "posts", Remove: func(context.Context, string, string) error { return errors.New("later") }}}
	})
	u := k.signUp("u1", "alice", "")
	writer, err := unique.New(unique.Config{Client: k.plain})
	if err != nil {
		t.Fatal(err)
	}
	claims, n := unique.Claims{Table: k.claims}, 0
	hang := func(incarnation string) error {
		n++
		_, err := writer.Write(t.Context(), unique.Transaction{Operations: []unique.Operation{
			k.calm.Standing("user", "u1", incarnation),
			claims.Take("post", unique.Claim{Constraint: "POST", Value: fmt.Sprint(n), Owner: "u1", Incarnation: incarnation}),
		}})
		return err
	}
	if err := hang(u.Incarnation); err != nil {
		t.Error(err)
	}
	if err := hang("an earlier life"); err == nil {
		t.Error("hung on another incarnation")
	}
	if err := k.calm.Withdraw(t.Context(), "u1"); err == nil {
		t.Fatal("the dependent should have failed")
	}
	refused, ok := errors.AsType[*unique.ConditionError](hang(u.Incarnation))
	if !ok || refused.Label != "user" {
		t.Errorf("%v, want the user's condition", refused)
	}
}

// A withdrawal stalls just before its n-th call. Meanwhile another one finishes, the user id signs up again with the same names, and the stalled one wakes up.
func TestAStalledWithdrawalTouchesNoLaterLife(t *testing.T) {
	t.Parallel()
	for n := 2; n <= 3; n++ {
		t.Run(fmt.Sprintf("before call %d", n), func(t *testing.T) {
			t.Parallel()
			k := newKit(t)
			k.signUp("u1", "alice", "alice@example.com")
			k.faults.Add(ddbtest.Rule{Nth: n, Do: ddbtest.Run(func() {
				if err := k.calm.Withdraw(t.Context(), "u1"); err != nil {
					t.Error(err)
				}
				k.signUp("u1", "alice", "alice@example.com")
			})})
			if err := k.service.Withdraw(t.Context(), "u1"); err != nil {
				t.Errorf("%v: who was to go is gone", err)
			}
			users, _ := k.state()
			if diff := cmp.Diff(map[string]string{"u1": "alice"}, users); diff != "" {
				t.Error(diff)
			}
			if u := get(t, k, "u1"); u.Withdrawing {
				t.Error("the later life was marked")
			}
			k.whole()
		})
	}
}

func TestAStalledRenameTouchesNoLaterLife(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.signUp("u1", "alice", "")
	k.faults.Add(ddbtest.Rule{Operation: "TransactWriteItems", Nth: 1, Do: ddbtest.Run(func() {
		if err := k.calm.Withdraw(t.Context(), "u1"); err != nil {
			t.Error(err)
		}
		k.signUp("u1", "alice", "")
	})})
	if _, err := k.service.Rename(t.Context(), "u1", "alicia"); !errors.Is(err, account.ErrUserNotFound) {
		t.Errorf("%v, want not found: that user is gone", err)
	}
	users, _ := k.state()
	if diff := cmp.Diff(map[string]string{"u1": "alice"}, users); diff != "" {
		t.Error(diff)
	}
	k.whole()
}

// Without names there is no claim that would tell the lives apart: the user's own incarnation must.
func TestAStalledStepTouchesNoLaterLifeWithoutNames(t *testing.T) {
	t.Parallel()
	later := errors.New("later")
	for name, step := range map[string]func(*kit) error{
		"withdraw": func(k *kit) error { return k.service.Withdraw(t.Context(), "u1") },
		"rename":   func(k *kit) error { return second(k.service.Rename(t.Context(), "u1", "alicia")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fail := false
			k := newKit(t, func(c *account.Config) {
				c.Dependents = []account.Dependent{{Name: "posts", Remove: func(context.Context, string, string) error {
					if fail {
						return later
					}
					return nil
				}}}
			})
			first := k.signUp("u1", "", "")
			k.faults.Add(ddbtest.Rule{Operation: "TransactWriteItems", Nth: 1, Do: ddbtest.Run(func() {
				if err := k.calm.Withdraw(t.Context(), "u1"); err != nil {
					t.Error(err)
				}
				k.signUp("u1", "", "")
				if name == "withdraw" { // the later life is being withdrawn too, and something still hangs on it
					fail = true
					if err := k.calm.Withdraw(t.Context(), "u1"); !errors.Is(err, later) {
						t.Error(err)
					}
				}
			})})
			err := step(k)
			if name == "withdraw" && err != nil || name == "rename" && !errors.Is(err, account.ErrUserNotFound) {
				t.Error(err)
			}
			if u := get(t, k, "u1"); u.Incarnation == first.Incarnation || u.Nickname != "" || u.Withdrawing != (name == "withdraw") {
				t.Errorf("%+v", u)
			}
			k.whole()
		})
	}
}

// An operator takes the mark away while a withdrawal is under way: something may have come to hang on the user since, so it begins anew.
func TestAWithdrawalWhoseMarkWasTakenAwayBeginsAnew(t *testing.T) {
	t.Parallel()
	removals := 0
	k := newKit(t, func(c *account.Config) {
		c.Dependents = []account.Dependent{{Name: "posts", Remove: func(context.Context, string, string) error { removals++; return nil }}}
	})
	k.signUp("u1", "alice", "")
	k.faults.Add(ddbtest.Rule{Operation: "TransactWriteItems", Nth: 1, Do: ddbtest.Run(func() {
		_, err := k.plain.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
			TableName: &k.users, Key: ddb.Item{"userId": s("u1")}, UpdateExpression: aws.String("REMOVE #w"), ExpressionAttributeNames: map[string]string{"#w": "_withdrawing"},
		})
		if err != nil {
			t.Error(err)
		}
	})})
	if err := k.service.Withdraw(t.Context(), "u1"); err != nil {
		t.Error(err)
	}
	if users, claims := k.state(); removals != 2 || len(users)+len(claims) != 0 {
		t.Errorf("%d removals, %v %v", removals, users, claims)
	}
}

// A rename has read; the withdrawal marks, and waits for what hangs on the user; the rename goes on.
func TestAWithdrawalStopsARenameThatHasReadBefore(t *testing.T) {
	t.Parallel()
	for _, nickname := range []string{"alicia", "ALICE"} {
		k := newKit(t, func(c *account.Config) {
			c.Dependents = []account.Dependent{{Name: "posts", Remove: func(context.Context, string, string) error { return errors.New("later") }}}
		})
		k.signUp("u1", "alice", "")
		k.faults.Add(ddbtest.Rule{Nth: 2, Do: ddbtest.Run(func() {
			if err := k.calm.Withdraw(t.Context(), "u1"); err == nil {
				t.Error("the dependent should have failed")
			}
		})})
		if _, err := k.service.Rename(t.Context(), "u1", nickname); !errors.Is(err, account.ErrWithdrawing) {
			t.Errorf("%s: %v, want withdrawing", nickname, err)
		}
		if u := get(t, k, "u1"); u.Nickname != "alice" {
			t.Errorf("%+v", u)
		}
		k.whole()
	}
}

// The window of the story: a rename comes between the reading and the end of a withdrawal.
func TestARenameCannotSlipIntoAWithdrawal(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 3; n++ {
		t.Run(fmt.Sprintf("before call %d", n), func(t *testing.T) {
			t.Parallel()
			k := newKit(t)
			k.signUp("u1", "alice", "")
			var renamed error
			k.faults.Add(ddbtest.Rule{Nth: n, Do: ddbtest.Run(func() { _, renamed = k.calm.Rename(t.Context(), "u1", "alicia") })})
			if err := k.service.Withdraw(t.Context(), "u1"); err != nil {
				t.Error(err)
			}
			if marked := n == 3; errors.Is(renamed, account.ErrWithdrawing) != marked || renamed != nil && !marked {
				t.Errorf("rename: %v", renamed)
			}
			if users, claims := k.state(); len(users)+len(claims) != 0 {
				t.Errorf("left behind: %v %v", users, claims)
			}
		})
	}
}

func TestALostRaceIsReadAgainAndEndsInTime(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.signUp("u1", "alice", "")
	n := 0
	slip := func() {
		n++
		if _, err := k.calm.Rename(t.Context(), "u1", fmt.Sprint("slip-", n)); err != nil {
			t.Error(err)
		}
	}
	k.faults.Add(ddbtest.Rule{Operation: "TransactWriteItems", Times: 3, Do: ddbtest.Run(slip)})
	if u, err := k.service.Rename(t.Context(), "u1", "alicia"); err != nil || u.Nickname != "alicia" {
		t.Errorf("%v", err)
	}
	k.whole()
	k.faults.Clear()
	k.faults.Add(ddbtest.Rule{Operation: "TransactWriteItems", Do: ddbtest.Run(slip)})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := k.service.Rename(ctx, "u1", "last"); !errors.Is(err, unique.ErrTryAgain) && !errors.Is(err, unique.ErrUnknown) && ddb.Classify(err).Class != ddb.UnknownOutcome {
		t.Errorf("%v, want try again", err)
	}
	k.whole()
}

// The story's lying test, told right: two at once delete one target, 20 rounds. Each is repeated as a caller would, and what counts is what is left, read
// strongly, not the kinds of errors.
func TestTwoWithdrawalsAtOnceLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.faults.Add(ddbtest.Rule{Operation: "TransactWriteItems", Probability: 0.4, Do: ddbtest.Conflict()}).
		Add(ddbtest.Rule{Operation: "UpdateItem", Probability: 0.3, Do: ddbtest.Conflict()}).
		Add(ddbtest.Rule{Operation: "TransactWriteItems", Probability: 0.2, Do: ddbtest.LostAnswer()})
	var wins atomic.Int64
	for round := range 20 {
		target := fmt.Sprint("target-", round)
		k.signUp(target, fmt.Sprint("name-", round), fmt.Sprintf("mail-%d@example.com", round))
		done := make(chan error, 2)
		for range 2 {
			go func() { done <- insist(func() error { return k.service.Withdraw(t.Context(), target) }) }()
		}
		for range 2 {
			if err := <-done; err != nil {
				t.Errorf("round %d: %v", round, err)
			} else {
				wins.Add(1)
			}
		}
		// Its names are free in this very moment.
		k.signUp("next-"+target, fmt.Sprint("name-", round), fmt.Sprintf("mail-%d@example.com", round))
	}
	users, _ := k.state()
	for round := range 20 {
		if _, left := users[fmt.Sprint("target-", round)]; left {
			t.Errorf("round %d: nothing was deleted", round)
		}
	}
	if len(users) != 20 || wins.Load() != 40 {
		t.Errorf("%d users and %d successes, want 20 and 40", len(users), wins.Load())
	}
	k.whole()
}
