package partition_test

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/heatsink-dev/heatsink/pkg/partition"
)

// The worked example of the DynamoDB paper (USENIX ATC 2022, section 4), with its erratum: 5,000 on 8 partitions are 625 each, where it prints 675.
func TestProvisionedPartitionsDoubleAndNeverMerge(t *testing.T) {
	t.Parallel()
	table := partition.Provision(3200)
	for _, step := range []struct {
		writes partition.WriteUnits
		want   partition.Provisioned
	}{
		{3200, partition.Provisioned{Partitions: 4, PerPartition: 800}},
		{6000, partition.Provisioned{Partitions: 8, PerPartition: 750}},
		{5000, partition.Provisioned{Partitions: 8, PerPartition: 625}},
		{8000, partition.Provisioned{Partitions: 8, PerPartition: 1000}},
		{8001, partition.Provisioned{Partitions: 16, PerPartition: 500}},
	} {
		if table = table.Resize(step.writes); table != step.want {
			t.Fatalf("%d: %+v, want %+v", step.writes, table, step.want)
		}
	}
}

func TestPartitionsBySizeAndThroughput(t *testing.T) {
	t.Parallel()
	for size, want := range map[partition.Bytes]int64{0: 1, 7_200_000_000: 1, 10_000_000_000: 1, 10_000_000_001: 2, 1_800_000_000_000: 180} {
		if got := partition.PartitionsBySize(size); got != want {
			t.Errorf("%d bytes: %d partitions, want %d", size, got, want)
		}
	}
	for _, test := range []struct {
		writes partition.WriteUnits
		halves partition.ReadHalves
		want   int64
	}{{0, 0, 1}, {1000, 6000, 1}, {1001, 0, 2}, {0, 6001, 2}, {3000, 0, 3}, {1000, 30_000, 5}} {
		if got := partition.PartitionsByThroughput(test.writes, test.halves); got != test.want {
			t.Errorf("%d writes, %s reads: %d partitions, want %d", test.writes, test.halves, got, test.want)
		}
	}
}

// The table of collisions: 4 partitions, 1,000 write units a second each. It was found by simulation, so its last digit may be off by one; the digits here are exact.
func TestSuffixedKeysOverloadAPartition(t *testing.T) {
	t.Parallel()
	got := map[partition.WriteUnits][]string{}
	for _, peak := range []partition.WriteUnits{2000, 3000, 3600} {
		for _, shards := range []int64{4, 8, 16, 32, 64, 128} {
			got[peak] = append(got[peak], partition.OverloadRisk(peak, shards, 4).FloatString(3))
		}
	}
	want := map[partition.WriteUnits][]string{
		2000: {"0.203", "0.109", "0.030", "0.002", "0.000", "0.000"},
		3000: {"0.906", "0.962", "0.692", "0.576", "0.236", "0.073"},
		3600: {"0.906", "0.962", "0.985", "0.995", "0.941", "0.790"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	simulated := map[partition.WriteUnits][]int64{2000: {20, 11, 3, 0, 0, 0}, 3000: {91, 96, 69, 58, 24, 7}, 3600: {90, 96, 98, 99, 94, 78}}
	for peak, row := range simulated {
		for i, hundredths := range row {
			exact := partition.OverloadRisk(peak, []int64{4, 8, 16, 32, 64, 128}[i], 4)
			if off := new(big.Rat).Sub(exact, big.NewRat(hundredths, 100)); off.Abs(off).Cmp(big.NewRat(1, 100)) > 0 {
				t.Errorf("peak %d, column %d: %s, simulated %d %%", peak, i, exact.FloatString(4), hundredths)
			}
		}
	}
}

func TestOverloadRiskAtItsBorders(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		peak               partition.WriteUnits
		shards, partitions int64
		want               string
	}{
		"one partition's worth is never too much": {1000, 1, 1, "0"},
		"one key above it is always too much":     {1001, 1, 100, "1"},
		"one partition for more than it takes":    {2000, 10, 1, "1"},
		"exactly the limit is within it":          {2000, 2, 2, "1/2"},
		"each key alone is too hot":               {3000, 2, 1000, "1"},
		"all distinct, 4 of 4":                    {3000, 4, 4, "29/32"},
		"no shards":                               {3000, 0, 4, "0"},
	} {
		if got := partition.OverloadRisk(test.peak, test.shards, test.partitions).RatString(); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
	if got := partition.OverloadRisk(3000, partition.MaxShards, 4); got.Sign() <= 0 || got.Cmp(big.NewRat(1, 1000)) > 0 {
		t.Errorf("1,000 shards: %s", got.FloatString(6))
	}
}

// The recurrence against every way to put the keys, one by one.
func TestOverloadRiskCountsEveryWay(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		shards, partitions := rapid.Int64Range(1, 6).Draw(t, "shards"), rapid.Int64Range(1, 4).Draw(t, "partitions")
		peak := partition.WriteUnits(rapid.Int64Range(1, 8000).Draw(t, "peak"))
		ways := int64(1)
		for range shards {
			ways *= partitions
		}
		bad := int64(0)
		for way := range ways {
			load := make([]int64, partitions)
			for n, rest := int64(0), way; n < shards; n, rest = n+1, rest/partitions {
				load[rest%partitions]++
			}
			for _, keys := range load {
				if keys*int64(peak) > shards*int64(partition.PartitionWrites) {
					bad++
					break
				}
			}
		}
		if got := partition.OverloadRisk(peak, shards, partitions); got.Cmp(big.NewRat(bad, ways)) != 0 {
			t.Fatalf("%s, want %d of %d", got.RatString(), bad, ways)
		}
	})
}

// And against a simulation where counting all ways would take for ever.
func TestOverloadRiskAgreesWithASimulation(t *testing.T) {
	t.Parallel()
	const peak, shards, partitions, rounds = 3000, 20, 4, 100_000
	random := rand.New(rand.NewPCG(1, 2))
	bad := int64(0)
	for range rounds {
		var load [partitions]int
		worst := 0
		for range shards {
			n := random.IntN(partitions)
			load[n]++
			worst = max(worst, load[n])
		}
		if worst*peak > 1000*shards {
			bad++
		}
	}
	exact := partition.OverloadRisk(peak, shards, partitions)
	if off := new(big.Rat).Sub(exact, big.NewRat(bad, rounds)); off.Abs(off).Cmp(big.NewRat(1, 100)) > 0 {
		t.Errorf("exact %s, simulated %d of %d", exact.FloatString(4), bad, rounds)
	}
}

func TestSafePartitions(t *testing.T) {
	t.Parallel()
	limit := big.NewRat(1, 100)
	if got := partition.SafePartitions(3000, 20, 4, limit); got != 16 {
		t.Errorf("20 shards at 3,000: %d partitions", got)
	}
	if got := partition.SafePartitions(3000, 2, 4, limit); got != 0 {
		t.Errorf("a key that is too hot alone: %d partitions", got)
	}
	if got := partition.SafePartitions(500, 1, 4, limit); got != 4 {
		t.Errorf("no risk at all: %d partitions", got)
	}
}
