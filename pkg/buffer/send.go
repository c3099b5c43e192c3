package buffer

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
)

// outcome of sending: positions that were not stored, positions of which it is not known, and why.
type outcome struct {
	not, unknown []int
	err          error
}

// answer to one request.
type answer struct {
	again     []int // to be sent again
	unknown   []int // may have been stored
	throttled bool
	err       error // ends the work
}

// prepared is a request that is ready to be sent.
type prepared func(context.Context) answer

// drain lets workers send what is in the queue until it is empty or the time ends. There are more workers than requests at a time, so that the next ones are made
// while others wait for their answers.
func (w *writing) drain(ctx context.Context, gate *gate, positions []int, chunk int, prepare func([]int) prepared) (unknown, rest []int, err error) {
	work := newQueue(positions)
	workers := min(gate.most+2, (len(positions)+chunk-1)/chunk)
	var mu sync.Mutex
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for idle := 0; ; {
				taken := work.take(chunk)
				if taken == nil {
					return
				}
				send := prepare(taken)
				epoch, err := gate.enter(ctx)
				if err != nil {
					work.stop(err)
					work.done(taken)
					return
				}
				got := send(ctx)
				gate.leave(epoch, got.throttled)
				if len(got.unknown) > 0 {
					mu.Lock()
					unknown = append(unknown, got.unknown...)
					mu.Unlock()
				}
				if got.err != nil {
					work.stop(got.err)
				}
				if idle++; len(got.again) < len(taken) {
					idle = 1
				}
				if len(got.again) == 0 {
					idle = 0
				} else if got.err == nil && !w.config.Retry.Wait(ctx, idle) {
					work.stop(ended(ctx, got.throttled))
				}
				work.done(got.again)
			}
		})
	}
	group.Wait()
	rest, err = work.rest()
	return unknown, rest, err
}

// ended says why no wait fits into the time any more.
func ended(ctx context.Context, throttled bool) error {
	switch err := ctx.Err(); {
	case errors.Is(err, context.Canceled):
		return err
	case throttled:
		return ErrThrottled
	default:
		return context.DeadlineExceeded
	}
}

// putBatches sends batches of 25 without conditions.
func (w *writing) putBatches(ctx context.Context, positions []int) outcome {
	unknown, rest, err := w.drain(ctx, w.batches, positions, ddb.MaxBatchWrite, w.putBatch)
	return outcome{not: rest, unknown: unknown, err: err}
}

// putBatch sends once: the SDK's own retries are off, see the package's comment.
func (w *writing) putBatch(positions []int) prepared {
	requests := make([]types.WriteRequest, 0, len(positions))
	places := make(map[string]int, len(positions))
	for _, position := range positions {
		key := w.key(position)
		places[key.Sort] = position
		requests = append(requests, types.WriteRequest{PutRequest: &types.PutRequest{Item: newItem(key, w.batch.ID, string(w.events[position]))}})
	}
	in := &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{w.config.Table: requests}}
	return func(ctx context.Context) answer {
		ctx, cancel := context.WithTimeout(ctx, w.config.AttemptTimeout)
		defer cancel()
		out, err := w.config.Client.BatchWriteItem(ctx, in, once)
		return w.batchAnswer(out, err, positions, places)
	}
}

// batchAnswer reads what became of a batch's positions; places finds them by sort key.
func (w *writing) batchAnswer(out *dynamodb.BatchWriteItemOutput, err error, positions []int, places map[string]int) answer {
	switch ddb.Classify(err).Class {
	case ddb.None:
		var left []int
		for _, request := range out.UnprocessedItems[w.config.Table] {
			if request.PutRequest == nil {
				continue
			}
			if position, known := places[text(request.PutRequest.Item, attrSort)]; known {
				left = append(left, position)
			}
		}
		return answer{again: left, throttled: len(left) > 0}
	case ddb.Throttled:
		return answer{again: positions, throttled: true}
	case ddb.UnknownOutcome:
		return answer{unknown: positions}
	default: // nothing of it was written
		return answer{again: positions, err: fmt.Errorf("write a batch of events: %w", err)}
	}
}

func once(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} }

// put sends single puts on condition that the event is not there. A refusal means stored. Of those in uncertain an earlier request may have stored them.
func (w *writing) put(ctx context.Context, positions, uncertain []int) outcome {
	var mu sync.Mutex
	doubt := make(map[int]bool, len(uncertain))
	for _, position := range uncertain {
		doubt[position] = true
	}
	_, rest, err := w.drain(ctx, w.puts, positions, 1, func(one []int) prepared {
		return func(ctx context.Context) answer {
			got := w.putOne(ctx, one)
			if len(got.unknown) > 0 {
				mu.Lock()
				doubt[one[0]] = true
				mu.Unlock()
				return answer{again: one} // safe: the condition refuses what is stored
			}
			return got
		}
	})
	result := outcome{err: err}
	for _, position := range rest {
		if doubt[position] {
			result.unknown = append(result.unknown, position)
		} else {
			result.not = append(result.not, position)
		}
	}
	return result
}

func (w *writing) putOne(ctx context.Context, one []int) answer {
	ctx, cancel := context.WithTimeout(ctx, w.config.AttemptTimeout)
	defer cancel()
	_, err := w.config.Client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &w.config.Table, Item: newItem(w.key(one[0]), w.batch.ID, string(w.events[one[0]])),
		ConditionExpression: aws.String("attribute_not_exists(" + attrPartition + ")"),
	}, once)
	switch ddb.Classify(err).Class {
	case ddb.None, ddb.ConditionFailed:
		return answer{}
	case ddb.Throttled:
		return answer{again: one, throttled: true}
	case ddb.Conflict: // a transaction at the event: it is there, or will be told at the next try
		return answer{again: one}
	case ddb.UnknownOutcome:
		return answer{unknown: one}
	default:
		return answer{again: one, err: fmt.Errorf("put an event: %w", err)}
	}
}
