package buffer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"
)

// ErrThrottled is why events were not stored where the table took no more until the time ended.
var ErrThrottled = errors.New("throttled until the time ended")

// WriteRequest asks to store events.
type WriteRequest struct {
	// Events are JSON texts, 1 to MaxBatchEvents, each of at most MaxDataBytes.
	Events []json.RawMessage
	// IdempotencyKey makes a repeat of the request meet the first one, for [KeyLife]: 1 to 64 of A-Z a-z 0-9 - _ . ~, not . or .. alone. Empty: each request stores anew.
	IdempotencyKey string
}

// Written is what a write stored.
type Written struct {
	BatchID string
	// IDs of the events, in the order of the request; empty for those that are not stored.
	IDs []string
	// Repeated: the request had been made before, with the same key.
	Repeated bool
}

// Write stores events as pending. They lie in the order of the request. Without a key it sends batches of 25, and single conditional puts only for what has an unknown
// outcome; with a key one put for the key's record, one conditional put an event and one update of the record, or one read of it where all is stored already.
//
// Errors: [*FieldError] and [*TooLargeError], before any write; [ErrIdempotencyMismatch]; a [*NotStoredError] that names what is not stored, beside a Written
// that has the ids of all the rest; and what the SDK returns for the key's record, when nothing is stored yet.
func (s *Store) Write(ctx context.Context, request WriteRequest) (*Written, error) {
	if err := checkEvents(request.Events); err != nil {
		return nil, err
	}
	ctx, send, cancel := s.bounds(ctx)
	defer cancel()
	if request.IdempotencyKey != "" {
		return s.writeKeyed(ctx, send, request)
	}
	batch, err := s.NewBatch(len(request.Events))
	if err != nil {
		return nil, err
	}
	w := &writing{Store: s, batch: batch, events: request.Events}
	err = w.run(ctx, send, false)
	return w.written(err), err
}

// WriteBatch stores a part of a batch: events[0] is at position first. It is safe to repeat, also side by side, as long as the batch and the events are the same:
// each event is put on condition that it is not there, so that nothing is stored twice and nothing that was completed or retried meanwhile comes
// back. Errors are those of [Store.Write]; positions in them are those of the batch.
func (s *Store) WriteBatch(ctx context.Context, batch Batch, first int, events []json.RawMessage) error {
	if err := batch.Check(); err != nil {
		return err
	}
	if first < 0 || first+len(events) > MaxBatchEvents {
		return &TooLargeError{Position: -1, Limit: MaxBatchEvents, Got: first + len(events)}
	}
	if len(events) == 0 {
		return nil
	}
	for n, event := range events {
		if err := CheckData(first+n, event); err != nil {
			return err
		}
	}
	ctx, send, cancel := s.bounds(ctx)
	defer cancel()
	w := &writing{Store: s, batch: batch, first: first, events: events}
	return w.run(ctx, send, true)
}

// bounds gives a context that ends, and one that ends Margin before it.
func (s *Store) bounds(ctx context.Context) (whole, send context.Context, cancel func()) {
	now := s.config.Retry.Now()
	deadline, has := ctx.Deadline()
	if !has {
		deadline = now.Add(s.config.Patience)
	}
	margin := max(0, min(s.config.Margin, deadline.Sub(now)/4))
	whole, cancelWhole := context.WithDeadline(ctx, deadline)
	send, cancelSend := context.WithDeadline(whole, deadline.Add(-margin))
	return whole, send, func() { cancelSend(); cancelWhole() }
}

func checkEvents(events []json.RawMessage) error {
	if len(events) == 0 {
		return bad("events", "must hold at least one event")
	}
	if len(events) > MaxBatchEvents {
		return &TooLargeError{Position: -1, Limit: MaxBatchEvents, Got: len(events)}
	}
	for position, event := range events {
		if err := CheckData(position, event); err != nil {
			return err
		}
	}
	return nil
}

// CheckData says what is wrong with the event at a position: a [*TooLargeError], or a [*FieldError] where it is no JSON text.
func CheckData(position int, data json.RawMessage) error {
	switch {
	case len(data) > MaxDataBytes:
		return &TooLargeError{Position: position, Limit: MaxDataBytes, Got: len(data)}
	case len(data) == 0:
		return bad(fmt.Sprintf("events[%d].data", position), "is missing")
	case !utf8.Valid(data) || !json.Valid(data):
		return bad(fmt.Sprintf("events[%d].data", position), "must be JSON in UTF-8")
	default:
		return nil
	}
}

// writing is one write on its way. Positions count from the first event given.
type writing struct {
	*Store
	batch  Batch
	first  int
	events []json.RawMessage
	skip   []bool // positions that are stored already; nil: none
}

func (w *writing) key(position int) Key { return w.batch.Key(w.first + position) }

// run stores all events, with conditional puts alone where asked. send is when no new write begins; what is unsettled then has the rest of ctx.
func (w *writing) run(ctx, send context.Context, conditional bool) error {
	all := make([]int, 0, len(w.events))
	for position := range w.events {
		if w.skip == nil || !w.skip[position] {
			all = append(all, position)
		}
	}
	var first outcome
	if conditional {
		first = w.put(send, all, nil)
	} else {
		first = w.putBatches(send, all)
	}
	result := first
	if len(first.unknown) > 0 {
		// A batch whose answer was lost is never sent again as a batch: it would bring back what was completed meanwhile.
		settled := w.put(ctx, first.unknown, first.unknown)
		result = outcome{not: slices.Concat(first.not, settled.not), unknown: settled.unknown, err: first.err}
		if result.err == nil {
			result.err = settled.err
		}
	}
	if len(result.not)+len(result.unknown) == 0 {
		return nil
	}
	failure := &NotStoredError{Err: result.err}
	for _, position := range result.not {
		failure.Positions = append(failure.Positions, w.first+position)
	}
	for _, position := range result.unknown {
		failure.Unknown = append(failure.Unknown, w.first+position)
	}
	slices.Sort(failure.Positions)
	slices.Sort(failure.Unknown)
	return failure
}

// written lists what is stored after a run.
func (w *writing) written(err error) *Written {
	written := &Written{BatchID: w.batch.ID, IDs: make([]string, len(w.events))}
	missing := map[int]bool{}
	if failure, ok := errors.AsType[*NotStoredError](err); ok {
		for _, position := range slices.Concat(failure.Positions, failure.Unknown) {
			missing[position] = true
		}
	}
	for position := range w.events {
		if !missing[position] {
			written.IDs[position] = w.key(position).ID()
		}
	}
	return written
}
