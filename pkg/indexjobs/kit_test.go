package indexjobs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/heatsink-dev/heatsink/pkg/catalog"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
	"github.com/heatsink-dev/heatsink/pkg/edge"
	"github.com/heatsink-dev/heatsink/pkg/indexjobs"
	"github.com/heatsink-dev/heatsink/pkg/indexsync"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

// now is the fixture's time: that of the sample events.
var now = time.Date(2026, time.November, 14, 0, 5, 0, 0, time.UTC)

// fixture is an indexer over real tables and a real bucket.
type fixture struct {
	*testing.T
	catalog      *schema.Catalog
	names        map[string]string
	client       *dynamodb.Client
	objects      *s3.Client
	bucket       string
	faults       *ddbtest.Faults
	stream       *ddbtest.Stream
	log, metrics bytes.Buffer
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	tables, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{
		T: t, catalog: tables, names: map[string]string{}, faults: ddbtest.NewFaults(t, 0), client: ddbtest.Client(t),
		objects: s3.NewFromConfig(ddbtest.Config(t), edge.S3Options), bucket: fmt.Sprintf("failures-%d", time.Now().UnixNano()),
	}
	users, _ := tables.Table(catalog.UserTable)
	f.names[users.Name] = ddbtest.Table(t, users)
	for _, index := range users.StreamIndexes() {
		f.names[index.TableName()] = ddbtest.IndexTable(t, index)
	}
	if _, err := f.objects.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &f.bucket}); err != nil {
		t.Fatal(err)
	}
	f.stream = ddbtest.NewStream(f.names[users.Name], []string{"userId"}, ddbtest.NewClock(now), 1)
	t.Cleanup(func() { // the test's own context has ended
		ctx := context.Background()
		for _, key := range f.parked(ctx) {
			_, _ = f.objects.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &f.bucket, Key: &key})
		}
		if _, err := f.objects.DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: &f.bucket}); err != nil {
			t.Error(err)
		}
	})
	return f
}

func (f *fixture) sources(partial bool) *indexjobs.Sources {
	f.Helper()
	sources, err := indexjobs.NewSources(indexjobs.SourceConfig{
		Catalog: f.catalog, Deployed: func(logical string) string { return f.names[logical] }, Client: ddbtest.Client(f, f.faults.Install),
		Park: &indexsync.BucketParker{Bucket: f.bucket, Client: f.objects}, PartialBatch: partial,
	})
	if err != nil {
		f.Fatal(err)
	}
	return sources
}

func (f *fixture) reporting() indexjobs.Reporting {
	return indexjobs.Reporting{
		Logger: edge.NewLogger(&f.log, slog.LevelInfo), Metrics: edge.NewMetrics(&f.metrics, "Heatsink", "indexer", nil), Now: func() time.Time { return now },
	}
}

// handle gives a batch to an indexer and returns the answer as Lambda sends it.
func (f *fixture) handle(partial bool, payload []byte) (string, error) {
	f.Helper()
	answer, err := indexjobs.NewIndexer(f.sources(partial), f.reporting()).Handle(f.Context(), payload)
	sent, encodeErr := json.Marshal(answer)
	if encodeErr != nil {
		f.Fatal(encodeErr)
	}
	return string(sent), err
}

// change is the record of a user's write.
func (f *fixture) change(old, changed ddb.Item) ddbtest.Record {
	f.Helper()
	record, ok := f.stream.Change(old, changed)
	if !ok {
		f.Fatal("no change")
	}
	return record
}

func user(id string, at int) ddb.Item {
	return ddb.Item{
		"userId": &types.AttributeValueMemberS{Value: id}, "ID": &types.AttributeValueMemberS{Value: "secret-partition"},
		"managedKey": &types.AttributeValueMemberN{Value: fmt.Sprint(at)},
	}
}

func (f *fixture) rows() []ddb.Item {
	f.Helper()
	return ddbtest.Dump(f, f.client, f.names["UserManagedIndex"])
}

func (f *fixture) parked(ctx context.Context) (keys []string) {
	f.Helper()
	answer, err := f.objects.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &f.bucket})
	if err != nil {
		f.Fatal(err)
	}
	for _, object := range answer.Contents {
		keys = append(keys, *object.Key)
	}
	return keys
}

// line finds the log line of a message.
func (f *fixture) line(message string) map[string]any {
	f.Helper()
	for text := range strings.Lines(f.log.String()) {
		var line map[string]any
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			f.Fatal(err)
		}
		if line["message"] == message {
			return line
		}
	}
	f.Fatalf("no line %q in %s", message, f.log.String())
	return nil
}

// sums are the values of all metrics with these dimensions, such as "indexer" or "indexer managed".
func (f *fixture) sums() map[string]float64 {
	f.Helper()
	sums := map[string]float64{}
	for text := range strings.Lines(f.metrics.String()) {
		var line map[string]any
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			f.Fatal(err)
		}
		place := line["Function"].(string)
		for _, dimension := range []string{"Index", "LimitType", "ResourceType"} {
			if value, ok := line[dimension].(string); ok {
				place += " " + value
			}
		}
		for name, value := range line {
			if number, ok := value.(float64); ok {
				sums[place+": "+name] += number
			}
		}
	}
	return sums
}
