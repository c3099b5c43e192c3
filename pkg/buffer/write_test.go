package buffer_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/pkg/buffer"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
)

func TestEventsAreStoredAsTheContractSays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	written, err := w.store().Write(t.Context(), buffer.WriteRequest{Events: []json.RawMessage{json.RawMessage(`{"n": 1.50}`)}})
	if err != nil {
		t.Fatal(err)
	}
	item := w.rows()[written.IDs[0]]
	sort := str(item, "message_sk")
	if !strings.HasPrefix(sort, "1796040000000-"+written.BatchID+"-") || !strings.HasPrefix(str(item, "message_pk"), today+"#") {
		t.Errorf("key %s %s", str(item, "message_pk"), sort)
	}
	got := map[string]string{}
	for name := range item {
		got[name] = str(item, name) + num(item, name)
	}
	want := map[string]string{
		"message_pk": str(item, "message_pk"), "message_sk": sort, "pending_message_pk": str(item, "message_pk"), "pending_message_sk": sort,
		"batch_id": written.BatchID, "retry": "0", "json_data": `{"n": 1.50}`, "created_at": "2026-11-30T12:00:00.000Z",
		"expiration_time": fmt.Sprint(noon.AddDate(0, 0, 90).Unix()),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The story's suffix of 7 random digits loses events at 3,000 in a millisecond and shard: on average 0.45 pairs have the same key, and a plain put overwrites.
// Here two events have one key only if two requests of one millisecond draw the same 80 bits.
func TestSixtyThousandEventsInAMillisecondHaveKeysOfTheirOwn(t *testing.T) {
	t.Parallel()
	pairs := func(n float64) float64 { return n * (n - 1) / 2 }
	if story := pairs(3000) / 1e7; math.Abs(story-0.45) > 0.001 {
		t.Errorf("the story's form: %.3f collisions expected", story)
	}
	// The worst for us: 60,000 requests of one event each, all in one millisecond.
	if ours := pairs(60_000) / math.Pow(2, 80); ours > 1.5e-15 {
		t.Errorf("our form: %g", ours)
	}
	w := newWorld(t)
	store := w.store()
	keys := map[buffer.Key]bool{}
	one, err := store.NewBatch(60_000)
	if err != nil {
		t.Fatal(err)
	}
	for position := range 60_000 {
		keys[one.Key(position)] = true
	}
	for range 6_000 { // requests of one event, within the same millisecond
		batch, err := store.NewBatch(1)
		if err != nil {
			t.Fatal(err)
		}
		keys[batch.Key(0)] = true
	}
	if len(keys) != 66_000 {
		t.Errorf("%d keys of 66,000 events", len(keys))
	}
}

func TestEventsOfARequestKeepTheirOrderAndSpreadEvenly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	batch, err := w.store().NewBatch(60_000)
	if err != nil {
		t.Fatal(err)
	}
	last := ""
	counts := map[int]int{}
	for position := range 60_000 {
		key := batch.Key(position)
		if key.Sort <= last {
			t.Fatalf("event %d sorts before the one before it", position)
		}
		last = key.Sort
		counts[key.Shard]++
	}
	if batch.Key(buffer.MaxBatchEvents-1).Sort <= last {
		t.Error("the last position sorts wrong")
	}
	for number := range 20 {
		if counts[number] != 3000 {
			t.Errorf("shard %d has %d events, want 3,000", number, counts[number])
		}
	}
}

// Requests of one event take the shards by turns, too; and each process begins at another one.
func TestRequestsOfOneEventSpreadEvenly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	begins := map[int]bool{}
	for range 20 {
		store := w.store()
		counts := map[int]int{}
		for n := range 200 {
			batch, err := store.NewBatch(1)
			if err != nil {
				t.Fatal(err)
			}
			if n == 0 {
				begins[batch.First] = true
			}
			counts[batch.Key(0).Shard]++
		}
		for number := range 20 {
			if counts[number] != 10 {
				t.Errorf("shard %d has %d events, want 10", number, counts[number])
			}
		}
	}
	if len(begins) < 5 { // 20 draws of 20 shards give 13 on average
		t.Errorf("20 processes begin at %d shards", len(begins))
	}
}

func TestAWriteUnderThrottlesStoresEachEventOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.faults.
		Add(ddbtest.Rule{Operation: "BatchWriteItem", Probability: 0.2, Do: ddbtest.Throttle(ddbtest.CodeProvisioned)}).
		Add(ddbtest.Rule{Operation: "BatchWriteItem", Probability: 0.3, Do: ddbtest.Unprocessed(7)}).
		Add(ddbtest.Rule{Operation: "BatchWriteItem", Probability: 0.1, Do: ddbtest.LostAnswer()}).
		Add(ddbtest.Rule{Operation: "BatchWriteItem", Probability: 0.1, Do: ddbtest.ServerError()}).
		Add(ddbtest.Rule{Operation: "PutItem", Probability: 0.2, Do: ddbtest.Timeout()}).
		Add(ddbtest.Rule{Operation: "PutItem", Probability: 0.2, Do: ddbtest.Throttle(ddbtest.CodeThrottling)})
	events := numbered(1000)
	ids := w.write(w.store(), events...)
	w.holds(ids, events)
}

// A batch has no conditions: sent again after a lost answer it would bring back what was completed meanwhile.
func TestABatchWhoseAnswerWasLostNeverBringsBackACompletedEvent(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]ddbtest.Fault{"lost answer": ddbtest.LostAnswer(), "timeout": ddbtest.Timeout(), "500 after": ddbtest.ServerErrorAfter()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			store := w.store()
			w.faults.Add(ddbtest.Rule{Operation: "BatchWriteItem", Nth: 1, Do: fault})
			// Between the lost answer and what the store does about it, a worker completes all.
			w.faults.Add(ddbtest.Rule{Operation: "PutItem", Nth: 1, Do: ddbtest.Run(func() {
				for id := range w.rows() {
					if err := w.store().Complete(context.WithoutCancel(t.Context()), id); err != nil {
						t.Errorf("complete: %v", err)
					}
				}
			})})
			ids := w.write(store, numbered(10)...)
			rows := w.rows()
			if len(rows) != 10 {
				t.Errorf("%d rows, want 10", len(rows))
			}
			for _, id := range ids {
				if str(rows[id], "deleted_at") == "" || str(rows[id], "pending_message_pk") != "" {
					t.Errorf("%s came back", id)
				}
			}
			if n := w.faults.Count("BatchWriteItem"); n != 1 {
				t.Errorf("the batch was sent %d times", n)
			}
		})
	}
}

func TestOnlyUnprocessedItemsGoBackIntoABatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.faults.Add(ddbtest.Rule{Operation: "BatchWriteItem", Nth: 1, Do: ddbtest.Unprocessed(20)})
	var sizes []int
	w.faults.Add(ddbtest.Rule{Operation: "BatchWriteItem", When: func(input any) bool {
		sizes = append(sizes, len(input.(*dynamodb.BatchWriteItemInput).RequestItems[w.events]))
		return false
	}, Do: ddbtest.Dropped()})
	events := numbered(25)
	ids := w.write(w.store(), events...)
	if diff := cmp.Diff([]int{5}, sizes); diff != "" {
		t.Error(diff)
	}
	w.holds(ids, events)
}

func TestTheErrorNamesExactlyWhatIsNotStored(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var waits atomic.Int32
	store := w.store(func(c *buffer.Config) {
		c.BatchConcurrency = 1
		c.Retry.Sleep = func(context.Context, time.Duration) error {
			if waits.Add(1) > 5 {
				return context.DeadlineExceeded
			}
			return nil
		}
	})
	// The second batch of 25 gets 10 in, and then nothing more until the time ends.
	w.faults.Add(ddbtest.Rule{Operation: "BatchWriteItem", Nth: 2, Do: ddbtest.Unprocessed(10)})
	w.faults.Add(ddbtest.Rule{Operation: "BatchWriteItem", From: 2, Do: ddbtest.Throttle(ddbtest.CodeProvisioned)}) // the rule above took the second
	written, err := store.Write(t.Context(), buffer.WriteRequest{Events: numbered(75)})
	failure, ok := errors.AsType[*buffer.NotStoredError](err)
	if !ok || !errors.Is(err, buffer.ErrThrottled) || len(failure.Unknown) != 0 {
		t.Fatalf("%v", err)
	}
	rows := w.rows()
	var missing []int
	for position, id := range written.IDs {
		if id == "" {
			missing = append(missing, position)
		} else if str(rows[id], "json_data") != fmt.Sprint(position) {
			t.Errorf("event %d is not stored though the answer says so", position)
		}
	}
	if diff := cmp.Diff(missing, failure.Positions); diff != "" || len(rows) != 75-len(missing) {
		t.Errorf("%d rows, %s", len(rows), diff)
	}
	if len(rows) != 35 {
		t.Errorf("%d rows, want 25 and 10 more", len(rows))
	}
}

func TestWhatCannotBeSettledIsNamedAsUnknown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.faults.Add(ddbtest.Rule{Operation: "BatchWriteItem", Do: ddbtest.LostAnswer()})
	w.faults.Add(ddbtest.Rule{Operation: "PutItem", Do: ddbtest.Dropped()})
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := w.store().Write(ctx, buffer.WriteRequest{Events: numbered(3)})
	failure, ok := errors.AsType[*buffer.NotStoredError](err)
	if !ok || !slices.Equal(failure.Unknown, []int{0, 1, 2}) || len(failure.Positions) != 0 {
		t.Errorf("%v", err)
	}
}

func TestARefusalEndsTheWriteAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.faults.Add(ddbtest.Rule{Operation: "BatchWriteItem", Do: ddbtest.Refuse("AccessDeniedException", "no")})
	_, err := w.store().Write(t.Context(), buffer.WriteRequest{Events: numbered(600)})
	failure, ok := errors.AsType[*buffer.NotStoredError](err)
	if !ok || len(failure.Positions) != 600 || ddb.Classify(err).Code != "AccessDeniedException" {
		t.Errorf("%v", err)
	}
	if n := w.faults.Count("BatchWriteItem"); n > 8 {
		t.Errorf("%d requests", n)
	}
}

func TestBadEventsAreRefusedBeforeAnyWrite(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	store := w.store()
	long := json.RawMessage(`"` + strings.Repeat("x", buffer.MaxDataBytes-2) + `"`)
	for _, test := range []struct {
		name   string
		events []json.RawMessage
		want   string
	}{
		{"none", nil, "events: must hold at least one event"},
		{"too large", append(numbered(2), json.RawMessage(`"x`+string(long[1:]))), "events[2].data: at most 400000 bytes, has 400001"},
		{"no JSON", append(numbered(1), json.RawMessage(`{`)), "events[1].data: must be JSON in UTF-8"},
		{"two values", []json.RawMessage{json.RawMessage(`1 2`)}, "events[0].data: must be JSON in UTF-8"},
		{"not UTF-8", []json.RawMessage{json.RawMessage("\"\xff\"")}, "events[0].data: must be JSON in UTF-8"},
		{"missing", []json.RawMessage{nil}, "events[0].data: is missing"},
	} {
		if _, err := store.Write(t.Context(), buffer.WriteRequest{Events: test.events}); err == nil || err.Error() != test.want {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	if n := w.faults.Count(""); n != 0 {
		t.Errorf("%d requests", n)
	}
	ids := w.write(store, long)
	w.holds(ids, []json.RawMessage{long})
}
