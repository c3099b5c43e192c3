package indexsync

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// ErrDeadline says that a record was not begun because the time was nearly over. It will be given again.
var ErrDeadline = errors.New("indexsync: not begun before the deadline")

// Result is what became of a batch.
type Result struct {
	// FailedSequence is the sequence number of the first record that is not done, to be reported as the batch's one failed item; empty when all are.
	// Everything from it on will be delivered again, which is harmless.
	FailedSequence string
	// Cause is why that record is not done; nil when all are.
	Cause error
	// Parked are the records that can never be written, in the order of the batch.
	Parked []Parked
	// NotIndexed are the records that left an item out of an index for a fault of the item, the first [MaxOmissions] of them in the order of the batch; Stats counts all.
	NotIndexed []Omission
	// Stats counts what happened, also beside an error.
	Stats Stats
}

// Parked is a record that went to the [Parker], fit for a log: it holds nothing of the record's content.
type Parked struct {
	Sequence string // empty where the record has none
	Reason   string
	// Refused says that the record was read and DynamoDB refuses a row of it, so that a later change of the item supersedes it. Otherwise the record itself cannot be read.
	Refused  bool
	position int
}

// MaxOmissions is how many records a [Result] lists that left an item out of an index.
const MaxOmissions = 20

// Omission is an item that has every key attribute of an index and yet is not in it after this record. It is fit for a log: it holds nothing of the item.
type Omission struct {
	Sequence string
	Index    string
	Reason   NotIndexed
}

// Process brings the index tables in step with a stream event, {"Records":[...]} as Lambda delivers it.
//
// It makes one PutItem for each index row that the batch changes, and one call of the Parker for each poison record. It returns an error only where the whole
// batch must be given again: the payload is no stream event, the first record that is not done has no sequence number to report, or item failures are not
// reported at all (see [Config].PartialBatch). The Result is valid beside an error.
func (s *Syncer) Process(ctx context.Context, payload []byte) (Result, error) {
	raw, err := SplitRecords(payload)
	if err != nil {
		return Result{}, err
	}
	stats := newStats(s.targets)
	stats.Records = len(raw)
	works, omissions := s.plan(raw, stats)

	ctx, cancel := s.withMargin(ctx)
	defer cancel()
	result := Result{NotIndexed: omissions}
	failed := s.persist(ctx, works, stats, &result)
	stats.sum()
	result.Stats = *stats
	slices.SortFunc(result.Parked, func(a, b Parked) int { return a.position - b.position })
	if failed == nil {
		return result, nil
	}
	return s.report(result, failed)
}

// persist runs the works until all are done or patience ends, and returns the first that is not. What is done costs nothing when it is run again.
func (s *Syncer) persist(ctx context.Context, works []*work, stats *Stats, result *Result) *failure {
	end := s.now().Add(s.patience)
	for try := 1; ; try++ {
		var failed *failure
		for _, w := range s.run(ctx, works) {
			stats.merge(&w.stats)
			result.Parked = append(result.Parked, w.parked...)
			if w.failed != nil && (failed == nil || w.failed.work.first.position < failed.work.first.position) {
				failed = w.failed
			}
		}
		if failed == nil || !s.now().Before(end) || !s.retry.Wait(ctx, try) {
			return failed
		}
	}
}

// report names the failed record where the mapping listens, and is an error where it does not.
func (s *Syncer) report(result Result, failed *failure) (Result, error) {
	first := failed.work.first
	result.FailedSequence, result.Cause = first.sequence, failed.err
	switch {
	case first.sequence == "":
		return result, fmt.Errorf("indexsync: record %d of the batch is not done and has no sequence number to report: %w", first.position, failed.err)
	case !s.partialBatch:
		return result, fmt.Errorf("indexsync: record %s is not done: %w", first.sequence, failed.err)
	default:
		return result, nil
	}
}

// withMargin ends the context before the caller's deadline, so that there is time left to answer.
func (s *Syncer) withMargin(ctx context.Context) (context.Context, context.CancelFunc) {
	if deadline, ok := ctx.Deadline(); ok {
		return context.WithDeadlineCause(ctx, deadline.Add(-s.margin), ErrDeadline)
	}
	return context.WithCancel(ctx)
}

// failure is a work that is not done.
type failure struct {
	work *work
	err  error
}

// worker does works one after the other and counts for itself.
type worker struct {
	syncer *Syncer
	stats  Stats
	parked []Parked
	failed *failure // the first in the order of the batch
}

// run does the works, at most s.concurrency at a time and begun in order. After a failure nothing behind it is begun: all of that is delivered again anyway, and
// a table that throttles is left in peace.
func (s *Syncer) run(ctx context.Context, works []*work) []*worker {
	workers := make([]*worker, min(s.concurrency, len(works)))
	var next, end atomic.Int64 // the next work to begin; the first that failed, behind which none is begun
	end.Store(int64(len(works)))
	var all sync.WaitGroup
	for n := range workers {
		w := &worker{syncer: s, stats: *newStats(s.targets)}
		workers[n] = w
		all.Go(func() {
			for {
				position := next.Add(1) - 1
				if position >= end.Load() {
					return
				}
				if err := w.begin(ctx, works[position]); err != nil {
					w.failed = &failure{work: works[position], err: err}
					lower(&end, position)
					return
				}
			}
		})
	}
	all.Wait()
	return workers
}

// lower sets the value to position if that is less.
func lower(value *atomic.Int64, position int64) {
	for {
		now := value.Load()
		if position >= now || value.CompareAndSwap(now, position) {
			return
		}
	}
}

func (w *worker) begin(ctx context.Context, work *work) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return w.do(ctx, work)
}
