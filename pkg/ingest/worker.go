package ingest

import (
	"context"
	"errors"
	"io"
	"time"
)

// worker has claimed a batch.
type worker struct {
	*Ingester
	claimed  *record
	progress Progress // of windows that are stored, in order
	saved    int      // lines of the last checkpoint
	hold     func(context.Context, time.Duration)
}

// run stores what is left. When send ends, which stop brings about, no write begins any more.
func (w *worker) run(ctx, send context.Context, stop context.CancelFunc, source io.Reader) (Result, error) {
	content, err := decoded(source, w.config.MaxContentBytes)
	if err != nil {
		return w.end(ctx, err)
	}
	flow := start(send, content, w.claimed, w.config)
	beat := time.NewTicker(max(w.config.Lease/3, time.Millisecond))
	defer beat.Stop()
	var failure error
	for next := range w.windows(ctx, flow, beat, &failure, stop) {
		if failure != nil {
			continue // on its way, or not even that: no longer counted
		}
		if next.err != nil {
			failure = next.err
			stop()
			continue
		}
		w.progress.add(next)
		if w.progress.lines-w.saved >= w.config.CheckpointLines {
			if failure = w.checkpoint(ctx); failure != nil {
				stop()
			}
		}
	}
	if failure == nil {
		failure = flow.err
	}
	return w.end(ctx, failure)
}

// windows gives each window when it is stored, or is known not to be, and renews the lease meanwhile.
func (w *worker) windows(ctx context.Context, flow *pipeline, beat *time.Ticker, failure *error, stop context.CancelFunc) func(yield func(*window) bool) {
	renew := func() {
		if *failure != nil {
			return
		}
		// A checkpoint that fails for another reason is no more than late: each one asks anew whether the batch is still ours.
		if err := w.checkpoint(ctx); errors.Is(err, errLost) {
			*failure = err
			stop()
		}
	}
	return func(yield func(*window) bool) {
		for {
			var next *window
			select {
			case <-beat.C:
				renew()
				continue
			case got, more := <-flow.windows:
				if !more {
					return
				}
				next = got
			}
			for stored := false; !stored; {
				select {
				case <-beat.C:
					renew()
				case <-next.done:
					stored = true
				}
			}
			<-flow.slots
			if !yield(next) {
				return
			}
		}
	}
}

func (w *worker) checkpoint(ctx context.Context) error {
	if err := w.save(ctx, w.claimed, w.progress, w.config.Lease); err != nil {
		return err
	}
	w.saved = w.progress.lines
	if w.hold != nil {
		w.hold(ctx, w.holdTime())
	}
	return nil
}

// end writes how the batch stands: it is done, failed for its content, or to be gone on with.
func (w *worker) end(ctx context.Context, cause error) (Result, error) {
	content, bad := errors.AsType[*ContentError](cause)
	if errors.Is(cause, errGone) {
		content, bad = &ContentError{Reason: "the upload was removed or replaced while it was ingested"}, true
	}
	var err error
	state, reason := Ingesting, ""
	switch {
	case errors.Is(cause, errLost):
		err = cause
	case cause == nil:
		state = Done
		err = w.finish(ctx, w.claimed, w.progress, "")
	case bad:
		state, reason = Failed, content.Reason
		err = w.finish(ctx, w.claimed, w.progress, reason)
	default:
		err = w.save(ctx, w.claimed, w.progress, 0)
	}
	result := Result{
		Outcome: Unfinished, Ended: state != Ingesting,
		Accepted: w.progress.Accepted - w.claimed.Accepted, Rejected: w.progress.Rejected - w.claimed.Rejected,
		Status: Status{BatchID: w.claimed.BatchID, State: state, Progress: w.progress, Reason: reason},
	}
	switch {
	case errors.Is(err, errLost):
		return Result{Outcome: Busy, Status: w.claimed.Status, Wait: w.config.Lease}, nil
	case err != nil && cause == nil, err != nil && bad:
		return Result{}, err
	case state != Ingesting:
		result.Outcome = Finished
		return result, nil
	case inTime(cause):
		return result, err
	default:
		return result, errors.Join(cause, err)
	}
}
