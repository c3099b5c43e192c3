package ingest

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/heatsink-dev/heatsink/pkg/buffer"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

// Outcome of an [Ingester.Ingest]. The zero value is none.
type Outcome uint8

// The outcomes. After the first three there is nothing left to do; after the others the upload must be told of again.
const (
	// Finished: the batch is done or failed, by this call or before.
	Finished Outcome = iota + 1
	// Superseded: another upload to the same URL is, or will be, the one that is ingested.
	Superseded
	// Unknown: there is no such batch, or not any more.
	Unknown
	// Busy: another worker is at it, for Result.Wait at least.
	Busy
	// Unfinished: the time ended first. The next call goes on.
	Unfinished
)

// String is the outcome's name in lower case.
func (o Outcome) String() string {
	names := [...]string{"unspecified", "finished", "superseded", "unknown", "busy", "unfinished"}
	if int(o) < len(names) {
		return names[o]
	}
	return names[0]
}

// Settled reports whether nothing is left to do.
func (o Outcome) Settled() bool { return o == Finished || o == Superseded || o == Unknown }

// Upload is an object that appeared in the bucket.
type Upload struct {
	BatchID string
	// ETag of the object, without quotes.
	ETag string
	// Version of the object; empty where the message tells none.
	Version string
	// Hold is called when work begins and then before each time that it gave ends: nobody else needs to be told of the upload for so long. Nil: it is not.
	Hold func(context.Context, time.Duration)
}

// Result of an [Ingester.Ingest].
type Result struct {
	Outcome Outcome
	// Accepted and Rejected lines of this call. Those before a crash that no checkpoint knew of count again, here alone.
	Accepted, Rejected int
	// Status of the batch where it is known, after the call.
	Status Status
	// Ended says that this call ended the batch, and did not find it so.
	Ended bool
	// Wait is how long another worker's lease lasts, where it is Busy.
	Wait time.Duration
}

// Ingester stores uploads. It is safe for concurrent use.
type Ingester struct{ config Config }

// New checks the configuration. It makes no request.
func New(config Config) (*Ingester, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Ingester{config}, nil
}

// Ingest stores an upload, or goes on with it, until it is done or the deadline of ctx comes near. It may be called any number of times for one upload, also side
// by side. Requests: one read and one update of the batch's record, one more update for each checkpoint and one for the end; one GET, and one for each
// break of the connection; one conditional put an event. What is settled already takes the one read alone.
//
// An error means that it was not settled and must be told of again: what the SDK returned for the record or the object, or a *buffer.NotStoredError.
// How far the batch is has been saved, if that was possible.
func (i *Ingester) Ingest(ctx context.Context, upload Upload) (Result, error) {
	found, err := getRecord(ctx, i.config.Client, i.config.RequestTable, upload.BatchID, i.config.Now())
	if errors.Is(err, ErrNotFound) {
		return Result{Outcome: Unknown}, nil
	}
	if err != nil {
		return Result{}, err
	}
	if result, settled := i.judge(found, upload); settled {
		return result, nil
	}
	send, stop := i.sendTime(ctx)
	defer stop()
	version := found.version
	if version == "" {
		version = upload.Version
	}
	// Opened before it is claimed: what cannot be read must not keep another upload from being the one.
	object, err := openObject(send, i.config.Objects, i.config.Bucket, schema.UploadPrefix+upload.BatchID, upload.ETag, version, i.config.Retry)
	missing := errors.Is(err, errGone)
	switch {
	case missing && found.State == Waiting:
		return Result{Outcome: Superseded, Status: found.Status}, nil
	case missing:
	case err != nil:
		return Result{}, err
	default:
		version = object.version
		defer func() { _ = object.Close() }()
	}
	if upload.Hold != nil {
		upload.Hold(ctx, i.holdTime())
	}
	owner, err := i.name()
	if err != nil {
		return Result{}, err
	}
	claimed, err := i.claim(ctx, upload.BatchID, upload.ETag, version, owner)
	if failed, ok := errors.AsType[*refused](err); ok {
		if failed.found == nil {
			return Result{Outcome: Unknown}, nil
		}
		result, settled := i.judge(failed.found, upload)
		if !settled { // its lease ended a moment ago
			result = Result{Outcome: Busy, Status: failed.found.Status}
		}
		return result, nil
	}
	if err != nil {
		return Result{}, err
	}
	w := &worker{Ingester: i, claimed: claimed, progress: claimed.Progress, saved: claimed.lines, hold: upload.Hold}
	if missing {
		return w.end(ctx, &ContentError{Reason: "the upload was removed or replaced before it was ingested to its end"})
	}
	if object.size > i.config.MaxObjectBytes {
		return w.end(ctx, &ContentError{Reason: fmt.Sprintf("the upload has more than %d bytes", i.config.MaxObjectBytes)})
	}
	return w.run(ctx, send, stop, object)
}

// judge says what a record means for an upload; false where it can be claimed.
func (i *Ingester) judge(found *record, upload Upload) (Result, bool) {
	result := Result{Status: found.Status}
	switch {
	case found.State == Waiting:
		return result, false
	case found.etag != upload.ETag:
		result.Outcome = Superseded
	case found.State == Done, found.State == Failed:
		result.Outcome = Finished
	default:
		if result.Wait = found.lease.Sub(i.config.Now()); result.Wait <= 0 {
			return result, false
		}
		result.Outcome = Busy
	}
	return result, true
}

// sendTime ends Margin before the deadline.
func (i *Ingester) sendTime(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, has := ctx.Deadline()
	if !has {
		return context.WithCancel(ctx)
	}
	now := i.config.Retry.Now
	if now == nil {
		now = time.Now
	}
	return context.WithDeadline(ctx, deadline.Add(-max(0, min(i.config.Margin, deadline.Sub(now())/4))))
}

// holdTime is a little longer than the lease, so that who is told of an upload after a crash finds it free.
func (i *Ingester) holdTime() time.Duration { return i.config.Lease + i.config.Lease/4 }

// name of a worker, that no other has.
func (i *Ingester) name() (string, error) {
	var raw [16]byte
	if _, err := io.ReadFull(i.config.Rand, raw[:]); err != nil {
		return "", fmt.Errorf("read random bytes: %w", err)
	}
	return hex.EncodeToString(raw[:]), nil
}

// inTime reports whether an error is the end of the time, which the next call has anew.
func inTime(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, buffer.ErrThrottled)
}
