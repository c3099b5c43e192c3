package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/heatsink-dev/heatsink/bench/stub"
	"github.com/heatsink-dev/heatsink/pkg/buffer"
	"github.com/heatsink-dev/heatsink/pkg/catalog"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/ingest"
	"github.com/heatsink-dev/heatsink/pkg/shard"
)

// ingestArgument makes this program ingest so many events and tell its peak memory: it is the process's own, so each measurement takes a process.
const ingestArgument = "ingest"

const (
	fewEvents  = 10_000
	manyEvents = 1_000_000
	eventBytes = 800 // the story's
)

// ingests measures the peak memory of an ingest of many events beside that of few: the whole way from an object to signed requests of the SDK, which are answered
// at once and forgotten.
func ingests(ctx context.Context, _ *world, r *report) error {
	few, err := peakOf(ctx, fewEvents)
	if err != nil {
		return err
	}
	many, err := peakOf(ctx, manyEvents)
	if err != nil {
		return err
	}
	r.add(fmt.Sprintf("ingest of %d events of %d bytes, peak memory of the process", manyEvents, eventBytes), "MB", many, fmt.Sprintf("of %d events", fewEvents), few, atMost(1.5))
	return nil
}

// peakOf ingests in a process of its own. In MB.
func peakOf(ctx context.Context, events int) (float64, error) {
	program, err := os.Executable()
	if err != nil {
		return 0, err
	}
	command := exec.CommandContext(ctx, program, ingestArgument, strconv.Itoa(events)) //nolint:gosec // ourselves
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		return 0, fmt.Errorf("ingest of %d events: %w", events, err)
	}
	peak, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
	if err != nil {
		return 0, fmt.Errorf("ingest of %d events: %w", events, err)
	}
	return peak, nil
}

// ingestMain is such a process.
func ingestMain(argument string) error {
	events, err := strconv.Atoi(argument)
	if err != nil {
		return err
	}
	layout, err := shard.NewLayout(catalog.EventShards()...)
	if err != nil {
		return err
	}
	table := &forgetful{}
	store, err := buffer.New(buffer.Config{Client: stub.Client("http://stub", ddb.Metered, func(o *dynamodb.Options) { o.HTTPClient = table }), Table: "Event", RequestTable: "EventRequest", Layout: layout})
	if err != nil {
		return err
	}
	batch, err := store.NewBatch(0)
	if err != nil {
		return err
	}
	ingester, err := ingest.New(ingest.Config{Client: &oneRecord{}, RequestTable: "EventRequest", Objects: lines(events), Bucket: "bucket", Events: store})
	if err != nil {
		return err
	}
	result, err := ingester.Ingest(context.Background(), ingest.Upload{BatchID: batch.ID, ETag: "etag"})
	if err != nil {
		return err
	}
	if result.Accepted != events || !result.Ended || int(table.puts.Load()) != events {
		return fmt.Errorf("%d of %d events were accepted, %d put", result.Accepted, events, table.puts.Load())
	}
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return err
	}
	unit := 1024.0 // of ru_maxrss: kilobytes on Linux, bytes on macOS
	if runtime.GOOS == "darwin" {
		unit = 1
	}
	fmt.Printf("%.2f\n", float64(usage.Maxrss)*unit/1e6)
	return nil
}

// forgetful takes every put and answers it at once.
type forgetful struct{ puts atomic.Int64 }

// Do reads the request as a connection would.
func (f *forgetful) Do(request *http.Request) (*http.Response, error) {
	if request.Header.Get("X-Amz-Target") != "DynamoDB_20120810.PutItem" {
		return nil, errors.New("it takes puts alone")
	}
	if _, err := io.Copy(io.Discard, request.Body); err != nil {
		return nil, err
	}
	f.puts.Add(1)
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("{}")), ContentLength: 2, Request: request}, nil
}

// lines is an object of so many events.
type lines int

// GetObject gives a body that is made while it is read.
func (l lines) GetObject(context.Context, *s3.GetObjectInput, ...func(*s3.Options)) (*s3.GetObjectOutput, error) {
	body := &eventLines{left: int(l)}
	return &s3.GetObjectOutput{ContentLength: aws.Int64(int64(l) * (eventBytes + 1)), Body: io.NopCloser(body)}, nil
}

type eventLines struct {
	left int
	rest []byte
}

// Read makes a line when the last one is read.
func (e *eventLines) Read(p []byte) (int, error) {
	if len(e.rest) == 0 {
		if e.left == 0 {
			return 0, io.EOF
		}
		e.rest = fmt.Appendf(e.rest[:0], `{"n":%12d,"text":"`, e.left)
		e.rest = append(e.rest, bytes.Repeat([]byte("x"), eventBytes-2-len(e.rest))...)
		e.rest = append(e.rest, "\"}\n"...)
		e.left--
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

// oneRecord is the record of a batch, as far as a single worker asks for it.
type oneRecord struct{}

// GetItem gives a batch that waits.
func (*oneRecord) GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return &dynamodb.GetItemOutput{Item: ddb.Item{"status": &types.AttributeValueMemberS{Value: "waiting"}, "expiration_time": &types.AttributeValueMemberN{Value: "9999999999"}}}, nil
}

// UpdateItem gives what a claim wrote; checkpoints ask for nothing.
func (*oneRecord) UpdateItem(_ context.Context, in *dynamodb.UpdateItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	out := &dynamodb.UpdateItemOutput{Attributes: ddb.Item{}}
	values := in.ExpressionAttributeValues
	for name, value := range map[string]string{"status": ":ingesting", "etag": ":etag", "owner": ":owner", "time": ":time", "shards": ":shards", "first_shard": ":first"} {
		out.Attributes[name] = values[value]
	}
	return out, nil
}
