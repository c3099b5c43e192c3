package racelab

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/account"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/unique"
)

const (
	nicknameIndex = "nickname-index"
	formAttribute = "nicknameForm" // what the naive way looks for
)

func (l *Lab) create(ctx context.Context) error {
	naive := tableInput(l.tables.naive, account.UserIDAttribute)
	naive.AttributeDefinitions = append(naive.AttributeDefinitions, types.AttributeDefinition{
		AttributeName: aws.String(formAttribute), AttributeType: types.ScalarAttributeTypeS,
	})
	naive.GlobalSecondaryIndexes = []types.GlobalSecondaryIndex{{
		IndexName: aws.String(nicknameIndex), Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly},
		KeySchema: []types.KeySchemaElement{{AttributeName: aws.String(formAttribute), KeyType: types.KeyTypeHash}},
	}}
	all := []*dynamodb.CreateTableInput{naive, tableInput(l.tables.users, account.UserIDAttribute), tableInput(l.tables.claims, unique.KeyAttribute)}
	for _, in := range all {
		_, err := l.config.Client.CreateTable(ctx, in)
		// The name is random: a table of that name is this one, whose making was not answered the first time.
		if _, exists := errors.AsType[*types.ResourceInUseException](err); err != nil && !exists {
			return fmt.Errorf("create table %s: %w", *in.TableName, err)
		}
	}
	for _, in := range all {
		waiter := dynamodb.NewTableExistsWaiter(l.config.Client, func(o *dynamodb.TableExistsWaiterOptions) {
			o.MinDelay, o.MaxDelay = 50*time.Millisecond, 5*time.Second
		})
		if err := waiter.Wait(ctx, &dynamodb.DescribeTableInput{TableName: in.TableName}, l.config.Patience); err != nil {
			return fmt.Errorf("wait for table %s: %w", *in.TableName, err)
		}
	}
	return nil
}

func tableInput(name, key string) *dynamodb.CreateTableInput {
	return &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: &key, AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: &key, KeyType: types.KeyTypeHash}},
		Tags:                 []types.Tag{{Key: aws.String("heatsink:lab"), Value: aws.String("race")}},
	}
}

// cleanUp deletes the tables, those too whose making was not answered, and gives the names of those that may still be there.
func (l *Lab) cleanUp(ctx context.Context) []string {
	ctx, cancel := context.WithTimeout(ctx, l.config.Patience)
	defer cancel()
	var left []string
	for _, name := range l.Tables() {
		if err := l.deleteTable(ctx, name); err != nil {
			left = append(left, name)
		}
	}
	return left
}

func (l *Lab) deleteTable(ctx context.Context, name string) error {
	for attempt := 1; ; attempt++ {
		_, err := l.config.Client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &name})
		if ddb.Classify(err).Class == ddb.NotFound {
			return nil
		}
		if err == nil {
			break
		}
		// In use: it is still being made.
		_, busy := errors.AsType[*types.ResourceInUseException](err)
		if class := ddb.Classify(err).Class; !busy && class != ddb.Throttled && class != ddb.UnknownOutcome || !l.config.Retry.Wait(ctx, attempt) {
			return err
		}
	}
	waiter := dynamodb.NewTableNotExistsWaiter(l.config.Client, func(o *dynamodb.TableNotExistsWaiterOptions) {
		o.MinDelay, o.MaxDelay = 50*time.Millisecond, 5*time.Second
	})
	return waiter.Wait(ctx, &dynamodb.DescribeTableInput{TableName: &name}, l.config.Patience)
}

// readAll reads a table, strongly consistent.
func (l *Lab) readAll(ctx context.Context, table string) ([]ddb.Item, error) {
	var items []ddb.Item
	in := &dynamodb.ScanInput{TableName: &table, ConsistentRead: aws.Bool(true)}
	for {
		out, err := l.config.Client.Scan(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("read table %s: %w", table, err)
		}
		items = append(items, out.Items...)
		if len(out.LastEvaluatedKey) == 0 {
			return items, nil
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
	}
}
