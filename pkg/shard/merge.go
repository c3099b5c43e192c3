package shard

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"golang.org/x/sync/errgroup"
)

// DefaultConcurrency is how many shards are read at a time where a request does not say.
const DefaultConcurrency = 32

var (
	// ErrBudget ends a walk whose next round would pass Request.MaxRows. What has come stands; it goes on behind the last row.
	ErrBudget = errors.New("shard: the read budget is spent")
	// ErrNoAdvance ends a walk in which a source gave a next key that is not behind the one before: it would read one page for ever.
	ErrNoAdvance = errors.New("shard: the next key does not advance")
)

// Request of a [Merger].
type Request struct {
	// Shards to read: 0 to Shards-1.
	Shards int
	// Limit is how many rows are wanted; reads are sized by it. More can be taken: what follows is read in further pages of as many.
	Limit int
	// After is the position of the last row of the page before. Nil: from the beginning.
	After *Position
	// Descending: the exact reverse of the ascending order.
	Descending bool
	// Concurrency is how many reads go on at a time. Zero: [DefaultConcurrency].
	Concurrency int
	// MaxRows bounds the rows that are asked for. Zero: no bound.
	MaxRows int
}

// Cost of a walk so far.
type Cost struct {
	// Rounds are the reads that had to wait for others.
	Rounds int
	// Requests are calls of the source.
	Requests int
	// Rows that the source gave, taken or not.
	Rows int
}

// Merger merges shards lazily. It is for one goroutine.
type Merger[T any] struct {
	source  Source[T]
	request Request
	lanes   []lane[T]
	heap    []int // lanes with rows, the one with the first row on top
	dry     int   // lanes without rows that may have some
	wanted  int   // rows of the page that have not been taken
	asked   int
	cost    Cost
}

// lane is one shard.
type lane[T any] struct {
	rows      []Row[T] // read and not taken
	from      string   // key that the next read begins behind
	inclusive bool
	done      bool
}

// NewMerger checks the request. It reads nothing.
func NewMerger[T any](source Source[T], request Request) (*Merger[T], error) {
	switch {
	case source == nil:
		return nil, errors.New("shard: no source")
	case request.Shards < 1 || request.Shards > MaxShards:
		return nil, fmt.Errorf("shard: Shards must be 1 to %d, is %d", MaxShards, request.Shards)
	case request.Limit < 1:
		return nil, fmt.Errorf("shard: Limit must be at least 1, is %d", request.Limit)
	}
	if request.Concurrency <= 0 {
		request.Concurrency = DefaultConcurrency
	}
	m := &Merger[T]{source: source, request: request, lanes: make([]lane[T], request.Shards), dry: request.Shards, wanted: request.Limit}
	if after := request.After; after != nil {
		for n := range m.lanes {
			// Of the rows with the position's own key, those of the shards that come before its own, in reading order, have been returned.
			returned := n <= after.Shard
			if request.Descending {
				returned = n >= after.Shard
			}
			m.lanes[n].from, m.lanes[n].inclusive = after.Key, !returned
		}
	}
	return m, nil
}

// Next gives the next row; false where there is none. After an error, other than [ErrBudget], the merger is of no more use.
func (m *Merger[T]) Next(ctx context.Context) (row Row[T], ok bool, err error) {
	for m.dry > 0 {
		if err := m.round(ctx); err != nil {
			return row, false, err
		}
	}
	if len(m.heap) == 0 {
		return row, false, nil
	}
	row = m.pop()
	if m.wanted--; m.wanted == 0 {
		m.wanted = m.request.Limit
	}
	return row, true, nil
}

// More reports whether rows may follow. It reads nothing: false is certain.
func (m *Merger[T]) More() bool {
	if len(m.heap) > 0 {
		return true
	}
	for n := range m.lanes {
		if !m.lanes[n].done {
			return true
		}
	}
	return false
}

// Expect says how many more rows are wanted: the caller knows better than Limit, for it drops some.
func (m *Merger[T]) Expect(rows int) { m.wanted = max(1, rows) }

// Cost so far.
func (m *Merger[T]) Cost() Cost { return m.cost }

// All gives the rows that are left, in order. An error comes last and once; rows may be resumed behind the last one that came.
func (m *Merger[T]) All(ctx context.Context) iter.Seq2[Row[T], error] {
	return func(yield func(Row[T], error) bool) {
		for {
			row, ok, err := m.Next(ctx)
			if err != nil {
				yield(Row[T]{}, err)
				return
			}
			if !ok || !yield(row, nil) {
				return
			}
		}
	}
}

// round reads from every lane that the page needs more of, side by side.
func (m *Merger[T]) round(ctx context.Context) error {
	sizes := m.plan()
	total := 0
	for _, size := range sizes {
		total += size
	}
	if m.request.MaxRows > 0 && m.asked > 0 && m.asked+total > m.request.MaxRows {
		return ErrBudget
	}
	m.asked += total
	batches := make([]Batch[T], len(m.lanes))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(m.request.Concurrency)
	for n, size := range sizes {
		if size == 0 {
			continue
		}
		lane := &m.lanes[n]
		ask := Ask{Shard: n, From: lane.from, Inclusive: lane.inclusive, Limit: size, Descending: m.request.Descending}
		m.cost.Requests++
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return &Error{n, err}
			}
			batch, err := m.source.Read(ctx, ask)
			if err != nil {
				return &Error{n, err}
			}
			batches[n] = batch
			return nil
		})
	}
	m.cost.Rounds++
	if err := group.Wait(); err != nil {
		return err
	}
	for n, size := range sizes {
		if size > 0 {
			if err := m.take(n, batches[n]); err != nil {
				return err
			}
		}
	}
	m.settle()
	return nil
}

// take adds what was read to a lane. Keys must go on in order, or the merge would not be one.
func (m *Merger[T]) take(n int, batch Batch[T]) error {
	lane := &m.lanes[n]
	last, inclusive := lane.from, lane.inclusive
	behind := func(key string) bool {
		switch {
		case last == "" || inclusive && key == last:
			return true
		case m.request.Descending:
			return key < last
		default:
			return key > last
		}
	}
	for i := range batch.Rows {
		key := batch.Rows[i].Key
		if !behind(key) {
			return &Error{n, fmt.Errorf("%w: rows out of order", ErrNoAdvance)}
		}
		last, inclusive = key, false
		batch.Rows[i].Shard = n
	}
	m.cost.Rows += len(batch.Rows)
	lane.rows = append(lane.rows, batch.Rows...)
	if batch.Next == "" {
		lane.done = true
		return nil
	}
	// Behind the last row, or at it: a read that stops at a row stops at its key.
	if batch.Next != last && !behind(batch.Next) || len(batch.Rows) == 0 && batch.Next == lane.from && !lane.inclusive {
		return &Error{n, ErrNoAdvance}
	}
	lane.from, lane.inclusive = batch.Next, false
	return nil
}

// settle makes the heap anew after a round.
func (m *Merger[T]) settle() {
	m.heap, m.dry = m.heap[:0], 0
	for n := range m.lanes {
		switch lane := &m.lanes[n]; {
		case len(lane.rows) > 0:
			m.heap = append(m.heap, n)
		case !lane.done:
			m.dry++
		}
	}
	for n := len(m.heap)/2 - 1; n >= 0; n-- {
		m.down(n)
	}
}

// pop takes the first row of all.
func (m *Merger[T]) pop() Row[T] {
	lane := &m.lanes[m.heap[0]]
	row := lane.rows[0]
	lane.rows[0] = Row[T]{} // let go of the value
	lane.rows = lane.rows[1:]
	if len(lane.rows) == 0 {
		if !lane.done {
			m.dry++
		}
		last := len(m.heap) - 1
		m.heap[0] = m.heap[last]
		m.heap = m.heap[:last]
	}
	m.down(0)
	return row
}

// before compares the first rows of two lanes.
func (m *Merger[T]) before(a, b int) bool {
	order := m.lanes[a].rows[0].Compare(m.lanes[b].rows[0].Position)
	if m.request.Descending {
		return order > 0
	}
	return order < 0
}

func (m *Merger[T]) down(at int) {
	for {
		first := at
		for child := 2*at + 1; child <= 2*at+2 && child < len(m.heap); child++ {
			if m.before(m.heap[child], m.heap[first]) {
				first = child
			}
		}
		if first == at {
			return
		}
		m.heap[at], m.heap[first] = m.heap[first], m.heap[at]
		at = first
	}
}
