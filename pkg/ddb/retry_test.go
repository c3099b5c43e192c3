package ddb_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
)

func TestRetryTriesAgainWhatPasses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		err  error
		want int
	}{
		{"a throttle", &types.ThrottlingException{}, 4},
		{"a conflict", fmt.Errorf("claim: %w", &types.TransactionConflictException{}), 4},
		{"a failed condition is an answer", &types.ConditionalCheckFailedException{}, 1},
		{"an unknown outcome is the caller's to settle", context.DeadlineExceeded, 1},
		{"anything else", errors.New("x"), 1},
		{"success", nil, 1},
	} {
		calls := 0
		var slept []time.Duration
		err := ddb.Retry(t.Context(), waits(&slept), func(context.Context) error { calls++; return test.err })
		if calls != test.want || err != test.err { //nolint:errorlint // the very same error must come back
			t.Errorf("%s: %d calls, %v", test.name, calls, err)
		}
		if calls == 4 {
			if d := cmp.Diff([]time.Duration{10 * time.Millisecond, 20 * time.Millisecond, 40 * time.Millisecond}, slept); d != "" {
				t.Errorf("%s: %s", test.name, d)
			}
		}
	}
}

func TestRetryEndsWithTheFirstSuccess(t *testing.T) {
	t.Parallel()
	calls := 0
	var slept []time.Duration
	err := ddb.Retry(t.Context(), waits(&slept), func(context.Context) error {
		if calls++; calls < 3 {
			return &types.ThrottlingException{}
		}
		return nil
	})
	if err != nil || calls != 3 {
		t.Errorf("%d calls, %v", calls, err)
	}
}

func TestRetryDoesNotSleepIntoTheDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin := time.Now()
		calls := 0
		policy := ddb.Policy{Base: 400 * time.Millisecond, Max: time.Hour, Attempts: 100, Random: func(n int64) int64 { return n - 1 }}
		err := ddb.Retry(ctx, policy, func(context.Context) error { calls++; return &types.ThrottlingException{} })
		// Waits of 400 ms, then 800 ms that would end past the deadline: the last error at once.
		if calls != 2 || time.Since(begin) != 400*time.Millisecond || ddb.Classify(err).Class != ddb.Throttled {
			t.Errorf("%d calls in %s, %v", calls, time.Since(begin), err)
		}
	})
}

func TestRetryStopsWaitingWhenTheContextIsCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		begin := time.Now()
		policy := ddb.Policy{Base: time.Hour, Max: time.Hour, Random: func(n int64) int64 { return n - 1 }}
		err := ddb.Retry(ctx, policy, func(context.Context) error { return &types.ThrottlingException{} })
		if time.Since(begin) != time.Second || ddb.Classify(err).Class != ddb.Throttled {
			t.Errorf("after %s: %v", time.Since(begin), err)
		}
	})
}

func TestTheZeroPolicyJittersWithinItsBounds(t *testing.T) {
	t.Parallel()
	var slept []time.Duration
	policy := ddb.Policy{Sleep: func(_ context.Context, d time.Duration) error { slept = append(slept, d); return nil }}
	_ = ddb.Retry(t.Context(), policy, func(context.Context) error { return &types.ThrottlingException{} })
	limit := 25 * time.Millisecond
	for n, d := range slept {
		if d < 0 || d > min(limit, 2*time.Second) {
			t.Errorf("wait %d is %s, at most %s", n, d, limit)
		}
		limit *= 2
	}
	if len(slept) != 7 {
		t.Errorf("%d waits, want 7 of 8 attempts", len(slept))
	}
}

func TestRetryReadTriesAnUnknownOutcomeAgainAndRetryDoesNot(t *testing.T) {
	t.Parallel()
	policy := ddb.Policy{Attempts: 3, Sleep: func(context.Context, time.Duration) error { return nil }}
	for name, test := range map[string]struct {
		err         error
		retry, read int
	}{
		"unknown":     {context.DeadlineExceeded, 1, 3},
		"throttled":   {&types.ThrottlingException{}, 3, 3},
		"provisioned": {&types.ProvisionedThroughputExceededException{}, 3, 3},
		"refused":     {&types.ConditionalCheckFailedException{}, 1, 1},
		"done":        {nil, 1, 1},
	} {
		for want, try := range map[*int]func(context.Context, ddb.Policy, func(context.Context) error) error{&test.retry: ddb.Retry, &test.read: ddb.RetryRead} {
			calls := 0
			err := try(t.Context(), policy, func(context.Context) error { calls++; return test.err })
			if calls != *want || !errors.Is(err, test.err) {
				t.Errorf("%s: %d calls, want %d; %v", name, calls, *want, err)
			}
		}
	}
}
