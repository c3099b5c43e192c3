package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/heatsink-dev/heatsink/pkg/buffer"
	"github.com/heatsink-dev/heatsink/pkg/catalog"
	"github.com/heatsink-dev/heatsink/pkg/cursor"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/shard"
)

const (
	eventCount = 60_000 // of one request
	// eventConcurrency is how many batches go on at a time: half of buffer's own number, or the stub's work on this machine would be measured.
	eventConcurrency = 4
	eventPage        = 200
)

// buffers measures the event buffer: how long a request of 60,000 events takes where each call takes 5 ms, how much memory, and what the first page costs that is
// merged over all shards.
func buffers(ctx context.Context, w *world, r *report) error {
	if err := w.writeEvents(ctx, r); err != nil {
		return err
	}
	day := func(n int) time.Time { return time.Date(2026, time.February, n, 0, 0, 0, 0, time.UTC) }
	for _, spread := range []eventSpread{
		{"requests of 200", day(1), 1, 200, oursAtMost(2), oursAtMost(1.3 * eventPage)},
		{"requests of 1 by two processes", day(2), 2, 1, oursAtMost(2), oursAtMost(1.3 * eventPage)},
		{"requests of 1 by 200 processes", day(3), 200, 1, none, none}, // as by chance
	} {
		if err := w.readEvents(ctx, r, spread); err != nil {
			return err
		}
	}
	return nil
}

// eventStore is the event buffer on the stub, by a clock.
func (w *world) eventStore(now func() time.Time) (*buffer.Store, error) {
	layout, err := shard.NewLayout(catalog.EventShards()...)
	if err != nil {
		return nil, err
	}
	key, err := cursor.DeriveKey([]byte("a secret of at least thirty-two bytes"), "version")
	if err != nil {
		return nil, err
	}
	return buffer.New(buffer.Config{
		Client: w.client, Table: catalog.EventTable, RequestTable: catalog.EventRequestTable, Layout: layout, BatchConcurrency: eventConcurrency,
		Cursors: cursor.New(cursor.NewStaticKeyring(key), cursor.Options{}), Now: now,
	})
}

// sampleEvents are of the story's size, 0.8 KB with what stands beside the data.
func sampleEvents(count int) []json.RawMessage {
	list := make([]json.RawMessage, count)
	for n := range list {
		list[n] = json.RawMessage(`{"order":` + strconv.Itoa(n) + `,"text":"` + strings.Repeat("x", 350) + `"}`)
	}
	return list
}

func (w *world) writeEvents(ctx context.Context, r *report) error {
	if err := w.stub.SetLatency(ctx, writeLatency); err != nil {
		return err
	}
	list := sampleEvents(eventCount)
	size := 0
	for _, event := range list {
		size += len(event)
	}
	var walls []time.Duration
	most := uint64(0)
	for round := range 3 {
		now := time.Date(2026, time.January, 1+round, 0, 0, 0, 0, time.UTC) // a date for each
		store, err := w.eventStore(func() time.Time { return now })
		if err != nil {
			return err
		}
		runtime.GC()
		before := heap()
		peak := watchHeap()
		began := time.Now()
		if _, err := store.Write(ctx, buffer.WriteRequest{Events: list}); err != nil {
			return err
		}
		walls = append(walls, time.Since(began))
		most = max(most, peak()-before)
	}
	const batches = eventCount / ddb.MaxBatchWrite
	calls := batches / eventConcurrency * writeLatency
	name := fmt.Sprintf("%d events, %s a call", eventCount, writeLatency)
	raw, err := w.rawBatches(ctx, list)
	if err != nil {
		return err
	}
	r.add(name, "ms", milliseconds(median(walls)), rawSDK+", items ready, as many at a time", milliseconds(raw), atMost(1.25))
	r.add(name, "ms", milliseconds(median(walls)), fmt.Sprintf("the calls alone, %d at a time", eventConcurrency), milliseconds(calls), atMost(1.25))
	const mega = 1e6
	r.add(fmt.Sprintf("%d events, peak of the heap", eventCount), "MB", float64(most)/mega, "the events' own bytes", float64(size)/mega, none)
	return w.stub.SetLatency(ctx, 0)
}

// rawBatches sends as many items of that size with the SDK alone: what this machine takes for the calls, with nothing to check, to place or to settle.
func (w *world) rawBatches(ctx context.Context, list []json.RawMessage) (time.Duration, error) {
	var batches [][]types.WriteRequest
	for n := 0; n < len(list); n += ddb.MaxBatchWrite {
		var batch []types.WriteRequest
		for k := range min(ddb.MaxBatchWrite, len(list)-n) {
			partition, sort := s("2026-01-31#"+strconv.Itoa(k%20)), s(fmt.Sprintf("%039d", n+k))
			batch = append(batch, types.WriteRequest{PutRequest: &types.PutRequest{Item: ddb.Item{
				"message_pk": partition, "message_sk": sort, "pending_message_pk": partition, "pending_message_sk": sort, "json_data": s(string(list[n+k])),
				"batch_id": s("8f3k2m9q7v1txc5d"), "retry": &types.AttributeValueMemberN{Value: "0"}, "created_at": s("2026-01-31T00:00:00.000Z"),
				"expiration_time": &types.AttributeValueMemberN{Value: "1777593600"},
			}}})
		}
		batches = append(batches, batch)
	}
	began := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(eventConcurrency)
	for _, batch := range batches {
		group.Go(func() error {
			_, err := w.raw.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{catalog.EventTable: batch}})
			return err
		})
	}
	err := group.Wait()
	return time.Since(began), err
}

// readEvents reads the first page of a date that requests of so many events have filled, made by turns of some processes.
func (w *world) readEvents(ctx context.Context, r *report, spread eventSpread) error {
	now := spread.day
	var stores []*buffer.Store
	for range spread.processes {
		store, err := w.eventStore(func() time.Time { return now })
		if err != nil {
			return err
		}
		stores = append(stores, store)
	}
	const stored = 2000
	for n := 0; n < stored; n += spread.request {
		list := sampleEvents(spread.request)
		if _, err := stores[rand.IntN(len(stores))].Write(ctx, buffer.WriteRequest{Events: list}); err != nil { //nolint:gosec // which one, by chance
			return err
		}
		now = now.Add(time.Millisecond)
	}
	page, err := stores[0].List(ctx, buffer.ListRequest{Date: spread.day.Format(shard.DateForm), State: buffer.Pending, Limit: eventPage})
	if err != nil {
		return err
	}
	if len(page.Events) != eventPage {
		return fmt.Errorf("a page of %d events, want %d", len(page.Events), eventPage)
	}
	naive, err := w.naivePage(ctx, spread.day)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("first page of %d over %d shards, %s", eventPage, catalog.EventShards()[0].Shards, spread.name)
	r.add(name, "round trips", float64(page.Cost.Rounds), "each shard asked for the page", 1, spread.rounds)
	r.add(name, "rows read", float64(page.Cost.Rows), "each shard asked for the page", float64(naive), spread.rows)
	return nil
}

// eventSpread is how the events of a date came.
type eventSpread struct {
	name         string
	day          time.Time
	processes    int
	request      int // events of each
	rounds, rows limit
}

// naivePage counts the rows that come when each shard is asked for the whole page, as the story's readers did.
func (w *world) naivePage(ctx context.Context, day time.Time) (rows int, err error) {
	for number := range catalog.EventShards()[0].Shards {
		out, err := w.raw.Query(ctx, &dynamodb.QueryInput{
			TableName: aws.String(catalog.EventTable), IndexName: aws.String("pending-index"), Limit: aws.Int32(eventPage),
			KeyConditionExpression:    aws.String("pending_message_pk = :p"),
			ExpressionAttributeValues: ddb.Item{":p": s(day.Format(shard.DateForm) + "#" + strconv.Itoa(number))},
		})
		if err != nil {
			return 0, fmt.Errorf("query shard %d: %w", number, err)
		}
		rows += len(out.Items)
	}
	return rows, nil
}

// heap is how many bytes live objects and garbage take.
func heap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// watchHeap looks at the heap every few milliseconds until its result is called, which gives the most that it saw.
func watchHeap() (peak func() uint64) {
	stop, most := make(chan struct{}), make(chan uint64)
	go func() {
		seen := heap()
		ticker := time.NewTicker(5 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				seen = max(seen, heap())
			case <-stop:
				most <- seen
				return
			}
		}
	}()
	return func() uint64 { close(stop); return <-most }
}
