package unique

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
)

// parameterMismatch is DynamoDB's code for a known token with other contents. An engine that compares the texts of requests gives it for our own earlier try as
// well, since the SDK writes maps in random order (https://github.com/aws/aws-sdk-go-v2/issues/1900).
const parameterMismatch = "IdempotentParameterMismatchException"

// definite ends on what will not change by trying again.
func (s *sending) definite(ctx context.Context, failure ddb.Failure, err error) error {
	if s.unknown {
		// This try is refused, but it says nothing about the ones before.
		return s.settle(ctx, err)
	}
	if failure.Code == parameterMismatch {
		if landed, _ := s.landed(ctx); landed {
			s.outcome.Settled = true
			return nil
		}
		return fmt.Errorf("%w: %w", ErrTokenReused, err)
	}
	if failure.Class != ddb.Invalid {
		return err
	}
	for position, one := range failure.Positions {
		if one.Class == ddb.Invalid && position < len(s.tx.Operations) {
			return &InvalidError{Label: s.tx.Operations[position].Label, Code: one.Code, Err: err}
		}
	}
	return &InvalidError{Code: failure.Code, Err: err}
}

// settle reads what became of a transaction that nobody answered for. Not finding it proves nothing: it may still be under way.
func (s *sending) settle(ctx context.Context, cause error) error {
	landed, err := s.landed(ctx)
	switch {
	case landed:
		s.outcome.Settled = true
		return nil
	case err != nil:
		return fmt.Errorf("%w: %w, and reading failed: %w", ErrUnknown, cause, err)
	default:
		return fmt.Errorf("%w: %w", ErrUnknown, cause)
	}
}

func (s *sending) landed(ctx context.Context) (bool, error) {
	if s.tx.Landed != nil {
		return s.tx.Landed(ctx)
	}
	for position, operation := range s.tx.Operations {
		if operation.Mine == nil {
			continue
		}
		on := s.targets[position]
		out, err := s.config.Client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &on.table, Key: on.key, ConsistentRead: aws.Bool(true)})
		if err != nil {
			return false, fmt.Errorf("read what %s left: %w", operation.Label, err)
		}
		if len(out.Item) > 0 && operation.Mine(out.Item) {
			s.met(operation.Label, out.Item)
			return true, nil
		}
	}
	return false, nil
}

func (s *sending) conditionError(first *Operation, failed []*Operation, items map[string]ddb.Item) *ConditionError {
	slices.SortStableFunc(failed, func(a, b *Operation) int { return cmp.Compare(a.Rank, b.Rank) })
	bad := &ConditionError{Label: first.Label, Item: items[first.Label]}
	for _, operation := range failed {
		if operation != first {
			bad.Others = append(bad.Others, operation.Label)
		}
	}
	return bad
}
