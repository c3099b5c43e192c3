package ingest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/pkg/buffer"
	"github.com/heatsink-dev/heatsink/pkg/catalog"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
	"github.com/heatsink-dev/heatsink/pkg/edge"
	"github.com/heatsink-dev/heatsink/pkg/ingest"
	"github.com/heatsink-dev/heatsink/pkg/schema"
	"github.com/heatsink-dev/heatsink/pkg/shard"
)

// noon is when tests begin.
var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// world is the two tables of the event buffer, a bucket and a clock.
type world struct {
	testing.TB
	clock            *ddbtest.Clock
	events, requests string
	bucket           string
	s3               *s3.Client
}

func newWorld(t testing.TB) *world {
	t.Helper()
	tables, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	events, _ := tables.Table(catalog.EventTable)
	requests, _ := tables.Table(catalog.EventRequestTable)
	w := &world{
		TB: t, clock: ddbtest.NewClock(noon), events: ddbtest.Table(t, events), requests: ddbtest.Table(t, requests),
		bucket: fmt.Sprintf("ingest-%d", time.Now().UnixNano()), s3: s3.NewFromConfig(ddbtest.Config(t), edge.S3Options),
	}
	if _, err := w.s3.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &w.bucket}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.dropBucket)
	w.versions(s3types.BucketVersioningStatusEnabled)
	return w
}

func (w *world) versions(status s3types.BucketVersioningStatus) {
	w.Helper()
	_, err := w.s3.PutBucketVersioning(w.Context(), &s3.PutBucketVersioningInput{Bucket: &w.bucket, VersioningConfiguration: &s3types.VersioningConfiguration{Status: status}})
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) dropBucket() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second) // the test's own has ended
	defer cancel()
	for _, one := range w.listVersions(ctx) {
		if _, err := w.s3.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &w.bucket, Key: one.Key, VersionId: one.VersionId}); err != nil {
			w.Error(err)
		}
	}
	if _, err := w.s3.DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: &w.bucket}); err != nil {
		w.Error(err)
	}
}

// listVersions of all objects, with marks of deletion.
func (w *world) listVersions(ctx context.Context) []s3types.ObjectIdentifier {
	var all []s3types.ObjectIdentifier
	pages := s3.NewListObjectVersionsPaginator(w.s3, &s3.ListObjectVersionsInput{Bucket: &w.bucket})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			w.Error(err)
			return all
		}
		for _, one := range page.Versions {
			all = append(all, s3types.ObjectIdentifier{Key: one.Key, VersionId: one.VersionId})
		}
		for _, one := range page.DeleteMarkers {
			all = append(all, s3types.ObjectIdentifier{Key: one.Key, VersionId: one.VersionId})
		}
	}
	return all
}

// store of the world; client may inject faults.
func (w *world) store(client buffer.Client) *buffer.Store {
	w.Helper()
	layout, err := shard.NewLayout(catalog.EventShards()...)
	if err != nil {
		w.Fatal(err)
	}
	store, err := buffer.New(buffer.Config{Client: client, Table: w.events, RequestTable: w.requests, Layout: layout, Now: w.clock.Now, Retry: atOnce, PutConcurrency: 16})
	if err != nil {
		w.Fatal(err)
	}
	return store
}

// atOnce waits for nothing.
var atOnce = ddb.Policy{Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }, Random: func(int64) int64 { return 0 }}

// uploads of the world.
func (w *world) uploads() *ingest.Uploads {
	w.Helper()
	client := ddbtest.Client(w)
	uploads, err := ingest.NewUploads(ingest.UploadsConfig{
		Client: client, RequestTable: w.requests, Presign: s3.NewPresignClient(w.s3), Bucket: w.bucket, Batches: w.store(client), Now: w.clock.Now,
	})
	if err != nil {
		w.Fatal(err)
	}
	return uploads
}

// ingester of the world: a new process. change alters its configuration.
func (w *world) ingester(change ...func(*ingest.Config)) *ingest.Ingester {
	w.Helper()
	client := ddbtest.Client(w)
	config := ingest.Config{
		Client: client, RequestTable: w.requests, Objects: w.s3, Bucket: w.bucket, Events: w.store(client), Now: w.clock.Now, Retry: atOnce,
		CheckpointLines: 4, WindowEvents: 3,
	}
	for _, set := range change {
		set(&config)
	}
	ingester, err := ingest.New(config)
	if err != nil {
		w.Fatal(err)
	}
	return ingester
}

// batch makes one.
func (w *world) batch() string {
	w.Helper()
	created, err := w.uploads().Create(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	return created.BatchID
}

// put uploads, and gives what a message tells of it.
func (w *world) put(batchID string, body []byte) ingest.Upload {
	w.Helper()
	out, err := w.s3.PutObject(w.Context(), &s3.PutObjectInput{Bucket: &w.bucket, Key: aws.String(schema.UploadPrefix + batchID), Body: bytes.NewReader(body)})
	if err != nil {
		w.Fatal(err)
	}
	return ingest.Upload{BatchID: batchID, ETag: strings.Trim(*out.ETag, `"`), Version: aws.ToString(out.VersionId)}
}

// ingest tells of an upload once.
func (w *world) ingest(i *ingest.Ingester, upload ingest.Upload) ingest.Result {
	w.Helper()
	result, err := i.Ingest(w.Context(), upload)
	if err != nil {
		w.Fatal(err)
	}
	return result
}

// status of a batch as a caller sees it.
func (w *world) status(batchID string) ingest.Status {
	w.Helper()
	status, err := w.uploads().Status(w.Context(), batchID)
	if err != nil {
		w.Fatal(err)
	}
	return *status
}

// rows are the data of a batch's events by their sort keys' ends, the positions.
func (w *world) rows(batchID string) map[string]string {
	w.Helper()
	rows := map[string]string{}
	for _, item := range ddbtest.Dump(w, ddbtest.Client(w), w.events) {
		if text(item, "batch_id") != batchID {
			continue
		}
		sort := text(item, "message_sk")
		position := sort[strings.LastIndex(sort, "-")+1:]
		if other, twice := rows[position]; twice {
			w.Errorf("position %s is stored twice: %q and %q", position, other, text(item, "json_data"))
		}
		rows[position] = text(item, "json_data")
	}
	return rows
}

func text(item ddb.Item, name string) string {
	value, _ := item[name].(*types.AttributeValueMemberS)
	if value == nil {
		return ""
	}
	return value.Value
}

// holds checks that exactly these lines are stored, by number, and that the batch says so.
func (w *world) holds(batchID string, state ingest.State, lines map[int]string, rejected ...int) {
	w.Helper()
	want := map[string]string{}
	for number, data := range lines {
		want[fmt.Sprintf("%07d", number-1)] = data
	}
	if diff := cmp.Diff(want, w.rows(batchID)); diff != "" {
		w.Errorf("stored (-want +got):\n%s", diff)
	}
	got := w.status(batchID)
	var faults []int
	for _, fault := range got.Faults {
		faults = append(faults, fault.Line)
	}
	if got.State != state || got.Accepted != len(lines) || got.Rejected != len(rejected) || !cmp.Equal(faults, rejected[:min(len(rejected), ingest.MaxFaults)], cmpEmpty) {
		w.Errorf("status %s, %d accepted, %d rejected (lines %v), want %s, %d, %v", got.State, got.Accepted, got.Rejected, faults, state, len(lines), rejected)
	}
}

var cmpEmpty = cmp.Comparer(func(a, b []int) bool {
	return fmt.Sprint(a) == fmt.Sprint(b)
})

// sample is an upload with a bit of everything, and what is to be stored of it.
const sample = "{\"n\":1}\n2\nbad\n\n[5]\r\n\"six\"\n7\n8\nworse\n10\n11\n12\n13"

var (
	sampleLines    = map[int]string{1: `{"n":1}`, 2: "2", 5: "[5]", 6: `"six"`, 7: "7", 8: "8", 10: "10", 11: "11", 12: "12", 13: "13"}
	sampleRejected = []int{3, 9}
)

// firstLines are those of the sample up to a number.
func firstLines(last int) map[int]string {
	lines := maps.Clone(sampleLines)
	maps.DeleteFunc(lines, func(number int, _ string) bool { return number > last })
	return lines
}

// crasher ends the process at its n-th call of any client, before or after it took effect. Every call after it fails too.
type crasher struct {
	*dynamodb.Client
	objects *s3.Client
	at      int
	after   bool

	mu    sync.Mutex
	calls int
}

var errCrash = errors.New("the process crashed here")

func (c *crasher) call(do func() error) error {
	c.mu.Lock()
	c.calls++
	n := c.calls
	c.mu.Unlock()
	if c.at == 0 || n < c.at {
		return do()
	}
	if n == c.at && c.after {
		_ = do()
	}
	return errCrash
}

func crashing[O any](c *crasher, do func() (*O, error)) (*O, error) {
	var out *O
	err := c.call(func() (err error) {
		out, err = do()
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (c *crasher) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return crashing(c, func() (*dynamodb.GetItemOutput, error) { return c.Client.GetItem(ctx, in, o...) })
}

func (c *crasher) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	return crashing(c, func() (*dynamodb.PutItemOutput, error) { return c.Client.PutItem(ctx, in, o...) })
}

func (c *crasher) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	return crashing(c, func() (*dynamodb.UpdateItemOutput, error) { return c.Client.UpdateItem(ctx, in, o...) })
}

func (c *crasher) GetObject(ctx context.Context, in *s3.GetObjectInput, o ...func(*s3.Options)) (*s3.GetObjectOutput, error) {
	return crashing(c, func() (*s3.GetObjectOutput, error) { return c.objects.GetObject(ctx, in, o...) })
}
