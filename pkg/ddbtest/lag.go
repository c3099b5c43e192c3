package ddbtest

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
)

// Lag lets the reads of one index see the writes of its table late, as a GSI does. Engines for tests keep an index in step, so the past is kept in a
// table of its own, of the same shape: writes go to the real table at once and reach the copy when they are old enough, and reads of the
// index go to the copy. The engine itself answers, so that conditions, order and pages are its own.
//
// It sees the writes that pass through the same [Faults], and takes them one at a time; what another client writes shows after [Lag.CatchUp].
type Lag struct {
	faults             *Faults
	client             *dynamodb.Client // no faults, no lag
	table, index, past string
	delay              time.Duration
	now                func() time.Time
	key                []string

	mu      sync.Mutex
	journal []change
}

// change is an item as a write left it; nil where it deleted it.
type change struct {
	at   time.Time
	key  ddb.Item
	item ddb.Item
}

// Lag makes an index of a table lag by the delay on the given clock, from now on. What the table holds already is in the index.
func (f *Faults) Lag(table, index string, delay time.Duration, now func() time.Time) *Lag {
	f.t.Helper()
	client := Client(f.t)
	out, err := client.DescribeTable(f.t.Context(), &dynamodb.DescribeTableInput{TableName: &table})
	if err != nil {
		f.t.Fatalf("ddbtest: describe table %s: %v", table, err)
	}
	described := out.Table
	in := &dynamodb.CreateTableInput{
		TableName: aws.String(uniqueName(f.t, "lag")), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: described.AttributeDefinitions, KeySchema: described.KeySchema,
	}
	for _, gsi := range described.GlobalSecondaryIndexes {
		in.GlobalSecondaryIndexes = append(in.GlobalSecondaryIndexes, types.GlobalSecondaryIndex{
			IndexName: gsi.IndexName, KeySchema: gsi.KeySchema, Projection: gsi.Projection,
		})
	}
	if !slices.ContainsFunc(in.GlobalSecondaryIndexes, func(gsi types.GlobalSecondaryIndex) bool { return *gsi.IndexName == index }) {
		f.t.Fatalf("ddbtest: table %s has no index %s to lag", table, index)
	}
	lag := &Lag{faults: f, client: client, table: table, index: index, past: createTable(f.t, client, in), delay: delay, now: now}
	for _, key := range described.KeySchema {
		lag.key = append(lag.key, *key.AttributeName)
	}
	lag.CatchUp()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lags = append(f.lags, lag)
	return lag
}

// CatchUp brings the index to the table's state of now, other clients' writes included.
func (l *Lag) CatchUp() {
	l.faults.t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	ctx := l.faults.t.Context()
	l.journal = nil
	have := map[string]bool{}
	for _, item := range Dump(l.faults.t, l.client, l.table) {
		key := l.keyOf(item)
		have[l.text(key)] = true
		l.apply(ctx, change{key: key, item: item})
	}
	for _, item := range Dump(l.faults.t, l.client, l.past) {
		if key := l.keyOf(item); !have[l.text(key)] {
			l.apply(ctx, change{key: key})
		}
	}
}

// Pending is the number of writes that the index does not show yet.
func (l *Lag) Pending() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	n := 0
	for _, c := range l.journal {
		if !l.due(c, now) {
			n++
		}
	}
	return n
}

func (l *Lag) due(c change, now time.Time) bool { return !c.at.Add(l.delay).After(now) }

// throughLags sends a request, to the past where it reads a lagging index.
func (f *Faults) throughLags(
	ctx context.Context, a *attempt, request *smithyhttp.Request, wire func(context.Context, *smithyhttp.Request) (*smithyhttp.Response, error),
) (*smithyhttp.Response, error) {
	f.mu.Lock()
	lags := slices.Clone(f.lags)
	f.mu.Unlock()
	tables, index := target(a.input)
	for _, lag := range lags {
		if !slices.Contains(tables, lag.table) {
			continue
		}
		if index == lag.index {
			return lag.read(ctx, request, wire)
		}
		if index != "" {
			continue
		}
		// Locked one within the other where a table has several lagging indexes, always in the order of their making.
		inner, lag := wire, lag
		wire = func(ctx context.Context, request *smithyhttp.Request) (*smithyhttp.Response, error) {
			return lag.write(ctx, a, request, inner)
		}
	}
	return wire(ctx, request)
}

// write sends a write and notes what it left behind, also where its answer is an error: a write that timed out may have taken effect.
func (l *Lag) write(
	ctx context.Context, a *attempt, request *smithyhttp.Request, wire func(context.Context, *smithyhttp.Request) (*smithyhttp.Response, error),
) (*smithyhttp.Response, error) {
	var keys []ddb.Item
	for _, w := range writes(a.input) {
		if w.table == l.table && !w.check {
			keys = append(keys, l.keyOf(w.item))
		}
	}
	if len(keys) == 0 {
		return wire(ctx, request)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	response, err := wire(ctx, request)
	for _, key := range keys {
		out, readErr := l.client.GetItem(context.WithoutCancel(ctx), &dynamodb.GetItemInput{
			TableName: &l.table, Key: key, ConsistentRead: aws.Bool(true),
		})
		if readErr != nil {
			l.faults.t.Errorf("ddbtest: lag of %s: read what a write left: %v", l.index, readErr)
			continue
		}
		l.journal = append(l.journal, change{at: l.now(), key: key, item: out.Item})
	}
	return response, err
}

// read brings the copy up to what is old enough and reads there.
func (l *Lag) read(
	ctx context.Context, request *smithyhttp.Request, wire func(context.Context, *smithyhttp.Request) (*smithyhttp.Response, error),
) (*smithyhttp.Response, error) {
	l.mu.Lock()
	now := l.now()
	// The journal is in the order of time, and the order of one key's changes must be kept.
	for len(l.journal) > 0 && l.due(l.journal[0], now) {
		l.apply(context.WithoutCancel(ctx), l.journal[0])
		l.journal = l.journal[1:]
	}
	l.mu.Unlock()
	redirected, err := editRequest(request, func(body map[string]json.RawMessage) (err error) {
		body["TableName"], err = json.Marshal(l.past)
		return err
	})
	if err != nil {
		return nil, err
	}
	response, err := wire(ctx, redirected)
	if err != nil {
		return response, err
	}
	return editResponse(response, func(body map[string]json.RawMessage) error {
		raw, has := body["ConsumedCapacity"]
		if !has {
			return nil
		}
		capacity, err := editJSON(raw, func(fields map[string]json.RawMessage) (err error) {
			fields["TableName"], err = json.Marshal(l.table)
			return err
		})
		body["ConsumedCapacity"] = capacity
		return err
	})
}

func (l *Lag) apply(ctx context.Context, c change) {
	var err error
	if c.item == nil {
		_, err = l.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &l.past, Key: c.key})
	} else {
		_, err = l.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &l.past, Item: c.item})
	}
	if err != nil {
		l.faults.t.Errorf("ddbtest: lag of %s: %v", l.index, err)
	}
}

func (l *Lag) keyOf(item ddb.Item) ddb.Item {
	key := ddb.Item{}
	for _, name := range l.key {
		key[name] = item[name]
	}
	return key
}

func (l *Lag) text(key ddb.Item) string {
	text, err := ddb.EncodeItem(key)
	if err != nil {
		l.faults.t.Errorf("ddbtest: lag of %s: key: %v", l.index, err)
	}
	return string(text)
}
