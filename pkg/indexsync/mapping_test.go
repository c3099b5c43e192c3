package indexsync_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
	"github.com/heatsink-dev/heatsink/pkg/indexsync"
)

// Here the indexer runs behind AWS's rules of a stream mapping, and the SDK itself meets the faults, below its retries.

// respond answers as the function does.
func (b *bench) respond(ctx context.Context, payload []byte) ([]byte, error) {
	result, err := b.syncer.Process(ctx, payload)
	if err != nil {
		return nil, err
	}
	type failure struct {
		ItemIdentifier string `json:"itemIdentifier"`
	}
	failures := []failure{}
	if result.FailedSequence != "" {
		failures = append(failures, failure{result.FailedSequence})
	}
	return json.Marshal(map[string]any{"batchItemFailures": failures})
}

// shipped is the mapping as infra deploys it, as far as delivery goes: few retries by count would do no harm, because throttles never spend them for good.
func (b *bench) shipped(t testing.TB, clock *ddbtest.Clock, discarded *[]string) *ddbtest.Mapping {
	t.Helper()
	return ddbtest.NewMapping(t, ddbtest.MappingConfig{
		Handler: b.respond, BatchSize: 10, MaximumRetryAttempts: ddbtest.Unlimited, MaximumRecordAge: 23 * time.Hour,
		BisectBatchOnFunctionError: true, ReportBatchItemFailures: true, Clock: clock, RetryDelay: 5 * time.Minute, Seed: 1,
		OnFailure: func(_ context.Context, key string, _ []byte) error { *discarded = append(*discarded, key); return nil },
	})
}

// feed sends a history's records, each item to one shard.
func (h *history) feed(t testing.TB, m *ddbtest.Mapping, shards int) {
	t.Helper()
	for n, r := range h.records {
		id := h.of[n]
		m.Send(fmt.Sprintf("shardId-%d", int(id[len(id)-1])%shards), r.raw(t))
	}
}

func TestAnIndexTableThatThrottlesForHoursLosesNothing(t *testing.T) {
	t.Parallel()
	faults := ddbtest.NewFaults(t, 0)
	b := newBench(t, newReal(t, faults.Install), things(t))
	clock := ddbtest.NewClock(now)
	until := now.Add(8 * time.Hour)
	faults.Add(ddbtest.Rule{
		Operation: "PutItem", Table: b.tables["managed"], When: func(any) bool { return clock.Now().Before(until) },
		Do: ddbtest.Throttle(ddbtest.CodeProvisioned, ddb.Throttle{Reason: "TableWriteKeyRangeThroughputExceeded", Resource: "arn:managed"}),
	})
	h := &history{prefix: "t-", pick: seeded(3)}
	h.grow(60, 6)
	var discarded []string
	m := b.shipped(t, clock, &discarded)
	h.feed(t, m, 3)
	if err := m.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	stats := m.Stats()
	if clock.Now().Before(until) || stats.Retries == 0 {
		t.Fatalf("the throttling was not waited for: %s, %+v", clock.Now(), stats)
	}
	if len(discarded) > 0 || stats.Discarded+stats.Lost+stats.Expired > 0 || len(b.lot.parked) > 0 {
		t.Errorf("something was given up: %+v, %d parked", stats, len(b.lot.parked))
	}
	if err := h.check(t, b); err != nil {
		t.Error(err)
	}
}

// Behind the mapping, with faults at every place, on random histories over several shards.
func TestConvergenceBehindAStreamMapping(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			faults := ddbtest.NewFaults(t, seed+1)
			b := newBench(t, newReal(t, faults.Install), things(t))
			for _, fault := range []ddbtest.Fault{
				ddbtest.Throttle(ddbtest.CodeThrottling, ddb.Throttle{Reason: "TableWriteAccountLimitExceeded", Resource: "r"}), ddbtest.LostAnswer(), ddbtest.Dropped(),
				ddbtest.Timeout(), ddbtest.ServerErrorAfter(), ddbtest.Conflict(), ddbtest.Crash(), ddbtest.CrashAfter(),
			} {
				faults.Add(ddbtest.Rule{Operation: "PutItem", Probability: 0.06, Do: fault})
			}
			h := &history{prefix: "m-", pick: seeded(seed)}
			h.grow(80, 8)
			var discarded []string
			m := b.shipped(t, ddbtest.NewClock(now), &discarded)
			h.feed(t, m, 3)
			if err := m.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if len(discarded) > 0 || len(b.lot.parked) > 0 {
				t.Errorf("given up: %v, parked: %d", discarded, len(b.lot.parked))
			}
			faults.Clear()
			if err := h.check(t, b); err != nil {
				t.Error(err)
			}
		})
	}
}

// A poison record in the middle of a shard: it is parked, nothing is retried, and what is behind it arrives.
func TestAPoisonRecordHoldsBackNothingInItsShard(t *testing.T) {
	t.Parallel()
	b := newBench(t, newReal(t), things(t, onlyManaged))
	var discarded []string
	m := b.shipped(t, ddbtest.NewClock(now), &discarded)
	for n := range 25 {
		if n == 12 {
			m.Send("shard", json.RawMessage(fmt.Sprintf(`{"eventName":"INSERT","eventSourceARN":%q,"dynamodb":{"SequenceNumber":%q,"NewImage":{"id":{}}}}`, streamARN, seq(n))))
			continue
		}
		m.Send("shard", record{new: thing(fmt.Sprintf("i%02d", n), "a", "1"), sequence: seq(n)}.raw(t))
	}
	if err := m.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if stats := m.Stats(); stats.Done != 25 || stats.Retries != 0 || len(discarded) != 0 {
		t.Errorf("%+v", stats)
	}
	if len(b.live(t, "managed")) != 24 || len(b.lot.parked) != 1 || b.lot.parked[0].Sequence != seq(12) {
		t.Errorf("%d rows, parked %v", len(b.live(t, "managed")), b.lot.parked)
	}
}

// The record is in the bucket before the batch counts as done: while parking fails, the mapping does not get past it.
func TestABatchIsNotDoneBeforeItsPoisonIsParked(t *testing.T) {
	t.Parallel()
	b := newBench(t, newReal(t), things(t, onlyManaged))
	failures := 5
	b.lot.fail = func(indexsync.Poison) error {
		if failures--; failures >= 0 {
			return fmt.Errorf("no bucket")
		}
		return nil
	}
	var discarded []string
	m := b.shipped(t, ddbtest.NewClock(now), &discarded)
	m.Send("shard", json.RawMessage(fmt.Sprintf(`{"eventName":"INSERT","eventSourceARN":%q,"dynamodb":{"SequenceNumber":%q,"NewImage":{"id":{}}}}`, streamARN, seq(1))))
	if err := m.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if stats := m.Stats(); stats.Retries != 5 || stats.Done != 1 || len(b.lot.parked) != 1 || len(discarded) != 0 {
		t.Errorf("%+v, parked %d", stats, len(b.lot.parked))
	}
}

// The reasons of a throttle come through the SDK's retries.
func TestVector10ThroughTheSDKsRetries(t *testing.T) {
	t.Parallel()
	for _, code := range []string{ddbtest.CodeProvisioned, ddbtest.CodeRequestLimit, ddbtest.CodeThrottling} {
		faults := ddbtest.NewFaults(t, 0)
		b := newBench(t, newReal(t, faults.Install), things(t, onlyManaged))
		reason := ddb.Throttle{Reason: "IndexWriteKeyRangeThroughputExceeded", Resource: "arn:x"}
		faults.Add(ddbtest.Rule{Operation: "PutItem", Do: ddbtest.Throttle(code, reason)})
		result := b.process(t, record{old: thing("i", "a", "1"), new: thing("i", "b", "2"), sequence: seq(1)})
		if result.FailedSequence != seq(1) || result.Stats.Throttles[reason] != 1 || faults.Count("PutItem") != 4 {
			t.Errorf("%s: failed %q, throttles %v, %d attempts", code, result.FailedSequence, result.Stats.Throttles, faults.Count("PutItem"))
		}
		faults.Clear()
		if rows := b.engine.rows(t, b.tables["managed"]); len(rows) != 0 {
			t.Errorf("%s: something was written: %v", code, rows)
		}
	}
}

// A lost answer that the SDK sends again meets its own row: a refused condition, which is success.
func TestALostAnswerIsSettledByTheSDKsOwnRetry(t *testing.T) {
	t.Parallel()
	faults := ddbtest.NewFaults(t, 0)
	b := newBench(t, newReal(t, faults.Install), things(t, onlyManaged))
	faults.Add(ddbtest.Rule{Operation: "PutItem", Nth: 1, Do: ddbtest.LostAnswer()})
	result := b.process(t, record{new: thing("i", "a", "1"), sequence: seq(1)})
	if result.FailedSequence != "" || result.Stats.StaleSkips != 1 || faults.Count("PutItem") != 2 || len(b.live(t, "managed")) != 1 {
		t.Errorf("%+v, %d attempts", result.Stats, faults.Count("PutItem"))
	}
}

// The requests of a batch: one PutItem for each row, and nothing else.
func TestABatchMakesOneRequestForEachRow(t *testing.T) {
	t.Parallel()
	faults := ddbtest.NewFaults(t, 0)
	client := ddbtest.Client(t, faults.Install, ddb.Metered)
	b := newBench(t, real{client}, things(t))
	ctx, meter := ddb.WithMeter(t.Context())
	var batch []record
	for n := range 10 {
		batch = append(batch, record{new: thing(fmt.Sprintf("i%d", n), "a", "1", "teamId", text("t"), "status", text("on"), "joinedOn", text("x")), sequence: seq(n)})
	}
	faults.Clear()
	if _, err := b.syncer.Process(ctx, event(t, batch...)); err != nil {
		t.Fatal(err)
	}
	var operations []string
	for _, call := range faults.Calls() {
		operations = append(operations, call.Operation)
	}
	slices.Sort(operations)
	if got := slices.Compact(slices.Clone(operations)); len(operations) != 20 || len(got) != 1 || got[0] != "PutItem" {
		t.Errorf("%d requests of kinds %v, want 20 PutItem", len(operations), got)
	}
	if usage := meter.Usage(); usage.Requests != 20 || usage.WriteUnits != 20 {
		t.Errorf("usage %+v, want 20 requests of one WRU", usage)
	}
}

// Two processes work on the same records at the same time, as after a timeout.
func TestTwoProcessesAtTheSameTime(t *testing.T) {
	t.Parallel()
	e := newReal(t)
	b := newBench(t, e, things(t))
	h := &history{prefix: "p-", pick: seeded(11)}
	h.grow(60, 4)
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			for at := 0; at < len(h.records); at += 7 {
				result, err := b.syncer.Process(context.Background(), event(t, h.records[at:min(at+7, len(h.records))]...))
				if err != nil || result.FailedSequence != "" {
					t.Errorf("%v %v", err, result.Cause)
				}
			}
		})
	}
	both.Wait()
	if err := h.check(t, b); err != nil {
		t.Error(err)
	}
}
