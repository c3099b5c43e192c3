package partition

import (
	"fmt"
	"strconv"
)

// Bytes is a size in bytes.
type Bytes int64

// Sizes that DynamoDB counts with (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html,
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html).
const (
	KiB            Bytes = 1 << 10
	WriteUnitBytes       = 1 * KiB    // one write unit
	ReadUnitBytes        = 4 * KiB    // one read unit
	MaxItemBytes         = 400 * KiB  // the largest item
	QueryPageBytes       = 1024 * KiB // what one Query reads at most before it stops with a LastEvaluatedKey

	// StorageOverheadBytes is billed for storage, but not for writes and reads, beside each item and beside each entry of an index
	// (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.html#GSI.StorageConsiderations).
	StorageOverheadBytes Bytes = 100
)

// WriteUnits counts write units: WRU on demand, WCU when provisioned.
type WriteUnits int64

// Transactional is what the same write costs inside TransactWriteItems: one unit to prepare and one to commit for each
// (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html#transaction-capacity-handling).
func (u WriteUnits) Transactional() WriteUnits { return 2 * u }

// WriteCost is what a put, an update or a delete of one item costs: its larger state, old or new, rounded up to 1 KiB, at least one unit.
// A size of 0 is an absent item. A write refused by its condition costs as much as one that passes.
func WriteCost(before, after Bytes) WriteUnits {
	return WriteUnits(max(1, ceilDiv(int64(max(before, after)), int64(WriteUnitBytes))))
}

// ReadHalves counts read units in halves, because an eventually consistent read costs half a unit per 4 KiB.
type ReadHalves int64

// String gives read units: "20", "0.5".
func (h ReadHalves) String() string {
	if h%2 == 0 {
		return strconv.FormatInt(int64(h)/2, 10)
	}
	return fmt.Sprintf("%d.5", int64(h)/2)
}

// text is String with commas.
func (h ReadHalves) text() string {
	if h%2 == 0 {
		return count(int64(h) / 2)
	}
	return count(int64(h)/2) + ".5"
}

// MarshalText is [ReadHalves.String].
func (h ReadHalves) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// Consistency of a read. Zero is unspecified and counts as the dearest that a table allows outside transactions: Strong.
type Consistency uint8

// The three kinds of reads.
const (
	Eventual      Consistency = iota + 1 // half a unit per 4 KiB; the only kind that a GSI knows
	Strong                               // one unit
	Transactional                        // two units
)

func (c Consistency) halves(units int64) ReadHalves {
	switch c {
	case Eventual:
		return ReadHalves(units)
	case Transactional:
		return ReadHalves(4 * units)
	case Strong:
		return ReadHalves(2 * units)
	default:
		return ReadHalves(2 * units)
	}
}

// ItemReadCost is what reading one item by key costs, also within BatchGetItem and TransactGetItems, which round each item on its own. An
// item that is absent (0 bytes) costs as much as one of 4 KiB.
func ItemReadCost(size Bytes, consistency Consistency) ReadHalves {
	return consistency.halves(max(1, ceilDiv(int64(size), int64(ReadUnitBytes))))
}

// QueryCost is what one Query, with its further pages, costs that reads so many rows of a size: the sum of a page, not each row, is rounded up to
// 4 KiB. A query that finds nothing still costs one unit, or half when eventual.
func QueryCost(rows int64, size Bytes, consistency Consistency) ReadHalves {
	perPage := max(1, int64(QueryPageBytes/max(1, size)))
	full := rows / perPage
	units := full * ceilDiv(perPage*int64(size), int64(ReadUnitBytes))
	if rest := rows % perPage; rest > 0 || rows == 0 {
		units += max(1, ceilDiv(rest*int64(size), int64(ReadUnitBytes)))
	}
	return consistency.halves(units)
}

// FanOutCost is what reading so many rows costs that lie evenly in so many shards: each shard is a query that is rounded up for itself, so there is a
// floor of half a unit for each shard, whatever they return. Shards below 1 count as 1.
func FanOutCost(rows, shards int64, size Bytes, consistency Consistency) ReadHalves {
	shards = max(1, shards)
	more := rows % shards // so many shards hold one row more
	return ReadHalves(more)*QueryCost(rows/shards+1, size, consistency) + ReadHalves(shards-more)*QueryCost(rows/shards, size, consistency)
}

// IndexChange is what one write of a base item does to one index. Sizes are those of the index's entry, which carries the projected
// attributes alone; 0 means that the item is not in the index.
type IndexChange struct {
	Before, After Bytes
	// KeyMoved says that the entry's key differs: DynamoDB deletes one entry and puts another.
	KeyMoved bool
	// Projected says that a projected attribute changed. Where neither key nor projected attributes change, the index isn't written.
	Projected bool
}

// Cost in write units (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.html#GSI.ThroughputConsiderations.Writes). It is not
// doubled when the base write is part of a transaction: indexes follow after the commit.
func (c IndexChange) Cost() WriteUnits {
	switch {
	case c.Before == 0 && c.After == 0:
		return 0
	case c.Before == 0:
		return WriteCost(0, c.After)
	case c.After == 0:
		return WriteCost(c.Before, 0)
	case c.KeyMoved:
		return WriteCost(c.Before, 0) + WriteCost(0, c.After)
	case c.Projected:
		return WriteCost(c.Before, c.After)
	default:
		return 0
	}
}

// StorageBytes is what storage is billed for: rows and the overhead of each.
func StorageBytes(rows int64, size Bytes) Bytes { return Bytes(rows) * (size + StorageOverheadBytes) }

// ceilDiv rounds a/b up, for a >= 0 and b > 0.
func ceilDiv(a, b int64) int64 {
	q := a / b
	if a%b > 0 {
		q++
	}
	return q
}

// count prints a whole number with commas.
func count[N ~int64](n N) string {
	digits := strconv.FormatInt(int64(n), 10)
	out := ""
	for len(digits) > 3 && digits[len(digits)-4] != '-' {
		out = "," + digits[len(digits)-3:] + out
		digits = digits[:len(digits)-3]
	}
	return digits + out
}
