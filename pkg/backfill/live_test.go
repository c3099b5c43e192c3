package backfill_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/pkg/account"
	"github.com/heatsink-dev/heatsink/pkg/backfill"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
)

// Between the read of a user and its transaction, live users do everything that they can.
func TestBackfillMeetsLiveUsers(t *testing.T) {
	t.Parallel()
	live := func(step func(ctx context.Context, k *kit) error) func(*kit) {
		return func(k *kit) {
			if err := step(context.Background(), k); err != nil {
				k.t.Error(err)
			}
		}
	}
	for name, test := range map[string]struct {
		meanwhile func(*kit)
		claims    map[string]string
		counts    backfill.Counts
		rejected  []string
	}{
		"took the name": {
			live(func(ctx context.Context, k *kit) error {
				nickname := "NAME"
				_, err := k.live.SignUp(ctx, account.Application{UserID: "new", Nickname: &nickname})
				return err
			}),
			map[string]string{"NICKNAME#name": "new", "EMAIL#u@example.com": "u"},
			backfill.Counts{Read: 1, Rejected: 1, ClaimsWritten: 1, ClaimsRejected: 1},
			[]string{"taken NICKNAME#name u owner new"},
		},
		"was renamed": {
			live(func(ctx context.Context, k *kit) error { _, err := k.live.Rename(ctx, "u", "later"); return err }),
			map[string]string{"NICKNAME#later": "u", "EMAIL#u@example.com": "u"},
			backfill.Counts{Read: 1, Written: 1, ClaimsWritten: 2},
			[]string{},
		},
		"gave the name up": {
			live(func(ctx context.Context, k *kit) error { return k.live.ReleaseNickname(ctx, "u") }),
			map[string]string{"EMAIL#u@example.com": "u"},
			backfill.Counts{Read: 1, Written: 1, ClaimsWritten: 1},
			[]string{},
		},
		"withdrew": {
			live(func(ctx context.Context, k *kit) error { return k.live.Withdraw(ctx, "u") }),
			map[string]string{},
			backfill.Counts{Read: 1, Skipped: 1, Gone: 1},
			[]string{},
		},
		"is withdrawing": {
			func(k *kit) {
				k.put(k.users, ddb.Item{"userId": s("u"), "nickname": s("Name"), "email": s("U@example.com"), "_withdrawing": s("2026-01-01T00:00:00Z")})
			},
			map[string]string{},
			backfill.Counts{Read: 1, Skipped: 1, Gone: 1},
			[]string{},
		},
		"withdrew and signed up again": {
			live(func(ctx context.Context, k *kit) error {
				nickname := "Name"
				if err := k.live.Withdraw(ctx, "u"); err != nil {
					return err
				}
				_, err := k.live.SignUp(ctx, account.Application{UserID: "u", Nickname: &nickname})
				return err
			}),
			map[string]string{"NICKNAME#name": "u"},
			backfill.Counts{Read: 1, Skipped: 1, Held: 1, ClaimsHeld: 1},
			[]string{},
		},
		"changed the address past account": {
			func(k *kit) {
				k.put(k.users, ddb.Item{"userId": s("u"), "nickname": s("Name"), "email": s("V@example.com")})
			},
			map[string]string{"NICKNAME#name": "u", "EMAIL#v@example.com": "u"},
			backfill.Counts{Read: 1, Written: 1, ClaimsWritten: 2},
			[]string{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKit(t)
			k.legacy("u", "Name", "U@example.com")
			k.faults.Add(ddbtest.Rule{Operation: "TransactWriteItems", Nth: 1, Do: ddbtest.Run(func() { test.meanwhile(k) })})
			// One segment and one page: the live user that comes meanwhile is not read.
			result, err := k.backfill(k.tool(func(c *backfill.Config) { c.Segments, c.PageSize = 1, 100 }))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.counts, result.Counts); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.claims, k.state()); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.rejected, lines(t, k.checkpoint+backfill.RejectedSuffix)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The other way round: a step of a live user meets the backfill. A user that is given an incarnation between reading and writing is the same user.
func TestLiveStepsMeetTheBackfill(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		operation string
		step      func(context.Context, *account.Service) error
		claims    map[string]string
	}{
		"withdraw": {"UpdateItem", func(ctx context.Context, live *account.Service) error { return live.Withdraw(ctx, "u") }, map[string]string{}},
		"rename": {
			"TransactWriteItems", func(ctx context.Context, live *account.Service) error {
				_, err := live.Rename(ctx, "u", "later")
				return err
			},
			map[string]string{"NICKNAME#later": "u", "EMAIL#u@example.com": "u"},
		},
		"release": {
			"TransactWriteItems", func(ctx context.Context, live *account.Service) error { return live.ReleaseNickname(ctx, "u") },
			map[string]string{"EMAIL#u@example.com": "u"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKit(t)
			k.legacy("u", "Name", "u@example.com")
			faults := ddbtest.NewFaults(t, 0)
			faults.Add(ddbtest.Rule{Operation: test.operation, Nth: 1, Do: ddbtest.Run(func() {
				if result, err := k.backfill(k.tool()); err != nil || result.Written != 1 {
					t.Errorf("%+v, %v", result, err)
				}
			})})
			all := mustCatalog(t)
			live, err := account.New(account.Config{
				Client: ddbtest.Client(t, faults.Install), Users: all, UserTable: k.users, ClaimTable: k.claims, Retry: hurried(),
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := test.step(t.Context(), live); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.claims, k.state()); diff != "" {
				t.Error(diff)
			}
			k.whole()
		})
	}
}

// A crowd of live users signs up, renames, releases and withdraws while the backfill runs, through lost answers, conflicts and throttles on both sides.
func TestBackfillUnderLiveTraffic(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	const crowd = 60
	k.crowd(crowd)
	for _, rule := range []ddbtest.Rule{
		{Operation: "TransactWriteItems", Probability: 0.1, Do: ddbtest.LostAnswer()},
		{Operation: "TransactWriteItems", Probability: 0.1, Do: ddbtest.Conflict()},
		{Operation: "TransactWriteItems", Probability: 0.1, Do: ddbtest.Throttle(ddbtest.CodeProvisioned)},
		{Operation: "TransactWriteItems", Probability: 0.05, Do: ddbtest.Timeout()},
		{Operation: "TransactGetItems", Probability: 0.1, Do: ddbtest.Conflict()},
		{Operation: "Scan", Probability: 0.1, Do: ddbtest.LostAnswer()},
		{Operation: "BatchGetItem", Probability: 0.1, Do: ddbtest.Throttle(ddbtest.CodeThrottling)},
	} {
		k.faults.Add(rule)
	}
	stop := make(chan struct{})
	started := make(chan struct{})
	var once sync.Once
	var traffic sync.WaitGroup
	traffic.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			k.churn(n, crowd)
			once.Do(func() { close(started) })
		}
	})
	<-started
	// A live user may take an old one's name even while the duplicates are looked for: that is found, and skipped.
	result, err := k.tool(func(c *backfill.Config) { c.PageSize = 3 }).Backfill(t.Context(), backfill.Options{Checkpoint: k.checkpoint, SkipFindings: true})
	close(stop)
	traffic.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if !result.Balanced() || result.Written == 0 {
		t.Errorf("%+v", result)
	}
	k.faults.Clear()
	k.noDouble(result.Rejected)
	t.Logf("%+v", result.Counts)
}

// churn is one step of live traffic among the names of the crowd.
func (k *kit) churn(n, crowd int) {
	ctx := k.t.Context()
	victim, name, id := fmt.Sprint("old-", n*7%crowd), fmt.Sprint("name", n*11%crowd), fmt.Sprint("live-", n)
	var err error
	switch n % 5 {
	case 0:
		_, err = k.live.SignUp(ctx, account.Application{UserID: id, Nickname: &name})
	case 1:
		_, err = k.live.Rename(ctx, victim, fmt.Sprint("renamed-", n))
	case 2:
		err = k.live.ReleaseNickname(ctx, victim)
	case 3:
		if n%3 == 0 {
			err = k.live.Withdraw(ctx, victim)
		}
	case 4:
		_, err = k.live.Rename(ctx, fmt.Sprint("live-", n-4), fmt.Sprint("moved-", n))
	}
	for _, expected := range []error{account.ErrNicknameTaken, account.ErrUserNotFound, account.ErrUserExists, account.ErrWithdrawing} {
		if errors.Is(err, expected) {
			err = nil
		}
	}
	if err != nil && ctx.Err() == nil {
		k.t.Errorf("live step %d: %v", n, err)
	}
}

// noDouble checks that no name has two users that claim it, no claim lacks its user, and that users without their claim are no more than were rejected.
func (k *kit) noDouble(rejected int64) {
	k.t.Helper()
	claims := map[string]string{}
	for _, item := range ddbtest.Dump(k.t, k.plain, k.claims) {
		claims[textOf(item, "pk")] = textOf(item, "owner") + "/" + textOf(item, "incarnation")
	}
	free := maps.Clone(claims)
	unclaimed := int64(0)
	for _, item := range ddbtest.Dump(k.t, k.plain, k.users) {
		without := false
		for _, h := range account.Holdings(item) {
			key := h.Claim("", "").Key()
			switch owner := textOf(item, "userId") + "/" + textOf(item, "_incarnation"); {
			case claims[key] == owner:
				delete(free, key)
			case h.Stored:
				k.t.Errorf("%s says that it has claimed %s, which is %q's", owner, key, claims[key])
			default:
				without = true
			}
		}
		if without {
			unclaimed++
		}
	}
	for key, owner := range free {
		k.t.Errorf("claim %s of %s has no user", key, owner)
	}
	if unclaimed > rejected {
		k.t.Errorf("%d users lack a claim, %d were rejected", unclaimed, rejected)
	}
}
