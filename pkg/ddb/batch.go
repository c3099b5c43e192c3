package ddb

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Most operations of one batch
// (https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchWriteItem.html, API_BatchGetItem.html).
const (
	MaxBatchWrite = 25
	MaxBatchGet   = 100
)

// Leftovers is what a batch could not do, as the error of [BatchWrite] and [BatchGet].
type Leftovers struct {
	Table string
	// Writes were not applied, for certain; they may be sent again.
	Writes []types.WriteRequest
	// Unknown were sent and not answered: each may have been applied, or may yet be. A batch has no conditions, so whether they may be
	// sent again is for the caller to know.
	Unknown []types.WriteRequest
	// Keys were not read.
	Keys []Item
	// Err is why the batch ended; nil where the attempts ended on leftovers alone, which is how a batch is throttled.
	Err error
}

// Error gives the counts.
func (l *Leftovers) Error() string {
	text := fmt.Sprintf("batch on table %s: %d writes and %d reads left over, %d writes of unknown outcome", l.Table, len(l.Writes), len(l.Keys), len(l.Unknown))
	if l.Err != nil {
		text += ": " + l.Err.Error()
	}
	return text
}

// Unwrap gives the cause.
func (l *Leftovers) Unwrap() error { return l.Err }

// BatchWrite puts and deletes items of one table without conditions, 25 a request, one request at a time. key names the attributes of the
// table's key: of two operations on one key the last wins and the first is never sent, since DynamoDB refuses a batch with both. What comes
// back unprocessed goes into the next request after a wait by the policy, whose attempts count requests in a row that got nothing done.
//
// The SDK's own retries are off: a batch whose answer was lost and that is sent again could bring back an item that another writer deleted or
// changed meanwhile. Such a batch ends the work, with its operations in Unknown. An error is a [*Leftovers] with everything that is not done.
func BatchWrite(ctx context.Context, client BatchWriter, table string, key []string, requests []types.WriteRequest, policy Policy) error {
	policy = policy.withDefaults()
	pending, err := lastOfEachKey(requests, key)
	if err != nil {
		return &Leftovers{Table: table, Writes: requests, Err: err}
	}
	for idle := 0; len(pending) > 0; {
		if err := ctx.Err(); err != nil {
			return &Leftovers{Table: table, Writes: pending, Err: err}
		}
		chunk, rest := pending[:min(MaxBatchWrite, len(pending))], pending[min(MaxBatchWrite, len(pending)):]
		out, err := client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{
			RequestItems: map[string][]types.WriteRequest{table: chunk},
		}, withoutRetries)
		left := chunk
		switch {
		case err == nil:
			left = out.UnprocessedItems[table]
		case Classify(err).Class == UnknownOutcome:
			return &Leftovers{Table: table, Writes: rest, Unknown: chunk, Err: fmt.Errorf("write a batch: %w", err)}
		case Classify(err).Class != Throttled: // nothing of the chunk was written
			return &Leftovers{Table: table, Writes: pending, Err: fmt.Errorf("write a batch: %w", err)}
		}
		pending = slices.Concat(left, rest)
		if len(left) == 0 {
			idle = 0
			continue
		}
		if idle++; len(left) < len(chunk) {
			idle = 1
		}
		if idle >= policy.Attempts || !policy.wait(ctx, idle) {
			return &Leftovers{Table: table, Writes: pending, Err: errors.Join(err, ctx.Err())}
		}
	}
	return nil
}

func withoutRetries(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} }

// lastOfEachKey drops operations that a later one on the same key undoes. The others keep their order.
func lastOfEachKey(requests []types.WriteRequest, key []string) ([]types.WriteRequest, error) {
	last := make(map[string]int, len(requests))
	keys := make([]string, len(requests))
	for n, request := range requests {
		var item Item
		switch {
		case request.PutRequest != nil && request.DeleteRequest == nil:
			item = request.PutRequest.Item
		case request.DeleteRequest != nil && request.PutRequest == nil:
			item = request.DeleteRequest.Key
		default:
			return nil, fmt.Errorf("write %d: must be a put or a delete", n)
		}
		text, err := keyText(item, key)
		if err != nil {
			return nil, fmt.Errorf("write %d: %w", n, err)
		}
		keys[n], last[text] = text, n
	}
	kept := make([]types.WriteRequest, 0, len(last))
	for n, request := range requests {
		if last[keys[n]] == n {
			kept = append(kept, request)
		}
	}
	return kept, nil
}

// BatchGet reads items of one table by key, 100 a request, one request at a time, and gives them in the order of keys: what is asked twice
// comes once, where it was first asked, and what does not exist is left out. in says what else each request says, such as ConsistentRead or a
// projection, which must carry the key attributes; its Keys stay unused. Unread keys go into the next request as in [BatchWrite].
//
// On an error the items that were read are returned with a [*Leftovers] that holds the other keys.
func BatchGet(ctx context.Context, client BatchGetter, table string, keys []Item, in types.KeysAndAttributes, policy Policy) ([]Item, error) {
	policy = policy.withDefaults()
	if len(keys) == 0 {
		return nil, nil
	}
	names := namesOf(keys[0])
	order := make(map[string]int, len(keys))
	var pending []Item
	for n, key := range keys {
		text, err := keyText(key, names)
		if err != nil || len(key) != len(names) {
			return nil, &Leftovers{Table: table, Keys: keys, Err: fmt.Errorf("key %d: %w", n, errors.Join(err, keyShape(key, names)))}
		}
		if _, twice := order[text]; !twice {
			order[text] = len(pending)
			pending = append(pending, key)
		}
	}
	found := make([]Item, len(pending))
	collect := func() []Item { return slices.DeleteFunc(found, func(item Item) bool { return item == nil }) }
	for idle := 0; len(pending) > 0; {
		chunk, rest := pending[:min(MaxBatchGet, len(pending))], pending[min(MaxBatchGet, len(pending)):]
		ask := in
		ask.Keys = chunk
		out, err := client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{table: ask}})
		left := chunk
		if err == nil {
			left = out.UnprocessedKeys[table].Keys
			for _, item := range out.Responses[table] {
				text, err := keyText(item, names)
				place, known := order[text]
				if err == nil && !known {
					err = errors.New("it was not asked for")
				}
				if err != nil {
					return collect(), &Leftovers{Table: table, Keys: pending, Err: fmt.Errorf("place an item that came back: %w", err)}
				}
				found[place] = item
			}
		} else if Classify(err).Class != Throttled {
			return collect(), &Leftovers{Table: table, Keys: pending, Err: fmt.Errorf("read a batch: %w", err)}
		}
		pending = slices.Concat(left, rest)
		if len(left) == 0 {
			idle = 0
			continue
		}
		if idle++; len(left) < len(chunk) {
			idle = 1
		}
		if idle >= policy.Attempts || !policy.wait(ctx, idle) {
			return collect(), &Leftovers{Table: table, Keys: pending, Err: errors.Join(err, ctx.Err())}
		}
	}
	return collect(), nil
}
