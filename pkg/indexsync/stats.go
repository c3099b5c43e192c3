package indexsync

import (
	"maps"
	"slices"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
)

// Counts is what happened on an index. Planned ones (KeyMoves, Unchanged, NotIndexed) count changes in records, the others count requests that DynamoDB
// answered. A batch that is given again counts again.
type Counts struct {
	Upserts    int // rows written
	Tombstones int // marks written
	// StaleSkips are writes whose condition failed, because the row was as new or newer: a success.
	StaleSkips int
	KeyMoves   int // changes that moved an item from one place to another
	Unchanged  int // changes that the index does not show
	// ReservedDropped counts attributes that were left out of written rows because their name is reserved.
	ReservedDropped int
	// NotIndexed counts new states of items that have every key attribute and yet cannot be indexed, by reason. Nil when there are none.
	NotIndexed map[NotIndexed]int
}

func (c *Counts) notIndexed(reason NotIndexed) {
	if c.NotIndexed == nil {
		c.NotIndexed = map[NotIndexed]int{}
	}
	c.NotIndexed[reason]++
}

func (c *Counts) add(other *Counts) {
	c.Upserts += other.Upserts
	c.Tombstones += other.Tombstones
	c.StaleSkips += other.StaleSkips
	c.KeyMoves += other.KeyMoves
	c.Unchanged += other.Unchanged
	c.ReservedDropped += other.ReservedDropped
	if c.NotIndexed == nil {
		c.NotIndexed = maps.Clone(other.NotIndexed)
		return
	}
	for reason, n := range other.NotIndexed {
		c.NotIndexed[reason] += n
	}
}

// IndexStats is the [Counts] of one index.
type IndexStats struct {
	Index string
	Counts
}

// Stats is what happened with a batch.
type Stats struct {
	Records    int // given
	TTLRemoves int // removals that carry the mark of DynamoDB's TTL
	Parked     int // records handed to the Parker
	// Throttles counts throttled writes that the SDK gave up, by reason and resource. Nil when there are none.
	Throttles map[ddb.Throttle]int
	// Counts is the sum over all indexes.
	Counts
	// Indexes has the counts of each index, in the order of [Config].Targets.
	Indexes []IndexStats
}

func newStats(targets []*target) *Stats {
	s := &Stats{Indexes: make([]IndexStats, len(targets))}
	for n, t := range targets {
		s.Indexes[n].Index = t.index.Name
	}
	return s
}

// merge adds what a worker counted.
func (s *Stats) merge(other *Stats) {
	s.Parked += other.Parked
	for n := range other.Indexes {
		s.Indexes[n].add(&other.Indexes[n].Counts)
	}
	for reason, n := range other.Throttles {
		s.throttled(reason, n)
	}
}

func (s *Stats) throttled(reason ddb.Throttle, n int) {
	if s.Throttles == nil {
		s.Throttles = map[ddb.Throttle]int{}
	}
	s.Throttles[reason] += n
}

// sum fills in the totals.
func (s *Stats) sum() {
	s.Counts = Counts{}
	for n := range s.Indexes {
		s.add(&s.Indexes[n].Counts)
	}
}

// Add adds another batch, of this or of another [Syncer]. Indexes are matched by name.
func (s *Stats) Add(other Stats) {
	s.Records += other.Records
	s.TTLRemoves += other.TTLRemoves
	s.Parked += other.Parked
	for n := range other.Indexes {
		given := &other.Indexes[n]
		at := slices.IndexFunc(s.Indexes, func(i IndexStats) bool { return i.Index == given.Index })
		if at < 0 {
			at = len(s.Indexes)
			s.Indexes = append(s.Indexes, IndexStats{Index: given.Index})
		}
		s.Indexes[at].add(&given.Counts)
	}
	for reason, n := range other.Throttles {
		s.throttled(reason, n)
	}
	s.sum()
}
