package ddbtest_test

import (
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/catalog"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

func text(s string) types.AttributeValue   { return &types.AttributeValueMemberS{Value: s} }
func number(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }

func userTable(t testing.TB) *schema.BaseTable {
	t.Helper()
	loaded, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	table, ok := loaded.Table(catalog.UserTable)
	if !ok {
		t.Fatal("no user table in the catalog")
	}
	return table
}

func put(t testing.TB, client *dynamodb.Client, table string, item ddb.Item) {
	t.Helper()
	if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: item}); err != nil {
		t.Fatal(err)
	}
}

func TestEveryTableOfTheCatalogCanBeCreated(t *testing.T) {
	t.Parallel()
	loaded, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	client := ddbtest.Client(t)
	for _, table := range loaded.Tables() {
		name := ddbtest.Table(t, table)
		out, err := client.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &name})
		if err != nil {
			t.Fatal(err)
		}
		if view := out.Table.StreamSpecification; view == nil || view.StreamViewType != types.StreamViewTypeNewAndOldImages {
			t.Errorf("%s: stream %v, want NEW_AND_OLD_IMAGES", name, view)
		}
		built := 0
		for _, index := range table.Indexes {
			if index.Build.Has(schema.GSI) {
				built++
			}
			if index.Build.Has(schema.Table) {
				ddbtest.IndexTable(t, index)
			}
		}
		if len(out.Table.GlobalSecondaryIndexes) != built {
			t.Errorf("%s: %d GSIs, want %d", name, len(out.Table.GlobalSecondaryIndexes), built)
		}
	}
}

func TestDumpReadsEverythingInOrderOfTheKey(t *testing.T) {
	t.Parallel()
	client := ddbtest.Client(t)
	table := ddbtest.Table(t, userTable(t))
	for n := range 30 {
		put(t, client, table, ddb.Item{"userId": text("u" + strconv.Itoa(29-n))})
	}
	items := ddbtest.Dump(t, client, table)
	if len(items) != 30 {
		t.Fatalf("%d items, want 30", len(items))
	}
	for n := range 29 {
		a, _ := ddb.KeyValue(items[n]["userId"])
		b, _ := ddb.KeyValue(items[n+1]["userId"])
		if a.String() >= b.String() {
			t.Errorf("%s stands before %s", a, b)
		}
	}
}
