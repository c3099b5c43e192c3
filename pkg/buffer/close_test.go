package buffer_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/pkg/buffer"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
	"github.com/heatsink-dev/heatsink/pkg/unique"
)

func TestCompleteTakesAnEventOutOfBothIndexesInOneUpdate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	store := w.store()
	id := w.write(store, numbered(1)...)[0]
	failed, err := store.Retry(t.Context(), id, "it broke")
	if err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(time.Minute)
	w.faults.Clear()
	for range 2 { // again is no error
		if err := store.Complete(t.Context(), failed); err != nil {
			t.Fatal(err)
		}
	}
	if n := w.faults.Count(""); n != 2 {
		t.Errorf("%d requests, want one each", n)
	}
	item := w.rows()[failed]
	for _, name := range []string{"pending_message_pk", "pending_message_sk", "failed_pending_message_pk", "failed_pending_message_sk"} {
		if _, there := item[name]; there {
			t.Errorf("%s is still there", name)
		}
	}
	want := &buffer.Event{
		ID: failed, BatchID: str(item, "batch_id"), Date: today, Time: noon.UnixMilli(), Retry: 1, Data: json.RawMessage("0"),
		LastError: "it broke", DoneAt: "2026-11-30T12:01:00.000Z",
	}
	got, err := store.Get(t.Context(), failed)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestWhatIsNotThereIsNotFoundAndNotMade(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	store := w.store()
	for _, id := range []string{today + ".7." + someSort, "no id", ""} {
		if err := store.Complete(t.Context(), id); !errors.Is(err, buffer.ErrNotFound) {
			t.Errorf("complete %q: %v", id, err)
		}
		if _, err := store.Retry(t.Context(), id, ""); !errors.Is(err, buffer.ErrNotFound) {
			t.Errorf("retry %q: %v", id, err)
		}
		if _, err := store.Get(t.Context(), id); !errors.Is(err, buffer.ErrNotFound) {
			t.Errorf("get %q: %v", id, err)
		}
	}
	if rows := w.rows(); len(rows) != 0 {
		t.Errorf("%d rows", len(rows))
	}
}

func TestRetryClosesTheOldAndOpensTheNewInOneTransaction(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	store := w.store()
	id := w.write(store, json.RawMessage(`{"a":1.0}`))[0]
	w.clock.Advance(90 * time.Second)
	w.faults.Clear()
	next, err := store.Retry(t.Context(), id, "no answer")
	if err != nil {
		t.Fatal(err)
	}
	if w.faults.Count("GetItem") != 1 || w.faults.Count("TransactWriteItems") != 1 || w.faults.Count("") != 2 {
		t.Errorf("%v", w.faults.Calls())
	}
	rows := w.rows()
	old, fresh := rows[id], rows[next]
	if len(rows) != 2 || str(old, "successor") != next || str(old, "deleted_at") != "2026-11-30T12:01:30.000Z" || str(old, "pending_message_pk") != "" || str(old, "last_error") != "" {
		t.Errorf("%d rows, the old one: %v", len(rows), old)
	}
	want := map[string]string{
		"retry": "1", "last_error": "no answer", "json_data": `{"a":1.0}`, "batch_id": str(old, "batch_id"), "created_at": "2026-11-30T12:01:30.000Z",
		"pending_message_pk": str(fresh, "message_pk"), "pending_message_sk": str(fresh, "message_sk"),
		"failed_pending_message_pk": str(fresh, "message_pk"), "failed_pending_message_sk": str(fresh, "message_sk"),
		"expiration_time": fmt.Sprint(noon.Add(90*time.Second).AddDate(0, 0, 90).Unix()), "message_pk": str(fresh, "message_pk"), "message_sk": str(fresh, "message_sk"),
	}
	got := map[string]string{}
	for name := range fresh {
		got[name] = str(fresh, name) + num(fresh, name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !strings.HasPrefix(str(fresh, "message_sk"), fmt.Sprint(noon.Add(90*time.Second).UnixMilli())) {
		t.Errorf("the new event's key is %s", str(fresh, "message_sk"))
	}
}

func TestAClosedEventTellsWhatClosedIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	store := w.store()
	ids := w.write(store, numbered(2)...)
	if err := store.Complete(t.Context(), ids[0]); err != nil {
		t.Fatal(err)
	}
	next, err := store.Retry(t.Context(), ids[1], "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Retry(t.Context(), ids[0], ""); !errors.Is(err, buffer.ErrDone) {
		t.Errorf("retry of a completed event: %v", err)
	}
	for name, err := range map[string]error{
		"complete": store.Complete(t.Context(), ids[1]), "retry": second(store.Retry(t.Context(), ids[1], "")),
	} {
		if closed, ok := errors.AsType[*buffer.RetriedError](err); !ok || closed.Successor != next {
			t.Errorf("%s of a retried event: %v", name, err)
		}
	}
	if again, err := store.Retry(t.Context(), next, ""); err != nil || num(w.rows()[again], "retry") != "2" {
		t.Errorf("%v", err)
	}
}

func second[A, B any](_ A, b B) B { return b }

func TestTheErrorOfARetryIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	store := w.store()
	// The largest event takes the longest error, as the largest retry of it does: the limit leaves room.
	id := w.write(store, json.RawMessage(`"`+strings.Repeat("ü", (buffer.MaxDataBytes-2)/2)+`"`))[0]
	for range 3 {
		next, err := store.Retry(t.Context(), id, strings.Repeat("ß", buffer.MaxErrorBytes/2))
		if err != nil {
			t.Fatal(err)
		}
		id = next
	}
	if size := ddb.Size(w.rows()[id]); size > ddb.MaxItemSize-1000 {
		t.Errorf("%d bytes of %d", size, ddb.MaxItemSize)
	}
	for text, want := range map[string]string{strings.Repeat("x", 2049): "error: at most 2048 bytes, has 2049", "\xff": "error: must be UTF-8"} {
		if _, err := store.Retry(t.Context(), id, text); err == nil || err.Error() != want {
			t.Errorf("%v", err)
		}
	}
}

// Whichever call of a complete or retry is the last one before a crash, before or after its effect: repeating it ends in exactly one completion or one successor.
func TestACrashAfterAnyCallLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	store := w.store()
	for _, step := range []string{"complete", "retry"} {
		for call := 1; ; call++ {
			reached := false
			for _, fault := range []ddbtest.Fault{ddbtest.Crash(), ddbtest.CrashAfter(), ddbtest.LostAnswer(), ddbtest.ServerErrorAfter(), ddbtest.Dropped(), ddbtest.Conflict()} {
				w.faults.Clear()
				id := w.write(store, numbered(1)...)[0]
				run := func() error {
					if step == "complete" {
						return store.Complete(t.Context(), id)
					}
					_, err := store.Retry(t.Context(), id, "x")
					return err
				}
				w.faults.Clear()
				w.faults.Add(ddbtest.Rule{Nth: call, Do: fault})
				first := run()
				reached = reached || w.faults.Count("") >= call
				w.faults.Clear()
				err := run()
				_, retried := errors.AsType[*buffer.RetriedError](err)
				if step == "complete" && err != nil || step == "retry" && err != nil && !retried {
					t.Errorf("%s, call %d: first %v, then %v", step, call, first, err)
				}
				chain := w.exactlyOne(id, "0")
				if want := map[string]int{"complete": 1, "retry": 2}[step]; chain != want && (step == "complete" || first != nil) {
					t.Errorf("%s, call %d: first %v, then %v: a chain of %d events", step, call, first, err, chain)
				}
			}
			if !reached {
				break
			}
		}
	}
}

// exactlyOne checks that an event, or the last of the chain of its retries, is pending or completed, and that the chain is all that there is of its batch. It
// gives the chain's length.
func (w *world) exactlyOne(id, data string) (length int) {
	w.Helper()
	rows, of := w.rows(), 0
	batch := str(rows[id], "batch_id")
	for _, row := range rows {
		if str(row, "batch_id") == batch {
			of++
		}
	}
	for length = 1; str(rows[id], "successor") != ""; length++ {
		if str(rows[id], "deleted_at") == "" || str(rows[id], "pending_message_pk") != "" {
			w.Errorf("%s has a successor and is not closed", id)
		}
		id = str(rows[id], "successor")
	}
	row, there := rows[id]
	if !there || str(row, "json_data") != data {
		w.Errorf("the chain ends at %s, which is lost: %v", id, row)
	}
	pending, done := str(row, "pending_message_pk") != "", str(row, "deleted_at") != ""
	if pending == done {
		w.Errorf("%s: pending %t, done %t", id, pending, done)
	}
	if length != of {
		w.Errorf("%d rows of the batch, the chain has %d", of, length)
	}
	return length
}

func TestALostAnswerOfARetryIsSettled(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]ddbtest.Fault{"lost answer": ddbtest.LostAnswer(), "timeout": ddbtest.Timeout(), "500 after": ddbtest.ServerErrorAfter(), "dropped": ddbtest.Dropped(), "conflict": ddbtest.Conflict(0), "throttled": ddbtest.Cancel("ThrottlingError", "None")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			store := w.store()
			id := w.write(store, numbered(1)...)[0]
			w.faults.Add(ddbtest.Rule{Operation: "TransactWriteItems", Nth: 1, Do: fault})
			next, err := store.Retry(t.Context(), id, "x")
			if err != nil {
				t.Fatal(err)
			}
			rows := w.rows()
			if len(rows) != 2 || str(rows[id], "successor") != next {
				t.Errorf("%d rows, successor %s, answered %s", len(rows), str(rows[id], "successor"), next)
			}
		})
	}
}

func TestARetryThatCannotBeSettledSaysSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	store := w.store()
	id := w.write(store, numbered(1)...)[0]
	w.faults.Add(ddbtest.Rule{Operation: "TransactWriteItems", Do: ddbtest.Dropped()})
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := store.Retry(ctx, id, "x"); !errors.Is(err, unique.ErrUnknown) {
		t.Errorf("%v", err)
	}
	w.exactlyOne(id, "0")
}

// raced is what a race ended in.
type raced struct{ completed, retried int }

// race lets two retries and a completion at one event, n times, with faults on the way, and counts what came of it.
func (w *world) race(store *buffer.Store, n int) {
	w.Helper()
	ids := w.write(store, numbered(n)...)
	w.faults.
		Add(ddbtest.Rule{Operation: "TransactWriteItems", Probability: 0.1, Do: ddbtest.LostAnswer()}).
		Add(ddbtest.Rule{Operation: "TransactWriteItems", Probability: 0.1, Do: ddbtest.Conflict()}).
		Add(ddbtest.Rule{Operation: "TransactWriteItems", Probability: 0.05, Do: ddbtest.Dropped()}).
		Add(ddbtest.Rule{Operation: "UpdateItem", Probability: 0.1, Do: ddbtest.LostAnswer()}).
		Add(ddbtest.Rule{Operation: "UpdateItem", Probability: 0.1, Do: ddbtest.Conflict()})
	type answers struct {
		done  error
		next  [2]string
		retry [2]error
	}
	got := make([]answers, n)
	limit := make(chan struct{}, 8)
	var group sync.WaitGroup
	for at, id := range ids {
		limit <- struct{}{}
		group.Go(func() {
			defer func() { <-limit }()
			var one sync.WaitGroup
			one.Go(func() {
				if at%4 > 0 { // a retry reads first: so the two reach the table side by side
					_, _ = store.Get(w.Context(), id)
				}
				got[at].done = store.Complete(w.Context(), id)
			})
			for r := range 2 {
				one.Go(func() { got[at].next[r], got[at].retry[r] = store.Retry(w.Context(), id, "race") })
			}
			one.Wait()
		})
	}
	group.Wait()
	rows := w.rows()
	var sum raced
	for at, id := range ids {
		row := rows[id]
		successor := str(row, "successor")
		if str(row, "deleted_at") == "" || str(row, "pending_message_pk") != "" {
			w.Errorf("event %d is neither completed nor retried", at)
		}
		winners := 0
		for r, err := range got[at].retry {
			closed, other := errors.AsType[*buffer.RetriedError](err)
			switch {
			case err == nil && got[at].next[r] == successor:
				winners++
			case other && closed.Successor == successor && successor != "", errors.Is(err, buffer.ErrDone) && successor == "":
			default:
				w.Errorf("event %d: a retry answered %q, %v; its successor is %q", at, got[at].next[r], err, successor)
			}
		}
		closed, other := errors.AsType[*buffer.RetriedError](got[at].done)
		switch {
		case successor == "":
			sum.completed++
			if got[at].done != nil || winners != 0 {
				w.Errorf("event %d is completed; complete answered %v, %d retries won", at, got[at].done, winners)
			}
		default:
			sum.retried++
			fresh, there := rows[successor]
			if !there || str(fresh, "pending_message_pk") == "" || num(fresh, "retry") != "1" || str(fresh, "json_data") != fmt.Sprint(at) {
				w.Errorf("event %d: its successor is %v", at, fresh)
			}
			if winners != 1 || !other || closed.Successor != successor {
				w.Errorf("event %d is retried; %d retries won, complete answered %v", at, winners, got[at].done)
			}
		}
	}
	if len(rows) != n+sum.retried {
		w.Errorf("%d rows, want %d events and %d successors", len(rows), n, sum.retried)
	}
	w.Logf("%d completed, %d retried", sum.completed, sum.retried)
}
