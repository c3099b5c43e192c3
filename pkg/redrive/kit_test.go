package redrive_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/heatsink-dev/heatsink/pkg/catalog"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
	"github.com/heatsink-dev/heatsink/pkg/indexsync"
	"github.com/heatsink-dev/heatsink/pkg/redrive"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

// now is shortly after the samples.
var now = time.Date(2026, 11, 14, 12, 0, 0, 0, time.UTC)

func text(s string) types.AttributeValue   { return &types.AttributeValueMemberS{Value: s} }
func number(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }

// bench is a failure bucket, the User table's index tables and a redriver, all on the local cloud.
type bench struct {
	source *schema.BaseTable
	client *dynamodb.Client
	faults *ddbtest.Faults
	tables map[string]string
	store  *s3.Client
	bucket string
	syncer *indexsync.Syncer
	config redrive.Config
}

func newBench(t testing.TB, change ...func(*redrive.Config)) *bench {
	t.Helper()
	loaded, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	source, _ := loaded.Table(catalog.UserTable)
	b := &bench{source: source, tables: map[string]string{}, faults: ddbtest.NewFaults(t, 0)}
	b.client = ddbtest.Client(t, b.faults.Install)
	b.store = s3.NewFromConfig(ddbtest.Config(t), func(o *s3.Options) { o.UsePathStyle = true })
	b.bucket = "redrive-" + strings.ToLower(rand.Text())
	if _, err := b.store.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String(b.bucket)}); err != nil {
		t.Fatal(err)
	}
	config := indexsync.Config{
		Source: source, Writer: b.client, PartialBatch: true, Now: func() time.Time { return now },
		Park: &indexsync.BucketParker{Bucket: b.bucket, Client: b.store, Now: func() time.Time { return now }},
	}
	for _, index := range source.StreamIndexes() {
		b.tables[index.Name] = ddbtest.IndexTable(t, index)
		config.Targets = append(config.Targets, indexsync.Target{Index: index, Table: b.tables[index.Name]})
	}
	if b.syncer, err = indexsync.New(config); err != nil {
		t.Fatal(err)
	}
	b.config = redrive.Config{
		Bucket: b.bucket, Store: b.store, Stream: ddbtest.Streams(t), Rows: b.client, Syncer: redrive.Only("User", b.syncer), Now: func() time.Time { return now },
	}
	for _, c := range change {
		c(&b.config)
	}
	t.Cleanup(func() {
		for _, key := range b.keys(context.Background(), t) {
			_, _ = b.store.DeleteObject(context.Background(), &s3.DeleteObjectInput{Bucket: aws.String(b.bucket), Key: aws.String(key)}) // cleanup
		}
		_, _ = b.store.DeleteBucket(context.Background(), &s3.DeleteBucketInput{Bucket: aws.String(b.bucket)}) // cleanup
	})
	return b
}

func (b *bench) run(t testing.TB, options redrive.Options) redrive.Report {
	t.Helper()
	redriver, err := redrive.New(b.config)
	if err != nil {
		t.Fatal(err)
	}
	report, err := redriver.Run(t.Context(), options)
	if err != nil {
		t.Fatalf("run: %v", err)
	}
	return report
}

func (b *bench) put(t testing.TB, key string, body []byte) {
	t.Helper()
	if _, err := b.store.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String(b.bucket), Key: aws.String(key), Body: bytes.NewReader(body)}); err != nil {
		t.Fatal(err)
	}
}

func (b *bench) keys(ctx context.Context, t testing.TB) []string {
	list, err := b.store.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: aws.String(b.bucket)})
	if err != nil {
		t.Error(err)
		return nil
	}
	var keys []string
	for _, object := range list.Contents {
		keys = append(keys, *object.Key)
	}
	return keys
}

// live are the keys of the live rows of an index: partition/sort.
func (b *bench) live(t testing.TB, index string) []string {
	t.Helper()
	var rows []string
	for _, row := range ddbtest.Dump(t, b.client, b.tables[index]) {
		if row["_deleted"] != nil {
			continue
		}
		for _, i := range b.source.Indexes {
			if i.Name == index {
				rows = append(rows, s(row[i.PartitionKey.Name])+"/"+s(row["SK"]))
			}
		}
	}
	return rows
}

func s(value types.AttributeValue) string {
	if member, ok := value.(*types.AttributeValueMemberS); ok {
		return member.Value
	}
	return fmt.Sprint(value)
}

func sample(t testing.TB, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("../../events", name))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// user is an item of the index managed.
func user(id, managedKey string) ddb.Item {
	return ddb.Item{"userId": text(id), "ID": text("a"), "managedKey": number(managedKey)}
}

// failure is an object with these records as its payload.
func failure(t testing.TB, change func(*indexsync.FailureObject), records ...json.RawMessage) []byte {
	t.Helper()
	var object indexsync.FailureObject
	object.RequestContext.Condition = "RetryAttemptsExhausted"
	object.Version, object.Timestamp = "1.0", now.Format(time.RFC3339)
	object.Payload = string(indexsync.JoinRecords(records...))
	if change != nil {
		change(&object)
	}
	raw, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
