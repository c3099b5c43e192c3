package racelab

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/account"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
)

const (
	// prepareTime is how long a transaction is under way before it is done: DynamoDB prepares each item and then commits.
	prepareTime = 4 * time.Millisecond
	// conflictCode is DynamoDB's (https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html).
	conflictCode = "TransactionConflict"
)

// contention refuses what meets a transaction under way at one of its items, as DynamoDB does and engines for one machine do not.
type contention struct {
	account.Client
	keys   map[string]string // table -> key attribute
	mutual float64           // how often two that meet are both refused

	mu     sync.Mutex
	random *rand.Rand
	flying map[string]*flight // by item
}

type flight struct{ doomed, committing bool }

// TransactWriteItems is refused, with nothing sent, where it meets another.
func (c *contention) TransactWriteItems(
	ctx context.Context, in *dynamodb.TransactWriteItemsInput, options ...func(*dynamodb.Options),
) (*dynamodb.TransactWriteItemsOutput, error) {
	var items []string
	for _, w := range in.TransactItems {
		items = append(items, c.item(w))
	}
	mine, met := c.enter(items)
	if mine == nil {
		return nil, conflict(met)
	}
	defer c.leave(items)
	timer := time.NewTimer(prepareTime)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if !c.commit(mine) {
		met = make([]bool, len(items))
		met[0] = true
		return nil, conflict(met)
	}
	return c.Client.TransactWriteItems(ctx, in, options...)
}

// UpdateItem is refused likewise.
func (c *contention) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, options ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	item := c.id(in.TableName, in.Key)
	c.mu.Lock()
	busy := c.flying[item] != nil
	c.mu.Unlock()
	if busy {
		return nil, &types.TransactionConflictException{Message: aws.String("injected: a transaction is under way")}
	}
	return c.Client.UpdateItem(ctx, in, options...)
}

func (c *contention) enter(items []string) (mine *flight, met []bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	met = make([]bool, len(items))
	both := c.random.Float64() < c.mutual
	for n, item := range items {
		other := c.flying[item]
		if met[n] = other != nil; met[n] && both && !other.committing {
			other.doomed = true
		}
	}
	if slices.Contains(met, true) {
		return nil, met
	}
	mine = &flight{}
	for _, item := range items {
		c.flying[item] = mine
	}
	return mine, nil
}

func (c *contention) commit(mine *flight) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	mine.committing = !mine.doomed
	return mine.committing
}

func (c *contention) leave(items []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, item := range items {
		delete(c.flying, item)
	}
}

func (c *contention) item(w types.TransactWriteItem) string {
	switch {
	case w.Put != nil:
		return c.id(w.Put.TableName, w.Put.Item)
	case w.Update != nil:
		return c.id(w.Update.TableName, w.Update.Key)
	case w.Delete != nil:
		return c.id(w.Delete.TableName, w.Delete.Key)
	case w.ConditionCheck != nil:
		return c.id(w.ConditionCheck.TableName, w.ConditionCheck.Key)
	default:
		return ""
	}
}

func (c *contention) id(table *string, item ddb.Item) string {
	name := aws.ToString(table)
	return name + " " + textOf(item, c.keys[name])
}

func conflict(met []bool) error {
	cancelled := &types.TransactionCanceledException{Message: aws.String("injected: a transaction is under way")}
	for _, is := range met {
		code := "None"
		if is {
			code = conflictCode
		}
		cancelled.CancellationReasons = append(cancelled.CancellationReasons, types.CancellationReason{Code: &code})
	}
	return cancelled
}
