package indexsync_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/pkg/catalog"
	"github.com/heatsink-dev/heatsink/pkg/indexsync"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

const events = "../../events"

func users(t testing.TB) *schema.BaseTable {
	t.Helper()
	loaded, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	table, ok := loaded.Table(catalog.UserTable)
	if !ok {
		t.Fatal("the catalog has no table " + catalog.UserTable)
	}
	table.Indexes = table.StreamIndexes()
	return table
}

func sample(t testing.TB, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(events, name))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// Every sample of the stream, on the shipped catalog's tables and the real engine.
func TestSamples(t *testing.T) {
	t.Parallel()
	const managed, moved, team = "team-1/1699900000000#user-aaa", "team-2/1699900000500#user-aaa", "team-1/active#2026-11-14#user-aaa"
	for name, want := range map[string]struct {
		calls  []string
		parked int
		check  func(indexsync.Stats) bool
	}{
		"stream-insert.json":           {calls: []string{"upsert " + managed, "upsert " + team}},
		"stream-modify.json":           {calls: []string{"upsert " + managed, "upsert " + team}},
		"stream-modify-key-moved.json": {calls: []string{"upsert " + moved, "tombstone " + managed}, check: func(s indexsync.Stats) bool { return s.KeyMoves == 1 && s.Unchanged == 1 }},
		"stream-remove.json":           {calls: []string{"tombstone " + moved, "tombstone " + team}},
		"stream-ttl-remove.json":       {calls: []string{"tombstone team-1/1699900000000#user-ttt"}, check: func(s indexsync.Stats) bool { return s.TTLRemoves == 1 }},
		"stream-poison.json":           {parked: 1},
		"stream-mixed-batch.json": {
			calls: []string{
				"upsert " + moved, "tombstone " + managed, "upsert " + team, "tombstone team-1/1699900000000#user-ttt", "upsert team-1/1699900000001#user-ddd",
			},
			parked: 1, check: func(s indexsync.Stats) bool { return s.Records == 8 && s.NotIndexed[indexsync.ReasonNegative] == 1 },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, newReal(t), users(t), oneByOne)
			payload := sample(t, name)
			for range 2 { // the second time nothing is new
				result, err := b.syncer.Process(t.Context(), payload)
				if err != nil || result.FailedSequence != "" {
					t.Fatalf("failed %q, %v, error %v", result.FailedSequence, result.Cause, err)
				}
				if result.Stats.Parked != want.parked || want.check != nil && !want.check(result.Stats) {
					t.Errorf("stats %+v", result.Stats)
				}
			}
			got := b.spy.wrote()
			got = got[:len(got)/2]
			slices.Sort(got)
			slices.Sort(want.calls)
			if diff := cmp.Diff(want.calls, got); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			if keys := b.lot.keys(); len(keys) != want.parked {
				t.Errorf("parked under %v: a record that comes again must replace itself", keys)
			}
		})
	}
}

// The samples of failure objects keep their form through our types, so what is typed is spelled as AWS spells it.
func TestFailureObjectsOfAWSRoundTrip(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob(filepath.Join(events, "failure-*.json"))
	if err != nil || len(names) != 4 {
		t.Fatalf("samples %v, %v; want four", names, err)
	}
	for _, name := range names {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var object indexsync.FailureObject
		decoder := json.NewDecoder(bytes.NewReader(raw))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&object); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		again, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		var want, got any
		if err := errorsOf(json.Unmarshal(raw, &want), json.Unmarshal(again, &got)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
