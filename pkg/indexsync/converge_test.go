package indexsync_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"pgregory.net/rapid"

	"github.com/heatsink-dev/heatsink/pkg/indexsync"
)

// errCrash stands for a process that is gone: no later call is made, and nobody hears its answer.
var errCrash = errors.New("crashed")

// storm makes calls fail: throttled, answered into the void, cut off, or the last one of a process. It runs out, so that every delivery ends.
type storm struct {
	pick choose
	left int

	mu      sync.Mutex
	call    int         // since the batch began
	faults  map[int]int // call -> kind
	crashed bool
}

// begin draws the faults of the next batch. Nothing is drawn later, in the syncer's goroutines, where rapid could not follow.
func (f *storm) begin() {
	f.call, f.faults, f.crashed = 0, map[int]int{}, false
	for range min(f.left, f.pick("faults", 4)) {
		f.faults[1+f.pick("call", 8)] = f.pick("kind", 5)
		f.left--
	}
}

func (f *storm) hook(int, *dynamodb.PutItemInput) (after bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.call++
	kind, hit := f.faults[f.call]
	switch {
	case f.crashed:
		return false, errCrash
	case !hit:
		return false, nil
	case kind == 0:
		return false, throttle()
	case kind == 1: // the write took effect and its answer is lost
		return true, &smithyhttp.RequestSendError{Err: io.ErrUnexpectedEOF}
	case kind == 2:
		return false, &smithyhttp.RequestSendError{Err: io.ErrUnexpectedEOF}
	default: // right before the write, or right after it
		f.crashed = true
		return kind == 3, errCrash
	}
}

// delivery gives a history's records to a syncer as a stream would, in batches cut anywhere, until all are done.
type delivery struct {
	b     *bench
	h     *history
	pick  choose
	storm *storm

	// What a reader may rely on: of each item, the last state known to be applied and the last that was given.
	applied, given map[string]int
	hidden         error
	counts         map[string]int // stale, unchanged, moves, crashes: proof that the histories are not tame
}

// run delivers the records in this order. ordered says that it is the order of each item, in which a live item must never be hidden.
func (d *delivery) run(t testing.TB, order []int, ordered bool) error {
	d.applied, d.given = map[string]int{}, map[string]int{}
	if d.counts == nil {
		d.counts = map[string]int{}
	}
	d.b.spy.hook = func(n int, in *dynamodb.PutItemInput) (bool, error) {
		if ordered && d.hidden == nil {
			d.hidden = d.visible(t) // between the calls before this one and this one
		}
		return d.storm.hook(n, in)
	}
	position := map[int]int{} // record -> how many-th of its item
	seen := map[string]int{}
	for n, id := range d.h.of {
		seen[id]++
		position[n] = seen[id]
	}
	for at := 0; at < len(order); {
		size := 1 + d.pick("size", min(12, len(order)-at))
		batch := order[at : at+size]
		raw := make([]json.RawMessage, size)
		for n, record := range batch {
			raw[n] = d.h.records[record].raw(t)
			id := d.h.of[record]
			d.given[id] = max(d.given[id], position[record])
		}
		d.storm.begin()
		result, err := d.b.syncer.Process(t.Context(), indexsync.JoinRecords(raw...))
		d.counts["stale"] += result.Stats.StaleSkips
		d.counts["moves"] += result.Stats.KeyMoves
		d.counts["tombstones"] += result.Stats.Tombstones
		d.counts["parked"] += result.Stats.Parked
		done := size
		switch {
		case d.storm.crashed:
			d.counts["crashes"]++
			continue // the whole batch again, cut anew
		case err != nil:
			return fmt.Errorf("process: %w", err)
		case result.FailedSequence != "":
			d.counts["failed"]++
			done = slices.IndexFunc(batch, func(record int) bool { return d.h.records[record].sequence == result.FailedSequence })
			if done < 0 {
				return fmt.Errorf("the failed sequence %s is not of the batch", result.FailedSequence)
			}
		}
		for _, record := range batch[:done] {
			id := d.h.of[record]
			d.applied[id] = max(d.applied[id], position[record])
		}
		if d.hidden == nil && ordered {
			d.hidden = d.visible(t)
		}
		if d.hidden != nil {
			return d.hidden
		}
		at += done
		if at > 0 && d.storm.left > 0 && d.pick("again", 8) == 0 { // delivered once more, from anywhere before
			d.storm.left--
			at -= 1 + d.pick("back", at)
		}
	}
	return nil
}

// visible says whether a reader sees, now, every item that is in an index in each state from the last one applied to the last one given.
func (d *delivery) visible(t testing.TB) error {
	for _, index := range d.b.source.Indexes {
		shown := map[string]bool{}
		for _, row := range d.b.engine.rows(t, d.b.tables[index.Name]) {
			if _, dead := row["_deleted"]; !dead {
				shown[s(row["id"])] = true
			}
		}
		for id, states := range d.h.states {
			always := d.given[id] > 0
			for _, state := range states[d.applied[id] : d.given[id]+1] {
				_, _, in := d.h.place(index.Name, state)
				always = always && in
			}
			if always && !shown[id] {
				return fmt.Errorf("index %s: item %s is live and in no row", index.Name, id)
			}
		}
	}
	return nil
}

// interleave orders the records anew, keeping the order of each item.
func (h *history) interleave() []int {
	queues := map[string][]int{}
	var ids []string
	for n, id := range h.of {
		if _, known := queues[id]; !known {
			ids = append(ids, id)
		}
		queues[id] = append(queues[id], n)
	}
	var order []int
	for len(ids) > 0 {
		n := h.pick("next", len(ids))
		id := ids[n]
		order = append(order, queues[id][0])
		if queues[id] = queues[id][1:]; len(queues[id]) == 0 {
			ids = slices.Delete(ids, n, n+1)
		}
	}
	return order
}

// shuffle orders the records in any way, and gives some of them twice.
func (h *history) shuffle() []int {
	var order []int
	for n := range h.records {
		order = append(order, n)
		if h.pick("twice", 4) == 0 {
			order = append(order, n)
		}
	}
	for n := len(order) - 1; n > 0; n-- {
		m := h.pick("swap", n+1)
		order[n], order[m] = order[m], order[n]
	}
	return order
}

// kinds are the ways in which histories live and are delivered.
var kinds = []struct {
	name              string
	revision, ordered bool
}{
	{"in order, by stream", false, true},
	{"late and shuffled, by stream", false, false},
	{"in order, by attribute", true, true},
	{"late and shuffled, by attribute", true, false},
}

// kindBench is a bench for histories of that kind.
func kindBench(t testing.TB, e engine, kind, concurrency int) *bench {
	source := things(t)
	if kinds[kind].revision {
		source = things(t, byRevision)
	}
	return newBench(t, e, source, func(c *indexsync.Config) { c.Concurrency = concurrency })
}

// converge lives and delivers one history and checks its end. watch looks at the rows between any two calls as well.
func converge(t testing.TB, b *bench, pick choose, prefix string, kind, operations int, watch bool, counts map[string]int) error {
	h := &history{prefix: prefix, revision: kinds[kind].revision, pick: pick}
	h.grow(operations, 1+pick("items", 4))
	d := &delivery{b: b, h: h, pick: pick, storm: &storm{pick: pick, left: pick("storm", 16)}, counts: counts}
	order := h.shuffle
	if kinds[kind].ordered {
		order = h.interleave
	}
	if err := d.run(t, order(), kinds[kind].ordered && watch); err != nil {
		return err
	}
	if counts["parked"] > 0 {
		return fmt.Errorf("%d records were parked", counts["parked"])
	}
	counts["operations"] += len(h.records)
	counts["calls"] += len(b.spy.calls)
	b.spy.calls = nil
	return h.check(t, b)
}

// wild fails a test whose histories turned out tame: each of these must have happened.
func wild(t *testing.T, counts map[string]int) {
	t.Helper()
	for _, what := range []string{"stale", "moves", "tombstones", "crashes", "failed"} {
		if counts[what] == 0 {
			t.Errorf("no %s in any history: %v", what, counts)
		}
	}
	t.Logf("%v", counts)
}

func drawn(rt *rapid.T) choose {
	return func(label string, n int) int { return rapid.IntRange(0, n-1).Draw(rt, label) }
}

func seeded(seed uint64) choose {
	random := rand.New(rand.NewPCG(seed, seed))
	return func(_ string, n int) int { return random.IntN(n) }
}

// TestALiveItemIsNeverHiddenOnTheRealEngine looks at the rows between any two calls.
func TestALiveItemIsNeverHiddenOnTheRealEngine(t *testing.T) {
	t.Parallel()
	b := kindBench(t, newReal(t), 0, 1)
	counts, seed := map[string]int{}, rand.Uint64()
	pick := seeded(seed)
	for round := range 4 {
		if err := converge(t, b, pick, fmt.Sprintf("h%d-", round), 0, 12, true, counts); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// TestConvergence lives 100 histories of each kind in memory, with a look at the rows between any two calls of those in order. rapid shrinks what fails.
func TestConvergence(t *testing.T) {
	t.Parallel()
	for kind := range kinds {
		t.Run(kinds[kind].name, func(t *testing.T) {
			t.Parallel()
			counts := map[string]int{}
			rapid.Check(t, func(rt *rapid.T) {
				operations := rapid.IntRange(1, 30).Draw(rt, "operations")
				if err := converge(t, kindBench(t, newMemory(), kind, 1), drawn(rt), "h-", kind, operations, true, counts); err != nil {
					rt.Fatal(err)
				}
			})
			wild(t, counts)
		})
	}
}

// TestConvergenceWithManyWriters writes distinct items at the same time, under faults.
func TestConvergenceWithManyWriters(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	pick, counts := seeded(seed), map[string]int{}
	for round := range 200 {
		kind := round % len(kinds)
		if err := converge(t, kindBench(t, newMemory(), kind, 8), pick, "h-", kind, 30, false, counts); err != nil {
			t.Fatalf("seed %d, round %d: %v", seed, round, err)
		}
	}
	wild(t, counts)
}

// soak is how many operations a soak test lives at least, and until when. HEATSINK_SOAK=<duration> makes it long.
func soak(t *testing.T, short int) (goal int, until time.Time) {
	t.Helper()
	given := os.Getenv("HEATSINK_SOAK")
	if given == "" {
		return short, time.Time{}
	}
	patience, err := time.ParseDuration(given)
	if err != nil {
		t.Fatalf("HEATSINK_SOAK must be a duration such as 5m, is %q", given)
	}
	return 100_000, time.Now().Add(patience)
}

// TestSoakConvergence lives 5,000 operations in memory in every run, in a soak at least 100,000, with a look at the rows between any two calls.
func TestSoakConvergence(t *testing.T) {
	t.Parallel()
	goal, until := soak(t, 5_000)
	counts, seed := map[string]int{}, rand.Uint64()
	t.Logf("seed %d", seed)
	for round := 0; counts["operations"] < goal || time.Now().Before(until); round++ {
		kind := round % len(kinds)
		pick := seeded(seed + uint64(round))
		if err := converge(t, kindBench(t, newMemory(), kind, 1), pick, "h-", kind, 1+pick("operations", 60), true, counts); err != nil {
			t.Fatalf("round %d, of seed %d: %v", round, seed+uint64(round), err)
		}
	}
	wild(t, counts)
}

// TestSoakConvergenceOnTheRealEngine lives 50 histories of each kind on the real engine in every run, in a soak 100,000 operations.
func TestSoakConvergenceOnTheRealEngine(t *testing.T) {
	t.Parallel()
	goal, _ := soak(t, 1)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for kind := range kinds {
		t.Run(kinds[kind].name, func(t *testing.T) {
			t.Parallel()
			counts, round := map[string]int{}, 0
			for counts["operations"] < goal/len(kinds)+1 {
				t.Run("", func(t *testing.T) { // whose end deletes its tables, so that they stay small
					b := kindBench(t, newReal(t), kind, 1)
					for range 50 {
						round++
						pick := seeded(seed + uint64(kind*1_000_000+round))
						if err := converge(t, b, pick, fmt.Sprintf("h%d-", round), kind, 1+pick("operations", 24), false, counts); err != nil {
							t.Fatalf("round %d, of seed %d: %v", round, seed+uint64(kind*1_000_000+round), err)
						}
					}
				})
				if t.Failed() {
					return
				}
			}
			wild(t, counts)
		})
	}
}
