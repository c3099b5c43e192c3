package buffer

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
)

// closing removes an event from both indexes.
const closing = "SET #done = :now REMOVE " + attrPendingPartition + ", " + attrPendingSort + ", " + attrFailedPartition + ", " + attrFailedSort

// open is the condition that an event is there and pending.
const open = "attribute_exists(" + attrPartition + ") AND attribute_not_exists(#done)"

// Complete marks an event as done, which takes it out of both indexes, by one conditional update. Completing it again changes nothing and is no error.
//
// Errors: [ErrNotFound], a [*RetriedError] where a retry closed it, and what the SDK returns: the step is safe to repeat.
func (s *Store) Complete(ctx context.Context, id string) error {
	key, ok := ParseID(id)
	if !ok {
		return ErrNotFound
	}
	ctx, _, cancel := s.bounds(ctx)
	defer cancel()
	in := &dynamodb.UpdateItemInput{
		TableName: &s.config.Table, Key: keyItem(key),
		UpdateExpression: aws.String(closing), ConditionExpression: aws.String(open),
		ExpressionAttributeNames:            map[string]string{"#done": attrDone},
		ExpressionAttributeValues:           ddb.Item{":now": str(s.now())},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	// A try whose answer was lost is sent again; it then meets its own work, which is what was asked for.
	err := s.repeat(ctx, func(ctx context.Context) error {
		_, err := s.config.Client.UpdateItem(ctx, in, once)
		return err
	})
	failure := ddb.Classify(err)
	switch {
	case err == nil:
		return nil
	case failure.Class != ddb.ConditionFailed:
		return fmt.Errorf("complete an event: %w", err)
	default:
		if err := whyClosed(failure.Item); err != nil && err != ErrDone { //nolint:errorlint // our own value, unwrapped
			return err
		}
		return nil
	}
}

// whyClosed reads why an event is not pending: ErrNotFound, a RetriedError, or ErrDone.
func whyClosed(item ddb.Item) error {
	switch {
	case len(item) == 0:
		return ErrNotFound
	case text(item, attrSuccessor) != "":
		return &RetriedError{Successor: text(item, attrSuccessor)}
	default:
		return ErrDone
	}
}

// now is the clock's time as it is stored.
func (s *Store) now() string { return s.config.Now().UTC().Format(timeForm) }
