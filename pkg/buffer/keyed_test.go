package buffer_test

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/pkg/buffer"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

func keyed(events []json.RawMessage) buffer.WriteRequest {
	return buffer.WriteRequest{Events: events, IdempotencyKey: "key-1"}
}

func TestARepeatAnswersTheSameIDsAndStoresNothingTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	events := numbered(60)
	first, err := w.store().Write(t.Context(), keyed(events))
	if err != nil || first.Repeated {
		t.Fatal(err)
	}
	w.holds(first.IDs, events)
	w.clock.Advance(6 * 24 * time.Hour)
	w.faults.Clear()
	// Another process, on another day, with another number of shards.
	other := w.store(func(c *buffer.Config) { c.Layout = layout(t, schema.ShardEpoch{Shards: 7}) })
	again, err := other.Write(t.Context(), keyed(events))
	if err != nil || !again.Repeated {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first.IDs, again.IDs); diff != "" || first.BatchID != again.BatchID {
		t.Error(diff)
	}
	if n := w.faults.Count(""); n != 1 {
		t.Errorf("%d requests, want one: the record says that all is stored", n)
	}
	w.holds(first.IDs, events)
}

func TestAKeyedWriteSendsNoBatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if _, err := w.store().Write(t.Context(), keyed(numbered(30))); err != nil {
		t.Fatal(err)
	}
	if w.faults.Count("BatchWriteItem") != 0 || w.faults.Count("PutItem") != 31 || w.faults.Count("UpdateItem") != 1 {
		t.Errorf("%d batches, %d puts", w.faults.Count("BatchWriteItem"), w.faults.Count("PutItem"))
	}
}

func TestAKeyWithOtherEventsIsAMismatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	store := w.store()
	first, err := store.Write(t.Context(), keyed(numbered(3)))
	if err != nil {
		t.Fatal(err)
	}
	for name, events := range map[string][]json.RawMessage{
		"fewer": numbered(2), "more": numbered(4), "other": {json.RawMessage("0"), json.RawMessage("1"), json.RawMessage("3")},
		"other borders": {json.RawMessage("01"[:1]), json.RawMessage("12")},
	} {
		if _, err := store.Write(t.Context(), keyed(events)); !errors.Is(err, buffer.ErrIdempotencyMismatch) {
			t.Errorf("%s: %v", name, err)
		}
	}
	w.holds(first.IDs, numbered(3))
}

func TestConcurrentRepeatsMeetEachOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	events := numbered(40)
	w.faults.
		Add(ddbtest.Rule{Operation: "PutItem", Probability: 0.1, Do: ddbtest.LostAnswer()}).
		Add(ddbtest.Rule{Operation: "PutItem", Probability: 0.1, Do: ddbtest.Throttle(ddbtest.CodeProvisioned)})
	written := make([]*buffer.Written, 5)
	var group sync.WaitGroup
	for n := range written {
		group.Go(func() {
			var err error
			if written[n], err = w.store().Write(t.Context(), keyed(events)); err != nil {
				t.Errorf("%v", err)
			}
		})
	}
	group.Wait()
	for _, one := range written[1:] {
		if one == nil || written[0] == nil || !slices.Equal(one.IDs, written[0].IDs) {
			t.Fatal("two repeats answered other ids")
		}
	}
	w.holds(written[0].IDs, events)
}

// A repeat finds some of its events completed and retried, and leaves them so.
func TestARepeatBringsNothingBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	store := w.store()
	events := numbered(10)
	// The mark that all is stored is lost, so that the repeat puts each event again.
	w.faults.Add(ddbtest.Rule{Operation: "UpdateItem", Table: w.marks, Do: ddbtest.Dropped()})
	first, err := store.Write(t.Context(), keyed(events))
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Complete(t.Context(), first.IDs[0]); err != nil {
		t.Fatal(err)
	}
	next, err := store.Retry(t.Context(), first.IDs[1], "x")
	if err != nil {
		t.Fatal(err)
	}
	before := w.rows()
	w.faults.Clear()
	again, err := store.Write(t.Context(), keyed(events))
	if err != nil || !slices.Equal(first.IDs, again.IDs) {
		t.Fatal(err)
	}
	if n := w.faults.Count("PutItem"); n != 11 {
		t.Errorf("%d puts: the repeat did not try each event", n)
	}
	if diff := cmp.Diff(len(before), len(w.rows())); diff != "" || str(w.rows()[first.IDs[0]], "deleted_at") == "" || str(w.rows()[first.IDs[1]], "successor") != next {
		t.Error("something came back", diff)
	}
}

// A crash at any call, before or after its effect, and then the same request again.
func TestAKeyedWriteResumesAfterACrashAtAnyCall(t *testing.T) {
	t.Parallel()
	events := numbered(4)
	for call := 1; ; call++ {
		reached := false
		for _, fault := range []ddbtest.Fault{ddbtest.Crash(), ddbtest.CrashAfter()} {
			w := newWorld(t)
			w.faults.Add(ddbtest.Rule{From: call, Do: fault}) // and nothing works from then on
			first, err := w.store().Write(t.Context(), keyed(events))
			reached = reached || w.faults.Count("") >= call
			stored := w.rows()
			if first != nil && err == nil {
				for _, id := range first.IDs {
					if _, there := stored[id]; !there {
						t.Errorf("call %d: %s is answered and not stored", call, id)
					}
				}
			}
			w.faults.Clear()
			again, err := w.store().Write(t.Context(), keyed(events))
			if err != nil {
				t.Fatalf("call %d: %v", call, err)
			}
			w.holds(again.IDs, events)
			for id := range stored {
				if !slices.Contains(again.IDs, id) {
					t.Errorf("call %d: the repeat answers other ids than the first", call)
				}
			}
		}
		if !reached {
			return
		}
	}
}

// A large request that crashed is gone on with where it ended: the repeat looks what is stored, and does not put that again.
func TestARepeatOfALargeRequestGoesOnWhereTheFirstEnded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	events := numbered(300)
	w.faults.Add(ddbtest.Rule{Operation: "PutItem", From: 102, Do: ddbtest.Crash()}) // the record and 100 events
	w.faults.Add(ddbtest.Rule{Operation: "UpdateItem", Do: ddbtest.Crash()})         // nor does it say how far it came
	if _, err := w.store().Write(t.Context(), keyed(events)); err == nil {
		t.Fatal("all is stored")
	}
	first := w.rows()
	if len(first) == 0 || len(first) > 100 {
		t.Fatalf("%d rows", len(first))
	}
	for id := range first { // one is done meanwhile: it is stored all the same
		w.faults.Clear()
		if err := w.store().Complete(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		break
	}
	w.faults.Clear()
	w.faults.Add(ddbtest.Rule{Operation: "Query", Do: ddbtest.SmallPages(3)})
	again, err := w.store().Write(t.Context(), keyed(events))
	if err != nil {
		t.Fatal(err)
	}
	w.holds(again.IDs, events)
	if n := w.faults.Count("PutItem"); n != 1+300-len(first) {
		t.Errorf("%d puts, want the record and %d events", n, 300-len(first))
	}
}

// The record says how far a request came, so that the next one does not even look: under a steady throttle each gets further.
func TestARequestThatRanOutOfTimeGetsFurtherTheNextTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	events := numbered(300)
	for tries, last := 1, 0; ; tries++ {
		w.faults.Clear()
		w.faults.Add(ddbtest.Rule{Operation: "PutItem", Table: w.events, Probability: 0.1, Do: ddbtest.Throttle(ddbtest.CodeProvisioned)})
		w.faults.Add(ddbtest.Rule{Operation: "PutItem", Table: w.events, From: 100, Do: ddbtest.Refuse("AccessDeniedException", "")})
		written, err := w.store(func(c *buffer.Config) { c.PutConcurrency = 4 }).Write(t.Context(), keyed(events))
		if tries > 1 && w.faults.Count("Query") != 0 {
			t.Errorf("try %d made %d queries", tries, w.faults.Count("Query"))
		}
		if err == nil {
			w.holds(written.IDs, events)
			return
		}
		now := len(w.rows())
		if now < last || tries > 30 { // four would do if no put were throttled at the end of its try
			t.Fatalf("try %d: %d rows, %d before", tries, now, last)
		}
		last = now
	}
}

// Without a key the answer says what is stored, whatever call fails.
func TestAWriteWithoutAKeyTellsTheTruthWhateverCallFails(t *testing.T) {
	t.Parallel()
	events := numbered(60)
	w := newWorld(t)
	for call := 1; call <= 4; call++ {
		for _, fault := range []ddbtest.Fault{
			ddbtest.Crash(), ddbtest.CrashAfter(), ddbtest.Refuse("AccessDeniedException", ""), ddbtest.LostAnswer(), ddbtest.Dropped(), ddbtest.Unprocessed(3), ddbtest.Throttle(ddbtest.CodeThrottling),
		} {
			w.faults.Clear()
			w.faults.Add(ddbtest.Rule{Nth: call, Do: fault})
			written, err := w.store(func(c *buffer.Config) { c.BatchConcurrency = 1 }).Write(t.Context(), buffer.WriteRequest{Events: events})
			failure, _ := errors.AsType[*buffer.NotStoredError](err)
			if failure == nil {
				failure = &buffer.NotStoredError{}
			}
			rows := w.rows()
			maps.DeleteFunc(rows, func(_ string, row ddb.Item) bool { return str(row, "batch_id") != written.BatchID })
			for position, id := range written.IDs {
				_, stored := rows[id]
				named := slices.Contains(failure.Positions, position) || slices.Contains(failure.Unknown, position)
				if (id == "") != named || id != "" && !stored {
					t.Errorf("call %d: event %d: id %q, stored %t, named %t", call, position, id, stored, named)
				}
			}
			if len(rows) < 60-len(failure.Positions)-len(failure.Unknown) || len(rows) > 60-len(failure.Positions) && err == nil {
				t.Errorf("call %d: %d rows, %v", call, len(rows), err)
			}
		}
	}
}

func TestAKeyWorksAnewAfterItsLife(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	store := w.store()
	first, err := store.Write(t.Context(), keyed(numbered(2)))
	if err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(buffer.KeyLife) // TTL has not deleted the record yet
	again, err := store.Write(t.Context(), keyed(numbered(3)))
	if err != nil || again.Repeated || again.IDs[0] == first.IDs[0] {
		t.Errorf("%+v, %v", again, err)
	}
	if n := len(w.rows()); n != 5 {
		t.Errorf("%d rows, want 5", n)
	}
}

func TestARecordHoldsNoEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if _, err := w.store().Write(t.Context(), keyed([]json.RawMessage{json.RawMessage(`"secret"`)})); err != nil {
		t.Fatal(err)
	}
	records := ddbtest.Dump(t, ddbtest.Client(t), w.marks)
	if len(records) != 1 || str(records[0], "id") != "key#key-1" || num(records[0], "expiration_time") == "" {
		t.Fatalf("%v", records)
	}
	for name := range records[0] {
		if strings.Contains(str(records[0], name), "secret") {
			t.Errorf("%s holds an event", name)
		}
	}
}

func TestBadKeysAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, key := range []string{".", "..", "a b", "ü", strings.Repeat("x", 65), "a/b", "a\n"} {
		_, err := w.store().Write(t.Context(), buffer.WriteRequest{Events: numbered(1), IdempotencyKey: key})
		if fault, ok := errors.AsType[*buffer.FieldError](err); !ok || fault.Field != "Idempotency-Key" {
			t.Errorf("%q: %v", key, err)
		}
	}
	if _, err := w.store().Write(t.Context(), buffer.WriteRequest{Events: numbered(1), IdempotencyKey: strings.Repeat("~", 64)}); err != nil {
		t.Error(err)
	}
}

func TestAnUploadsPartsMeetThemselves(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	store := w.store()
	batch, err := store.NewBatch(0)
	if err != nil {
		t.Fatal(err)
	}
	events := numbered(30)
	for _, part := range [][2]int{{0, 20}, {10, 30}, {0, 30}} { // overlapping, as after a crash
		if err := store.WriteBatch(t.Context(), batch, part[0], events[part[0]:part[1]]); err != nil {
			t.Fatal(err)
		}
	}
	var ids []string
	for position := range events {
		ids = append(ids, batch.Key(position).ID())
	}
	w.holds(ids, events)
	if err := store.WriteBatch(t.Context(), batch, 0, nil); err != nil {
		t.Error(err)
	}
	long := json.RawMessage(strings.Repeat("1", buffer.MaxDataBytes+1))
	for _, err := range []error{
		store.WriteBatch(t.Context(), batch, buffer.MaxBatchEvents-1, events[:2]), store.WriteBatch(t.Context(), batch, 5, []json.RawMessage{long}),
	} {
		if _, ok := errors.AsType[*buffer.TooLargeError](err); !ok {
			t.Errorf("%v", err)
		}
	}
	if err := store.WriteBatch(t.Context(), buffer.Batch{}, 0, events); err == nil {
		t.Error("the zero batch was taken")
	}
	w.faults.Add(ddbtest.Rule{Operation: "PutItem", When: func(input any) bool {
		return str(input.(*dynamodb.PutItemInput).Item, "json_data") == "7"
	}, Do: ddbtest.Refuse("AccessDeniedException", "")})
	other, err := store.NewBatch(0)
	if err != nil {
		t.Fatal(err)
	}
	err = w.store(func(c *buffer.Config) { c.PutConcurrency = 1 }).WriteBatch(t.Context(), other, 100, events[:8])
	if failure, ok := errors.AsType[*buffer.NotStoredError](err); !ok || !slices.Equal(failure.Positions, []int{107}) {
		t.Errorf("%v", err)
	}
}
