package shard_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/heatsink-dev/heatsink/pkg/shard"
)

// store is shards in memory, each with its keys in ascending order. Reads give at most most rows, if it is set.
type store struct {
	keys [][]string
	most int
}

func (s store) Read(_ context.Context, ask shard.Ask) (shard.Batch[string], error) {
	keys := slices.Clone(s.keys[ask.Shard])
	if ask.Descending {
		slices.Reverse(keys)
	}
	var batch shard.Batch[string]
	for n, key := range keys {
		before := key < ask.From
		if ask.Descending {
			before = key > ask.From
		}
		if ask.From != "" && (before || key == ask.From && !ask.Inclusive) {
			continue
		}
		batch.Rows = append(batch.Rows, shard.Row[string]{Position: shard.Position{Key: key}, Value: fmt.Sprint(ask.Shard, ":", key)})
		if len(batch.Rows) == ask.Limit || len(batch.Rows) == s.most {
			if n+1 < len(keys) {
				batch.Next = key
			}
			break
		}
	}
	return batch, nil
}

// sorted lists all positions of the first shards.
func (s store) sorted(shards int, descending bool) []shard.Position {
	all := []shard.Position{}
	for n, keys := range s.keys[:min(shards, len(s.keys))] {
		for _, key := range keys {
			all = append(all, shard.Position{Key: key, Shard: n})
		}
	}
	slices.SortFunc(all, shard.Position.Compare)
	if descending {
		slices.Reverse(all)
	}
	return all
}

// page reads one page and gives where it ended.
func page(t testing.TB, source shard.Source[string], request shard.Request) (rows []shard.Position, more bool, cost shard.Cost) {
	t.Helper()
	merger, err := shard.NewMerger(source, request)
	if err != nil {
		t.Fatal(err)
	}
	for len(rows) < request.Limit {
		row, ok, err := merger.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			break
		}
		if row.Value != fmt.Sprint(row.Shard, ":", row.Key) {
			t.Fatalf("row %+v carries %q", row.Position, row.Value)
		}
		rows = append(rows, row.Position)
	}
	return rows, merger.More(), merger.Cost()
}

// Every row once and in order, whatever the pages, the sizes of reads and the spread, and across a change of the number of shards in the middle of a walk.
func TestPagesAreTheSortedUnionOfAllShards(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		key := rapid.StringMatching(`[a-d]{1,3}`) // few enough for equal keys in several shards
		data := store{most: rapid.IntRange(0, 5).Draw(r, "most")}
		for range rapid.IntRange(1, 8).Draw(r, "shards") {
			keys := rapid.SliceOfDistinct(key, func(k string) string { return k }).Draw(r, "keys")
			slices.Sort(keys)
			data.keys = append(data.keys, keys)
		}
		shards := len(data.keys)
		descending := rapid.Bool().Draw(r, "descending")
		limit := rapid.IntRange(1, 12).Draw(r, "limit")
		var got []shard.Position
		var after *shard.Position
		for more := true; more; {
			rows, left, _ := page(t, data, shard.Request{
				Shards: shards, Limit: limit, After: after, Descending: descending, Concurrency: rapid.IntRange(0, 3).Draw(r, "concurrency"),
			})
			if len(rows) < limit && left {
				r.Fatalf("a page of %d with a limit of %d, and more to come", len(rows), limit)
			}
			got, more = append(got, rows...), left
			if len(rows) > 0 {
				after = &got[len(got)-1]
			}
			if rapid.IntRange(0, 9).Draw(r, "grow") == 0 {
				data.keys, shards = append(data.keys, nil), shards+1 // a new layout: one shard more, empty so far
			}
		}
		if diff := cmp.Diff(data.sorted(shards, descending), append([]shard.Position{}, got...)); diff != "" {
			r.Fatal(diff)
		}
	})
}

// A shard that appears in the middle of a walk is read from the walk's position on, in both directions.
func TestAWalkSurvivesAChangeOfTheShardCount(t *testing.T) {
	t.Parallel()
	old := store{keys: [][]string{{"a", "c", "e"}, {"b", "d", "f"}}}
	grown := store{keys: append(slices.Clone(old.keys), []string{"b5", "d5", "f5"})}
	for _, test := range []struct {
		descending bool
		want       []string
	}{
		{false, []string{"d", "d5", "e", "f", "f5"}},
		{true, []string{"c", "b5", "b", "a"}},
	} {
		first, _, _ := page(t, old, shard.Request{Shards: 2, Limit: 3, Descending: test.descending})
		rest, more, _ := page(t, grown, shard.Request{Shards: 3, Limit: 10, After: &first[2], Descending: test.descending})
		var keys []string
		for _, row := range rest {
			keys = append(keys, row.Key)
		}
		if diff := cmp.Diff(test.want, keys); diff != "" || more {
			t.Errorf("descending %t: %s, more %t", test.descending, diff, more)
		}
	}
}

// Equal keys in several shards: the page border may fall between them.
func TestACursorBetweenEqualKeysLosesNone(t *testing.T) {
	t.Parallel()
	data := store{keys: [][]string{{"k"}, {"k"}, {"k"}}}
	for _, descending := range []bool{false, true} {
		var got []shard.Position
		var after *shard.Position
		for range 3 {
			rows, _, _ := page(t, data, shard.Request{Shards: 3, Limit: 1, After: after, Descending: descending})
			got = append(got, rows...)
			after = &got[len(got)-1]
		}
		if diff := cmp.Diff(data.sorted(3, descending), got); diff != "" {
			t.Errorf("descending %t: %s", descending, diff)
		}
	}
}

// spread gives 800 rows of 20 shards, written by turns by so many processes at random; 0: by pure chance.
func spread(random *rand.Rand, processes int) store {
	data := store{keys: make([][]string, 20)}
	at := make([]int, processes)
	for n := range at {
		at[n] = random.IntN(20)
	}
	for n := range 800 {
		to := random.IntN(20)
		if processes > 0 {
			p := random.IntN(processes)
			to = at[p] % 20
			at[p]++
		}
		data.keys[to] = append(data.keys[to], fmt.Sprintf("%04d", n))
	}
	return data
}

func TestRoundTripsAndRows(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for _, test := range []struct {
		processes    int
		rounds, rows float64 // at most, on average
		worst        int     // rounds of any page
	}{
		{1, 1, 1.1, 1},
		{2, 2, 1.2, 3},
		{4, 2.3, 1.25, 3},
		{0, 2.6, 1.4, 4},
	} {
		const pages = 200
		rounds, rows := 0, 0
		for n := range pages {
			got, _, cost := page(t, spread(random, test.processes), shard.Request{Shards: 20, Limit: 200, Descending: n%2 == 1})
			if len(got) != 200 || cost.Rounds > test.worst {
				t.Fatalf("%d processes: %d rows, %+v", test.processes, len(got), cost)
			}
			rounds, rows = rounds+cost.Rounds, rows+cost.Rows
		}
		meanRounds, meanRows := float64(rounds)/pages, float64(rows)/pages/200
		t.Logf("spread by %d processes: %.2f round trips, %.2f times the rows of the page", test.processes, meanRounds, meanRows)
		if meanRounds > test.rounds || meanRows > test.rows {
			t.Errorf("spread by %d processes: %.2f round trips, %.2f times the rows; want at most %.2f and %.2f", test.processes, meanRounds, meanRows, test.rounds, test.rows)
		}
	}
}

// The second round asks only the shards that ran dry.
func TestOnlyDryShardsAreReadAgain(t *testing.T) {
	t.Parallel()
	data := store{keys: make([][]string, 4)}
	for n := range 100 {
		data.keys[0] = append(data.keys[0], fmt.Sprintf("a%03d", n)) // all of the page, and alone in its first part
		for s := 1; s < 4; s++ {
			data.keys[s] = append(data.keys[s], fmt.Sprintf("b%03d", n))
		}
	}
	var asked [][]int
	var mu sync.Mutex
	round := 0
	source := shard.SourceFunc[string](func(ctx context.Context, ask shard.Ask) (shard.Batch[string], error) {
		mu.Lock()
		defer mu.Unlock()
		for len(asked) <= round {
			asked = append(asked, nil)
		}
		asked[round] = append(asked[round], ask.Shard)
		return data.Read(ctx, ask)
	})
	merger, err := shard.NewMerger(source, shard.Request{Shards: 4, Limit: 40, Concurrency: 1})
	if err != nil {
		t.Fatal(err)
	}
	for range 40 {
		if _, ok, err := merger.Next(t.Context()); !ok || err != nil {
			t.Fatal(ok, err)
		}
		round = merger.Cost().Rounds
	}
	for n, shards := range asked {
		if n > 0 && !slices.Equal(shards, []int{0}) {
			t.Errorf("round %d read the shards %v, want shard 0 alone", n+1, shards)
		}
	}
	if len(asked) < 2 {
		t.Errorf("%v: a second round was needed", asked)
	}
}

func TestAnErrorNamesItsShardAndCancelsTheOthers(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	cancelled := make(chan struct{}, 4)
	source := shard.SourceFunc[string](func(ctx context.Context, ask shard.Ask) (shard.Batch[string], error) {
		if ask.Shard == 2 {
			return shard.Batch[string]{}, broken
		}
		<-ctx.Done() // ends by the error alone
		cancelled <- struct{}{}
		return shard.Batch[string]{}, ctx.Err()
	})
	merger, err := shard.NewMerger(source, shard.Request{Shards: 5, Limit: 5})
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = merger.Next(t.Context())
	failed, ok := errors.AsType[*shard.Error](err)
	if !ok || failed.Shard != 2 || !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	if len(cancelled) > 4 {
		t.Error("a read too many")
	}
}

func TestReadsAreBounded(t *testing.T) {
	t.Parallel()
	var running, most atomic.Int32
	data := spread(rand.New(rand.NewPCG(3, 4)), 0)
	source := shard.SourceFunc[string](func(ctx context.Context, ask shard.Ask) (shard.Batch[string], error) {
		now := running.Add(1)
		defer running.Add(-1)
		for seen := most.Load(); now > seen && !most.CompareAndSwap(seen, now); seen = most.Load() {
		}
		return data.Read(ctx, ask)
	})
	page(t, source, shard.Request{Shards: 20, Limit: 200, Concurrency: 3})
	if most.Load() > 3 {
		t.Errorf("%d reads at a time, want at most 3", most.Load())
	}
}

func TestAWalkThatDoesNotAdvanceEnds(t *testing.T) {
	t.Parallel()
	for name, batch := range map[string]shard.Batch[string]{
		"the same key again": {Next: "a"},
		"rows backwards":     {Rows: []shard.Row[string]{{Position: shard.Position{Key: "c"}}, {Position: shard.Position{Key: "b"}}}},
		"next before rows":   {Rows: []shard.Row[string]{{Position: shard.Position{Key: "c"}}}, Next: "b"},
	} {
		calls := 0
		source := shard.SourceFunc[string](func(context.Context, shard.Ask) (shard.Batch[string], error) {
			if calls++; calls > 3 {
				t.Fatalf("%s: it goes on for ever", name)
			}
			return batch, nil
		})
		merger, err := shard.NewMerger(source, shard.Request{Shards: 1, Limit: 5})
		if err != nil {
			t.Fatal(err)
		}
		for err == nil {
			var ok bool
			if _, ok, err = merger.Next(t.Context()); !ok && err == nil {
				t.Fatalf("%s: it looks like the end", name)
			}
		}
		if !errors.Is(err, shard.ErrNoAdvance) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheBudgetEndsAWalkThatCanGoOn(t *testing.T) {
	t.Parallel()
	data := spread(rand.New(rand.NewPCG(5, 6)), 0)
	var got []shard.Position
	var after *shard.Position
	for more, walks := true, 0; more; walks++ {
		if walks > 800 {
			t.Fatal("no progress")
		}
		merger, err := shard.NewMerger(data, shard.Request{Shards: 20, Limit: 400, MaxRows: 430, After: after})
		if err != nil {
			t.Fatal(err)
		}
		for row, err := range merger.All(t.Context()) {
			if err != nil && !errors.Is(err, shard.ErrBudget) {
				t.Fatal(err)
			}
			if err == nil {
				got = append(got, row.Position)
			}
		}
		after, more = &got[len(got)-1], merger.More()
	}
	if diff := cmp.Diff(data.sorted(20, false), got); diff != "" {
		t.Error(diff)
	}
}

func TestBadRequestsAreRefused(t *testing.T) {
	t.Parallel()
	for _, request := range []shard.Request{{Shards: 0, Limit: 1}, {Shards: 1001, Limit: 1}, {Shards: 1}} {
		if _, err := shard.NewMerger(store{}, request); err == nil {
			t.Errorf("%+v was taken", request)
		}
	}
	if _, err := shard.NewMerger[string](nil, shard.Request{Shards: 1, Limit: 1}); err == nil {
		t.Error("no source was taken")
	}
}

func ExampleMerger() {
	data := store{keys: [][]string{{"08:00", "08:03"}, {"08:01"}, {"08:02", "08:05"}}}
	merger, err := shard.NewMerger(data, shard.Request{Shards: 3, Limit: 3})
	if err != nil {
		fmt.Println(err)
		return
	}
	var last shard.Position
	for range 3 {
		row, _, err := merger.Next(context.Background())
		if err != nil {
			fmt.Println(err)
			return
		}
		last = row.Position
		fmt.Println(row.Key, "of shard", row.Shard)
	}
	fmt.Println("more:", merger.More(), "behind", last)
	// Output:
	// 08:00 of shard 0
	// 08:01 of shard 1
	// 08:02 of shard 2
	// more: true behind {08:02 2}
}
