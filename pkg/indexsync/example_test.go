package indexsync_test

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/heatsink-dev/heatsink/pkg/indexsync"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

// printer shows what would be written.
type printer struct{}

func (printer) PutItem(_ context.Context, in *dynamodb.PutItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	fmt.Println(describe(in))
	return &dynamodb.PutItemOutput{}, nil
}

func ExampleSyncer_Process() {
	loaded, err := schema.Compile(schema.TableDefinition{
		Name: "User", PartitionKey: "userId",
		Attributes: []schema.Attribute{{Name: "userId", Type: schema.String}, {Name: "ID", Type: schema.String}, {Name: "managedKey", Type: schema.Number}},
		Indexes: []schema.IndexDefinition{{
			Name: "managed", PartitionKey: "ID", SortKey: []schema.Part{{Name: "managedKey", Width: 13}},
			Projection: schema.Projection{Kind: schema.All}, TombstoneRetention: 7 * 24 * time.Hour, Build: schema.Table,
		}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	user := loaded.Tables()[0]
	syncer, err := indexsync.New(indexsync.Config{
		Source: user, Targets: []indexsync.Target{{Index: user.Indexes[0], Table: "user_managed_index"}},
		Writer: printer{}, Park: &indexsync.BucketParker{Bucket: "failures"}, PartialBatch: true,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	// A user moved from one team to another.
	result, err := syncer.Process(context.Background(), []byte(`{"Records":[{
		"eventName": "MODIFY",
		"eventSourceARN": "arn:aws:dynamodb:eu-central-1:123456789012:table/User/stream/2026-11-14T00:04:06.388",
		"dynamodb": {
			"SequenceNumber": "800000000003126276362",
			"OldImage": {"userId": {"S": "u1"}, "ID": {"S": "red"},  "managedKey": {"N": "1699900000000"}},
			"NewImage": {"userId": {"S": "u1"}, "ID": {"S": "blue"}, "managedKey": {"N": "1699900000000"}}
		}
	}]}`))
	fmt.Println(result.Stats.KeyMoves, "moved, all done:", result.FailedSequence == "", err)
	// Output:
	// upsert blue/1699900000000#u1
	// tombstone red/1699900000000#u1
	// 1 moved, all done: true <nil>
}

func ExampleStreamVersion() {
	older, _ := indexsync.StreamVersion("2026-11-14T00:04:06.388", "9900000000002513012315")
	newer, _ := indexsync.StreamVersion("2026-11-14T00:04:06.388", "10000000000002513012315")
	fmt.Println(newer)
	fmt.Println(older < newer, indexsync.BackfillVersion(time.Now()) < older)
	// Output:
	// 2026-11-14T00:04:06.388/0000000000000000010000000000002513012315
	// true true
}
