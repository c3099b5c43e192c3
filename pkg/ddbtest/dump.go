package ddbtest

import (
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/sortkey"
)

// Dump reads a whole table, strongly consistent, sorted by key. Requests: one DescribeTable, and a Scan for each MB.
func Dump(t testing.TB, client *dynamodb.Client, table string) []ddb.Item {
	t.Helper()
	described, err := client.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &table})
	if err != nil {
		t.Fatalf("ddbtest: describe table %s: %v", table, err)
	}
	var items []ddb.Item
	in := &dynamodb.ScanInput{TableName: &table, ConsistentRead: aws.Bool(true)}
	for {
		out, err := client.Scan(t.Context(), in)
		if err != nil {
			t.Fatalf("ddbtest: scan table %s: %v", table, err)
		}
		items = append(items, out.Items...)
		if len(out.LastEvaluatedKey) == 0 {
			break
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
	}
	slices.SortFunc(items, func(a, b ddb.Item) int {
		for _, key := range described.Table.KeySchema {
			x, _ := ddb.KeyValue(a[*key.AttributeName])
			y, _ := ddb.KeyValue(b[*key.AttributeName])
			if c := sortkey.Compare(x, y); c != 0 {
				return c
			}
		}
		return 0
	})
	return items
}
