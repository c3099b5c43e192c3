package indexsync_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/indexsync"
)

// slow is a writer that takes its time, by the bubble's clock, and counts how many calls run at once.
type slow struct {
	inner   ddb.Putter
	each    time.Duration
	mu      sync.Mutex
	running int
	most    int
}

func (w *slow) PutItem(ctx context.Context, in *dynamodb.PutItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	w.mu.Lock()
	w.running++
	w.most = max(w.most, w.running)
	w.mu.Unlock()
	defer func() { w.mu.Lock(); w.running--; w.mu.Unlock() }()
	select {
	case <-time.After(w.each):
		return w.inner.PutItem(ctx, in)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func distinct(n int) []record {
	var batch []record
	for n := range n {
		batch = append(batch, record{new: thing(fmt.Sprintf("i%03d", n), "a", "1"), sequence: seq(n)})
	}
	return batch
}

// 100 records of distinct items at 5 ms a write take two rounds of 50, and never more than 50 at once.
func TestDistinctItemsAreWrittenAtTheSameTimeAndBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &slow{inner: newMemory(), each: 5 * time.Millisecond}
		b := newBench(t, w.inner.(engine), things(t, onlyManaged), func(c *indexsync.Config) { c.Writer = w })
		begin := time.Now()
		b.process(t, distinct(100)...)
		if took := time.Since(begin); took != 10*time.Millisecond || w.most != indexsync.DefaultConcurrency {
			t.Errorf("took %s with at most %d at once, want 10 ms with 50", took, w.most)
		}
	})
}

// Behind a failure nothing new is begun; what was begun before it comes to its end.
func TestBehindAFailureNothingIsBegun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &slow{inner: newMemory(), each: 10 * time.Millisecond}
		b := newBench(t, w.inner.(engine), things(t, onlyManaged), func(c *indexsync.Config) { c.Concurrency = 4 })
		b.spy.inner = w
		b.spy.hook = func(_ int, in *dynamodb.PutItemInput) (bool, error) {
			if strings.HasSuffix(s(in.Item["SK"]), "#i002") {
				time.Sleep(15 * time.Millisecond) // the others are at their second item by then
				return false, throttle()
			}
			return false, nil
		}
		result := b.process(t, distinct(100)...)
		if result.FailedSequence != seq(2) || result.Stats.Upserts != 6 {
			t.Errorf("failed %q, %d upserts; want 6", result.FailedSequence, result.Stats.Upserts)
		}
	})
}

func TestNothingIsBegunBeyondTheMarginAndTheRestIsReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &slow{inner: newMemory(), each: time.Second}
		b := newBench(t, w.inner.(engine), things(t, onlyManaged), func(c *indexsync.Config) {
			c.Writer, c.Concurrency, c.Margin = w, 1, 2*time.Second
		})
		ctx, cancel := context.WithTimeout(t.Context(), 5500*time.Millisecond)
		defer cancel()
		begin := time.Now()
		result, err := b.syncer.Process(ctx, event(t, distinct(10)...))
		if err != nil || result.FailedSequence != seq(3) || result.Stats.Upserts != 3 {
			t.Errorf("failed %q, %d upserts, error %v; want the fourth", result.FailedSequence, result.Stats.Upserts, err)
		}
		if took := time.Since(begin); took != 3500*time.Millisecond {
			t.Errorf("took %s, want to end at the margin", took)
		}
		// A deadline that leaves no time at all: nothing is done, all of it is reported.
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		result, err = b.syncer.Process(ctx, event(t, distinct(2)...))
		if err != nil || result.FailedSequence != seq(0) || !errors.Is(result.Cause, indexsync.ErrDeadline) {
			t.Errorf("failed %q, cause %v, error %v", result.FailedSequence, result.Cause, err)
		}
		// Poison is not parked beyond the margin either.
		result, err = b.syncer.Process(ctx, []byte(`{"Records":[{"dynamodb":{"SequenceNumber":"1"}}]}`))
		if err != nil || result.FailedSequence != "1" || len(b.lot.parked) != 0 {
			t.Errorf("failed %q, parked %v, error %v", result.FailedSequence, b.lot.parked, err)
		}
	})
}

func TestOneHangingCallCannotTakeTheWholeTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &slow{inner: newMemory(), each: time.Hour}
		b := newBench(t, w.inner.(engine), things(t, onlyManaged), func(c *indexsync.Config) { c.Writer, c.CallTimeout = w, 3*time.Second })
		begin := time.Now()
		result := b.process(t, distinct(1)...)
		if took := time.Since(begin); took != 3*time.Second || result.FailedSequence != seq(0) {
			t.Errorf("took %s, failed %q", took, result.FailedSequence)
		}
		if class := ddb.Classify(result.Cause).Class; class != ddb.UnknownOutcome {
			t.Errorf("cause %v is %s", result.Cause, class)
		}
	})
}
