package backfill_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/pkg/backfill"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
	"github.com/heatsink-dev/heatsink/pkg/unique"
)

func (k *kit) claim(constraint, value, owner, incarnation string) {
	k.put(k.claims, unique.Claim{Constraint: constraint, Value: value, Owner: owner, Incarnation: incarnation}.Item())
}

// broken makes one of every fault, beside users that are whole.
func (k *kit) broken() {
	for n := range 10 {
		k.signUp(fmt.Sprint("u", n), fmt.Sprint("name", n), fmt.Sprintf("u%d@example.com", n))
	}
	k.legacy("legacy", "Old", "old@example.com")        // missing, both
	k.claim("NICKNAME", "ghost", "nobody", "x")         // orphan: no such user
	k.claim("NICKNAME", "former", "u1", "x")            // orphan: the user has another
	k.claim("EMAIL", "twice@example.com", "legacy", "") // orphan: the user has another address
	k.put(k.users, ddb.Item{"userId": s("heir"), "nickname": s("won"), "_nickname_key": s("won"), "_incarnation": s("now")})
	k.claim("NICKNAME", "won", "heir", "before") // stale
	k.legacy("late", "NAME2", "")                // taken by u2
	k.legacy("left", "pair", "")                 // duplicate, nobody has it
	k.legacy("right", "Pair", "")
	k.legacy("bad", "x y", "")                                     // unmappable
	k.put(k.claims, ddb.Item{"pk": s("NICKNAME#torn")})            // unreadable
	k.put(k.claims, ddb.Item{"pk": s("EMAIL#"), "owner": s("u1")}) // unreadable
	k.claim("PHONE", "1", "u1", "")                                // another constraint
	k.put(k.users, ddb.Item{"userId": s("odd"), "nickname": s("shown"), "_nickname_key": s("kept"), "_incarnation": s("i")})
	k.claim("NICKNAME", "kept", "odd", "i")                                                                           // mismatch
	k.put(k.users, ddb.Item{"userId": s("going"), "nickname": s("going"), "_withdrawing": s("2026-01-01T00:00:00Z")}) // no fault: about to go
	k.legacy("victim", "loot", "")
	k.claim("NICKNAME", "loot", "gone", "x") // orphan, whose name a user holds
}

func TestVerifyFindsEveryFaultAndRepairsWhatHasOneAnswer(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.broken()
	before := k.state()
	always := []string{
		"duplicate NICKNAME#pair left,right", "mismatch NICKNAME#kept odd",
		"taken NICKNAME#name2 late owner u2", "unmappable NICKNAME# bad", "unreadable # ", "unreadable # ",
	}
	want := append([]string{
		"missing EMAIL#old@example.com legacy", "missing NICKNAME#old legacy",
		"orphan EMAIL#twice@example.com  owner legacy", "orphan NICKNAME#former  owner u1", "orphan NICKNAME#ghost  owner nobody", "orphan NICKNAME#loot  owner gone",
		"stale NICKNAME#won heir", "taken NICKNAME#loot victim owner gone",
	}, always...)
	for _, segments := range []int{1, 4} {
		var f found
		result, err := k.tool(func(c *backfill.Config) { c.Segments = segments }).Verify(t.Context(), backfill.VerifyOptions{}, f.add)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(sorted(want), f.texts()); diff != "" {
			t.Errorf("%d segments: %s", segments, diff)
		}
		if result.Whole() || result.Found != int64(len(want)) || result.OtherClaims != 1 || result.Users != 19 || result.Claims != 29 {
			t.Errorf("%+v", result)
		}
	}
	if diff := cmp.Diff(before, k.state()); diff != "" {
		t.Errorf("verifying alone wrote: %s", diff)
	}

	// The first repair meets the loot as an orphan, and then as missing.
	var f found
	result, err := k.tool().Verify(t.Context(), backfill.VerifyOptions{Repair: true}, f.add)
	if err != nil {
		t.Fatal(err)
	}
	repaired := append([]string{
		"missing EMAIL#old@example.com legacy repaired", "missing NICKNAME#loot victim repaired", "missing NICKNAME#old legacy repaired",
		"orphan EMAIL#twice@example.com  owner legacy repaired", "orphan NICKNAME#former  owner u1 repaired",
		"orphan NICKNAME#ghost  owner nobody repaired", "orphan NICKNAME#loot  owner gone repaired", "stale NICKNAME#won heir repaired",
	}, always...)
	if diff := cmp.Diff(sorted(repaired), f.texts()); diff != "" || result.Whole() || result.Repaired != 8 {
		t.Errorf("%+v: %s", result, diff)
	}
	claims := k.state()
	for key, owner := range map[string]string{
		"NICKNAME#old": "legacy", "EMAIL#old@example.com": "legacy", "NICKNAME#loot": "victim", "NICKNAME#won": "heir", "NICKNAME#name2": "u2",
		"NICKNAME#ghost": "", "NICKNAME#former": "", "EMAIL#twice@example.com": "", "NICKNAME#pair": "", "PHONE#1": "u1", "NICKNAME#kept": "odd",
	} {
		if claims[key] != owner {
			t.Errorf("%s belongs to %q, want %q", key, claims[key], owner)
		}
	}
	// What is left is what a person must look at.
	f = found{}
	if _, err = k.tool().Verify(t.Context(), backfill.VerifyOptions{Repair: true}, f.add); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sorted(always), f.texts()); diff != "" {
		t.Error(diff)
	}
}

func TestVerifyAfterABackfillFindsNothing(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.crowd(30)
	k.signUp("new", "fresh", "fresh@example.com")
	if _, err := k.backfill(k.tool()); err != nil {
		t.Fatal(err)
	}
	k.faults.Clear()
	var f found
	result, err := k.tool().Verify(t.Context(), backfill.VerifyOptions{}, f.add)
	if err != nil || !result.Whole() || result.Users != 31 || result.Claims != 47 || result.Reread != 0 || len(f.list) > 0 {
		t.Errorf("%+v, %v, %v", result, err, f.texts())
	}
	for _, call := range k.faults.Calls() {
		if call.Operation != "Scan" && call.Operation != "DescribeTable" {
			t.Errorf("a clean verification called %s", call.Operation)
		}
	}
}

// Live users rename, withdraw and sign up between every two pages of a verification: nothing of it is a fault.
func TestVerifyRaisesNoFalseAlarmUnderLiveTraffic(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	const crowd = 40
	for n := range crowd {
		k.signUp(fmt.Sprint("old-", n), fmt.Sprint("name", n), fmt.Sprintf("old-%d@example.com", n))
	}
	var step int
	var mu sync.Mutex
	churn := func() {
		mu.Lock()
		defer mu.Unlock()
		for range 2 {
			k.churn(step, crowd)
			step++
		}
	}
	k.faults.Add(ddbtest.Rule{Operation: "Scan", Do: ddbtest.RunAfter(churn)})
	k.faults.Add(ddbtest.Rule{Operation: "TransactGetItems", Probability: 0.3, Do: ddbtest.RunAfter(churn)})
	k.faults.Add(ddbtest.Rule{Operation: "TransactGetItems", Probability: 0.1, Do: ddbtest.Conflict()})
	reread := int64(0)
	for range 2 {
		for _, repair := range []bool{false, true} {
			var f found
			result, err := backfill.VerifyPages(k.tool(), t.Context(), backfill.VerifyOptions{Repair: repair}, f.add, 2)
			if err != nil {
				t.Fatal(err)
			}
			reread += result.Reread
			if len(f.list) > 0 || !result.Whole() {
				t.Errorf("repair %t: false alarms: %v", repair, f.texts())
			}
		}
	}
	if reread == 0 {
		t.Error("nothing was read again: that was no traffic")
	}
	t.Logf("%d names read again, %d live steps", reread, step)
	k.faults.Clear()
	k.noDouble(0)
}

// Between the last look and the repair, the live user comes back to what was an orphan, or gets the claim by itself.
func TestRepairsHoldOnlyWhileTheFaultDoes(t *testing.T) {
	t.Parallel()
	rename := func(id, name string) func(*kit) error {
		return func(k *kit) error { _, err := k.live.Rename(k.t.Context(), id, name); return err }
	}
	for name, test := range map[string]struct {
		prepare   func(*kit)
		meanwhile func(*kit) error
		claims    map[string]string
		findings  []string
	}{
		"the owner takes the orphan": {
			func(k *kit) {
				k.put(k.users, ddb.Item{"userId": s("u"), "_incarnation": s("i")})
				k.claim("NICKNAME", "back", "u", "i")
			},
			// It is its own claim, which it may take as it stands, past account here.
			func(k *kit) error {
				k.put(k.users, ddb.Item{"userId": s("u"), "_incarnation": s("i"), "nickname": s("back"), "_nickname_key": s("back")})
				return nil
			},
			map[string]string{"NICKNAME#back": "u"},
			[]string{},
		},
		"the orphan's user signs up": {
			func(k *kit) { k.claim("NICKNAME", "lost", "u", "before") },
			func(k *kit) error {
				k.put(k.users, ddb.Item{"userId": s("u"), "_incarnation": s("before"), "nickname": s("lost"), "_nickname_key": s("lost")})
				return nil
			},
			map[string]string{"NICKNAME#lost": "u"},
			[]string{},
		},
		"the orphan goes by itself": {
			func(k *kit) { k.claim("NICKNAME", "lost", "nobody", "") },
			func(k *kit) error { k.claim("NICKNAME", "lost", "other", "i"); return nil },
			map[string]string{},
			[]string{"orphan NICKNAME#lost  owner other repaired"},
		},
		"the user is renamed": {
			func(k *kit) { k.legacy("u", "name", "") },
			rename("u", "later"),
			map[string]string{"NICKNAME#later": "u"},
			[]string{},
		},
		"the user withdraws": {
			func(k *kit) { k.legacy("u", "name", "") },
			func(k *kit) error { return k.live.Withdraw(k.t.Context(), "u") },
			map[string]string{},
			[]string{},
		},
		"another takes the name": {
			func(k *kit) { k.legacy("u", "name", "") },
			func(k *kit) error { k.signUp("new", "name", ""); return nil },
			map[string]string{"NICKNAME#name": "new"},
			[]string{"missing NICKNAME#name u"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKit(t)
			test.prepare(k)
			k.faults.Add(ddbtest.Rule{Operation: "TransactWriteItems", Nth: 1, Do: ddbtest.Run(func() {
				if err := test.meanwhile(k); err != nil {
					t.Error(err)
				}
			})})
			var f found
			if _, err := k.tool().Verify(t.Context(), backfill.VerifyOptions{Repair: true}, f.add); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.claims, k.state()); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.findings, f.texts()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A lost answer to a repair is found out by reading, and the orphan is gone once.
func TestRepairGoesOnThroughLostAnswers(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.legacy("u", "name", "")
	k.claim("NICKNAME", "ghost", "nobody", "")
	k.faults.Add(ddbtest.Rule{Operation: "TransactWriteItems", Probability: 0.4, Times: 4, Do: ddbtest.LostAnswer()})
	k.faults.Add(ddbtest.Rule{Operation: "TransactWriteItems", Probability: 0.4, Times: 4, Do: ddbtest.Conflict()})
	var f found
	result, err := k.tool().Verify(t.Context(), backfill.VerifyOptions{Repair: true}, f.add)
	if err != nil || !result.Whole() || result.Repaired != 2 {
		t.Errorf("%+v, %v, %v", result, err, f.texts())
	}
	if diff := cmp.Diff(map[string]string{"NICKNAME#name": "u"}, k.state()); diff != "" {
		t.Error(diff)
	}
}

// A user without incarnation has one claim and lacks the other: both get the incarnation, or the one that it had would be stale.
func TestRepairKeepsTheOtherClaimInStep(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.legacy("u", "before", "u@example.com")
	if _, err := k.live.Rename(t.Context(), "u", "name"); err != nil {
		t.Fatal(err)
	}
	var f found
	result, err := k.tool().Verify(t.Context(), backfill.VerifyOptions{Repair: true}, f.add)
	if err != nil || !result.Whole() || result.Repaired != 1 {
		t.Errorf("%+v, %v, %v", result, err, f.texts())
	}
	k.whole()
	if u, err := k.live.NicknameOwner(t.Context(), "NAME"); err != nil || u.ID != "u" {
		t.Errorf("%v, %v", u, err)
	}
}
