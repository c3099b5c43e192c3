package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/bench/stub"
	"github.com/heatsink-dev/heatsink/pkg/catalog"
	"github.com/heatsink-dev/heatsink/pkg/cursor"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/query"
	"github.com/heatsink-dev/heatsink/pkg/schema"
	"github.com/heatsink-dev/heatsink/pkg/sortkey"
)

// world is what the subjects share: the stub with the catalog's tables, under their names in the catalog, and clients of it.
type world struct {
	rounds  int
	stub    *stub.Process
	catalog *schema.Catalog
	users   *schema.BaseTable
	managed *schema.Index
	// client is the SDK as heatsink's functions use it, raw is the SDK as it is, and peer is raw again for other libraries: what a client keeps for its next
	// request, such as buffers, is lost when others run in between, which must happen to all alike.
	client, raw, peer *dynamodb.Client
}

func newWorld(ctx context.Context, rounds int) (*world, error) {
	w := &world{rounds: rounds}
	var err error
	if w.catalog, err = catalog.Load(); err != nil {
		return nil, err
	}
	w.users, _ = w.catalog.Table(catalog.UserTable)
	w.managed, _ = w.catalog.Index("managed")
	if w.users == nil || w.managed == nil || w.managed.Build != schema.GSI|schema.Table {
		return nil, errors.New("the catalog has no table User with an index managed in both forms, which the benchmarks read")
	}
	if w.stub, err = stub.Start(ctx); err != nil {
		return nil, err
	}
	w.client, w.raw, w.peer = w.stub.Client(ddb.Metered), w.stub.Client(), w.stub.Client()
	for _, table := range w.catalog.Tables() {
		if err := w.create(ctx, table); err != nil {
			return nil, errors.Join(err, w.close())
		}
	}
	return w, nil
}

func (w *world) close() error { return w.stub.Stop() }

// create makes a table with its GSIs, and its index tables.
func (w *world) create(ctx context.Context, table *schema.BaseTable) error {
	in := &dynamodb.CreateTableInput{
		TableName: &table.Name, KeySchema: keySchema(table.Key()), BillingMode: types.BillingModePayPerRequest,
		StreamSpecification: &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages},
	}
	for _, index := range table.Indexes {
		key := []schema.Attribute{index.PartitionKey}
		for _, part := range index.SortKey {
			key = append(key, part.Attribute)
		}
		if index.Build.Has(schema.GSI) {
			in.GlobalSecondaryIndexes = append(in.GlobalSecondaryIndexes, types.GlobalSecondaryIndex{
				IndexName: &index.Name, KeySchema: keySchema(key),
				Projection: &types.Projection{ProjectionType: types.ProjectionType(index.Projection.Kind.String()), NonKeyAttributes: index.Projection.Attributes},
			})
		}
		if index.Build.Has(schema.Table) {
			_, err := w.raw.CreateTable(ctx, &dynamodb.CreateTableInput{
				TableName: aws.String(index.TableName()), BillingMode: types.BillingModePayPerRequest, AttributeDefinitions: definitions(index.PartitionKey),
				KeySchema: keySchema([]schema.Attribute{index.PartitionKey, {Name: schema.SortKeyAttribute}}),
			})
			if err != nil {
				return fmt.Errorf("create table %s: %w", index.TableName(), err)
			}
		}
	}
	in.AttributeDefinitions = definitions(table.Key()...)
	if _, err := w.raw.CreateTable(ctx, in); err != nil {
		return fmt.Errorf("create table %s: %w", table.Name, err)
	}
	return nil
}

func keySchema(key []schema.Attribute) []types.KeySchemaElement {
	var elements []types.KeySchemaElement
	for n, attribute := range key {
		kind := types.KeyTypeHash
		if n > 0 {
			kind = types.KeyTypeRange
		}
		elements = append(elements, types.KeySchemaElement{AttributeName: aws.String(attribute.Name), KeyType: kind})
	}
	return elements
}

func definitions(attributes ...schema.Attribute) []types.AttributeDefinition {
	var all []types.AttributeDefinition
	for _, attribute := range attributes {
		all = append(all, types.AttributeDefinition{AttributeName: aws.String(attribute.Name), AttributeType: types.ScalarAttributeType(attribute.Type.String())})
	}
	return all
}

// user is the n-th user of a partition: a usual item, of about 450 bytes, in the index managed alone.
func user(partition string, n int) ddb.Item {
	id := fmt.Sprintf("user-%s-%06d", partition, n)
	return ddb.Item{
		"userId": s(id), "ID": s(partition), "managedKey": &types.AttributeValueMemberN{Value: strconv.Itoa(1_699_900_000_000 + 1000*n)},
		"nickname": s("nick" + strconv.Itoa(n)), "email": s(id + "@example.com"), "name": s("Some Person of Usual Length"),
		"about": s("A few words about the person, as profiles have them: where from, what for, and a sentence that goes on for longer than the reader would like it to."),
		"city":  s("Reykjavík"), "active": &types.AttributeValueMemberBOOL{Value: true}, "logins": &types.AttributeValueMemberN{Value: strconv.Itoa(n % 977)},
		"tags": &types.AttributeValueMemberSS{Value: []string{"alpha", "beta"}},
	}
}

// profile is that item for those who want structs.
type profile struct {
	UserID     string   `dynamodbav:"userId" dynamo:"userId"`
	ID         string   `dynamodbav:"ID" dynamo:"ID"`
	ManagedKey int64    `dynamodbav:"managedKey" dynamo:"managedKey"`
	Nickname   string   `dynamodbav:"nickname" dynamo:"nickname"`
	Email      string   `dynamodbav:"email" dynamo:"email"`
	Name       string   `dynamodbav:"name" dynamo:"name"`
	About      string   `dynamodbav:"about" dynamo:"about"`
	City       string   `dynamodbav:"city" dynamo:"city"`
	Active     bool     `dynamodbav:"active" dynamo:"active"`
	Logins     int      `dynamodbav:"logins" dynamo:"logins"`
	Tags       []string `dynamodbav:"tags,stringset" dynamo:"tags,set"`
}

func s(text string) types.AttributeValue { return &types.AttributeValueMemberS{Value: text} }

// row is a user's row in the index table; a dead one is what is left of it.
func (w *world) row(item ddb.Item, dead bool) (ddb.Item, error) {
	key, _ := ddb.KeyValue(item["managedKey"])
	id, _ := ddb.KeyValue(item["userId"])
	text, err := w.managed.Codec.Encode(key, id)
	if err != nil {
		return nil, err
	}
	row := ddb.Item{}
	if !dead {
		maps.Copy(row, item)
	}
	row[w.managed.PartitionKey.Name] = item[w.managed.PartitionKey.Name]
	row[schema.SortKeyAttribute] = s(text)
	row[schema.VersionAttribute] = s("2026-01-02T03:04:05.678#" + fmt.Sprintf("%040d", 1))
	if dead {
		row[schema.DeletedAttribute] = &types.AttributeValueMemberBOOL{Value: true}
		row[schema.TTLAttribute] = &types.AttributeValueMemberN{Value: "1800000000"}
	}
	return row, nil
}

// load stores items of distinct keys.
func (w *world) load(ctx context.Context, table string, items []ddb.Item) error {
	const most = 25
	for len(items) > 0 {
		var requests []types.WriteRequest
		for _, item := range items[:min(most, len(items))] {
			requests = append(requests, types.WriteRequest{PutRequest: &types.PutRequest{Item: item}})
		}
		if _, err := w.raw.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{table: requests}}); err != nil {
			return fmt.Errorf("load table %s: %w", table, err)
		}
		items = items[len(requests):]
	}
	return nil
}

// reader is heatsink's, for the index managed in both forms.
func (w *world) reader(budget query.Budget) (*query.Reader, error) {
	key, err := cursor.DeriveKey([]byte("a secret of at least thirty-two bytes"), "version")
	if err != nil {
		return nil, err
	}
	return query.New(w.managed, query.Config{
		Client: w.client, BaseTable: w.users.Name, IndexTable: w.managed.TableName(), Budget: budget,
		Cursors: cursor.New(cursor.NewStaticKeyring(key), cursor.Options{}),
	})
}

func partitionOf(partition string) sortkey.Value { return sortkey.Text(partition) }
