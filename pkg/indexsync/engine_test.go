package indexsync_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

// engine is a DynamoDB as far as the write path meets one. There are two: the real one, and one in memory for hundreds of thousands of writes, which must pass
// the same suite (TestEnginesAgree).
type engine interface {
	ddb.Putter
	create(t testing.TB, index *schema.Index) (table string)
	rows(t testing.TB, table string) []ddb.Item
	// of lists the rows of some partitions of an index.
	of(t testing.TB, table string, index *schema.Index, partitions ...string) []ddb.Item
}

// real is the engine at HEATSINK_TEST_ENDPOINT.
type real struct{ *dynamodb.Client }

func newReal(t testing.TB, opts ...func(*dynamodb.Options)) real {
	return real{ddbtest.Client(t, opts...)}
}

func (r real) create(t testing.TB, index *schema.Index) string { return ddbtest.IndexTable(t, index) }

func (r real) rows(t testing.TB, table string) []ddb.Item { return ddbtest.Dump(t, r.Client, table) }

func (r real) of(t testing.TB, table string, index *schema.Index, partitions ...string) []ddb.Item {
	t.Helper()
	var rows []ddb.Item
	for _, partition := range partitions {
		pages := dynamodb.NewQueryPaginator(r.Client, &dynamodb.QueryInput{
			TableName: &table, ConsistentRead: aws.Bool(true), KeyConditionExpression: aws.String("#p = :p"),
			ExpressionAttributeNames: map[string]string{"#p": index.PartitionKey.Name}, ExpressionAttributeValues: ddb.Item{":p": text(partition)},
		})
		for pages.HasMorePages() {
			page, err := pages.NextPage(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			rows = append(rows, page.Items...)
		}
	}
	return rows
}

// memory is the engine in memory: whole items, the two conditions of the write path, the limits of keys and items.
type memory struct {
	mu     sync.Mutex
	tables map[string]*memoryTable
}

type memoryTable struct {
	index *schema.Index
	items map[[2]string]ddb.Item
}

func newMemory() *memory { return &memory{tables: map[string]*memoryTable{}} }

func (m *memory) create(_ testing.TB, index *schema.Index) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	name := index.TableName()
	m.tables[name] = &memoryTable{index: index, items: map[[2]string]ddb.Item{}}
	return name
}

func (m *memory) rows(_ testing.TB, table string) []ddb.Item {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.tables[table]
	keys := make([][2]string, 0, len(t.items))
	for key := range t.items {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b [2]string) int { return strings.Compare(a[0]+"\x00"+a[1], b[0]+"\x00"+b[1]) })
	rows := make([]ddb.Item, len(keys))
	for n, key := range keys {
		rows[n] = t.items[key]
	}
	return rows
}

func (m *memory) of(t testing.TB, table string, index *schema.Index, partitions ...string) []ddb.Item {
	return slices.DeleteFunc(m.rows(t, table), func(row ddb.Item) bool { return !slices.Contains(partitions, s(row[index.PartitionKey.Name])) })
}

func invalid(message string) error {
	return &smithy.GenericAPIError{Code: "ValidationException", Message: message, Fault: smithy.FaultClient}
}

func (m *memory) PutItem(_ context.Context, in *dynamodb.PutItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.tables[*in.TableName]
	if t == nil {
		return nil, &types.ResourceNotFoundException{}
	}
	partition, ok := in.Item[t.index.PartitionKey.Name].(*types.AttributeValueMemberS)
	sort, okToo := in.Item["SK"].(*types.AttributeValueMemberS)
	switch {
	case !ok, !okToo:
		return nil, invalid("type mismatch of a key")
	case partition.Value == "", sort.Value == "", len(partition.Value) > 2048, len(sort.Value) > 1024:
		return nil, invalid("length of a key")
	case ddb.Size(in.Item) > ddb.MaxItemSize:
		return nil, invalid("Item size has exceeded the maximum allowed size")
	}
	key := [2]string{partition.Value, sort.Value}
	if old, exists := t.items[key]; exists && in.ConditionExpression != nil {
		v, had := old["_v"].(*types.AttributeValueMemberS)
		given := in.ExpressionAttributeValues[":v"].(*types.AttributeValueMemberS).Value
		holds := false
		switch condition := *in.ConditionExpression; condition {
		case "attribute_not_exists(#p) OR #v < :v":
			holds = had && v.Value < given
		case "attribute_not_exists(#p) OR #v <= :v":
			holds = had && v.Value <= given
		default:
			return nil, invalid("a condition that this engine does not know: " + condition)
		}
		if !holds {
			return nil, &types.ConditionalCheckFailedException{}
		}
	}
	t.items[key] = in.Item
	return &dynamodb.PutItemOutput{}, nil
}

// TestEnginesAgree is the one suite that both engines pass: random conditional puts give the same answers and the same rows.
func TestEnginesAgree(t *testing.T) {
	t.Parallel()
	index := things(t).Indexes[0]
	right := newReal(t)
	table := right.create(t, index)
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		quick := newMemory()
		quickTable := quick.create(t, index)
		mine := fmt.Sprintf("r%d-", round)
		for n := range rapid.IntRange(1, 8).Draw(rt, "puts") {
			item := ddb.Item{"ID": text(mine + rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "ID")), "SK": text(rapid.SampledFrom([]string{"1", "2"}).Draw(rt, "SK")), "n": number(fmt.Sprint(n))}
			version := rapid.SampledFrom([]string{"!000", "1", "10", "2", "2026/1", "2026/2"}).Draw(rt, "version")
			switch rapid.IntRange(0, 19).Draw(rt, "shape") {
			case 0:
				item["SK"] = number("1")
			case 1:
				item["ID"] = text("")
			case 2:
				delete(item, "SK")
			case 3:
				item["n"] = text(strings.Repeat("x", ddb.MaxItemSize))
			case 4:
				item["SK"] = text(strings.Repeat("x", 1025))
			}
			if rapid.IntRange(0, 9).Draw(rt, "versioned") > 0 {
				item["_v"] = text(version)
			}
			condition := rapid.SampledFrom([]string{"attribute_not_exists(#p) OR #v < :v", "attribute_not_exists(#p) OR #v <= :v"}).Draw(rt, "condition")
			in := &dynamodb.PutItemInput{
				TableName: &table, Item: item, ConditionExpression: &condition,
				ExpressionAttributeNames:  map[string]string{"#p": "ID", "#v": "_v"},
				ExpressionAttributeValues: ddb.Item{":v": text(version)},
			}
			_, want := right.PutItem(t.Context(), in)
			in.TableName = &quickTable
			_, got := quick.PutItem(t.Context(), in)
			if w, g := ddb.Classify(want).Class, ddb.Classify(got).Class; w != g {
				rt.Fatalf("put %d: memory says %s (%v), the engine %s (%v)", n, g, got, w, want)
			}
		}
		want := right.of(t, table, index, mine+"a", mine+"b")
		if got := quick.rows(t, quickTable); len(got)+len(want) > 0 && !cmp.Equal(want, got, itemOptions) {
			rt.Fatalf("rows differ (-engine +memory):\n%s", cmp.Diff(want, got, itemOptions))
		}
	})
}

// itemOptions compares items as DynamoDB does.
var itemOptions = cmp.Comparer(ddb.EqualItems)
