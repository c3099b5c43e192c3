package indexsync_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
	"github.com/heatsink-dev/heatsink/pkg/indexsync"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

// A base table with a sort key, and index keys of every type: a number without a width in the sort key, a binary or number partition.
func TestKeysOfEveryShape(t *testing.T) {
	t.Parallel()
	loaded, err := schema.Compile(schema.TableDefinition{
		Name: "Reading", PartitionKey: "sensor", SortKey: "at",
		Attributes: []schema.Attribute{
			{Name: "sensor", Type: schema.Binary},
			{Name: "at", Type: schema.Number},
			{Name: "room", Type: schema.Number},
			{Name: "value", Type: schema.Number},
			{Name: "mark", Type: schema.Binary},
		},
		Indexes: []schema.IndexDefinition{
			{
				Name: "by-room", PartitionKey: "room", SortKey: []schema.Part{{Name: "value"}}, Projection: schema.Projection{Kind: schema.KeysOnly},
				TombstoneRetention: 48 * time.Hour, Build: schema.Table,
			},
			{
				Name: "by-mark", PartitionKey: "mark", Projection: schema.Projection{Kind: schema.All}, // whose sort key is the base table's key alone
				TombstoneRetention: 48 * time.Hour, Build: schema.Table,
			},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	source := loaded.Tables()[0]
	client := newReal(t)
	config := indexsync.Config{Source: source, Writer: client, Park: &lot{}, PartialBatch: true, Now: func() time.Time { return now }}
	tables := map[string]string{}
	for _, index := range source.Indexes {
		tables[index.Name] = ddbtest.IndexTable(t, index)
		config.Targets = append(config.Targets, indexsync.Target{Index: index, Table: tables[index.Name]})
	}
	syncer, err := indexsync.New(config)
	if err != nil {
		t.Fatal(err)
	}
	bytes := func(b ...byte) types.AttributeValue { return &types.AttributeValueMemberB{Value: b} }
	reading := func(at, room, value string) ddb.Item {
		return ddb.Item{"sensor": bytes(0, 0x23, 0xff), "at": number(at), "room": number(room), "value": number(value), "mark": bytes(7), "note": text("x")}
	}
	first, second, other := reading("1", "10", "-2.5"), reading("1", "10.0", "3E2"), reading("2", "10", "0")
	result, err := syncer.Process(t.Context(), event(t,
		record{new: first, sequence: seq(1)},
		record{new: other, sequence: seq(2)},
		record{old: first, new: second, sequence: seq(3)},                      // another value in the same room, spelled differently
		record{old: second, new: reading("1", "1E1", "300"), sequence: seq(4)}, // the same by value
	))
	if err != nil || result.FailedSequence != "" || len(result.Parked) != 0 {
		t.Fatalf("%+v, %v", result, err)
	}
	if byRoom := result.Stats.Indexes[0]; byRoom.KeyMoves != 1 || byRoom.Unchanged != 1 {
		t.Errorf("by-room: %+v", byRoom)
	}
	shown := func(index string) (rows []ddb.Item) {
		for _, row := range ddbtest.Dump(t, client.Client, tables[index]) {
			if row["_deleted"] == nil {
				rows = append(rows, bare(row))
			}
		}
		return rows
	}
	keys := func(item ddb.Item, names ...string) ddb.Item {
		kept := ddb.Item{}
		for _, name := range names {
			kept[name] = item[name]
		}
		return kept
	}
	want := []ddb.Item{keys(other, "sensor", "at", "room", "value"), keys(second, "sensor", "at", "room", "value")} // 0 before 300
	if diff := cmp.Diff(want, shown("by-room"), itemOptions); diff != "" {
		t.Errorf("by-room (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]ddb.Item{reading("1", "1E1", "300"), other}, shown("by-mark"), itemOptions); diff != "" {
		t.Errorf("by-mark (-want +got):\n%s", diff)
	}
	// The tombstone of the place that the first reading left is one that DynamoDB takes and finds.
	answer, err := client.GetItem(t.Context(), &dynamodb.GetItemInput{
		TableName: aws.String(tables["by-room"]), ConsistentRead: aws.Bool(true),
		Key: ddb.Item{"room": number("10"), "SK": text(sortKey(t, source.Indexes[0], first))},
	})
	if err != nil || answer.Item["_deleted"] == nil {
		t.Errorf("the old place: %v, %v", answer, err)
	}
}

// sortKey is where the index puts an item.
func sortKey(t *testing.T, index *schema.Index, item ddb.Item) string {
	t.Helper()
	row, reason, ok := indexsync.Row(index, item, "v")
	if !ok {
		t.Fatalf("not indexed: %s", reason)
	}
	return s(row["SK"])
}
