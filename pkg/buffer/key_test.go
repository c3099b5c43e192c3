package buffer_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/heatsink-dev/heatsink/pkg/buffer"
)

const someSort = "1796040000000-0123456789abcdef-0000042"

func TestAnIDIsStrict(t *testing.T) {
	t.Parallel()
	for _, id := range []string{today + ".7." + someSort, "1970-01-01.0." + someSort, "2286-11-20.999." + someSort, today + ".3.17960400000001234567"} {
		key, ok := buffer.ParseID(id)
		if !ok || key.ID() != id {
			t.Errorf("%s: %+v, %t", id, key, ok)
		}
	}
	for _, id := range []string{
		"", ".", "..", today, today + ".7", today + ".07." + someSort, today + ".-1." + someSort, today + ".1000." + someSort, today + ".+7." + someSort,
		"2026-02-30.7." + someSort, "2026-2-3.7." + someSort, "1969-12-31.7." + someSort, "2286-11-21.7." + someSort, "12026-11-30.7." + someSort,
		today + ".7.179604000000", today + ".7.x796040000000-a", today + ".7." + someSort + "/", today + ".7." + someSort + ".x", today + ".7." + someSort + "ü",
		today + ".7." + someSort + "%", today + ".7.1796040000000-" + strings.Repeat("a", 64), " " + today + ".7." + someSort, today + ".7." + someSort + "\n", "２026-11-30.7." + someSort,
	} {
		if key, ok := buffer.ParseID(id); ok {
			t.Errorf("%q was taken: %+v", id, key)
		}
	}
}

func FuzzParseID(f *testing.F) {
	f.Add(today + ".7." + someSort)
	f.Add("2026-11-30.7.1796040000000")
	f.Add("x.y.z")
	f.Fuzz(func(t *testing.T, id string) {
		key, ok := buffer.ParseID(id)
		if ok && key.ID() != id {
			t.Errorf("%q comes back as %q", id, key.ID())
		}
		if ok && strings.ContainsAny(id, "/?#% \\") {
			t.Errorf("%q is not safe in a path", id)
		}
	})
}

// The order of keys is that of time, then of the batch, then of the position.
func TestKeysSortByTimeThenBatchThenPosition(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		batch := func() buffer.Batch {
			return buffer.Batch{
				ID:   rapid.SampledFrom([]string{"0000000000000000", "00000000000000zz", "zzzzzzzzzzzzzzzz"}).Draw(r, "id"),
				Time: rapid.Int64Range(0, buffer.MaxTime).Draw(r, "time"), Shards: 20,
			}
		}
		a, b := batch(), batch()
		if rapid.Bool().Draw(r, "same time") {
			b.Time = a.Time
		}
		position := rapid.IntRange(0, buffer.MaxBatchEvents-1)
		m, n := position.Draw(r, "m"), position.Draw(r, "n")
		want := a.Time < b.Time || a.Time == b.Time && (a.ID < b.ID || a.ID == b.ID && m < n)
		if got := a.Key(m).Sort < b.Key(n).Sort; got != want {
			r.Fatalf("%+v %d < %+v %d: %t", a, m, b, n, got)
		}
		key := a.Key(m)
		if parsed, ok := buffer.ParseID(key.ID()); !ok || parsed != key {
			r.Fatalf("%+v comes back as %+v", key, parsed)
		}
	})
}

func TestABatchFromARecordIsChecked(t *testing.T) {
	t.Parallel()
	good := buffer.Batch{ID: "0123456789abcdef", Time: 1, Shards: 20, First: 19}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	for name, spoil := range map[string]func(*buffer.Batch){
		"ID": func(b *buffer.Batch) { b.ID = "0123456789abcdeu" }, "Time": func(b *buffer.Batch) { b.Time = buffer.MaxTime + 1 },
		"First must": func(b *buffer.Batch) { b.First = 20 }, "Shards": func(b *buffer.Batch) { b.Shards = 0 },
	} {
		batch := good
		spoil(&batch)
		if err := batch.Check(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
