package racelab_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/account"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/racelab"
)

// counting is an engine that counts what reaches it.
type counting struct {
	account.Client
	mu   sync.Mutex
	sent int
}

func (c *counting) count() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent++
}

func (c *counting) TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	c.count()
	return &dynamodb.TransactWriteItemsOutput{}, nil
}

func (c *counting) UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	c.count()
	return &dynamodb.UpdateItemOutput{}, nil
}

func transaction(ids ...string) *dynamodb.TransactWriteItemsInput {
	in := &dynamodb.TransactWriteItemsInput{}
	for _, id := range ids {
		key := ddb.Item{"id": &types.AttributeValueMemberS{Value: id}}
		in.TransactItems = append(in.TransactItems, types.TransactWriteItem{Delete: &types.Delete{TableName: aws.String("t"), Key: key}})
	}
	return in
}

// codes are those of the positions; nil is success.
func codes(err error) []string {
	var list []string
	for _, position := range ddb.Classify(err).Positions {
		list = append(list, position.Code)
	}
	return list
}

func TestTransactionsThatMeetConflict(t *testing.T) {
	t.Parallel()
	for _, mutual := range []float64{0, 1} {
		synctest.Test(t, func(t *testing.T) {
			engine := &counting{}
			client := racelab.NewContention(engine, map[string]string{"t": "id"}, mutual)
			first := make(chan error)
			go func() {
				_, err := client.TransactWriteItems(t.Context(), transaction("a", "b"))
				first <- err
			}()
			time.Sleep(time.Millisecond) // the first is under way
			_, second := client.TransactWriteItems(t.Context(), transaction("x", "b"))
			if got := codes(second); !slices.Equal(got, []string{"", "TransactionConflict"}) && !slices.Equal(got, []string{"None", "TransactionConflict"}) {
				t.Errorf("the second: %v, %v", got, second)
			}
			key := ddb.Item{"id": &types.AttributeValueMemberS{Value: "a"}}
			if _, err := client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{TableName: aws.String("t"), Key: key}); ddb.Classify(err).Class != ddb.Conflict {
				t.Errorf("a single write at an item of it: %v", err)
			}
			if _, err := client.TransactWriteItems(t.Context(), transaction("y")); err != nil {
				t.Errorf("one that meets nobody: %v", err)
			}
			err, sent := <-first, 2
			if mutual == 1 {
				sent = 1
			}
			if (mutual == 1) != (ddb.Classify(err).Class == ddb.Conflict) {
				t.Errorf("mutual %g, the first: %v", mutual, err)
			}
			if engine.sent != sent {
				t.Errorf("mutual %g: %d reached the engine, want %d", mutual, engine.sent, sent)
			}
			if _, err := client.TransactWriteItems(t.Context(), transaction("a", "b", "x")); err != nil {
				t.Errorf("when all is over: %v", err)
			}
		})
	}
}
