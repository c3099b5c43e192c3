package partition_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/heatsink-dev/heatsink/pkg/partition"
)

func TestAWriteCostsItsLargerStateRoundedUpToOneKiB(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		before, after partition.Bytes
		want          partition.WriteUnits
	}{
		{0, 0, 1}, {0, 1, 1}, {0, 1023, 1}, {0, 1024, 1}, {0, 1025, 2}, {2048, 1, 2}, {2049, 0, 3}, {800, 800, 1}, {0, 20 * partition.KiB, 20}, {0, partition.MaxItemBytes, 400},
	} {
		if got := partition.WriteCost(test.before, test.after); got != test.want {
			t.Errorf("%d -> %d bytes: %d units, want %d", test.before, test.after, got, test.want)
		}
	}
	if got := partition.WriteCost(0, 1025).Transactional(); got != 4 {
		t.Errorf("in a transaction %d units, want twice 2", got)
	}
}

func TestAReadOfOneItemIsRoundedUpToFourKiBAndHalvedWhenEventual(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		size        partition.Bytes
		consistency partition.Consistency
		want        string
	}{
		{0, partition.Strong, "1"},
		{4096, partition.Strong, "1"},
		{4097, partition.Strong, "2"},
		{4096, partition.Eventual, "0.5"},
		{4097, partition.Eventual, "1"},
		{4096, partition.Transactional, "2"},
		{20 * partition.KiB, partition.Strong, "5"},
		{0, partition.Eventual, "0.5"},
		{4096, 0, "1"},
	} {
		if got := partition.ItemReadCost(test.size, test.consistency).String(); got != test.want {
			t.Errorf("%d bytes, %d: %s units, want %s", test.size, test.consistency, got, test.want)
		}
	}
}

func TestAQueryIsRoundedUpOnceAPageAndAnEmptyOneCostsHalfAUnit(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		rows int64
		size partition.Bytes
		want string
	}{
		{0, 800, "0.5"},
		{1, 800, "0.5"},
		{5, 800, "0.5"},
		{6, 800, "1"},
		{10, 800, "1"},
		{200, 800, "20"},
		{4, 1024, "0.5"},
		{5, 1024, "1"},
		{1310, 800, "128"},    // 1,048,000 bytes: the most that one page holds
		{1311, 800, "128.5"},  // the next page is rounded up for itself
		{5000, 800, "488.5"},  // 3 full pages and 1,070 rows
		{2, 400 << 10, "100"}, // two of the largest in a page
		{3, 400 << 10, "150"}, // and a third on the next
		{2, 2 << 20, "512"},   // larger than a page: one row each
		{4096, 1, "0.5"},      // 4,096 bytes
		{4097, 1, "1"},        // one more
		{1048577, 1, "128.5"}, // one more than a page
	} {
		if got := partition.QueryCost(test.rows, test.size, partition.Eventual).String(); got != test.want {
			t.Errorf("%d rows of %d bytes: %s units, want %s", test.rows, test.size, got, test.want)
		}
	}
}

func TestTwentyShardsHaveAFloorOfTenReadUnits(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		rows, shards int64
		size         partition.Bytes
		want         string
	}{
		{0, 20, 800, "10"},
		{10, 20, 170, "10"},
		{200, 20, 800, "20"},
		{200, 20, 170, "10"},
		{200, 20, 400, "10"},
		{0, 40, 800, "20"},
		{200, 40, 800, "20"},
		{200, 1, 800, "20"},
		{6, 1, 800, "1"},
		{7, 2, 800, "1"},
		{11, 2, 800, "1.5"},
		{3, 0, 800, "0.5"},
	} {
		if got := partition.FanOutCost(test.rows, test.shards, test.size, partition.Eventual).String(); got != test.want {
			t.Errorf("%d rows of %d bytes over %d shards: %s units, want %s", test.rows, test.size, test.shards, got, test.want)
		}
	}
}

func TestIndexWrites(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change partition.IndexChange
		want   partition.WriteUnits
	}{
		"absent before and after costs nothing":     {partition.IndexChange{Projected: true, KeyMoved: true}, 0},
		"absent to present costs the new":           {partition.IndexChange{After: 1025}, 2},
		"present to absent costs the old":           {partition.IndexChange{Before: 2049}, 3},
		"unchanged costs nothing":                   {partition.IndexChange{Before: 800, After: 800}, 0},
		"a projected change costs the larger":       {partition.IndexChange{Before: 3000, After: 100, Projected: true}, 3},
		"a moved key costs the old and the new":     {partition.IndexChange{Before: 1025, After: 100, KeyMoved: true}, 3},
		"a moved key with a change costs both only": {partition.IndexChange{Before: 100, After: 100, KeyMoved: true, Projected: true}, 2},
	} {
		if got := test.change.Cost(); got != test.want {
			t.Errorf("%s: %d units, want %d", name, got, test.want)
		}
	}
}

func TestStorageIsBilledWith100BytesForEachRow(t *testing.T) {
	t.Parallel()
	if got := partition.StorageBytes(10, 170); got != 2700 {
		t.Errorf("%d bytes", got)
	}
}

// Borders, order and additivity of the rounding rules.
func TestRoundingNeverUndercountsAndNeverByMoreThanAUnit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		size := partition.Bytes(rapid.Int64Range(1, int64(partition.MaxItemBytes)).Draw(t, "size"))
		units := partition.WriteCost(0, size)
		if paid := partition.Bytes(units) * partition.WriteUnitBytes; paid < size || paid-size >= partition.WriteUnitBytes {
			t.Fatalf("%d bytes cost %d write units", size, units)
		}
		if partition.WriteCost(size, 0) != units || partition.WriteCost(size, size) != units {
			t.Fatal("put, delete and update of one size differ")
		}
		strong, eventual := partition.ItemReadCost(size, partition.Strong), partition.ItemReadCost(size, partition.Eventual)
		if paid := partition.Bytes(strong/2) * partition.ReadUnitBytes; paid < size || paid-size >= partition.ReadUnitBytes || strong%2 != 0 || eventual*2 != strong {
			t.Fatalf("%d bytes cost %s and %s read units", size, strong, eventual)
		}
	})
}

func TestCostsAreMonotone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		size := partition.Bytes(rapid.Int64Range(1, int64(partition.MaxItemBytes)-1).Draw(t, "size"))
		rows := rapid.Int64Range(0, 5000).Draw(t, "rows")
		shards := rapid.Int64Range(1, 100).Draw(t, "shards")
		if partition.WriteCost(0, size) > partition.WriteCost(0, size+1) {
			t.Fatal("a byte more is cheaper to write")
		}
		now := partition.FanOutCost(rows, shards, size, partition.Eventual)
		if more := partition.FanOutCost(rows+1, shards, size, partition.Eventual); more < now {
			t.Fatalf("%d rows cost %s, one more %s", rows, now, more)
		}
		if now < partition.ReadHalves(shards) {
			t.Fatalf("%d shards cost %s, less than half a unit each", shards, now)
		}
		// A fan-out pays at least the bytes.
		if partition.Bytes(now)*partition.ReadUnitBytes < partition.Bytes(rows)*size {
			t.Fatalf("%d rows of %d bytes cost %s", rows, size, now)
		}
		if whole := partition.QueryCost(rows, size, partition.Strong); whole != 2*partition.QueryCost(rows, size, partition.Eventual) {
			t.Fatal("strong isn't twice eventual")
		}
	})
}
