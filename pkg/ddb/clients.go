package ddb

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// The client interfaces below are the SDK client's own methods, one each, so that a package asks for exactly what it calls and a function's
// IAM policy can be read off its parameters. *dynamodb.Client implements all of them.

// Querier reads a page of one partition of a table or index.
type Querier interface {
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
}

// Getter reads one item.
type Getter interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
}

// Putter writes one whole item.
type Putter interface {
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
}

// Updater changes attributes of one item.
type Updater interface {
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
}

// Deleter deletes one item.
type Deleter interface {
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
}

// BatchGetter reads up to 100 items by key.
type BatchGetter interface {
	BatchGetItem(context.Context, *dynamodb.BatchGetItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error)
}

// BatchWriter puts or deletes up to 25 items, without conditions.
type BatchWriter interface {
	BatchWriteItem(context.Context, *dynamodb.BatchWriteItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error)
}

// Transactor writes up to 100 items, all or none.
type Transactor interface {
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
}

// Scanner reads a page of a whole table or segment.
type Scanner interface {
	Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
}

var (
	_ Querier     = (*dynamodb.Client)(nil)
	_ Getter      = (*dynamodb.Client)(nil)
	_ Putter      = (*dynamodb.Client)(nil)
	_ Updater     = (*dynamodb.Client)(nil)
	_ Deleter     = (*dynamodb.Client)(nil)
	_ BatchGetter = (*dynamodb.Client)(nil)
	_ BatchWriter = (*dynamodb.Client)(nil)
	_ Transactor  = (*dynamodb.Client)(nil)
	_ Scanner     = (*dynamodb.Client)(nil)
)
