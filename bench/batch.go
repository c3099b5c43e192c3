package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/indexsync"
)

const (
	batchRecords = 100
	writeLatency = 5 * time.Millisecond
)

// batch is an event as Lambda delivers it, one record for each image, whose sequence numbers move on each time: so all of its writes take effect, and
// none of the time is for making it.
type batch struct {
	payload []byte
	digits  []int // where each record's own digits are
	next    int
}

const (
	sequenceDigits = 12
	sequenceEnd    = "0000251301" // of a number of 22 digits, as streams have them
)

func newBatch(images []ddb.Item) (*batch, error) {
	var records []string
	for n, image := range images {
		raw, err := ddb.EncodeItem(image)
		if err != nil {
			return nil, err
		}
		keys, err := ddb.EncodeItem(ddb.Item{"userId": image["userId"]})
		if err != nil {
			return nil, err
		}
		record, err := json.Marshal(map[string]any{
			"eventID": strconv.Itoa(n), "eventName": "INSERT", "eventVersion": "1.1", "eventSource": "aws:dynamodb", "awsRegion": "us-east-1",
			"eventSourceARN": "arn:aws:dynamodb:us-east-1:000000000000:table/User/stream/2026-01-02T03:04:05.678",
			"dynamodb": map[string]any{
				"ApproximateCreationDateTime": 1_767_323_045, "Keys": json.RawMessage(keys), "NewImage": json.RawMessage(raw), "SizeBytes": ddb.Size(image),
				"SequenceNumber": strings.Repeat("x", sequenceDigits) + sequenceEnd, "StreamViewType": "NEW_AND_OLD_IMAGES",
			},
		})
		if err != nil {
			return nil, err
		}
		records = append(records, string(record))
	}
	b := &batch{payload: []byte(`{"Records":[` + strings.Join(records, ",") + `]}`), next: 100_000_000_000}
	for at, mark := 0, []byte(strings.Repeat("x", sequenceDigits)+sequenceEnd); ; {
		found := bytes.Index(b.payload[at:], mark)
		if found < 0 {
			return b, nil
		}
		at += found
		b.digits = append(b.digits, at)
		at += len(mark)
	}
}

// event is the payload with later sequence numbers. It holds until the next call.
func (b *batch) event() []byte {
	for _, at := range b.digits {
		b.next++
		strconv.AppendInt(b.payload[:at], int64(b.next), 10)
	}
	return b.payload
}

// lot refuses to park: no record of a benchmark is poison.
type lot struct{}

func (lot) Park(_ context.Context, poison indexsync.Poison) error {
	return fmt.Errorf("record %s was to be parked: %s", poison.Sequence, poison.Reason)
}

// batches measures what the indexer does with one batch of 100 records: how long it takes where each write takes 5 ms, how many writes it makes, and what it
// costs this machine.
func batches(ctx context.Context, w *world, r *report) error {
	var targets []indexsync.Target
	for _, index := range w.users.StreamIndexes() {
		targets = append(targets, indexsync.Target{Index: index, Table: index.TableName()})
	}
	syncer, err := indexsync.New(indexsync.Config{Source: w.users, Targets: targets, Writer: w.client, Park: lot{}, PartialBatch: true})
	if err != nil {
		return err
	}
	var distinct, same []ddb.Item
	for n := range batchRecords {
		distinct = append(distinct, user("batch", n))
		changed := user("batch", batchRecords)
		changed["logins"] = user("batch", n)["logins"]
		same = append(same, changed)
	}
	process := func(images []ddb.Item) (func(context.Context) error, error) {
		events, err := newBatch(images)
		return func(ctx context.Context) error {
			result, err := syncer.Process(ctx, events.event())
			if err == nil && result.FailedSequence != "" {
				err = result.Cause
			}
			return err
		}, err
	}
	ofDistinct, err := process(distinct)
	if err != nil {
		return err
	}
	ofSame, err := process(same)
	if err != nil {
		return err
	}
	if err := w.compareBatches(ctx, r, ofDistinct, distinct); err != nil {
		return err
	}
	counts, err := w.counted(ctx, func() error { return ofSame(ctx) })
	if err != nil {
		return err
	}
	r.add(fmt.Sprintf("batch of %d records of one key", batchRecords), "writes", float64(counts.Requests["PutItem"]), "a write each", batchRecords, oursAtMost(1))
	return nil
}

// compareBatches compares distinct keys with the writes alone, at the same concurrency: rows that are ready, no records to read, no conditions.
func (w *world) compareBatches(ctx context.Context, r *report, process func(context.Context) error, images []ddb.Item) error {
	var rows []ddb.Item
	for _, image := range images {
		row, err := w.row(image, false)
		if err != nil {
			return err
		}
		rows = append(rows, row)
	}
	writes := func(ctx context.Context) error {
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(indexsync.DefaultConcurrency)
		for _, row := range rows {
			group.Go(func() error {
				_, err := w.raw.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String(w.managed.TableName()), Item: row})
				return err
			})
		}
		return group.Wait()
	}
	ours, peer := contestant{"ours", process}, contestant{rawSDK, writes}
	if err := w.stub.SetLatency(ctx, writeLatency); err != nil {
		return err
	}
	slow, err := w.compare(ctx, 1, ours, peer)
	if err != nil {
		return err
	}
	if err := w.stub.SetLatency(ctx, 0); err != nil {
		return err
	}
	fast, err := w.compare(ctx, 1, ours, peer)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("batch of %d records, distinct keys", batchRecords)
	peerName := rawSDK + ", the writes alone"
	wall, peerWall := slow.pair(0, 1, wallOf)
	r.add(fmt.Sprintf("%s, %s a write", name, writeLatency), "ms", wall/1000, peerName, peerWall/1000, oursAtMost(30))
	r.pair(name, "requests", requestsOf, fast, peerName, 1, none)
	r.pair(name, "µs CPU", cpuOf, fast, peerName, 1, none)
	r.pair(name, "allocations", allocationsOf, fast, peerName, 1, none)
	return nil
}
