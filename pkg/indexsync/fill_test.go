package indexsync_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
	"github.com/heatsink-dev/heatsink/pkg/indexsync"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

// fillBench is a base table with items that no record was made of, and a syncer for what the stream brings.
type fillBench struct {
	*bench

	base   string
	client *dynamodb.Client
}

func newFillBench(t *testing.T, source *schema.BaseTable, items ...ddb.Item) *fillBench {
	t.Helper()
	engine := newReal(t)
	b := &fillBench{bench: newBench(t, engine, source), base: ddbtest.Table(t, source), client: engine.Client}
	for _, item := range items {
		if _, err := b.client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &b.base, Item: item}); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func (b *fillBench) config(index int) indexsync.FillConfig {
	of := b.source.Indexes[index]
	return indexsync.FillConfig{Client: b.client, Target: indexsync.Target{Index: of, Table: b.tables[of.Name]}, Source: b.base}
}

// fill wants these counts: read, written, kept, not indexed, rejected.
func fill(t *testing.T, config indexsync.FillConfig, counts ...int64) indexsync.FillReport {
	t.Helper()
	got, err := indexsync.Fill(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	want := indexsync.FillReport{Read: counts[0], Written: counts[1], Kept: counts[2], NotIndexed: counts[3], Rejected: counts[4], Reason: got.Reason}
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	return got
}

// hooked does something before a put, and answers for it where it returns an error.
type hooked struct {
	*dynamodb.Client

	before func(*dynamodb.PutItemInput) error
}

func (h hooked) PutItem(ctx context.Context, in *dynamodb.PutItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	if err := h.before(in); err != nil {
		return nil, err
	}
	return h.Client.PutItem(ctx, in, opts...)
}

func TestAFillBringsWhatWasThereBeforeAndARepetitionNothing(t *testing.T) {
	t.Parallel()
	var items []ddb.Item
	for n := range 60 {
		items = append(items, thing(fmt.Sprint("t", n), fmt.Sprint("p", n%3), fmt.Sprint(n), "nickname", text("N"), "_secret", text("hidden")))
	}
	items = append(items, ddb.Item{"id": text("sparse")}, ddb.Item{"id": text("wrong"), "ID": text("p"), "managedKey": text("x")})
	b := newFillBench(t, things(t), items...)
	config := b.config(0)
	var last int64
	config.Progress = func(done, _ int64) { last = done }
	fill(t, config, 62, 60, 0, 2, 0)
	if last != 62 {
		t.Errorf("progress ended at %d", last)
	}
	before := b.engine.rows(t, b.tables["managed"])
	if len(before) != 60 {
		t.Errorf("%d rows", len(before))
	}
	for _, row := range before {
		want, _, _ := indexsync.Row(b.source.Indexes[0], ddb.Item{"id": row["id"], "ID": row["ID"], "managedKey": row["managedKey"], "nickname": text("N")}, s(row["_v"]))
		if !ddb.EqualItems(row, want) {
			t.Errorf("row %v, want %v", row, want)
		}
	}
	fill(t, config, 62, 0, 60, 2, 0)
	for n, row := range b.engine.rows(t, b.tables["managed"]) {
		if !ddb.EqualItems(row, before[n]) {
			t.Errorf("a repetition changed %v to %v", before[n], row)
		}
	}
	fill(t, b.config(1), 62, 0, 0, 62, 0)

	// A later change of a filled item is written as always.
	old := thing("t1", "p1", "1", "nickname", text("N"))
	b.process(t, record{old: old, new: thing("t1", "p1", "1", "nickname", text("later")), sequence: seq(1)}, record{old: thing("t2", "p2", "2"), sequence: seq(2)})
	if got := s(b.row(t, "managed", "p1", "0000000000001#t1")["nickname"]); got != "later" {
		t.Errorf("nickname %q", got)
	}
	if b.row(t, "managed", "p2", "0000000000002#t2")["_deleted"] == nil {
		t.Error("a filled row outlives its item")
	}
}

func TestAFillOverwritesNothingOfTheStreams(t *testing.T) {
	t.Parallel()
	// The base table shows an old state, as a scan may that is slower than the stream.
	b := newFillBench(t, things(t, onlyManaged), thing("a", "p", "1", "nickname", text("old")), thing("b", "p", "2"), thing("c", "p", "3"))
	b.process(t, record{new: thing("a", "p", "1", "nickname", text("new")), sequence: seq(1)}, record{old: thing("b", "p", "2"), sequence: seq(2)})
	before := b.engine.rows(t, b.tables["managed"])
	fill(t, b.config(0), 3, 1, 2, 0, 0)
	after := b.engine.rows(t, b.tables["managed"])
	if len(before) != 2 || len(after) != 3 {
		t.Fatalf("%d and %d rows", len(before), len(after))
	}
	for n := range before {
		if !ddb.EqualItems(before[n], after[n]) {
			t.Errorf("%v became %v", before[n], after[n])
		}
	}
}

func TestAnItemDeletedBetweenScanAndPutDoesNotComeBack(t *testing.T) {
	t.Parallel()
	b := newFillBench(t, things(t, onlyManaged), thing("a", "p", "1"))
	config := b.config(0)
	config.Client = hooked{b.client, func(*dynamodb.PutItemInput) error {
		b.process(t, record{old: thing("a", "p", "1"), sequence: seq(1)})
		return nil
	}}
	fill(t, config, 1, 0, 1, 0, 0)
	if live := b.live(t, "managed"); len(live) != 0 {
		t.Errorf("live: %v", live)
	}
}

func TestAFillGivesRowsTheirOwnVersionAndCountsWhatHasNone(t *testing.T) {
	t.Parallel()
	b := newFillBench(t, things(t, byRevision), thing("a", "p", "1", "rev", number("7")), thing("b", "p", "2"), thing("c", "p", "3", "rev", number("-1")))
	report := fill(t, b.config(0), 3, 1, 0, 0, 2)
	if !strings.Contains(report.Reason, "version attribute") {
		t.Errorf("reason %q", report.Reason)
	}
	if got := s(b.row(t, "managed", "p", "0000000000001#a")["_v"]); got != "000007" {
		t.Errorf("version %q", got)
	}
	fill(t, b.config(0), 3, 0, 1, 0, 2)
}

func TestAFillReportsRowsPastTheLimitOfAnItem(t *testing.T) {
	t.Parallel()
	item := thing("a", "p", "1", "big", text(""))
	item["big"] = text(strings.Repeat("x", ddb.MaxItemSize-ddb.Size(item)))
	b := newFillBench(t, things(t, onlyManaged), item, thing("b", "p", "2"))
	if report := fill(t, b.config(0), 2, 1, 0, 0, 1); !strings.Contains(report.Reason, "DynamoDB's limit is 409600") {
		t.Errorf("reason %q", report.Reason)
	}
}

func TestAFillOutlastsThrottlesAndLostAnswersAndEndsWithItsContext(t *testing.T) {
	t.Parallel()
	b := newFillBench(t, things(t, onlyManaged), thing("a", "p", "1"))
	var calls atomic.Int64
	config := b.config(0)
	config.Retry = ddb.Policy{Attempts: 2, Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }}
	config.Client = hooked{b.client, func(in *dynamodb.PutItemInput) error {
		switch n := calls.Add(1); {
		case n <= 40:
			return &types.ThrottlingException{}
		case n == 41: // written, and the answer lost
			if _, err := b.client.PutItem(t.Context(), in); err != nil {
				t.Error(err)
			}
			return context.DeadlineExceeded
		}
		return nil
	}}
	fill(t, config, 1, 0, 1, 0, 0)
	if len(b.live(t, "managed")) != 1 || calls.Load() != 42 {
		t.Errorf("%d calls", calls.Load())
	}

	ctx, cancel := context.WithCancel(t.Context())
	config.Client = hooked{b.client, func(*dynamodb.PutItemInput) error { cancel(); return &types.ThrottlingException{} }}
	if report, err := indexsync.Fill(ctx, config); err == nil || report.Read != 1 || report.Written+report.Kept != 0 {
		t.Errorf("%+v, %v", report, err)
	}
	config.Client = hooked{b.client, func(*dynamodb.PutItemInput) error { return context.DeadlineExceeded }}
	if _, err := indexsync.Fill(t.Context(), config); ddb.Classify(err).Class != ddb.UnknownOutcome {
		t.Errorf("never an answer: %v", err)
	}
}

func TestAFillRefusesABadConfiguration(t *testing.T) {
	t.Parallel()
	b := newFillBench(t, things(t, onlyManaged))
	for want, change := range map[string]func(*indexsync.FillConfig){
		"FillConfig.Client: is missing":                           func(c *indexsync.FillConfig) { c.Client = nil },
		"FillConfig.Source: is missing":                           func(c *indexsync.FillConfig) { c.Source = "" },
		"FillConfig.Segments: must be 1 to 256, is 257":           func(c *indexsync.FillConfig) { c.Segments = 257 },
		"FillConfig.Target.Index: is missing":                     func(c *indexsync.FillConfig) { c.Target.Index = nil },
		"FillConfig.Target.Table: the deployed name of index man": func(c *indexsync.FillConfig) { c.Target.Table = "" },
		"the indexer would index its own writes":                  func(c *indexsync.FillConfig) { c.Source = c.Target.Table },
		"describe table Thing (nowhere)":                          func(c *indexsync.FillConfig) { c.Source = "nowhere" },
	} {
		config := b.config(0)
		change(&config)
		if _, err := indexsync.Fill(t.Context(), config); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
