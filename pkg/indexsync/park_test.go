package indexsync_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
	"github.com/heatsink-dev/heatsink/pkg/indexsync"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

func errorsOf(errs ...error) error { return errors.Join(errs...) }

// bucket makes a bucket on the local cloud.
func bucket(t testing.TB) (*s3.Client, string) {
	t.Helper()
	client := s3.NewFromConfig(ddbtest.Config(t), func(o *s3.Options) { o.UsePathStyle = true })
	name := "indexsync-" + strings.ToLower(rand.Text())
	if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String(name)}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { empty(client, name) })
	return client, name
}

// empty deletes a bucket with what is in it. What stays is the engine's to forget.
func empty(client *s3.Client, name string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	list, err := client.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: aws.String(name)})
	if err != nil {
		return
	}
	for _, object := range list.Contents {
		_, _ = client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: aws.String(name), Key: object.Key})
	}
	_, _ = client.DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: aws.String(name)})
}

func TestTheBucketHoldsTheWholeRecordUnderOneKey(t *testing.T) {
	t.Parallel()
	client, name := bucket(t)
	written := now
	parker := &indexsync.BucketParker{Bucket: name, Client: client, FunctionARN: "arn:function", Now: func() time.Time { return written }}
	r := record{new: thing("i", "a<&>\"\u2028", "1"), sequence: seq(3)}
	poison := indexsync.Poison{Record: r.raw(t), Sequence: seq(3), StreamARN: streamARN, Reason: "because"}
	for range 3 { // redelivered
		if err := parker.Park(t.Context(), poison); err != nil {
			t.Fatal(err)
		}
		written = written.Add(time.Hour)
	}
	list, err := client.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: aws.String(name)})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Contents) != 1 {
		t.Fatalf("%d objects, want 1", len(list.Contents))
	}
	wantKey := "heatsink/poison/Thing/" + label + "/000000000000000000" + seq(3) + ".json"
	if key := *list.Contents[0].Key; key != wantKey {
		t.Errorf("key %s, want %s", key, wantKey)
	}
	answer, err := client.GetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String(name), Key: list.Contents[0].Key})
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	var object indexsync.FailureObject
	if err := json.Unmarshal(body, &object); err != nil {
		t.Fatal(err)
	}
	records, err := indexsync.SplitRecords([]byte(object.Payload))
	if err != nil || len(records) != 1 || string(records[0]) != string(poison.Record) {
		t.Errorf("payload %s, %v; want the record byte for byte", object.Payload, err)
	}
	if object.RequestContext.Condition != "HeatsinkPoison: because" || object.Batch.StartSequenceNumber != seq(3) || object.Batch.EndSequenceNumber != seq(3) ||
		object.Batch.StreamARN != streamARN || object.Batch.BatchSize != 1 || object.Version != "1.0" || object.Timestamp != "2026-01-02T05:04:05.000Z" ||
		object.Batch.ApproximateArrivalOfFirstRecord != "2026-01-02T03:04:05Z" {
		t.Errorf("object %+v", object)
	}
}

func TestPoisonKeys(t *testing.T) {
	t.Parallel()
	key := func(p indexsync.Poison) string { return indexsync.PoisonKey(p) }
	whole := indexsync.Poison{Record: json.RawMessage(`{"a":1}`), Sequence: "7", StreamARN: streamARN}
	if got, want := key(whole), "heatsink/poison/Thing/"+label+"/0000000000000000000000000000000000000007.json"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for name, p := range map[string]indexsync.Poison{
		"no sequence": {Record: whole.Record, StreamARN: streamARN}, "no stream": {Record: whole.Record, Sequence: "7"},
		"an odd stream": {Record: whole.Record, Sequence: "7", StreamARN: "x:table/../stream/" + "/"},
	} {
		if got := key(p); !strings.HasPrefix(got, "heatsink/poison/unknown/") || got != key(p) {
			t.Errorf("%s: %s", name, got)
		}
	}
	other := indexsync.Poison{Record: json.RawMessage(`{"a":2}`)}
	if key(other) == key(indexsync.Poison{Record: whole.Record}) {
		t.Error("two records without a sequence number share a key")
	}
}

func TestAFailedPutIsAnError(t *testing.T) {
	t.Parallel()
	client, _ := bucket(t)
	parker := &indexsync.BucketParker{Bucket: "there-is-no-such-bucket-here", Client: client}
	if err := parker.Park(t.Context(), indexsync.Poison{Record: json.RawMessage(`{}`)}); err == nil {
		t.Error("no error")
	}
}

func TestCheckStreamRefusesWhatCannotBeIndexed(t *testing.T) {
	t.Parallel()
	client := newReal(t)
	source := things(t)
	b := newBench(t, client, source)
	good := ddbtest.Table(t, source)
	if err := b.syncer.CheckStream(t.Context(), client, good); err != nil {
		t.Errorf("a sound table: %v", err)
	}
	without := func(view *types.StreamSpecification) string {
		name := "Check-" + good + string(view.StreamViewType)
		name = name[max(0, len(name)-200):]
		_, err := client.CreateTable(t.Context(), &dynamodb.CreateTableInput{
			TableName: aws.String(name), BillingMode: types.BillingModePayPerRequest, StreamSpecification: view,
			KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: types.KeyTypeHash}},
			AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: types.ScalarAttributeTypeS}},
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_, _ = client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: aws.String(name)}) // cleanup
		})
		return name
	}
	managed := b.tables["managed"]
	for _, test := range []struct{ name, table, want string }{
		{"no name", "", "name is missing"},
		{"the index table itself", managed, "index its own writes"},
		{"the index table by ARN", "arn:aws:dynamodb:eu-central-1:123456789012:table/" + managed, "index its own writes"},
		{"no such table", "there-is-none", "describe table Thing"},
		{"no stream", without(&types.StreamSpecification{StreamEnabled: aws.Bool(false)}), "has no stream"},
		{"keys only", without(&types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeKeysOnly}), "is KEYS_ONLY"},
		{"new images", without(&types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewImage}), "is NEW_IMAGE"},
	} {
		if err := b.syncer.CheckStream(t.Context(), client, test.table); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
}

func TestNewNamesTheFaultyField(t *testing.T) {
	t.Parallel()
	source, other := things(t), things(t, func(d *schema.TableDefinition) { d.Name = "Other" })
	gsi := things(t, func(d *schema.TableDefinition) {
		onlyManaged(d)
		d.Indexes[0].Build, d.Indexes[0].TombstoneRetention = schema.GSI, 0
	})
	sound := func() indexsync.Config {
		return indexsync.Config{Source: source, Writer: newMemory(), Park: &lot{}, Targets: []indexsync.Target{{Index: source.Indexes[0], Table: "t"}}}
	}
	if _, err := indexsync.New(sound()); err != nil {
		t.Fatal(err)
	}
	for field, spoil := range map[string]func(*indexsync.Config){
		"Config.Source":           func(c *indexsync.Config) { c.Source = nil },
		"Config.Writer":           func(c *indexsync.Config) { c.Writer = nil },
		"Config.Park":             func(c *indexsync.Config) { c.Park = nil },
		"Config.Concurrency":      func(c *indexsync.Config) { c.Concurrency = -1 },
		"Config.Margin":           func(c *indexsync.Config) { c.Margin = -1 },
		"Config.CallTimeout":      func(c *indexsync.Config) { c.CallTimeout = -1 },
		"Config.Targets:":         func(c *indexsync.Config) { c.Targets = nil },
		"Config.Targets[0].Index": func(c *indexsync.Config) { c.Targets[0].Index = nil },
		"index managed is not of": func(c *indexsync.Config) { c.Targets[0].Index = other.Indexes[0] },
		"builds no table":         func(c *indexsync.Config) { c.Source, c.Targets[0].Index = gsi, gsi.Indexes[0] },
		"Config.Targets[0].Table": func(c *indexsync.Config) { c.Targets[0].Table = "" },
		"Config.Targets[1].Table": func(c *indexsync.Config) {
			c.Targets = append(c.Targets, indexsync.Target{Index: source.Indexes[1], Table: "t"})
		},
	} {
		config := sound()
		spoil(&config)
		if _, err := indexsync.New(config); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
}
