package buffer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/buffer"
	"github.com/heatsink-dev/heatsink/pkg/catalog"
	"github.com/heatsink-dev/heatsink/pkg/cursor"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
	"github.com/heatsink-dev/heatsink/pkg/schema"
	"github.com/heatsink-dev/heatsink/pkg/shard"
)

// noon is when tests begin.
var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

const today = "2026-11-30"

// world is the two tables of the event buffer with a clock.
type world struct {
	testing.TB
	clock         *ddbtest.Clock
	faults        *ddbtest.Faults
	events, marks string
}

func newWorld(t testing.TB) *world {
	t.Helper()
	tables, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	events, _ := tables.Table(catalog.EventTable)
	requests, _ := tables.Table(catalog.EventRequestTable)
	return &world{TB: t, clock: ddbtest.NewClock(noon), faults: ddbtest.NewFaults(t, 0), events: ddbtest.Table(t, events), marks: ddbtest.Table(t, requests)}
}

// store of the world. Its waits take no time; change alters its configuration.
func (w *world) store(change ...func(*buffer.Config)) *buffer.Store {
	w.Helper()
	layout, err := shard.NewLayout(catalog.EventShards()...)
	if err != nil {
		w.Fatal(err)
	}
	key, err := cursor.DeriveKey(bytes.Repeat([]byte("k"), 32), "v1")
	if err != nil {
		w.Fatal(err)
	}
	config := buffer.Config{
		Client: ddbtest.Client(w, ddb.Metered, w.faults.Install), Table: w.events, RequestTable: w.marks, Layout: layout,
		Cursors: cursor.New(cursor.NewStaticKeyring(key), cursor.Options{Now: w.clock.Now, Expiry: 240 * time.Hour}), Now: w.clock.Now,
		// The engine's own time is no part of a test: what times out is a fault's doing, or a context's.
		AttemptTimeout: time.Minute, Patience: 9 * time.Minute,
		Retry: ddb.Policy{Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }, Random: func(int64) int64 { return 0 }},
	}
	for _, set := range change {
		set(&config)
	}
	store, err := buffer.New(config)
	if err != nil {
		w.Fatal(err)
	}
	return store
}

// layout of so many shards for all time.
func layout(t testing.TB, epochs ...schema.ShardEpoch) *shard.Layout {
	t.Helper()
	made, err := shard.NewLayout(epochs...)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// rows of the event table, strongly consistent, by id.
func (w *world) rows() map[string]ddb.Item {
	w.Helper()
	rows := map[string]ddb.Item{}
	for _, item := range ddbtest.Dump(w, ddbtest.Client(w), w.events) {
		rows[idOf(item)] = item
	}
	return rows
}

func idOf(item ddb.Item) string {
	partition := str(item, "message_pk")
	return partition[:10] + "." + partition[11:] + "." + str(item, "message_sk")
}

func str(item ddb.Item, name string) string {
	value, _ := item[name].(*types.AttributeValueMemberS)
	if value == nil {
		return ""
	}
	return value.Value
}

func num(item ddb.Item, name string) string {
	value, _ := item[name].(*types.AttributeValueMemberN)
	if value == nil {
		return ""
	}
	return value.Value
}

// numbered are n events whose data is their position.
func numbered(n int) []json.RawMessage {
	events := make([]json.RawMessage, n)
	for position := range events {
		events[position] = json.RawMessage(strconv.Itoa(position))
	}
	return events
}

// write stores events and gives their ids.
func (w *world) write(store *buffer.Store, events ...json.RawMessage) []string {
	w.Helper()
	written, err := store.Write(w.Context(), buffer.WriteRequest{Events: events})
	if err != nil {
		w.Fatal(err)
	}
	return written.IDs
}

// holds checks that exactly these ids are stored, each with the data of its position.
func (w *world) holds(ids []string, events []json.RawMessage) {
	w.Helper()
	rows := w.rows()
	if len(rows) != len(ids) {
		w.Errorf("%d rows, want %d", len(rows), len(ids))
	}
	for position, id := range ids {
		if got := str(rows[id], "json_data"); got != string(events[position]) {
			w.Errorf("event %d: %q, want %q", position, got, events[position])
		}
	}
}
