package racelab_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/heatsink-dev/heatsink/pkg/catalog"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
	"github.com/heatsink-dev/heatsink/pkg/racelab"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

func users(t *testing.T) *schema.BaseTable {
	t.Helper()
	all, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	table, _ := all.Table(catalog.UserTable)
	return table
}

func newLab(t *testing.T, client racelab.Client, change ...func(*racelab.Config)) *racelab.Lab {
	t.Helper()
	config := racelab.Config{Client: client, Users: users(t), Lag: time.Hour, Conflicts: true, Seed: 1}
	for _, f := range change {
		f(&config)
	}
	lab, err := racelab.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return lab
}

// gone checks by itself that no table of the lab is there.
func gone(t *testing.T, lab *racelab.Lab) {
	t.Helper()
	for _, name := range lab.Tables() {
		_, err := ddbtest.Client(t).DescribeTable(context.Background(), &dynamodb.DescribeTableInput{TableName: &name})
		if ddb.Classify(err).Class != ddb.NotFound {
			t.Errorf("table %s is still there: %v", name, err)
		}
	}
}

func TestTheNaiveWayLeaksAndClaimsDoNot(t *testing.T) {
	t.Parallel()
	faults := ddbtest.NewFaults(t, 0)
	// Two who meet are both refused each time, so that it does not take luck to see.
	lab := newLab(t, ddbtest.Client(t, faults.Install), func(c *racelab.Config) { c.Mutual = 1 })
	report, err := lab.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !report.Passed || !report.CleanedUp || len(report.Rows) != 6 || !report.InjectedConflicts || report.InjectedLag != "1h0m0s" {
		t.Errorf("%+v", report)
	}
	for n, want := range []struct {
		way                  string
		wins, refused, leaks int
		final                string
	}{
		{racelab.Naive, 3, 0, 2, "1 name, 3 owners"},
		{racelab.Claims, 1, 2, 0, "1 name, 1 owner, each with its claim"},
		{racelab.Naive, 40, 0, 20, "20 names, 40 owners"},
		{racelab.Claims, 20, 20, 0, "20 names, 20 owners, each with its claim"},
	} {
		row := report.Rows[n]
		if row.Way != want.way || row.Wins != want.wins || row.Refused != want.refused || row.Leaks != want.leaks || row.Final != want.final ||
			row.Whole != (want.leaks == 0) {
			t.Errorf("row %d: %+v, want %+v", n, row, want)
		}
	}
	// Nobody tries again the naive way, so that a target that both were refused stays.
	naive, claims := report.Rows[4], report.Rows[5]
	if naive.Leaks == 0 || naive.Whole || naive.Wins+naive.Refused != 40 || naive.Leaks != 20-naive.Wins {
		t.Errorf("naive deletes: %+v", naive)
	}
	if claims.Wins != 40 || claims.Leaks != 0 || claims.Final != "0 of 20 targets left, 0 claims" || claims.Calls != 40+claims.TryAgains {
		t.Errorf("deletes with claims: %+v", claims)
	}
	gone(t, lab)
	// What conflicts cost comes on top: it is chance.
	again := 0
	for _, row := range report.Rows {
		again += 3 * row.TryAgains
	}
	if sent := faults.Count(""); sent > lab.Requests()+again || sent < lab.Requests()/4 {
		t.Errorf("%d requests, announced %d", sent, lab.Requests())
	}
	for _, call := range faults.Calls() {
		for _, table := range call.Tables {
			if !slices.Contains(lab.Tables(), table) {
				t.Errorf("%s on table %s, which is not the lab's", call.Operation, table)
			}
		}
	}
}

// Without an injected lag the index is never behind here, so that pairs do not leak. Callers at the same moment do: looking before writing is the fault, the lag makes it worse.
func TestWithoutInjectionNothingIsInjected(t *testing.T) {
	t.Parallel()
	lab := newLab(t, ddbtest.Client(t), func(c *racelab.Config) { c.Lag, c.Conflicts = 0, false })
	report, err := lab.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if report.InjectedLag != "0s" || report.InjectedConflicts || !report.Passed {
		t.Errorf("%+v", report)
	}
	for _, row := range report.Rows[1:] {
		if row.Leaks > 0 {
			t.Errorf("%+v", row)
		}
	}
}

// ignoring is an engine that ignores the conditions of puts.
type ignoring struct{ racelab.Client }

func (c ignoring) TransactWriteItems(
	ctx context.Context, in *dynamodb.TransactWriteItemsInput, options ...func(*dynamodb.Options),
) (*dynamodb.TransactWriteItemsOutput, error) {
	changed := *in
	changed.TransactItems = slices.Clone(in.TransactItems)
	for n, w := range changed.TransactItems {
		if w.Put != nil {
			put := *w.Put
			put.ConditionExpression, put.ExpressionAttributeNames = nil, nil
			changed.TransactItems[n].Put = &put
		}
	}
	return c.Client.TransactWriteItems(ctx, &changed, options...)
}

// The lab can fail: where claims do not hold, it says so.
func TestClaimsThatDoNotHoldAreSeen(t *testing.T) {
	t.Parallel()
	lab := newLab(t, ignoring{ddbtest.Client(t)})
	report, err := lab.Run(t.Context())
	if err != nil || report.Passed || !report.CleanedUp || report.Rows[1].Leaks != 2 || report.Rows[3].Whole || !strings.Contains(report.Rows[3].Final, "20 without claim") {
		t.Errorf("%+v, %v", report, err)
	}
	gone(t, lab)
}

// keeping is an engine that does not delete one table.
type keeping struct {
	racelab.Client
	suffix string
}

func (c keeping) DeleteTable(ctx context.Context, in *dynamodb.DeleteTableInput, options ...func(*dynamodb.Options)) (*dynamodb.DeleteTableOutput, error) {
	if strings.HasSuffix(*in.TableName, c.suffix) {
		return nil, errors.New("not allowed")
	}
	return c.Client.DeleteTable(ctx, in, options...)
}

func TestWhatIsLeftBehindIsToldApartFromWhatHeld(t *testing.T) {
	t.Parallel()
	plain := ddbtest.Client(t)
	lab := newLab(t, keeping{plain, "-claim"})
	report, err := lab.Run(t.Context())
	if err != nil || !report.Passed || report.CleanedUp || !slices.Equal(report.LeftBehind, lab.Tables()[2:]) {
		t.Errorf("%+v, %v", report, err)
	}
	if _, err := plain.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: aws.String(lab.Tables()[2])}); err != nil {
		t.Error(err)
	}
	gone(t, lab)
}

// Interrupted at any request, also while tables are made, it deletes them.
func TestInterruptedItCleansUp(t *testing.T) {
	t.Parallel()
	for _, at := range []int{1, 2, 4, 9, 60, 150} {
		ctx, cancel := context.WithCancel(t.Context())
		var requests atomic.Int64
		faults := ddbtest.NewFaults(t, 0)
		faults.Add(ddbtest.Rule{Do: ddbtest.RunAfter(func() {
			if requests.Add(1) == int64(at) {
				cancel()
			}
		})})
		lab := newLab(t, ddbtest.Client(t, faults.Install))
		report, err := lab.Run(ctx)
		if !errors.Is(err, context.Canceled) || report.Passed || !report.CleanedUp {
			t.Errorf("at request %d: %+v, %v", at, report, err)
		}
		gone(t, lab)
		cancel()
	}
}

// A table whose making was not answered is there all the same.
func TestATableWhoseMakingWasNotAnsweredIsDeleted(t *testing.T) {
	t.Parallel()
	faults := ddbtest.NewFaults(t, 0)
	faults.Add(ddbtest.Rule{Operation: "CreateTable", From: 2, Do: ddbtest.CrashAfter()})
	lab := newLab(t, ddbtest.Client(t, faults.Install))
	report, err := lab.Run(t.Context())
	if !errors.Is(err, ddbtest.ErrCrashed) || report.Passed || !report.CleanedUp {
		t.Errorf("%+v, %v", report, err)
	}
	gone(t, lab)
}

// The experiments hold also where answers are lost and tables throttle.
func TestClaimsHoldThroughFaults(t *testing.T) {
	t.Parallel()
	faults := ddbtest.NewFaults(t, 0)
	for _, rule := range []ddbtest.Rule{
		{Operation: "TransactWriteItems", When: signUp, Probability: 0.1, Do: ddbtest.LostAnswer()},
		{Operation: "TransactWriteItems", When: signUp, Probability: 0.1, Do: ddbtest.Throttle(ddbtest.CodeProvisioned)},
		{Operation: "CreateTable", Nth: 2, Do: ddbtest.LostAnswer()},
		{Operation: "DeleteTable", Nth: 1, Do: ddbtest.LostAnswer()},
	} {
		faults.Add(rule)
	}
	lab := newLab(t, ddbtest.Client(t, faults.Install))
	report, err := lab.Run(t.Context())
	if err != nil || !report.Passed || !report.CleanedUp {
		t.Errorf("%+v, %v", report, err)
	}
	gone(t, lab)
}

// signUp is a transaction of package account.
func signUp(input any) bool {
	in, ok := input.(*dynamodb.TransactWriteItemsInput)
	return ok && len(in.TransactItems) > 0 && in.TransactItems[0].Put != nil
}

func TestNewChecksItsConfiguration(t *testing.T) {
	t.Parallel()
	if _, err := racelab.New(racelab.Config{}); err == nil {
		t.Error("no error")
	}
	if a, b := newLab(t, ddbtest.Client(t)), newLab(t, ddbtest.Client(t)); a.Tables()[0] == b.Tables()[0] {
		t.Error("two labs share a table")
	}
}
