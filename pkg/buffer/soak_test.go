package buffer_test

import (
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/pkg/buffer"
	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
)

// sized is a tenth of a soak's size, or all of it in make soak: the engine takes about a thousand writes a second, and less beside the race detector.
func sized(full int) int {
	if os.Getenv("HEATSINK_SOAK") != "" {
		return full
	}
	return full / 10
}

// One request of 60,000 events (6,000 in make test) under throttles, unprocessed items and lost answers: every one stored once, lists total and in order, pages full.
func TestSoakSixtyThousandEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.faults.
		Add(ddbtest.Rule{Operation: "BatchWriteItem", Probability: 0.05, Do: ddbtest.Throttle(ddbtest.CodeProvisioned)}).
		Add(ddbtest.Rule{Operation: "BatchWriteItem", Probability: 0.1, Do: ddbtest.Unprocessed(9)}).
		Add(ddbtest.Rule{Operation: "BatchWriteItem", Probability: 0.02, Do: ddbtest.LostAnswer()}).
		Add(ddbtest.Rule{Operation: "PutItem", Probability: 0.05, Do: ddbtest.Throttle(ddbtest.CodeRequestLimit)}).
		Add(ddbtest.Rule{Operation: "Query", Probability: 0.02, Do: ddbtest.Throttle(ddbtest.CodeProvisioned)})
	store := w.store()
	events := numbered(sized(60_000))
	ids := w.write(store, events...)
	w.holds(ids, events)
	for _, state := range []buffer.State{buffer.Pending, buffer.All} {
		request := buffer.ListRequest{Date: today, State: state, Limit: 1000}
		if got := w.walk(store, request); !slices.Equal(got, ids) {
			t.Errorf("%s: %d ids, want those of the request in their order", state, len(got))
		}
		request.Descending = true
		if got := w.walk(store, request); !slices.Equal(got, reversed(ids)) {
			t.Errorf("%s, newest first: %d ids, want those of the request in reverse", state, len(got))
		}
	}
	stats, err := store.Stats(t.Context(), today)
	if diff := cmp.Diff(buffer.Stats{Pending: int64(len(ids))}, stats); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

// Retry against retry against complete, for 500 events (50 in make test): exactly one successor or a completion, never both, never none.
func TestSoakRetryAgainstRetryAgainstComplete(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.race(w.store(), sized(500))
}
