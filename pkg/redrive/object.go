package redrive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/heatsink-dev/heatsink/pkg/indexsync"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

// Instead is what to do about records that must not be replayed.
const Instead = "write each of these base items once more, changing an attribute that the index carries, so that the stream brings its present state; " +
	"a deleted item: create it with its old index key and delete it; then delete the object"

// The two things to do about poison.
const (
	// shrink is for a record that was read, of which DynamoDB refuses a row.
	shrink = "shrink or delete the base item, then redrive again: its later change supersedes this record, and the object goes"
	// rewrite is for a record that cannot be read. Nothing can tell what supersedes it.
	rewrite = "mend the indexer if it should be able to, and redrive again; else " + Instead
)

// replay is the work on one object.
type replay struct {
	redriver *Redriver
	syncer   *indexsync.Syncer
	dry      bool
	limit    time.Duration // the oldest age that is replayed
	fallback time.Time     // for records without a time of their own; zero where the object has none either
	report   *ObjectReport
	stats    indexsync.Stats
}

// object handles one object and says what became of it.
func (r *Redriver) object(ctx context.Context, key string, options Options) (ObjectReport, indexsync.Stats) {
	report := ObjectReport{Key: key, Outcome: Done}
	if options.DryRun {
		report.Outcome = ToReplay
	}
	failure, err := r.read(ctx, key)
	if _, gone := errors.AsType[*types.NoSuchKey](err); gone {
		report.Outcome, report.Reason, report.Deleted = Done, "gone since it was listed", true
		return report, indexsync.Stats{}
	}
	if err != nil {
		report.worsen(Failed, err.Error())
		return report, indexsync.Stats{}
	}
	report.Condition = failure.RequestContext.Condition
	syncer, err := r.config.Syncer(failure.Batch.StreamARN)
	if foreign, ok := errors.AsType[*ForeignError](err); ok && foreign.Table != "" {
		report.worsen(Refused, foreign.Error())
		return report, indexsync.Stats{}
	}
	if err != nil {
		report.worsen(Failed, err.Error())
		return report, indexsync.Stats{}
	}
	p := &replay{
		redriver: r, syncer: syncer, dry: options.DryRun, limit: syncer.Retention() - AgeMargin, fallback: arrival(failure), report: &report,
	}
	if failure.Payload != "" {
		err = p.payload(ctx, failure.Payload)
	} else {
		err = p.stream(ctx, failure.Batch)
	}
	if err != nil {
		report.worsen(Failed, err.Error())
	}
	if report.Outcome == Done && !options.DryRun && !options.Keep {
		if _, err := r.config.Store.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: aws.String(r.config.Bucket), Key: aws.String(key)}); err != nil {
			report.worsen(Failed, fmt.Sprintf("replayed, and cannot be deleted: %v", err))
		} else {
			report.Deleted = true
		}
	}
	return report, p.stats
}

// read gets an object and takes it for a failure object only if it says what failed.
func (r *Redriver) read(ctx context.Context, key string) (*indexsync.FailureObject, error) {
	answer, err := r.config.Store.GetObject(ctx, &s3.GetObjectInput{Bucket: aws.String(r.config.Bucket), Key: aws.String(key)})
	if err != nil {
		return nil, fmt.Errorf("redrive: get object: %w", err)
	}
	defer func() { _ = answer.Body.Close() }() // it was read to its end or is of no use
	body, err := io.ReadAll(io.LimitReader(answer.Body, MaxObjectBytes+1))
	if err != nil {
		return nil, fmt.Errorf("redrive: read object: %w", err)
	}
	if len(body) > MaxObjectBytes {
		return nil, fmt.Errorf("redrive: the object is larger than %d bytes, so it is no failure object", MaxObjectBytes)
	}
	var failure indexsync.FailureObject
	if err := json.Unmarshal(body, &failure); err != nil {
		return nil, errors.New("redrive: the object is not JSON of the form of a failure object")
	}
	if failure.Payload == "" && (failure.Batch.StreamARN == "" || failure.Batch.ShardID == "" || failure.Batch.StartSequenceNumber == "" || failure.Batch.EndSequenceNumber == "") {
		return nil, errors.New("redrive: the object has neither a payload nor a DDBStreamBatchInfo with streamArn, shardId, startSequenceNumber and endSequenceNumber, " +
			"so it is no failure object of a stream")
	}
	return &failure, nil
}

// arrival is the earliest time that an object's records can be of. Its own timestamp is later than they are by up to the life of a stream record.
func arrival(failure *indexsync.FailureObject) time.Time {
	if first, err := time.Parse(time.RFC3339, failure.Batch.ApproximateArrivalOfFirstRecord); err == nil {
		return first
	}
	if written, err := time.Parse(time.RFC3339, failure.Timestamp); err == nil {
		return written.Add(-schema.StreamRetention)
	}
	return time.Time{}
}

// payload replays the event that an object carries.
func (p *replay) payload(ctx context.Context, payload string) error {
	records, err := indexsync.SplitRecords([]byte(payload))
	if err != nil {
		return fmt.Errorf("redrive: the object's payload: %w", err)
	}
	return p.records(ctx, records)
}

// records replays those that are of this table and young enough.
func (p *replay) records(ctx context.Context, records []json.RawMessage) error {
	p.report.Records += len(records)
	fresh := make([]json.RawMessage, 0, len(records))
	for _, record := range records {
		if reason := p.refuse(record); reason != "" {
			p.report.Refused++
			p.report.worsen(Refused, reason)
			continue
		}
		fresh = append(fresh, record)
	}
	if len(fresh) == 0 {
		return nil
	}
	syncer := p.syncer.WithPark(inTheBucket{}).WithReader(p.redriver.config.Rows)
	if p.dry {
		syncer = syncer.WithoutWrites()
	}
	result, err := syncer.Process(ctx, indexsync.JoinRecords(fresh...))
	if !p.dry {
		result.Stats.Parked = 0 // they were in the bucket before
		p.stats.Add(result.Stats)
	}
	if n := len(result.Parked); n > 0 {
		p.report.Poison += n
		p.report.worsen(StillPoison, advice(result.Parked))
	}
	if err == nil {
		err = result.Cause
	}
	if err != nil {
		return fmt.Errorf("redrive: not everything is replayed, run again: %w", err)
	}
	p.report.Replayed += len(fresh) - len(result.Parked)
	return nil
}

// advice says why records are still poison, and what to do about each kind.
func advice(parked []indexsync.Parked) string {
	var parts []string
	for _, kind := range []struct {
		refused   bool
		says, ask string
	}{{true, "still cannot be written", shrink}, {false, "still cannot be read", rewrite}} {
		if n := slices.IndexFunc(parked, func(p indexsync.Parked) bool { return p.Refused == kind.refused }); n >= 0 {
			parts = append(parts, kind.says+": "+parked[n].Reason+": "+kind.ask)
		}
	}
	return strings.Join(parts, "; ")
}

// refuse says why a record must not be replayed, and what to do instead: it is another table's, or a tombstone that it may need to meet can have expired.
func (p *replay) refuse(record json.RawMessage) string {
	if arn := indexsync.RecordStream(record); arn != "" {
		switch syncer, err := p.redriver.config.Syncer(arn); {
		case err != nil:
			return err.Error()
		case syncer != p.syncer:
			return fmt.Sprintf("of table %q, and its object is of another one: take the object apart by hand", indexsync.StreamTable(arn))
		}
	}
	if reason := p.forgotten(record); reason != "" {
		return reason + ": " + Instead
	}
	return ""
}

// forgotten says why a tombstone may be gone.
func (p *replay) forgotten(record json.RawMessage) string {
	now := p.redriver.config.Now()
	at, known := indexsync.RecordTime(record)
	if !known || at.After(now.Add(AgeMargin)) {
		at, known = p.fallback, !p.fallback.IsZero()
	}
	switch age := now.Sub(at); {
	case !known:
		return "of unknown age"
	case age > p.limit:
		return fmt.Sprintf("%s old, more than the tombstone retention less an hour (%s), so a deletion may be forgotten", age.Round(time.Minute), p.limit)
	default:
		return ""
	}
}

// inTheBucket stands in for the failure bucket: what is still poison is there already, and the syncer's result tells of it.
type inTheBucket struct{}

var _ indexsync.Parker = inTheBucket{}

// Park does nothing.
func (inTheBucket) Park(context.Context, indexsync.Poison) error { return nil }
