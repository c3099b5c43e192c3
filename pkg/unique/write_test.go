package unique_test

import (
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
	"github.com/heatsink-dev/heatsink/pkg/unique"
)

func TestAClaimCanBeTakenOnce(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	if _, err := k.write(k.claims.Take("name", claim("a", "one"))); err != nil {
		t.Fatal(err)
	}
	_, err := k.write(k.claims.Take("name", claim("a", "two")))
	refused, ok := errors.AsType[*unique.ConditionError](err)
	if !ok || refused.Label != "name" {
		t.Fatalf("got %v, want the condition of name", err)
	}
	holder, err := unique.ParseClaim(refused.Item)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(claim("a", "one"), holder); diff != "" {
		t.Errorf("the refusal must carry the holder without a read: %s", diff)
	}
	if n := k.faults.Count(""); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
}

func TestRequestsAndUnitsOfOneClaim(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		units float64
		do    func(k *kit) []unique.Operation
	}{
		{"take", 2, func(k *kit) []unique.Operation { return []unique.Operation{k.claims.Take("t", claim("new", "one"))} }},
		{"release", 2, func(k *kit) []unique.Operation { return []unique.Operation{k.claims.Release("r", claim("old", "one"))} }},
		{"move", 4, func(k *kit) []unique.Operation {
			from, to := claim("old", "one"), claim("new", "one")
			return k.claims.Move("t", "r", &from, &to)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var meter *ddb.Meter
			for again := true; again; {
				k := newKit(t)
				k.must(k.claims.Take("old", claim("old", "one")))
				var ctx context.Context
				ctx, meter = ddb.WithMeter(t.Context())
				if _, err := k.writer.Write(ctx, unique.Transaction{Operations: test.do(k)}); err != nil {
					t.Fatal(err)
				}
				again = meter.Usage().Unknown > 0 // the engine closed a connection: what was sent again is not what is counted here
			}
			if got := meter.Usage(); got.Requests != 1 || got.Attempts != 1 || got.WriteUnits != test.units || got.ReadUnits != 0 {
				t.Errorf("%+v, want 1 request and %v write units", got, test.units)
			}
		})
	}
}

func TestAMoveToTheSameValueWritesNoClaim(t *testing.T) {
	t.Parallel()
	from, to := claim("a", "one"), claim("a", "one")
	to.Request = "another"
	if got := (unique.Claims{Table: "T"}).Move("t", "r", &from, &to); got != nil {
		t.Errorf("%d operations, want none", len(got))
	}
}

func TestAReleaseNeedsTheOwnerInItsIncarnation(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		holds *unique.Claim
		by    unique.Claim
		freed bool
	}{
		{"own", new(claim("a", "one")), claim("a", "one"), true},
		{"nobody's is success", nil, claim("a", "one"), true},
		{"a stranger's", new(claim("a", "two")), claim("a", "one"), false},
		{"own, of another incarnation", new(unique.Claim{Constraint: "NAME", Value: "a", Owner: "one", Incarnation: "one-2"}), claim("a", "one"), false},
		{"without incarnation, by one with", new(unique.Claim{Constraint: "NAME", Value: "a", Owner: "one"}), claim("a", "one"), false},
		{"with incarnation, by one without", new(claim("a", "one")), unique.Claim{Constraint: "NAME", Value: "a", Owner: "one"}, false},
		{"both without", new(unique.Claim{Constraint: "NAME", Value: "a", Owner: "one"}), unique.Claim{Constraint: "NAME", Value: "a", Owner: "one"}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			k := newKit(t)
			if test.holds != nil {
				k.must(k.claims.Take("name", *test.holds))
			}
			_, err := k.write(k.claims.Release("name", test.by))
			if _, refused := errors.AsType[*unique.ConditionError](err); refused == test.freed {
				t.Errorf("freed: %v", err)
			}
			if left := k.owner("a") != ""; left == test.freed {
				t.Errorf("a claim is left: %t", left)
			}
		})
	}
}

func TestAConflictIsNeverARefusal(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.faults.Add(ddbtest.Rule{Operation: "TransactWriteItems", Times: 5, Do: ddbtest.Conflict()})
	outcome, err := k.write(k.claims.Take("name", claim("a", "one")))
	if err != nil || outcome.Attempts != 6 || k.waits != 5 {
		t.Errorf("%v after %d attempts and %d waits, want success after 6 and 5", err, outcome.Attempts, k.waits)
	}
	k.faults.Clear()
	k.faults.Add(ddbtest.Rule{Operation: "TransactWriteItems", Do: ddbtest.Conflict()})
	_, err = k.writer.Write(deadline(t, 200*time.Millisecond), unique.Transaction{Operations: []unique.Operation{k.claims.Take("name", claim("b", "one"))}})
	if !errors.Is(err, unique.ErrTryAgain) || errors.Is(err, unique.ErrUnknown) {
		t.Errorf("%v, want try again", err)
	}
	if _, refused := errors.AsType[*unique.ConditionError](err); refused {
		t.Error("a conflict became a refusal")
	}
}

func deadline(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func TestAThrottleIsTriedAgainAndKeepsItsKind(t *testing.T) {
	t.Parallel()
	for _, fault := range []ddbtest.Fault{ddbtest.Throttle(ddbtest.CodeProvisioned), ddbtest.Throttle(ddbtest.CodeThrottling), ddbtest.Cancel("ThrottlingError")} {
		k := newKit(t)
		k.faults.Add(ddbtest.Rule{Operation: "TransactWriteItems", Times: 3, Do: fault})
		if outcome, err := k.write(k.claims.Take("name", claim("a", "one"))); err != nil || outcome.Attempts != 4 {
			t.Errorf("%v after %d attempts, want success after 4", err, outcome.Attempts)
		}
		k.faults.Clear()
		k.faults.Add(ddbtest.Rule{Operation: "TransactWriteItems", Do: fault})
		_, err := k.writer.Write(deadline(t, 100*time.Millisecond), unique.Transaction{Operations: []unique.Operation{k.claims.Take("name", claim("b", "one"))}})
		if !errors.Is(err, unique.ErrTryAgain) || ddb.Classify(err).Class != ddb.Throttled {
			t.Errorf("%v, want try again for want of throughput", err)
		}
	}
}

func TestAFailedConditionOutranksEverything(t *testing.T) {
	t.Parallel()
	const failed, conflict, throttled, invalid, none = "ConditionalCheckFailed", "TransactionConflict", "ThrottlingError", "ValidationError", "None"
	for _, test := range []struct {
		codes []string
		label string
		kind  any
	}{
		{[]string{conflict, failed, throttled}, "two", &unique.ConditionError{}},
		{[]string{invalid, none, failed}, "three", &unique.ConditionError{}},
		{[]string{failed, failed, conflict}, "one", &unique.ConditionError{}},
		{[]string{conflict, invalid, throttled}, "two", &unique.InvalidError{}},
	} {
		k := newKit(t)
		k.faults.Add(ddbtest.Rule{Operation: "TransactWriteItems", Do: ddbtest.Cancel(test.codes...)})
		_, err := k.write(k.claims.Take("one", claim("1", "o")), k.claims.Take("two", claim("2", "o")), k.claims.Take("three", claim("3", "o")))
		label := ""
		switch test.kind.(type) {
		case *unique.ConditionError:
			if got, ok := errors.AsType[*unique.ConditionError](err); ok {
				label = got.Label
			}
		case *unique.InvalidError:
			if got, ok := errors.AsType[*unique.InvalidError](err); ok {
				label = got.Label
			}
		}
		if label != test.label {
			t.Errorf("%v: %v, want %T of %s", test.codes, err, test.kind, test.label)
		}
		if n := k.faults.Count("TransactWriteItems"); n != 1 {
			t.Errorf("%v: sent %d times, want once: it is definite", test.codes, n)
		}
	}
}

func TestALostAnswerIsSettledByTheSameToken(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]ddbtest.Fault{
		"lost": ddbtest.LostAnswer(), "timeout": ddbtest.Timeout(), "500 after": ddbtest.ServerErrorAfter(),
		"500 before": ddbtest.ServerError(), "dropped": ddbtest.Dropped(),
		"in progress": ddbtest.Refuse("TransactionInProgressException", "The transaction with the given request token is already in progress."),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKit(t)
			tokens := map[string]int{}
			seen := func(in any) bool {
				tokens[aws.ToString(in.(*dynamodb.TransactWriteItemsInput).ClientRequestToken)]++
				return true
			}
			k.faults.Add(ddbtest.Rule{Operation: "TransactWriteItems", When: seen, Times: 3, Do: fault})
			outcome, err := k.write(k.claims.Take("name", claim("a", "one")), k.claims.Take("other", claim("b", "one")))
			if err != nil || outcome.Attempts != 4 {
				t.Errorf("%v after %d attempts, want success after 4", err, outcome.Attempts)
			}
			if outcome.Settled || outcome.Met != nil {
				t.Errorf("%+v: the token alone must settle it, without a read", outcome)
			}
			if len(tokens) != 1 {
				t.Errorf("%d tokens, want the same each time", len(tokens))
			}
			if k.owner("a") != "one" || k.owner("b") != "one" {
				t.Error("not written")
			}
		})
	}
}

// An engine that has forgotten the token (10 minutes on AWS), or never knew tokens, evaluates the conditions anew: the own claim stands in the way.
func TestOnesOwnClaimIsNotTakenByAnother(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.must(k.claims.Take("name", claim("a", "one")))
	outcome, err := k.write(k.claims.Take("name", claim("a", "one")), k.claims.Take("other", claim("b", "one")))
	if err != nil || outcome.Met["name"] == nil {
		t.Errorf("%v %+v, want success by the own claim", err, outcome)
	}
	for what, other := range map[string]unique.Claim{
		"another request":     {Constraint: "NAME", Value: "a", Owner: "one", Incarnation: "one-1", Request: "r2"},
		"another incarnation": {Constraint: "NAME", Value: "a", Owner: "one", Incarnation: "one-2", Request: "one-r"},
		"another owner":       {Constraint: "NAME", Value: "a", Owner: "two", Incarnation: "one-1", Request: "one-r"},
		"without request":     {Constraint: "NAME", Value: "a", Owner: "one", Incarnation: "one-1"},
	} {
		if _, err := k.write(k.claims.Take("name", other)); err == nil {
			t.Errorf("%s: success, want a refusal", what)
		}
	}
}

func TestWhatNobodyAnswersIsSettledByReading(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		fault ddbtest.Fault
		want  error
	}{
		{"it took effect", ddbtest.LostAnswer(), nil},
		{"it did not, and may yet", ddbtest.Dropped(), unique.ErrUnknown},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			k := newKit(t, func(c *unique.Config) { c.Retry.Attempts = 3 })
			k.faults.Add(ddbtest.Rule{Operation: "TransactWriteItems", Do: test.fault})
			outcome, err := k.write(k.claims.Take("name", claim("a", "one")))
			if !errors.Is(err, test.want) || outcome.Settled != (test.want == nil) || outcome.Attempts != 3 {
				t.Errorf("%v %+v", err, outcome)
			}
			reads := slices.DeleteFunc(k.faults.Calls(), func(c ddbtest.Call) bool { return c.Operation != "GetItem" })
			if len(reads) != 1 {
				t.Errorf("%d reads, want 1", len(reads))
			}
		})
	}
}

// A throttle or a missing permission after a lost answer says nothing about the try before.
func TestADefiniteRefusalOfALaterTryDoesNotSettleAnEarlierOne(t *testing.T) {
	t.Parallel()
	for name, later := range map[string]ddbtest.Fault{
		"denied":    ddbtest.Refuse("AccessDeniedException", "no"),
		"invalid":   ddbtest.Refuse("ValidationException", "no"),
		"mismatch":  ddbtest.Refuse("IdempotentParameterMismatchException", "other parameters"),
		"throttled": ddbtest.Throttle(ddbtest.CodeThrottling),
		"conflict":  ddbtest.Conflict(),
	} {
		for _, landed := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, landed %t", name, landed), func(t *testing.T) {
				t.Parallel()
				k := newKit(t, func(c *unique.Config) { c.Retry.Attempts = 4 })
				first := ddbtest.Dropped()
				if landed {
					first = ddbtest.LostAnswer()
				}
				k.faults.Add(ddbtest.Rule{Operation: "TransactWriteItems", Nth: 1, Do: first}).Add(ddbtest.Rule{Operation: "TransactWriteItems", Do: later})
				outcome, err := k.write(k.claims.Take("name", claim("a", "one")))
				if landed && (err != nil || !outcome.Settled) {
					t.Errorf("%v %+v, want success by reading", err, outcome)
				}
				if !landed && !errors.Is(err, unique.ErrUnknown) {
					t.Errorf("%v, want unknown", err)
				}
			})
		}
	}
}

func TestATokenOfAnotherTransactionIsAnErrorOfItsOwn(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	token := crand.Text() // tokens are of the account, not of a table
	write := func(c unique.Claim) (unique.Outcome, error) {
		return k.writer.Write(t.Context(), unique.Transaction{Token: token, Operations: []unique.Operation{k.claims.Take("name", c)}})
	}
	if _, err := write(claim("a", "one")); err != nil {
		t.Fatal(err)
	}
	if _, err := write(claim("a", "one")); err != nil {
		t.Errorf("the same step again: %v", err)
	}
	if _, err := write(claim("b", "one")); !errors.Is(err, unique.ErrTokenReused) {
		t.Errorf("%v, want the token reused", err)
	}
	// The same step in another dress: what it wanted stands, so it is done.
	k.must(k.claims.Take("name", claim("c", "one")))
	if outcome, err := write(claim("c", "one")); err != nil || !outcome.Settled {
		t.Errorf("%v %+v, want success by reading", err, outcome)
	}
}

// The SDK writes maps in random order. An engine that compares texts would call its own repeat a mismatch.
func TestARepeatIsNoMismatchThoughMapsAreWrittenInAnyOrder(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	for n := range 20 {
		k.faults.Clear()
		k.faults.Add(ddbtest.Rule{Operation: "TransactWriteItems", Times: 2, Do: ddbtest.LostAnswer()})
		from, to := claim(fmt.Sprint("v", n), "one"), claim(fmt.Sprint("v", n+1), "one")
		outcome, err := k.write(k.claims.Move("take", "release", &from, &to)...)
		if err != nil || outcome.Settled || outcome.Attempts != 3 {
			t.Fatalf("%v %+v", err, outcome)
		}
	}
}

// What a permuted list of operations must say: of which label each answer is.
func labelsFollow(t *testing.T, labelOf func(position int, sent []unique.Operation) string) (wrong int) {
	t.Helper()
	k := newKit(t)
	k.must(k.claims.Take("held", claim("held", "stranger")))
	operations := []unique.Operation{
		k.claims.Take("taken", claim("held", "one")),
		k.claims.Take("free", claim("f", "one")),
		k.claims.Release("absent", claim("nobody", "one")),
		{Label: "check", Write: types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
			TableName: &k.claims.Table, Key: ddb.Item{"pk": s("NAME#checked")}, ConditionExpression: aws.String("attribute_not_exists(pk)"),
		}}},
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 24 {
		random.Shuffle(len(operations), func(i, j int) { operations[i], operations[j] = operations[j], operations[i] })
		_, err := k.write(operations...)
		refused, ok := errors.AsType[*unique.ConditionError](err)
		if !ok {
			t.Fatal(err)
		}
		at := slices.IndexFunc(operations, func(o unique.Operation) bool { return o.Label == refused.Label })
		if labelOf(at, operations) != "taken" {
			wrong++
		}
	}
	return wrong
}

func TestLabelsFollowTheirOperationsInAnyOrder(t *testing.T) {
	t.Parallel()
	if wrong := labelsFollow(t, func(at int, sent []unique.Operation) string { return sent[at].Label }); wrong != 0 {
		t.Errorf("%d of 24 orders were told the wrong label", wrong)
	}
	// A map by the positions of the written-down order, as the story's first version had it, is found out by the same test.
	byHabit := []string{"taken", "free", "absent", "check"}
	if wrong := labelsFollow(t, func(at int, _ []unique.Operation) string { return byHabit[at] }); wrong == 0 {
		t.Error("the test does not notice a broken map of labels")
	}
}

// pynamodb#1284: operations regrouped by kind no longer match the reasons.
func TestTheOrderOfKindsIsKept(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.must(k.claims.Take("held", claim("held", "stranger")))
	_, err := k.write(k.claims.Take("first put", claim("1", "o")), k.claims.Release("delete", claim("2", "o")), k.claims.Take("second put", claim("held", "o")))
	if refused, ok := errors.AsType[*unique.ConditionError](err); !ok || refused.Label != "second put" {
		t.Errorf("%v, want the second put", err)
	}
}

func TestRankDecidesAmongSeveralRefusals(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.must(k.claims.Take("a", claim("a", "s")), k.claims.Take("b", claim("b", "s")), k.claims.Take("c", claim("c", "s")))
	operations := []unique.Operation{k.claims.Take("third", claim("a", "o")), k.claims.Take("first", claim("b", "o")), k.claims.Take("second", claim("c", "o"))}
	operations[0].Rank, operations[1].Rank, operations[2].Rank = 3, 1, 2
	_, err := k.write(operations...)
	refused, ok := errors.AsType[*unique.ConditionError](err)
	if !ok {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"first", "second", "third"}, append([]string{refused.Label}, refused.Others...)); diff != "" {
		t.Error(diff)
	}
	if !refused.Failed("third") || refused.Failed("fourth") {
		t.Error("Failed")
	}
}

func TestWhatCannotBeSentIsRefusedBeforeTheCall(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	big := func(n, size int) unique.Operation {
		return unique.Operation{Label: fmt.Sprint("big ", n), KeyNames: []string{"pk"}, Write: types.TransactWriteItem{Put: &types.Put{
			TableName: &k.claims.Table, Item: ddb.Item{"pk": s(fmt.Sprint(n)), "v": s(strings.Repeat("x", size))},
		}}}
	}
	var many, heavy []unique.Operation
	for n := range 101 {
		many = append(many, k.claims.Take(fmt.Sprint(n), claim(fmt.Sprint(n), "o")))
	}
	for n := range 11 {
		heavy = append(heavy, big(n, 400_000))
	}
	put := big(1, 1)
	put.KeyNames = nil
	for _, test := range []struct {
		name       string
		token      string
		operations []unique.Operation
		want       string
	}{
		{"none", "", nil, "transaction: has no operation"},
		{"101", "", many, "transaction: operations: at most 100, is 101"},
		{"4 MB", "", heavy, "transaction: bytes of all items: at most 4194304, is 4400045"},
		{"400 KB", "", []unique.Operation{big(1, 410_000)}, "big 1: bytes of the item: at most 409600, is 410004"},
		{"token", strings.Repeat("t", 37), many[:1], "transaction: bytes of the token: at most 36, is 37"},
		{"label twice", "", []unique.Operation{many[0], k.claims.Take("0", claim("x", "o"))}, "0: two operations have this label"},
		{"item twice", "", []unique.Operation{many[0], k.claims.Release("r", claim("0", "o"))}, "r: is on the same item as 0"},
		{"no label", "", []unique.Operation{k.claims.Take("", claim("x", "o"))}, "transaction: an operation without a label"},
		{"no write", "", []unique.Operation{{Label: "l"}}, "l: must be exactly one of Put, Update, Delete and ConditionCheck"},
		{"no key names", "", []unique.Operation{put}, "big 1: names no key: a Put needs KeyNames"},
		{"constraint", "", []unique.Operation{k.claims.Take("l", unique.Claim{Constraint: "A#B", Value: "v", Owner: "o"})}, "l: its constraint must be a name without '#'"},
		{"value", "", []unique.Operation{k.claims.Take("l", unique.Claim{Constraint: "A", Owner: "o"})}, "l: its value is empty"},
		{"owner", "", []unique.Operation{k.claims.Release("l", unique.Claim{Constraint: "A", Value: "v"})}, "l: its owner is empty"},
		{"key", "", []unique.Operation{k.claims.Take("l", claim(strings.Repeat("v", 2044), "o"))}, "l: bytes of constraint and value: at most 2048, is 2049"},
	} {
		_, err := k.writer.Write(t.Context(), unique.Transaction{Token: test.token, Operations: test.operations})
		if bad, ok := errors.AsType[*unique.RequestError](err); !ok || bad.Error() != test.want {
			t.Errorf("%s: %v, want %s", test.name, err, test.want)
		}
	}
	if n := k.faults.Count(""); n != 0 {
		t.Errorf("%d requests, want none", n)
	}
	// At the borders it goes through.
	if _, err := k.write(many[:100]...); err != nil {
		t.Errorf("100 operations: %v", err)
	}
	if _, err := k.write(k.claims.Take("l", claim(strings.Repeat("v", 2043), "o"))); err != nil {
		t.Errorf("a key of 2,048 bytes: %v", err)
	}
}

func TestAnEndedContextSendsNothing(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := k.writer.Write(ctx, unique.Transaction{Operations: []unique.Operation{k.claims.Take("name", claim("a", "one"))}})
	if !errors.Is(err, context.Canceled) || k.faults.Count("") != 0 {
		t.Errorf("%v after %d requests", err, k.faults.Count(""))
	}
}

func TestACallerThatLeavesInTheMiddleIsToldThatNothingIsKnown(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	ctx, cancel := context.WithCancel(t.Context())
	k.faults.Add(ddbtest.Rule{Operation: "TransactWriteItems", Do: ddbtest.RunAfter(cancel)})
	_, err := k.writer.Write(ctx, unique.Transaction{Operations: []unique.Operation{k.claims.Take("name", claim("a", "one"))}})
	if err != nil && !errors.Is(err, unique.ErrUnknown) {
		t.Errorf("%v, want unknown or success", err)
	}
}

// A claim never goes through an index.
func TestNoQueryAndNoScan(t *testing.T) {
	t.Parallel()
	k := newKit(t, func(c *unique.Config) { c.Retry.Attempts = 2 })
	k.faults.Add(ddbtest.Rule{Operation: "TransactWriteItems", Nth: 1, Do: ddbtest.LostAnswer()}).
		Add(ddbtest.Rule{Operation: "TransactWriteItems", Do: ddbtest.ServerError()}).
		Add(ddbtest.Rule{Operation: "GetItem", When: func(in any) bool { return !aws.ToBool(in.(*dynamodb.GetItemInput).ConsistentRead) }, Do: ddbtest.Refuse("X", "an eventual read")})
	if outcome, err := k.write(k.claims.Take("name", claim("a", "one"))); err != nil || !outcome.Settled {
		t.Fatalf("%v %+v, want success by reading", err, outcome)
	}
	for _, call := range k.faults.Calls() {
		if call.Operation != "TransactWriteItems" && call.Operation != "GetItem" || call.Index != "" {
			t.Errorf("%+v", call)
		}
	}
}
