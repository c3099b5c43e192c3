package partition

import "math/big"

// The largest numbers that are computed with.
const (
	MaxShards     = 1000
	MaxPartitions = 100_000
)

// OverloadRisk is the exact probability that some partition gets more than its [PartitionWrites] when peak write units a second spread evenly over the shards' keys,
// and each key is hashed to one of the partitions, independently and uniformly. Splits for heat may rescue it later, in minutes.
//
// It counts the ways to put the keys so that no partition holds more than it can serve: the coefficients of
// (1 + x + x²/2! + ... + x^m/m!)^partitions, by the recurrence for the power of a polynomial, in integers.
// The result is 0 for a shards or partitions below 1, and shards above [MaxShards] are cut to it.
func OverloadRisk(peak WriteUnits, shards, partitions int64) *big.Rat {
	shards = min(shards, MaxShards)
	if shards < 1 || partitions < 1 || peak <= PartitionWrites {
		return new(big.Rat)
	}
	// m keys are within the limit: m * peak / shards <= limit.
	m := int64(PartitionWrites) * shards / int64(peak)
	if m >= shards {
		return new(big.Rat)
	}
	safe := waysWithin(shards, partitions, m)
	all := new(big.Int).Exp(big.NewInt(partitions), big.NewInt(shards), nil)
	risk := new(big.Rat).SetFrac(safe, all)
	return risk.Sub(big.NewRat(1, 1), risk)
}

// waysWithin counts the maps of n keys to p partitions with at most m keys each.
func waysWithin(n, p, m int64) *big.Int {
	ways := make([]*big.Int, n+1)
	ways[0] = big.NewInt(1)
	term, choose := new(big.Int), new(big.Int)
	for i := int64(1); i <= n; i++ {
		sum := new(big.Int)
		choose.SetInt64(1)
		for k := int64(1); k <= min(i, m); k++ {
			// choose = C(i, k)
			choose.Mul(choose, term.SetInt64(i-k+1))
			choose.Quo(choose, term.SetInt64(k))
			term.SetInt64(p*k + k - i)
			term.Mul(term, choose)
			sum.Add(sum, term.Mul(term, ways[i-k]))
		}
		ways[i] = sum.Quo(sum, term.SetInt64(i))
	}
	return ways[n]
}

// SafePartitions is the smallest power of two of partitions, from least on, with which the risk is at most limit; 0 when even 1,024 are too few, because
// one key alone is too hot or almost so.
func SafePartitions(peak WriteUnits, shards, least int64, limit *big.Rat) int64 {
	for partitions := int64(1); partitions <= 1024; partitions *= 2 {
		if partitions >= least && OverloadRisk(peak, shards, partitions).Cmp(limit) <= 0 {
			return partitions
		}
	}
	return 0
}

// percent prints a probability as a percentage with one digit.
func percent(p *big.Rat) string {
	return new(big.Rat).Mul(p, big.NewRat(100, 1)).FloatString(1) + " %"
}
