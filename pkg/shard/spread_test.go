package shard_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/pkg/schema"
	"github.com/heatsink-dev/heatsink/pkg/shard"
)

// Rows lie where Stable said: a change of it would lose them.
func TestStableIsFrozen(t *testing.T) {
	t.Parallel()
	got := map[string]int{}
	for _, id := range []string{"", "a", "user-1", "user-2", "ümläut"} {
		got[id] = shard.Stable(id, 20)
	}
	want := map[string]int{"": 17, "a": 16, "user-1": 8, "user-2": 1, "ümläut": 13}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestStableAndRandomSpread(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 1))
	stable, chance := make([]int, 20), make([]int, 20)
	for n := range 20_000 {
		stable[shard.Stable(fmt.Sprintf("user-%d", n), 20)]++
		chance[shard.Random(20, random.IntN)]++
	}
	for n := range 20 { // 1,000 each, standard deviation 31
		if stable[n] < 850 || stable[n] > 1150 || chance[n] < 850 || chance[n] > 1150 {
			t.Errorf("shard %d: %d by hash, %d by chance", n, stable[n], chance[n])
		}
	}
}

// By turns no shard gets more than one row more than another, however many goroutines take how many rows.
func TestADealerDealsEvenly(t *testing.T) {
	t.Parallel()
	dealer := shard.NewDealer(rand.Uint64())
	var mu sync.Mutex
	counts := make([]int, 20)
	var group sync.WaitGroup
	for n := range 50 {
		group.Go(func() {
			first := dealer.Take(n, 20)
			mu.Lock()
			defer mu.Unlock()
			for row := range n {
				counts[(first+row)%20]++
			}
		})
	}
	group.Wait()
	least, most := counts[0], counts[0]
	for _, count := range counts {
		least, most = min(least, count), max(most, count)
	}
	if most-least > 1 {
		t.Errorf("%v", counts)
	}
	if first := shard.NewDealer(^uint64(0)).Take(1<<20, 7); first < 0 || first > 6 {
		t.Errorf("at the end of the range: %d", first)
	}
}

// 20 shards until November, 40 for two months, then 10.
func TestReadersAskEveryShardThatAWriterMayHaveUsed(t *testing.T) {
	t.Parallel()
	layout, err := shard.NewLayout(schema.ShardEpoch{Shards: 20}, schema.ShardEpoch{From: "2026-12-01", Shards: 40}, schema.ShardEpoch{From: "2027-02-01", Shards: 10})
	if err != nil {
		t.Fatal(err)
	}
	at := func(text string) time.Time {
		parsed, err := time.Parse(time.DateTime, text)
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	for _, test := range []struct {
		now   string
		write int
		date  string
		read  int
	}{
		{"2026-11-28 12:00:00", 20, "2026-11-28", 20},
		{"2026-11-30 12:00:00", 20, "2026-11-30", 40}, // tomorrow begins early for another clock
		{"2026-12-01 00:00:00", 40, "2026-12-01", 40},
		{"2026-12-20 12:00:00", 40, "2026-11-15", 40}, // a retry of an old event is written into one of 40
		{"2027-02-10 12:00:00", 10, "2026-11-30", 40},
		{"2027-02-10 12:00:00", 10, "2027-01-31", 40},
		{"2027-02-10 12:00:00", 10, "2027-02-01", 10},
		{"2026-11-28 12:00:00", 20, "2027-03-01", 10}, // a date to come
	} {
		if got := layout.Write(at(test.now)); got != test.write {
			t.Errorf("on %s writers use %d shards, want %d", test.now, got, test.write)
		}
		if got := layout.Read(test.date, at(test.now)); got != test.read {
			t.Errorf("on %s readers of %s ask %d shards, want %d", test.now, test.date, got, test.read)
		}
	}
}

// Whatever a writer used for a date, a reader asks it, then and later.
func TestReadersAreNeverBehindWriters(t *testing.T) {
	t.Parallel()
	layout, err := shard.NewLayout(
		schema.ShardEpoch{Shards: 5}, schema.ShardEpoch{From: "2026-01-10", Shards: 8}, schema.ShardEpoch{From: "2026-01-12", Shards: 2}, schema.ShardEpoch{From: "2026-01-20", Shards: 4},
	)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Date(2026, 1, 1, 23, 0, 0, 0, time.UTC)
	for day := range 30 {
		written := start.AddDate(0, 0, day)
		for later := range 30 {
			now := written.AddDate(0, 0, later)
			date := written.Format(shard.DateForm)
			if read, write := layout.Read(date, now.Add(-time.Hour)), layout.Write(now); read < write {
				t.Errorf("on %s a writer uses %d shards of %s, a reader whose clock is behind asks %d", now, write, date, read)
			}
		}
	}
}

func TestALayoutIsChecked(t *testing.T) {
	t.Parallel()
	for name, epochs := range map[string][]schema.ShardEpoch{
		"no epoch":                     nil,
		"epoch 0: Shards":              {{Shards: 0}},
		"1 to 1000, is 1001":           {{Shards: 1001}},
		"epoch 0: From":                {{From: "2026-01-01", Shards: 1}},
		"epoch 1: From must be a date": {{Shards: 1}, {From: "2026-02-30", Shards: 2}},
		"epoch 2: From must be after":  {{Shards: 1}, {From: "2026-02-02", Shards: 2}, {From: "2026-02-02", Shards: 3}},
	} {
		if _, err := shard.NewLayout(epochs...); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
