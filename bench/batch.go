package main

import (
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

// feed makes batches of stream records, each later than the one before, so that all of its writes take effect.
type feed struct{ sequence int }

// batch is an event as Lambda delivers it: one record for each image.
func (f *feed) batch(images []ddb.Item) ([]byte, error) {
	var records []string
	for _, image := range images {
		f.sequence++
		raw, err := ddb.EncodeItem(image)
		if err != nil {
			return nil, err
		}
		keys, err := ddb.EncodeItem(ddb.Item{"userId": image["userId"]})
		if err != nil {
			return nil, err
		}
		record, err := json.Marshal(map[string]any{
			"eventID": strconv.Itoa(f.sequence), "eventName": "INSERT", "eventVersion": "1.1", "eventSource": "aws:dynamodb", "awsRegion": "us-east-1",
			"eventSourceARN": "arn:aws:dynamodb:us-east-1:000000000000:table/User/stream/2026-01-02T03:04:05.678",
			"dynamodb": map[string]any{
				"ApproximateCreationDateTime": 1_767_323_045, "Keys": json.RawMessage(keys), "NewImage": json.RawMessage(raw), "SizeBytes": ddb.Size(image),
				"SequenceNumber": fmt.Sprintf("%d00000000251301", 10_000_000+f.sequence), "StreamViewType": "NEW_AND_OLD_IMAGES",
			},
		})
		if err != nil {
			return nil, err
		}
		records = append(records, string(record))
	}
	return []byte(`{"Records":[` + strings.Join(records, ",") + `]}`), nil
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
	f := &feed{}
	process := func(images []ddb.Item) func(context.Context) error {
		return func(ctx context.Context) error {
			payload, err := f.batch(images)
			if err != nil {
				return err
			}
			result, err := syncer.Process(ctx, payload)
			if err == nil && result.FailedSequence != "" {
				err = result.Cause
			}
			return err
		}
	}
	if err := w.compareBatches(ctx, r, process(distinct), distinct); err != nil {
		return err
	}
	counts, err := w.counted(ctx, func() error { return process(same)(ctx) })
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
