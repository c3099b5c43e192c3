package indexsync_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/heatsink-dev/heatsink/pkg/indexsync"
)

// patient tries again without waiting for real.
func patient(c *indexsync.Config) {
	c.Patience = time.Hour
	c.Retry.Sleep = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
}

// A short throttle costs a few tries and no redelivery; what is done already is not written again.
func TestAPassingThrottleIsWaitedOutInsideTheCall(t *testing.T) {
	t.Parallel()
	b := newBench(t, newReal(t), things(t, onlyManaged), oneByOne, patient)
	refusals := 0
	b.spy.hook = func(_ int, in *dynamodb.PutItemInput) (bool, error) {
		if s(in.Item["SK"]) == "0000000000002#i2" && refusals < 3 {
			refusals++
			return false, throttle()
		}
		return false, nil
	}
	result := b.process(t,
		record{new: thing("i1", "a", "1"), sequence: seq(1)},
		record{new: thing("i2", "a", "2"), sequence: seq(2)},
		record{new: thing("i3", "a", "3"), sequence: seq(3)},
	)
	if result.FailedSequence != "" || result.Cause != nil {
		t.Fatalf("failed %q (%v)", result.FailedSequence, result.Cause)
	}
	if got := result.Stats.Upserts; got != 3 || len(b.spy.calls) != 6 {
		t.Errorf("%d upserts in %d calls, want 3 in 6: three refused, none done twice", got, len(b.spy.calls))
	}
	if got := len(b.live(t, "managed")); got != 3 {
		t.Errorf("%d rows, want 3", got)
	}
}

// The mapping gives a record up after 10,000 tries or 23 hours. A call that fails takes nearly all of its 60 s, so the hours come first: throttling never
// expires a record by count.
func TestACallThatFailsUsesItsWholeTimeSoThatAgeEndsARecordAndNotTheCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, newMemory(), things(t, onlyManaged), func(c *indexsync.Config) {
			c.Patience, c.Now = 15*time.Minute, time.Now
		})
		b.spy.hook = func(int, *dynamodb.PutItemInput) (bool, error) { return false, throttle() }
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begin := time.Now()
		result, err := b.syncer.Process(ctx, event(t, record{new: thing("i1", "a", "1"), sequence: seq(1)}))
		if err != nil || result.FailedSequence != seq(1) {
			t.Fatalf("failed %q, %v", result.FailedSequence, err)
		}
		took := time.Since(begin)
		if took > time.Minute-indexsync.DefaultMargin {
			t.Errorf("took %s, into the margin before the deadline", took)
		}
		if const10000 := 10_000 * took; const10000 < 23*time.Hour {
			t.Errorf("10,000 calls of %s end after %s, before the record's age does", took, const10000)
		}
	})
}
