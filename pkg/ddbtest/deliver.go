package ddbtest

import (
	"context"
	"encoding/json"
	"errors"
)

// outcome is what a response means.
type outcome struct {
	// checkpoint is the place in the batch of the first record to deliver again; the length of the batch on success.
	checkpoint int
	// failed marks a whole batch that failed.
	failed bool
}

func (m *Mapping) deliver(ctx context.Context, l *lane) {
	b := l.next(m.cfg.BatchSize)
	if b = m.dropTooOld(ctx, l, b); b == nil {
		return
	}
	raw := make([]json.RawMessage, len(b.records))
	for n, record := range b.records {
		raw[n] = record.raw
	}
	response, err := m.cfg.Handler(ctx, Event(raw...))
	if errors.Is(err, ErrNotInvoked) {
		m.cfg.Clock.Advance(m.cfg.RetryDelay)
		l.putBack(b)
		return
	}
	m.stats.Invocations++
	if b.invoked > 0 {
		m.stats.Retries++
	}
	b.invoked++
	b.failed = &responseContext{StatusCode: 200, ExecutedVersion: "$LATEST"}
	if err != nil {
		b.failed.FunctionError = "Unhandled"
		m.failed(ctx, l, b)
		return
	}
	out := outcome{checkpoint: len(b.records)}
	if m.cfg.ReportBatchItemFailures {
		out = judge(response, b.records)
	}
	switch {
	case out.failed:
		m.failed(ctx, l, b)
	case out.checkpoint == len(b.records):
		m.stats.Done += len(b.records)
	default:
		m.partly(ctx, l, b, out.checkpoint)
	}
}

// judge reads a response by the rules of ReportBatchItemFailures.
func judge(response []byte, records []*delivery) outcome {
	success, failure := outcome{checkpoint: len(records)}, outcome{failed: true}
	if len(response) == 0 {
		return success
	}
	var body *struct {
		Failures []map[string]json.RawMessage `json:"batchItemFailures"`
	}
	if json.Unmarshal(response, &body) != nil {
		return failure
	}
	if body == nil || len(body.Failures) == 0 {
		return success
	}
	lowest := len(records)
	for _, failed := range body.Failures {
		var identifier string
		if json.Unmarshal(failed["itemIdentifier"], &identifier) != nil || identifier == "" {
			return failure // a wrong name, null, or empty
		}
		place := -1
		for n, record := range records {
			if record.sequence == identifier {
				place = n
				break
			}
		}
		if place < 0 {
			return failure
		}
		lowest = min(lowest, place)
	}
	return outcome{checkpoint: lowest}
}

// failed goes on after the failure of a whole batch.
func (m *Mapping) failed(ctx context.Context, l *lane, b *batch) {
	if m.cfg.BisectBatchOnFunctionError && len(b.records) > 1 {
		m.stats.Splits++
		half := len(b.records) / 2
		m.cfg.Clock.Advance(m.cfg.RetryDelay)
		l.putBack(
			&batch{records: b.records[:half], retries: b.retries, invoked: b.invoked, failed: b.failed},
			&batch{records: b.records[half:], retries: b.retries, invoked: b.invoked, failed: b.failed},
		)
		return
	}
	m.retry(ctx, l, b)
}

// partly goes on after a partial response: what stands before the checkpoint is done.
func (m *Mapping) partly(ctx context.Context, l *lane, b *batch, checkpoint int) {
	m.stats.Done += checkpoint
	b.records = b.records[checkpoint:]
	if m.cfg.BisectBatchOnFunctionError && checkpoint > 0 {
		m.stats.Splits++
		m.cfg.Clock.Advance(m.cfg.RetryDelay)
		l.putBack(b)
		return
	}
	m.retry(ctx, l, b)
}

// retry spends a retry, or gives the batch up when none is left.
func (m *Mapping) retry(ctx context.Context, l *lane, b *batch) {
	if m.cfg.MaximumRetryAttempts != Unlimited && b.retries >= m.cfg.MaximumRetryAttempts {
		m.discard(ctx, l, b, retryAttemptsExhausted)
		return
	}
	b.retries++
	m.cfg.Clock.Advance(m.cfg.RetryDelay)
	l.putBack(b)
}

// dropTooOld takes out of a batch what may not be delivered any more, and gives what is left of it, or nil. The stream's own end comes first: what it no
// longer has cannot be sent anywhere.
func (m *Mapping) dropTooOld(ctx context.Context, l *lane, b *batch) *batch {
	now := m.cfg.Clock.Now()
	gone := 0
	for gone < len(b.records) && now.Sub(b.records[gone].at) > retention {
		gone++
	}
	m.stats.Expired += gone
	b.records = b.records[gone:]
	if m.cfg.MaximumRecordAge > 0 {
		old := 0
		for old < len(b.records) && now.Sub(b.records[old].at) > m.cfg.MaximumRecordAge {
			old++
		}
		if old > 0 {
			m.discard(ctx, l, &batch{records: b.records[:old], invoked: b.invoked, failed: b.failed}, recordAgeExceeded)
			b.records = b.records[old:]
		}
	}
	if len(b.records) == 0 {
		return nil
	}
	return b
}
