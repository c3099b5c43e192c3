package ingest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
)

// errLost says that another worker has the batch now.
var errLost = errors.New("another worker has the batch")

// refused is a claim that did not hold, with the record that stood against it; nil where there is none.
type refused struct{ found *record }

// Error says so.
func (r *refused) Error() string { return "the batch cannot be claimed" }

// claim makes the worker owner the one that works at the batch: it waits, or it is ingested from the very object and nobody holds a lease any more. The
// first claim fixes the object and the keys of the events, later ones find them. A claim whose answer was lost is its own and holds again.
func (i *Ingester) claim(ctx context.Context, batchID, etag, version, owner string) (*record, error) {
	fresh, err := i.config.Events.NewBatch(0)
	if err != nil {
		return nil, fmt.Errorf("claim a batch: %w", err)
	}
	now := i.config.Now()
	in := &dynamodb.UpdateItemInput{
		TableName: &i.config.RequestTable, Key: recordKey(batchID),
		UpdateExpression: aws.String("SET #state = :ingesting, #etag = :etag, #owner = :owner, #lease = :lease" +
			", #version = if_not_exists(#version, :version), #time = if_not_exists(#time, :time), #shards = if_not_exists(#shards, :shards), #first = if_not_exists(#first, :first)" +
			", #lines = if_not_exists(#lines, :zero), #accepted = if_not_exists(#accepted, :zero), #rejected = if_not_exists(#rejected, :zero)" +
			", #faults = if_not_exists(#faults, :none)"),
		ConditionExpression: aws.String("#expires > :now AND (#state = :waiting OR #state = :ingesting AND #etag = :etag AND (#owner = :owner OR #lease <= :ms))"),
		ExpressionAttributeNames: map[string]string{
			"#state": attrState, "#etag": attrETag, "#owner": attrOwner, "#lease": attrLease, "#version": attrVersion, "#time": attrTime, "#shards": attrShards,
			"#first": attrFirst, "#lines": attrLines, "#accepted": attrAccepted, "#rejected": attrRejected, "#faults": attrFaults, "#expires": attrExpires,
		},
		ExpressionAttributeValues: ddb.Item{
			":ingesting": str(string(Ingesting)), ":waiting": str(string(Waiting)), ":etag": str(etag), ":version": str(version), ":owner": str(owner),
			":lease": num(now.Add(i.config.Lease).UnixMilli()), ":now": num(now.Unix()), ":ms": num(now.UnixMilli()), ":time": num(fresh.Time),
			":shards": num(int64(fresh.Shards)), ":first": num(int64(fresh.First)), ":zero": num(0), ":none": faultList(nil),
		},
		ReturnValues:                        types.ReturnValueAllNew,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	out, err := i.update(ctx, in)
	if err == nil {
		return readRecord(batchID, out.Attributes)
	}
	failure := ddb.Classify(err)
	if failure.Class != ddb.ConditionFailed {
		return nil, fmt.Errorf("claim a batch: %w", err)
	}
	if len(failure.Item) == 0 {
		return nil, &refused{}
	}
	found, err := readRecord(batchID, failure.Item)
	if err != nil {
		return nil, err
	}
	if !found.expires.After(now) {
		return nil, &refused{}
	}
	return nil, &refused{found}
}

// save writes how far the batch is, and renews the lease; a lease of zero gives it back. errLost: it is another's.
func (i *Ingester) save(ctx context.Context, claimed *record, progress Progress, lease time.Duration) error {
	until := int64(0)
	if lease > 0 {
		until = i.config.Now().Add(lease).UnixMilli()
	}
	return i.write(ctx, claimed, progress, ", #lease = :lease", map[string]string{"#lease": attrLease}, ddb.Item{":lease": num(until)})
}

// finish ends the batch: it is done, or failed where there is a reason.
func (i *Ingester) finish(ctx context.Context, claimed *record, progress Progress, reason string) error {
	names, values := map[string]string{"#state": attrState}, ddb.Item{":final": str(string(Done))}
	set := ", #state = :final"
	if reason != "" {
		names["#reason"], values[":reason"], values[":final"] = attrReason, str(reason), str(string(Failed))
		set += ", #reason = :reason"
	}
	return i.write(ctx, claimed, progress, set, names, values)
}

// write updates the record as long as it is the owner's. It is safe to repeat; an attempt that arrives late finds the batch further on, or ended, and changes nothing.
func (i *Ingester) write(ctx context.Context, claimed *record, progress Progress, set string, names map[string]string, values ddb.Item) error {
	maps.Copy(names, map[string]string{
		"#owner": attrOwner, "#state": attrState, "#lines": attrLines, "#accepted": attrAccepted, "#rejected": attrRejected, "#faults": attrFaults,
	})
	maps.Copy(values, ddb.Item{
		":owner": str(claimed.owner), ":ingesting": str(string(Ingesting)), ":lines": num(int64(progress.lines)), ":accepted": num(int64(progress.Accepted)),
		":rejected": num(int64(progress.Rejected)), ":faults": faultList(progress.Faults),
	})
	condition := "#owner = :owner AND #lines <= :lines AND "
	if _, ends := values[":final"]; ends {
		condition += "(#state = :ingesting OR #state = :final)"
	} else {
		condition += "#state = :ingesting"
	}
	_, err := i.update(ctx, &dynamodb.UpdateItemInput{
		TableName: &i.config.RequestTable, Key: recordKey(claimed.BatchID), ConditionExpression: &condition,
		UpdateExpression:         aws.String("SET #lines = :lines, #accepted = :accepted, #rejected = :rejected, #faults = :faults" + set),
		ExpressionAttributeNames: names, ExpressionAttributeValues: values,
	})
	if ddb.Classify(err).Class == ddb.ConditionFailed {
		return errLost
	}
	if err != nil {
		return fmt.Errorf("save how far a batch is: %w", err)
	}
	return nil
}

// update sends until the outcome is definite or the time ends: all updates here are safe to repeat.
func (i *Ingester) update(ctx context.Context, in *dynamodb.UpdateItemInput) (*dynamodb.UpdateItemOutput, error) {
	const patience = time.Minute
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for attempt := 1; ; attempt++ {
		out, err := i.config.Client.UpdateItem(ctx, in)
		switch ddb.Classify(err).Class {
		case ddb.Conflict, ddb.Throttled, ddb.UnknownOutcome:
			if i.config.Retry.Wait(ctx, attempt) {
				continue
			}
			return nil, err
		default:
			return out, err
		}
	}
}
