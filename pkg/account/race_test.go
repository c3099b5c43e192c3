package account_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/heatsink-dev/heatsink/pkg/account"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
	"github.com/heatsink-dev/heatsink/pkg/unique"
)

// The register of one name: it holds its owner, or "" for nobody.
type (
	act struct {
		kind, name, user string // kind: take, free, look
	}
	answer struct {
		done, unknown bool
		owner         string // of look
	}
)

// register is what a name may do, one step at a time. What was not answered may have happened or not.
func register() porcupine.Model {
	return (&porcupine.NondeterministicModel{
		Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
			byName := map[string][]porcupine.Operation{}
			for _, o := range history {
				name := o.Input.(act).name
				byName[name] = append(byName[name], o)
			}
			var parts [][]porcupine.Operation
			for _, part := range byName {
				parts = append(parts, part)
			}
			return parts
		},
		Init: func() []any { return []any{""} },
		Step: func(state, input, output any) []any {
			owner, did, got := state.(string), input.(act), output.(answer)
			switch {
			case did.kind == "look":
				if got.owner == owner {
					return []any{owner}
				}
				return nil
			case did.kind == "take" && got.unknown:
				if owner == "" {
					return []any{owner, did.user}
				}
				return []any{owner}
			case did.kind == "take" && got.done: // also when it had the name already: it keeps it
				if owner == "" || owner == did.user {
					return []any{did.user}
				}
				return nil
			case did.kind == "take": // taken: by another
				if owner != "" && owner != did.user {
					return []any{owner}
				}
				return nil
			case got.unknown:
				if owner == did.user {
					return []any{owner, ""}
				}
				return []any{owner}
			default: // freed: what is another's stays
				if owner == did.user {
					return []any{""}
				}
				return []any{owner}
			}
		},
		DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v -> %+v", input, output) },
	}).ToModel()
}

// history records what callers did and saw. Times count, so that no clock decides.
type history struct {
	mu         sync.Mutex
	clock      atomic.Int64
	operations []porcupine.Operation
}

func (h *history) add(client int, did act, called int64, got answer) {
	returned := h.clock.Add(1)
	if got.unknown {
		returned = math.MaxInt64 // it may take effect at any later time
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.operations = append(h.operations, porcupine.Operation{ClientId: client, Input: did, Call: called, Output: got, Return: returned})
}

func (h *history) check(t *testing.T) {
	t.Helper()
	switch result, _ := porcupine.CheckOperationsVerbose(register(), h.operations, 2*time.Minute); result {
	case porcupine.Ok:
	case porcupine.Illegal:
		t.Errorf("no order of the %d operations explains what the callers saw", len(h.operations))
	default:
		t.Errorf("the history of %d operations could not be decided in time", len(h.operations))
	}
}

// A model that says yes to everything would prove nothing.
func TestTheRegisterModelKnowsWrongFromRight(t *testing.T) {
	t.Parallel()
	op := func(call, back int64, kind, user string, got answer) porcupine.Operation {
		return porcupine.Operation{Input: act{kind, "n", user}, Call: call, Return: back, Output: got}
	}
	done, taken, lost := answer{done: true}, answer{}, answer{unknown: true}
	for name, test := range map[string]struct {
		history []porcupine.Operation
		right   bool
	}{
		"two owners":                     {[]porcupine.Operation{op(1, 4, "take", "a", done), op(2, 3, "take", "b", done)}, false},
		"one owner":                      {[]porcupine.Operation{op(1, 4, "take", "a", done), op(2, 3, "take", "b", taken)}, true},
		"taken by nobody":                {[]porcupine.Operation{op(1, 2, "take", "a", taken)}, false},
		"taken by oneself":               {[]porcupine.Operation{op(1, 2, "take", "a", lost), op(3, 4, "take", "a", taken)}, false},
		"lost, then there":               {[]porcupine.Operation{op(1, math.MaxInt64, "take", "a", lost), op(3, 4, "look", "", answer{owner: "a"})}, true},
		"lost, then not there":           {[]porcupine.Operation{op(1, math.MaxInt64, "take", "a", lost), op(3, 4, "look", "", answer{})}, true},
		"freed by another":               {[]porcupine.Operation{op(1, 2, "take", "a", done), op(3, 4, "free", "b", done), op(5, 6, "take", "b", done)}, false},
		"freed":                          {[]porcupine.Operation{op(1, 2, "take", "a", done), op(3, 4, "free", "a", done), op(5, 6, "take", "b", done)}, true},
		"a stale look":                   {[]porcupine.Operation{op(1, 2, "take", "a", done), op(3, 4, "look", "", answer{})}, false},
		"a look at what never was there": {[]porcupine.Operation{op(1, 2, "take", "a", done), op(3, 4, "look", "", answer{owner: "b"})}, false},
	} {
		if got := porcupine.CheckOperations(register(), test.history); got != test.right {
			t.Errorf("%s: %t, want %t", name, got, test.right)
		}
	}
}

// storm lets callers race for few names: sign-ups, renames, releases, withdrawals and looks, while answers are lost, transactions conflict and tables throttle.
func storm(t *testing.T, claims, callers, names int, seed uint64) {
	t.Helper()
	k := newKit(t)
	faults := ddbtest.NewFaults(t, seed)
	for _, rule := range []ddbtest.Rule{
		{Operation: "TransactWriteItems", Probability: 0.06, Do: ddbtest.LostAnswer()},
		{Operation: "TransactWriteItems", Probability: 0.04, Do: ddbtest.Timeout()},
		{Operation: "TransactWriteItems", Probability: 0.04, Do: ddbtest.Dropped()},
		{Operation: "TransactWriteItems", Probability: 0.04, Do: ddbtest.ServerErrorAfter()},
		{Operation: "TransactWriteItems", Probability: 0.15, Do: ddbtest.Conflict()},
		{Operation: "TransactWriteItems", Probability: 0.05, Do: ddbtest.Throttle(ddbtest.CodeProvisioned)},
		{Operation: "UpdateItem", Probability: 0.05, Do: ddbtest.LostAnswer()},
		{Operation: "UpdateItem", Probability: 0.05, Do: ddbtest.Conflict()},
		{Operation: "GetItem", Probability: 0.02, Do: ddbtest.Throttle(ddbtest.CodeThrottling)},
	} {
		faults.Add(rule)
	}
	service := k.open(ddbtest.Client(t, faults.Install), func(c *account.Config) { c.Retry.Attempts = 3 })
	var (
		h          history
		left       atomic.Int64
		won, taken atomic.Int64
		unknown    atomic.Int64
		group      sync.WaitGroup
	)
	left.Store(int64(claims))
	for caller := range callers {
		group.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(caller)))
			one := racer{t: t, h: &h, service: service, caller: caller, random: random, names: names}
			for left.Add(-1) >= 0 {
				switch got := one.take(); {
				case got.unknown:
					unknown.Add(1)
				case got.done:
					won.Add(1)
				default:
					taken.Add(1)
				}
				one.between()
			}
		})
	}
	group.Wait()
	h.check(t)
	k.whole()
	owners := map[string]string{}
	for _, item := range ddbtest.Dump(t, k.plain, k.users) {
		if key := textOf(item, "_nickname_key"); key != "" {
			if other, twice := owners[key]; twice {
				t.Errorf("%s has two owners: %s and %s", key, other, textOf(item, "userId"))
			}
			owners[key] = textOf(item, "userId")
		}
	}
	t.Logf("%d claims: %d won, %d taken, %d unknown; %d operations in the history; %d attempts", claims, won.Load(), taken.Load(), unknown.Load(), len(h.operations), faults.Count(""))
	if won.Load() == 0 || taken.Load() == 0 {
		t.Error("nobody won or nobody lost: that was no race")
	}
}

// racer is one caller with one user at a time.
type racer struct {
	t       *testing.T
	h       *history
	service *account.Service
	caller  int
	random  *rand.Rand
	names   int

	user   string
	lives  int
	held   []string // names that it may hold: one, or several after an unknown outcome
	unsure bool     // whether the user is there is not known
}

func (r *racer) name() string { return fmt.Sprint("name-", r.random.IntN(r.names)) }

// take claims a name: by a sign-up, or by a rename, which frees the name before.
func (r *racer) take() answer {
	name := r.name()
	if r.user == "" {
		r.lives++
		r.user, r.held = fmt.Sprintf("user-%d-%d", r.caller, r.lives), nil
		called := r.h.clock.Add(1)
		_, err := r.service.SignUp(r.t.Context(), application(r.user, name, ""))
		got := r.judge(err, account.ErrNicknameTaken)
		r.h.add(r.caller, act{"take", name, r.user}, called, got)
		switch {
		case got.unknown:
			r.held, r.unsure = []string{name}, true
		case got.done:
			r.held = []string{name}
		default:
			r.user = ""
		}
		return got
	}
	called := r.h.clock.Add(1)
	_, err := r.service.Rename(r.t.Context(), r.user, name)
	if r.unsure && errors.Is(err, account.ErrUserNotFound) {
		r.user, r.unsure = "", false
		return answer{}
	}
	got := r.judge(err, account.ErrNicknameTaken)
	r.h.add(r.caller, act{"take", name, r.user}, called, got)
	if got.done || got.unknown {
		for _, before := range r.held {
			if before != name {
				r.h.add(r.caller, act{"free", before, r.user}, called, got)
			}
		}
	}
	switch {
	case got.done:
		r.held, r.unsure = []string{name}, false
	case got.unknown && !slices.Contains(r.held, name):
		r.held = append(r.held, name)
	}
	return got
}

// between looks a name up, and now and then gives the own one back.
func (r *racer) between() {
	called := r.h.clock.Add(1)
	name := r.name()
	u, err := r.service.NicknameOwner(r.t.Context(), name)
	switch {
	case err == nil:
		r.h.add(r.caller, act{"look", name, ""}, called, answer{owner: u.ID})
	case errors.Is(err, account.ErrNicknameNotFound):
		r.h.add(r.caller, act{"look", name, ""}, called, answer{})
	}
	if r.user == "" || r.random.IntN(3) > 0 {
		return
	}
	called = r.h.clock.Add(1)
	withdraw := r.random.IntN(2) == 0
	if withdraw {
		err = r.service.Withdraw(r.t.Context(), r.user)
	} else {
		err = r.service.ReleaseNickname(r.t.Context(), r.user)
	}
	got := r.judge(err, nil)
	for _, name := range r.held {
		r.h.add(r.caller, act{"free", name, r.user}, called, got)
	}
	switch {
	case got.unknown && withdraw:
		r.user = "" // it may be marked: this caller goes on as another
	case got.unknown:
	case withdraw:
		r.user, r.unsure = "", false
	default:
		r.held = nil
	}
}

// judge sorts an answer. Try again means that nothing was written, but a step that reads and writes may have done a part before; so it counts as unknown here.
func (r *racer) judge(err, refusal error) answer {
	switch class := ddb.Classify(err).Class; {
	case err == nil:
		return answer{done: true}
	case refusal != nil && errors.Is(err, refusal):
		return answer{}
	case errors.Is(err, unique.ErrTryAgain), errors.Is(err, unique.ErrUnknown), class == ddb.Throttled, class == ddb.UnknownOutcome, class == ddb.Conflict:
		return answer{unknown: true}
	default:
		r.t.Errorf("%v", err)
		return answer{unknown: true}
	}
}

// TestSoakRacingClaims is 1,000 claims in every run and 10,000 in a soak.
func TestSoakRacingClaims(t *testing.T) {
	t.Parallel()
	claims := 1000
	if os.Getenv("HEATSINK_SOAK") != "" {
		claims = 10_000
	}
	for _, test := range []struct {
		name                   string
		share, callers, crowds int
	}{
		{"few names", 2, 16, 4},
		{"many names", 4, 16, 100},
		{"one name", 4, 8, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			storm(t, claims/test.share, test.callers, test.crowds, rand.Uint64())
		})
	}
}
