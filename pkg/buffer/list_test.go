package buffer_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/pkg/buffer"
	"github.com/heatsink-dev/heatsink/pkg/cursor"
	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
	"github.com/heatsink-dev/heatsink/pkg/schema"
	"github.com/heatsink-dev/heatsink/pkg/shard"
)

// walk reads all pages; each but the last must be full.
func (w *world) walk(store *buffer.Store, request buffer.ListRequest) (ids []string) {
	w.Helper()
	for {
		page, err := store.List(w.Context(), request)
		if err != nil {
			w.Fatal(err)
		}
		if page.Cursor != "" && len(page.Events) != request.Limit {
			w.Errorf("a page of %d, want %d", len(page.Events), request.Limit)
		}
		for _, event := range page.Events {
			ids = append(ids, event.ID)
		}
		if page.Cursor == "" {
			return ids
		}
		request.Cursor = page.Cursor
	}
}

// few shards, for tests that read many pages.
func few(t testing.TB) func(*buffer.Config) {
	return func(c *buffer.Config) { c.Layout = layout(t, schema.ShardEpoch{Shards: 4}) }
}

// bySort orders ids by their sort keys.
func bySort(ids []string) []string {
	return slices.SortedFunc(slices.Values(ids), func(a, b string) int {
		return strings.Compare(a[strings.LastIndex(a, ".")+1:], b[strings.LastIndex(b, ".")+1:])
	})
}

func reversed(list []string) []string {
	list = slices.Clone(list)
	slices.Reverse(list)
	return list
}

// Requests of many sizes within a few milliseconds; some of their events are completed, some retried, one of those on the next day.
func TestListsAreExactInBothDirections(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	store := w.store(few(t))
	var ids []string
	for n := range 20 {
		ids = append(ids, w.write(store, numbered(n%7+1)...)...)
		if n%3 == 0 {
			w.clock.Advance(time.Millisecond)
		}
	}
	pending := map[string]bool{}
	for _, id := range ids {
		pending[id] = true
	}
	failed := map[string]bool{}
	all := slices.Clone(ids)
	for n, id := range ids {
		switch {
		case n%5 == 0:
			if err := store.Complete(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			delete(pending, id)
		case n%11 == 1:
			if n == 1 { // long after midnight
				w.clock.Advance(30 * time.Hour)
			}
			next, err := store.Retry(t.Context(), id, "it broke")
			if err != nil {
				t.Fatal(err)
			}
			delete(pending, id)
			pending[next], failed[next] = true, true
			all = append(all, next)
		}
	}
	set := func(of map[string]bool) (list []string) {
		for id := range of {
			list = append(list, id)
		}
		return bySort(list)
	}
	for state, want := range map[buffer.State][]string{buffer.Pending: set(pending), buffer.Failed: set(failed), buffer.All: bySort(all)} {
		for _, limit := range []int{1, 7, 1000} {
			request := buffer.ListRequest{Date: today, State: state, Limit: limit}
			if diff := cmp.Diff(want, w.walk(store, request)); diff != "" {
				t.Errorf("%s by %d: %s", state, limit, diff)
			}
			request.Descending = true
			if diff := cmp.Diff(reversed(want), w.walk(store, request)); diff != "" {
				t.Errorf("%s by %d, newest first: %s", state, limit, diff)
			}
		}
	}
	stats, err := store.Stats(t.Context(), today)
	if want := (buffer.Stats{Pending: int64(len(pending)), Failed: int64(len(failed))}); err != nil || stats != want {
		t.Errorf("%+v, %v; want %+v", stats, err, want)
	}
}

func TestFromAndToAreInclusiveToTheMillisecond(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	store := w.store(few(t))
	var ids []string
	for range 5 {
		ids = append(ids, w.write(store, numbered(1)...)...)
		w.clock.Advance(time.Millisecond)
	}
	start := noon.UnixMilli()
	for _, test := range []struct {
		from, to *int64
		want     []string
	}{
		{nil, nil, ids},
		{new(start), nil, ids},
		{new(start + 1), nil, ids[1:]},
		{nil, new(start + 4), ids},
		{nil, new(start + 3), ids[:4]},
		{new(start + 1), new(start + 3), ids[1:4]},
		{new(start + 2), new(start + 2), ids[2:3]},
		{new(start + 3), new(start + 2), nil},
		{new(start + 5), nil, nil},
		{nil, new(start - 1), nil},
		{new(int64(0)), new(int64(buffer.MaxTime)), ids},
	} {
		for _, state := range []buffer.State{buffer.Pending, buffer.All} {
			for _, limit := range []int{1, 3, 1000} {
				request := buffer.ListRequest{Date: today, State: state, From: test.from, To: test.to, Limit: limit}
				got := w.walk(store, request)
				request.Descending = true
				if diff := cmp.Diff(test.want, got); diff != "" || !slices.Equal(reversed(got), w.walk(store, request)) {
					t.Errorf("%s by %d: %s", state, limit, diff)
				}
			}
		}
	}
}

// An event that is retried after midnight keeps its date; without bounds it is listed there, and bounds by the date's first and last millisecond leave it out.
func TestARetryAfterMidnightIsListedUnderItsOwnDate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	store := w.store()
	id := w.write(store, numbered(1)...)[0]
	w.clock.Advance(13 * time.Hour)
	next, err := store.Retry(t.Context(), id, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, state := range []buffer.State{buffer.Pending, buffer.Failed} {
		if diff := cmp.Diff([]string{next}, w.walk(store, buffer.ListRequest{Date: today, State: state, Limit: 10})); diff != "" {
			t.Errorf("%s: %s", state, diff)
		}
	}
	last := noon.Add(12*time.Hour).UnixMilli() - 1
	if got := w.walk(store, buffer.ListRequest{Date: today, State: buffer.Pending, To: &last, Limit: 10}); len(got) != 0 {
		t.Errorf("by time it is of the next day: %v", got)
	}
	event, err := store.Get(t.Context(), next)
	if err != nil || event.Date != today || event.Time != noon.Add(13*time.Hour).UnixMilli() || event.Retry != 1 {
		t.Errorf("%+v, %v", event, err)
	}
}

// The index still shows an event that is done, as a GSI does for a moment.
func TestAFailedEventIsCheckedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	store := w.store(few(t))
	ids := w.write(store, numbered(30)...)
	var failed []string
	for _, id := range ids {
		next, err := store.Retry(t.Context(), id, "x")
		if err != nil {
			t.Fatal(err)
		}
		failed = append(failed, next)
	}
	w.faults.Lag(w.events, "failed-pending-index", time.Hour, w.clock.Now)
	for _, id := range failed[:20] {
		if err := store.Complete(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	// And the reads by key come in pieces.
	w.faults.Add(ddbtest.Rule{Operation: "BatchGetItem", Probability: 0.5, Do: ddbtest.Unprocessed(2)})
	want := bySort(failed[20:])
	for _, limit := range []int{3, 10, 100} {
		got := w.walk(store, buffer.ListRequest{Date: today, State: buffer.Failed, Limit: limit})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("by %d: %s", limit, diff)
		}
	}
}

func TestTheFirstPageOfTwoHundredTakesOneRoundTripAndFewRows(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	store := w.store()
	w.write(store, numbered(2000)...)
	for _, descending := range []bool{false, true} {
		w.faults.Clear()
		page, err := store.List(t.Context(), buffer.ListRequest{Date: today, State: buffer.Pending, Limit: 200, Descending: descending})
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Events) != 200 || page.Cost.Rounds != 1 || page.Cost.Rows > 260 || w.faults.Count("Query") != 20 {
			t.Errorf("%d events, %+v, %d queries", len(page.Events), page.Cost, w.faults.Count("Query"))
		}
	}
}

func TestAPageEndsBeforeItsBytesDo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	store := w.store(func(c *buffer.Config) { c.Budget.Bytes = 250_000 })
	big := json.RawMessage(`"` + strings.Repeat("x", 100_000) + `"`)
	ids := w.write(store, big, big, big, big, big)
	request := buffer.ListRequest{Date: today, State: buffer.All, Limit: 100}
	var got []string
	for pages := 1; ; pages++ {
		page, err := store.List(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Events) > 2 {
			t.Errorf("a page of %d", len(page.Events))
		}
		for _, event := range page.Events {
			got = append(got, event.ID)
		}
		if request.Cursor = page.Cursor; request.Cursor == "" {
			break
		}
		if pages > 5 {
			t.Fatal("it does not end")
		}
	}
	if diff := cmp.Diff(ids, got); diff != "" {
		t.Error(diff)
	}
}

func TestSmallPagesOfDynamoDBAreNoEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	store := w.store(func(c *buffer.Config) { c.Layout = layout(t, schema.ShardEpoch{Shards: 3}) })
	ids := w.write(store, numbered(60)...)
	w.faults.Add(ddbtest.Rule{Operation: "Query", Do: ddbtest.SmallPages(2)})
	for _, state := range []buffer.State{buffer.Pending, buffer.All} {
		if diff := cmp.Diff(ids, w.walk(store, buffer.ListRequest{Date: today, State: state, Limit: 50})); diff != "" {
			t.Errorf("%s: %s", state, diff)
		}
	}
	if stats, err := store.Stats(t.Context(), today); err != nil || stats.Pending != 60 {
		t.Errorf("%+v, %v", stats, err)
	}
}

// Old and new shards are read as long as dates of the old number remain, also in the middle of a walk.
func TestAChangeOfTheShardCountLosesNoEvent(t *testing.T) {
	t.Parallel()
	for _, counts := range [][2]int{{4, 9}, {9, 4}} {
		w := newWorld(t)
		before := w.store(func(c *buffer.Config) { c.Layout = layout(t, schema.ShardEpoch{Shards: counts[0]}) })
		after := w.store(func(c *buffer.Config) {
			c.Layout = layout(t, schema.ShardEpoch{Shards: counts[0]}, schema.ShardEpoch{From: "2026-12-02", Shards: counts[1]})
		})
		old := w.write(before, numbered(50)...)
		request := buffer.ListRequest{Date: today, State: buffer.Pending, Limit: 20}
		page, err := before.List(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		w.clock.Advance(72 * time.Hour)
		young := w.write(after, numbered(50)...)
		next, err := after.Retry(t.Context(), old[0], "")
		if err != nil {
			t.Fatal(err)
		}
		request.Cursor = page.Cursor
		if diff := cmp.Diff(append(slices.Clone(old[20:]), next), w.walk(after, request)); diff != "" {
			t.Errorf("%v: the walk goes on: %s", counts, diff)
		}
		request.Cursor = ""
		if diff := cmp.Diff(append(slices.Clone(old[1:]), next), w.walk(after, request)); diff != "" {
			t.Errorf("%v: the old date: %s", counts, diff)
		}
		if diff := cmp.Diff(young, w.walk(after, buffer.ListRequest{Date: "2026-12-03", State: buffer.Pending, Limit: 20})); diff != "" {
			t.Errorf("%v: the new date: %s", counts, diff)
		}
	}
}

func TestACursorFitsItsQuestionAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	store := w.store()
	w.write(store, numbered(50)...)
	request := buffer.ListRequest{Date: today, State: buffer.Pending, Limit: 10, Tenant: "a"}
	page, err := store.List(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*buffer.ListRequest){
		"another date": func(r *buffer.ListRequest) { r.Date = "2026-11-29" }, "another state": func(r *buffer.ListRequest) { r.State = buffer.All },
		"another order": func(r *buffer.ListRequest) { r.Descending = true }, "a bound": func(r *buffer.ListRequest) { r.From = new(int64(0)) },
		"another tenant": func(r *buffer.ListRequest) { r.Tenant = "b" }, "forged": func(r *buffer.ListRequest) { r.Cursor = "x" + r.Cursor[1:] },
	} {
		other := request
		other.Cursor = page.Cursor
		change(&other)
		if _, err := store.List(t.Context(), other); !errors.Is(err, cursor.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	request.Cursor, request.Limit = page.Cursor, 7 // another limit is the same question
	if _, err := store.List(t.Context(), request); err != nil {
		t.Error(err)
	}
}

func TestBadListsNameTheirField(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	store := w.store()
	for field, spoil := range map[string]func(*buffer.ListRequest){
		"date: must be a day": func(r *buffer.ListRequest) { r.Date = "2026-02-30" }, "from: must be": func(r *buffer.ListRequest) { r.From = new(int64(-1)) },
		"to: must be epoch milliseconds, 0 to 9999999999999": func(r *buffer.ListRequest) { r.To = new(int64(buffer.MaxTime + 1)) },
		"state: must be": func(r *buffer.ListRequest) { r.State = 0 }, "limit: must be a whole number from 1 to 1000": func(r *buffer.ListRequest) { r.Limit = 1001 },
	} {
		request := buffer.ListRequest{Date: today, State: buffer.All, Limit: 1}
		spoil(&request)
		if _, err := store.List(t.Context(), request); err == nil || !strings.HasPrefix(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
	if _, err := store.Stats(t.Context(), "yesterday"); err == nil || !strings.HasPrefix(err.Error(), "date: ") {
		t.Error(err)
	}
	if n := w.faults.Count(""); n != 0 {
		t.Errorf("%d requests", n)
	}
}

func TestAShardThatCannotBeReadIsNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.faults.Add(ddbtest.Rule{Operation: "Query", When: func(input any) bool {
		return str(input.(*dynamodb.QueryInput).ExpressionAttributeValues, ":p") == today+"#13"
	}, Do: ddbtest.Refuse("AccessDeniedException", "no")})
	_, err := w.store().List(t.Context(), buffer.ListRequest{Date: today, State: buffer.All, Limit: 10})
	if failed, ok := errors.AsType[*shard.Error](err); !ok || failed.Shard != 13 {
		t.Errorf("%v", err)
	}
	_, err = w.store().Stats(t.Context(), today)
	if failed, ok := errors.AsType[*shard.Error](err); !ok || failed.Shard != 13 {
		t.Errorf("%v", err)
	}
}

// Counting asks for counts alone, in both indexes, each shard once.
func TestStatsReadNoEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	asked := map[string]int{}
	w.faults.Add(ddbtest.Rule{Operation: "Query", When: func(input any) bool {
		in := input.(*dynamodb.QueryInput)
		asked[fmt.Sprint(*in.IndexName, in.Select)]++
		return false
	}, Do: ddbtest.Dropped()})
	if _, err := w.store().Stats(t.Context(), today); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int{"pending-indexCOUNT": 20, "failed-pending-indexCOUNT": 20}, asked); diff != "" {
		t.Error(diff)
	}
}
