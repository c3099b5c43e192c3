package buffer

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/unique"
)

// Labels of a retry's operations.
const (
	labelClose = "close the event"
	labelOpen  = "open its successor"
)

// Retry closes a pending event and opens a new one with the same data, on the same date, at the time of now, with one retry more, pending and failed: in one
// transaction, so that there is exactly one of the two at any time. reason is why, at most MaxErrorBytes of UTF-8, and may be empty. It makes a read, one
// transaction of two writes, and more where others are at the event or an answer is lost.
//
// Errors: [ErrNotFound]; [ErrDone]; a [*RetriedError] with the successor, also where a retry of the caller's own took effect without an answer; a [*FieldError] for
// the reason; unique.ErrTryAgain, when nothing was written; unique.ErrUnknown. To repeat after any of them is safe.
func (s *Store) Retry(ctx context.Context, id, reason string) (successor string, err error) {
	key, ok := ParseID(id)
	if !ok {
		return "", ErrNotFound
	}
	if len(reason) > MaxErrorBytes {
		return "", bad("error", "at most %d bytes, has %d", MaxErrorBytes, len(reason))
	}
	if !utf8.ValidString(reason) {
		return "", bad("error", "must be UTF-8")
	}
	ctx, _, cancel := s.bounds(ctx)
	defer cancel()
	// What is read here never changes while the event is pending; the transaction's condition is that it still is.
	item, err := s.read(ctx, key)
	if err != nil {
		return "", fmt.Errorf("retry an event: %w", err)
	}
	if len(item) == 0 || isDone(item) {
		return "", whyClosed(item)
	}
	batch, err := s.NewBatch(1)
	if err != nil {
		return "", fmt.Errorf("retry an event: %w", err)
	}
	next := batch.Key(0)
	next.Date = key.Date
	_, err = s.writer.Write(ctx, s.retrying(key, next, item, reason))
	if refused, ok := errors.AsType[*unique.ConditionError](err); ok && refused.Label == labelClose {
		return "", whyClosed(refused.Item)
	}
	if err != nil {
		return "", err
	}
	return next.ID(), nil
}

// retrying is the transaction that closes an event and opens the next one.
func (s *Store) retrying(key, next Key, item ddb.Item, reason string) unique.Transaction {
	fresh := newItem(next, text(item, attrBatch), text(item, attrData))
	fresh[attrRetry] = num(integer(item, attrRetry) + 1)
	fresh[attrFailedPartition], fresh[attrFailedSort] = fresh[attrPartition], fresh[attrSort]
	if reason != "" {
		fresh[attrError] = str(reason)
	}
	successor := next.ID()
	return unique.Transaction{
		Name: "retry an event",
		Operations: []unique.Operation{{
			Label: labelClose,
			Write: types.TransactWriteItem{Update: &types.Update{
				TableName: &s.config.Table, Key: keyItem(key),
				UpdateExpression: aws.String("SET #successor = :successor, " + closing[len("SET "):]), ConditionExpression: aws.String(open),
				ExpressionAttributeNames:  map[string]string{"#done": attrDone, "#successor": attrSuccessor},
				ExpressionAttributeValues: ddb.Item{":now": str(s.now()), ":successor": str(successor)},
			}},
			Mine: func(stands ddb.Item) bool { return text(stands, attrSuccessor) == successor },
		}, {
			Label: labelOpen, Rank: 1, KeyNames: []string{attrPartition, attrSort},
			Write: types.TransactWriteItem{Put: &types.Put{
				TableName: &s.config.Table, Item: fresh, ConditionExpression: aws.String("attribute_not_exists(" + attrPartition + ")"),
			}},
		}},
	}
}

// Get reads one event, strongly consistent, also when it is done. Errors: [ErrNotFound], and what the SDK returns.
func (s *Store) Get(ctx context.Context, id string) (*Event, error) {
	key, ok := ParseID(id)
	if !ok {
		return nil, ErrNotFound
	}
	item, err := s.read(ctx, key)
	switch {
	case err != nil:
		return nil, fmt.Errorf("get an event: %w", err)
	case len(item) == 0:
		return nil, ErrNotFound
	}
	event := fromItem(item)
	return &event, nil
}

func (s *Store) read(ctx context.Context, key Key) (ddb.Item, error) {
	out, err := s.config.Client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &s.config.Table, Key: keyItem(key), ConsistentRead: aws.Bool(true)})
	if err != nil {
		return nil, err
	}
	return out.Item, nil
}
