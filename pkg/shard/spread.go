package shard

import (
	"hash/fnv"
	"sync/atomic"
)

// Random gives a shard of n, 0 <= shard < n, all equally likely. intN is a source such as math/rand/v2's IntN.
func Random(n int, intN func(int) int) int { return intN(n) }

// Stable gives the shard of an id, always the same one for the same n: the 64-bit FNV-1a hash of the id's bytes, modulo n. It is frozen, since rows lie where it said.
// It is no protection against ids chosen to meet in one shard.
func Stable(id string, n int) int {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(id))        // never fails
	return int(hash.Sum64() % uint64(n)) //nolint:gosec // n is positive, the result less than n
}

// Dealer deals shards by turns. It is safe for concurrent use.
type Dealer struct{ next atomic.Uint64 }

// NewDealer begins at start, which should be random, so that processes do not all begin at one shard.
func NewDealer(start uint64) *Dealer {
	d := &Dealer{}
	d.next.Store(start >> 1) // half the range: it never wraps around, where turns of an n that is no power of two would jump
	return d
}

// Take takes the next rows of n shards out of the turn, and gives the shard of the first: row i of them goes to (first + i) mod n.
func (d *Dealer) Take(rows, n int) (first int) {
	taken, of := uint64(rows), uint64(n)         //nolint:gosec // both are positive
	return int((d.next.Add(taken) - taken) % of) //nolint:gosec // less than n
}
