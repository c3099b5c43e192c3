package ddbtest

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/schema"
)

// Table creates a table of that shape on the engine, with its GSIs and a stream of new and old images, and gives its name. It is active when
// this returns and deleted when the test ends. Time to live stays off: an engine that expires rows would make tests depend on the clock.
func Table(t testing.TB, table *schema.BaseTable) string {
	t.Helper()
	spec := newTableSpec(t, table.Name)
	spec.key(table.PartitionKey, types.KeyTypeHash, &spec.in.KeySchema)
	if table.SortKey.Name != "" {
		spec.key(table.SortKey, types.KeyTypeRange, &spec.in.KeySchema)
	}
	for _, index := range table.Indexes {
		if index.Build.Has(schema.GSI) {
			spec.index(index)
		}
	}
	return spec.create(t)
}

// IndexTable creates the table of an index on the engine, with a stream, and gives its name. It lives as that of [Table].
func IndexTable(t testing.TB, index *schema.Index) string {
	t.Helper()
	spec := newTableSpec(t, index.TableName())
	spec.key(index.PartitionKey, types.KeyTypeHash, &spec.in.KeySchema)
	spec.key(schema.Attribute{Name: schema.SortKeyAttribute, Type: schema.String}, types.KeyTypeRange, &spec.in.KeySchema)
	return spec.create(t)
}

// tableSpec gathers the parts of a CreateTable.
type tableSpec struct {
	in       dynamodb.CreateTableInput
	declared map[string]bool
}

func newTableSpec(t testing.TB, logical string) *tableSpec {
	return &tableSpec{
		in: dynamodb.CreateTableInput{
			TableName:   aws.String(uniqueName(t, logical)),
			BillingMode: types.BillingModePayPerRequest,
			StreamSpecification: &types.StreamSpecification{
				StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages,
			},
		},
		declared: map[string]bool{},
	}
}

func (s *tableSpec) key(attribute schema.Attribute, kind types.KeyType, keys *[]types.KeySchemaElement) {
	*keys = append(*keys, types.KeySchemaElement{AttributeName: aws.String(attribute.Name), KeyType: kind})
	if !s.declared[attribute.Name] {
		s.declared[attribute.Name] = true
		s.in.AttributeDefinitions = append(s.in.AttributeDefinitions, types.AttributeDefinition{
			AttributeName: aws.String(attribute.Name), AttributeType: types.ScalarAttributeType(attribute.Type.String()),
		})
	}
}

func (s *tableSpec) index(index *schema.Index) {
	gsi := types.GlobalSecondaryIndex{
		IndexName:  aws.String(index.Name),
		Projection: &types.Projection{ProjectionType: types.ProjectionType(index.Projection.Kind.String())},
	}
	if index.Projection.Kind == schema.Include {
		gsi.Projection.NonKeyAttributes = index.Projection.Attributes
	}
	s.key(index.PartitionKey, types.KeyTypeHash, &gsi.KeySchema)
	for _, part := range index.SortKey {
		s.key(part.Attribute, types.KeyTypeRange, &gsi.KeySchema)
	}
	s.in.GlobalSecondaryIndexes = append(s.in.GlobalSecondaryIndexes, gsi)
}

func (s *tableSpec) create(t testing.TB) string {
	t.Helper()
	return createTable(t, Client(t), &s.in)
}

func inUse(err error) bool {
	_, ok := errors.AsType[*types.ResourceInUseException](err)
	return ok
}

func gone(err error) bool {
	_, ok := errors.AsType[*types.ResourceNotFoundException](err)
	return ok
}

// createTable creates, waits and deletes at cleanup.
func createTable(t testing.TB, client *dynamodb.Client, in *dynamodb.CreateTableInput) string {
	t.Helper()
	const patience = 30 * time.Second
	name := *in.TableName
	// The name is random, so a table of this name is this one: the engine closes connections now and then, and the SDK sent the request again.
	if _, err := client.CreateTable(t.Context(), in); err != nil && !inUse(err) {
		t.Fatalf("ddbtest: create table %s at %s: %v", name, Endpoint(t), err)
	}
	t.Cleanup(func() {
		// The test's own context has ended by now.
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if _, err := client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &name}); err != nil && !gone(err) {
			t.Errorf("ddbtest: delete table %s: %v", name, err)
		}
	})
	waiter := dynamodb.NewTableExistsWaiter(client, func(o *dynamodb.TableExistsWaiterOptions) {
		o.MinDelay, o.MaxDelay = 20*time.Millisecond, time.Second
	})
	if err := waiter.Wait(t.Context(), &dynamodb.DescribeTableInput{TableName: &name}, patience); err != nil {
		t.Fatalf("ddbtest: table %s did not become active: %v", name, err)
	}
	return name
}

// uniqueName tells which test a table is of: `TestParity-pages-User-JK4X...`, at most 255 bytes.
func uniqueName(t testing.TB, logical string) string {
	const room = 120
	test := strings.Map(func(r rune) rune {
		switch {
		case r == '-' || r == '_' || r == '.', r >= '0' && r <= '9', r >= 'A' && r <= 'Z', r >= 'a' && r <= 'z':
			return r
		default:
			return '-'
		}
	}, t.Name())
	return test[:min(len(test), room)] + "-" + logical + "-" + rand.Text()[:10]
}
