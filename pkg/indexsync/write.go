package indexsync

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

// do completes everything that the batch has for one item: what cannot be read is parked, then each index gets its rows. An index whose table fails does not keep
// the item out of the others; the first error is the one to tell.
func (w *worker) do(ctx context.Context, work *work) error {
	for _, p := range work.poison {
		if err := w.park(ctx, p); err != nil {
			return err
		}
	}
	var first error
	for _, t := range w.syncer.targets {
		if err := w.keep(ctx, work, t); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// keep writes an item's live rows of one index, then its tombstones. So a moved item is visible in its new place before it leaves the old one, and where the new
// place cannot be written now, the old one stays.
func (w *worker) keep(ctx context.Context, work *work, t *target) error {
	for _, upsertsOnly := range []bool{true, false} {
		for _, k := range work.keys {
			if k.target != t {
				continue
			}
			if err := w.settle(ctx, k, upsertsOnly); err != nil {
				return err
			}
		}
	}
	return nil
}

// settle does the last operation on a row. One that DynamoDB refuses for good is parked, and the operation before it takes its place: the row ends as if the
// refused record had not come yet. One that something newer in the table has superseded is done, like any other that comes late. With upsertsOnly it stops at a tombstone.
func (w *worker) settle(ctx context.Context, k *key, upsertsOnly bool) error {
	for len(k.operations) > 0 {
		o := k.last()
		if upsertsOnly && o.tombstone {
			return nil
		}
		refused, err := w.write(ctx, k, o)
		if err != nil {
			return err
		}
		if refused == "" {
			k.operations = nil
			return nil
		}
		late, err := w.superseded(ctx, k, o)
		if err != nil {
			return err
		}
		if late {
			w.stats.Indexes[k.target.position].StaleSkips++
			k.operations = nil
			return nil
		}
		if err := w.park(ctx, poisoned{record: o.record, reason: refused, refused: true}); err != nil {
			return err
		}
		k.operations = k.operations[:len(k.operations)-1]
	}
	return nil
}

// write makes one conditional PutItem. refused is why DynamoDB can never take the row; err is why it is not known to be written and must be tried again.
func (w *worker) write(ctx context.Context, k *key, o operation) (refused string, err error) {
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	t := k.target
	counts := &w.stats.Indexes[t.position].Counts
	input := &dynamodb.PutItemInput{
		TableName: t.table, ConditionExpression: upsertCondition, ExpressionAttributeNames: t.names,
		ExpressionAttributeValues: ddb.Item{":v": &types.AttributeValueMemberS{Value: o.version}},
	}
	reserved := 0
	if o.tombstone {
		input.ConditionExpression = tombstoneCondition
		input.Item = tombstone(t.index, k.place, o.version, w.syncer.now().Add(t.retention))
	} else {
		input.Item, reserved = live(t.index, o.record.newImage, k.place.sort, o.version)
	}
	call, cancel := context.WithTimeout(ctx, w.syncer.callTimeout)
	_, err = w.syncer.writer.PutItem(call, input)
	cancel()
	if err == nil {
		if o.tombstone {
			counts.Tombstones++
		} else {
			counts.Upserts++
			counts.ReservedDropped += reserved
		}
		return "", nil
	}
	switch failure := ddb.Classify(err); failure.Class {
	case ddb.ConditionFailed:
		counts.StaleSkips++
		return "", nil
	case ddb.Invalid:
		return refusedBy(t.index, input.Item), nil
	case ddb.Throttled:
		w.throttled(failure)
		fallthrough
	default:
		return "", fmt.Errorf("write a row of index %s: %w", t.index.Name, err)
	}
}

// superseded asks the table whether a refused operation would have been skipped: DynamoDB weighs an item before it looks at the condition.
func (w *worker) superseded(ctx context.Context, k *key, o operation) (bool, error) {
	if w.syncer.reader == nil {
		return false, nil
	}
	t := k.target
	call, cancel := context.WithTimeout(ctx, w.syncer.callTimeout)
	defer cancel()
	row, err := w.syncer.reader.GetItem(call, &dynamodb.GetItemInput{
		TableName: t.table, ConsistentRead: aws.Bool(true), ProjectionExpression: aws.String("#v"), ExpressionAttributeNames: map[string]string{"#v": schema.VersionAttribute},
		Key: ddb.Item{t.index.PartitionKey.Name: k.place.attribute, schema.SortKeyAttribute: &types.AttributeValueMemberS{Value: k.place.sort}},
	})
	if err != nil {
		return false, fmt.Errorf("read a row of index %s: %w", t.index.Name, err)
	}
	version, ok := row.Item[schema.VersionAttribute].(*types.AttributeValueMemberS)
	if !ok {
		return false, nil
	}
	return version.Value > o.version || !o.tombstone && version.Value == o.version, nil
}

// weighing is a writer that writes nothing and refuses what DynamoDB's size limit does.
type weighing struct{}

var _ ddb.Putter = weighing{}

// PutItem weighs the item.
func (weighing) PutItem(_ context.Context, in *dynamodb.PutItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	if ddb.Size(in.Item) > ddb.MaxItemSize {
		return nil, &smithy.GenericAPIError{Code: "ValidationException", Message: "larger than the limit"}
	}
	return &dynamodb.PutItemOutput{}, nil
}

// refusedBy explains a refused row. DynamoDB's own message may repeat values, so it goes nowhere; the size is by far the usual reason and can be told.
func refusedBy(index *schema.Index, row ddb.Item) string {
	if size := ddb.Size(row); size > ddb.MaxItemSize {
		return fmt.Sprintf("index %s: the row has %d bytes, DynamoDB's limit is %d", index.Name, size, ddb.MaxItemSize)
	}
	return fmt.Sprintf("index %s: DynamoDB refuses the row (ValidationException)", index.Name)
}

func (w *worker) throttled(failure ddb.Failure) {
	if len(failure.Throttles) == 0 {
		w.stats.throttled(ddb.Throttle{}, 1)
	}
	for _, reason := range failure.Throttles {
		w.stats.throttled(reason, 1)
	}
}

// park hands a record over once, however many indexes refuse it.
func (w *worker) park(ctx context.Context, p poisoned) error {
	if p.record.parked {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	call, cancel := context.WithTimeout(ctx, w.syncer.callTimeout)
	defer cancel()
	poison := Poison{Record: p.record.raw, Sequence: p.record.sequence, StreamARN: p.record.arn, Reason: p.reason}
	if err := w.syncer.park.Park(call, poison); err != nil {
		return fmt.Errorf("park a record that cannot be written (%s): %w", p.reason, err)
	}
	p.record.parked = true
	w.stats.Parked++
	w.parked = append(w.parked, Parked{Sequence: p.record.sequence, Reason: p.reason, Refused: p.refused, position: p.record.position})
	return nil
}
