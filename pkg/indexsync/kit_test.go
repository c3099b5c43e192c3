package indexsync_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/indexsync"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

// label and streamARN are of the stream that the tests' records come from.
const (
	label     = "2026-01-02T03:04:05.678"
	streamARN = "arn:aws:dynamodb:eu-central-1:123456789012:table/Thing/stream/" + label
)

func text(s string) types.AttributeValue   { return &types.AttributeValueMemberS{Value: s} }
func number(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }

// null is DynamoDB's NULL.
func null() types.AttributeValue { return &types.AttributeValueMemberNULL{Value: true} }

// things is the table of the tests: two indexes by stream version, as in the shipped catalog, or one by an attribute.
func things(t testing.TB, change ...func(*schema.TableDefinition)) *schema.BaseTable {
	t.Helper()
	definition := schema.TableDefinition{
		Name: "Thing",
		Attributes: []schema.Attribute{
			{Name: "id", Type: schema.String},
			{Name: "ID", Type: schema.String},
			{Name: "managedKey", Type: schema.Number},
			{Name: "teamId", Type: schema.String},
			{Name: "status", Type: schema.String},
			{Name: "joinedOn", Type: schema.String},
		},
		PartitionKey: "id",
		Private:      []string{"_secret"},
		Indexes: []schema.IndexDefinition{
			{
				Name: "managed", PartitionKey: "ID", SortKey: []schema.Part{{Name: "managedKey", Width: 13}},
				Projection: schema.Projection{Kind: schema.All}, TombstoneRetention: 7 * 24 * time.Hour, Build: schema.Table,
			},
			{
				Name: "team-status", PartitionKey: "teamId", SortKey: []schema.Part{{Name: "status"}, {Name: "joinedOn"}},
				Projection:         schema.Projection{Kind: schema.Include, Attributes: []string{"nickname"}},
				TombstoneRetention: 3 * 24 * time.Hour, Build: schema.Table,
			},
		},
	}
	for _, c := range change {
		c(&definition)
	}
	loaded, err := schema.Compile(definition)
	if err != nil {
		t.Fatal(err)
	}
	return loaded.Tables()[0]
}

// onlyManaged leaves the index managed alone.
func onlyManaged(d *schema.TableDefinition) { d.Indexes = d.Indexes[:1] }

// byRevision leaves managed alone, versioned by the attribute rev of 6 digits.
func byRevision(d *schema.TableDefinition) {
	onlyManaged(d)
	d.Indexes[0].Version = schema.VersionSource{Attribute: "rev", Width: 6}
}

// record is one change as a stream delivers it.
type record struct {
	old, new ddb.Item
	sequence string
	arn      string // streamARN where empty
	ttl      bool
}

// seq is the n-th sequence number. They cross from 22 to 23 digits at n = 10, so raw text would sort them wrongly.
func seq(n int) string { return strconv.Itoa(99_999_990+n) + "00000000251301" }

func (r record) raw(t testing.TB) json.RawMessage {
	t.Helper()
	change := map[string]any{"ApproximateCreationDateTime": 1_767_323_045, "StreamViewType": "NEW_AND_OLD_IMAGES", "SizeBytes": 100}
	if r.sequence != "" {
		change["SequenceNumber"] = r.sequence
	}
	name := "MODIFY"
	if r.old == nil {
		name = "INSERT"
	}
	if r.new == nil {
		name = "REMOVE"
	}
	for field, image := range map[string]ddb.Item{"OldImage": r.old, "NewImage": r.new} {
		if image == nil {
			continue
		}
		raw, err := ddb.EncodeItem(image)
		if err != nil {
			t.Fatal(err)
		}
		change[field] = json.RawMessage(raw)
	}
	arn := r.arn
	if arn == "" {
		arn = streamARN
	}
	event := map[string]any{
		"eventID": "e-" + r.sequence, "eventName": name, "eventVersion": "1.1", "eventSource": "aws:dynamodb", "awsRegion": "eu-central-1",
		"dynamodb": change, "eventSourceARN": arn,
	}
	if r.ttl {
		event["userIdentity"] = map[string]string{"type": "Service", "principalId": "dynamodb.amazonaws.com"}
	}
	raw, err := json.Marshal(event)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// event is a batch of records.
func event(t testing.TB, records ...record) []byte {
	t.Helper()
	raw := make([]json.RawMessage, len(records))
	for n, r := range records {
		raw[n] = r.raw(t)
	}
	return indexsync.JoinRecords(raw...)
}

// lot is what a test remembers as parked.
type lot struct {
	mu     sync.Mutex
	parked []indexsync.Poison
	fail   func(indexsync.Poison) error
}

func (l *lot) Park(_ context.Context, poison indexsync.Poison) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fail != nil {
		if err := l.fail(poison); err != nil {
			return err
		}
	}
	l.parked = append(l.parked, poison)
	return nil
}

// keys are the object keys of what was parked, each once.
func (l *lot) keys() []string {
	var keys []string
	for _, p := range l.parked {
		keys = append(keys, indexsync.PoisonKey(p))
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// spy is a writer that shows every call to a hook before it is made. The hook's error is returned instead, after the call is made if after says so.
type spy struct {
	inner ddb.Putter
	hook  func(n int, in *dynamodb.PutItemInput) (after bool, err error)

	mu    sync.Mutex
	calls []*dynamodb.PutItemInput
}

func (s *spy) PutItem(ctx context.Context, in *dynamodb.PutItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	s.mu.Lock()
	s.calls = append(s.calls, in)
	n := len(s.calls)
	s.mu.Unlock()
	if s.hook != nil {
		if after, err := s.hook(n, in); err != nil {
			if after {
				_, _ = s.inner.PutItem(ctx, in, opts...) // its answer is lost
			}
			return nil, err
		}
	}
	return s.inner.PutItem(ctx, in, opts...)
}

// wrote lists the calls, as "upsert managed a/0000000000005#t1" or "tombstone ...".
func (s *spy) wrote() []string {
	var list []string
	for _, in := range s.calls {
		list = append(list, describe(in))
	}
	return list
}

func describe(in *dynamodb.PutItemInput) string {
	kind := "upsert"
	if _, dead := in.Item["_deleted"]; dead {
		kind = "tombstone"
	}
	partition := in.Item["ID"]
	if strings.Contains(*in.TableName, "Team") {
		partition = in.Item["teamId"]
	}
	return fmt.Sprintf("%s %s/%s", kind, s(partition), s(in.Item["SK"]))
}

// s is a text attribute's text.
func s(value types.AttributeValue) string {
	if member, ok := value.(*types.AttributeValueMemberS); ok {
		return member.Value
	}
	return fmt.Sprint(value)
}

// bench is a syncer with everything that a test looks at.
type bench struct {
	source *schema.BaseTable
	tables map[string]string // index -> table
	engine engine
	spy    *spy
	lot    *lot
	syncer *indexsync.Syncer
}

// now is the tests' clock.
var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// newBench sets up tables on the engine and a syncer over them.
func newBench(t testing.TB, e engine, source *schema.BaseTable, change ...func(*indexsync.Config)) *bench {
	t.Helper()
	b := &bench{source: source, tables: map[string]string{}, engine: e, lot: &lot{}, spy: &spy{inner: e}}
	config := indexsync.Config{
		Source: source, Writer: b.spy, Park: b.lot, PartialBatch: true, Now: func() time.Time { return now },
	}
	for _, index := range source.Indexes {
		b.tables[index.Name] = e.create(t, index)
		config.Targets = append(config.Targets, indexsync.Target{Index: index, Table: b.tables[index.Name]})
	}
	for _, c := range change {
		c(&config)
	}
	var err error
	if b.syncer, err = indexsync.New(config); err != nil {
		t.Fatal(err)
	}
	return b
}

// process gives a batch and wants no error.
func (b *bench) process(t testing.TB, records ...record) indexsync.Result {
	t.Helper()
	result, err := b.syncer.Process(t.Context(), event(t, records...))
	if err != nil {
		t.Fatalf("process: %v", err)
	}
	return result
}

// live lists the live rows of an index without SK and _v.
func (b *bench) live(t testing.TB, index string) []ddb.Item {
	t.Helper()
	var rows []ddb.Item
	for _, row := range b.engine.rows(t, b.tables[index]) {
		if _, dead := row["_deleted"]; dead {
			continue
		}
		if _, versioned := row["_v"]; !versioned {
			t.Errorf("a row of %s has no _v", index)
		}
		rows = append(rows, bare(row))
	}
	return rows
}

func bare(row ddb.Item) ddb.Item {
	item := ddb.Item{}
	for name, value := range row {
		if name != "_v" && name != "SK" {
			item[name] = value
		}
	}
	return item
}

// row finds a row by its keys; nil where there is none.
func (b *bench) row(t testing.TB, index, partition, sort string) ddb.Item {
	t.Helper()
	for _, row := range b.engine.rows(t, b.tables[index]) {
		name := b.source.Indexes[0].PartitionKey.Name
		if index == "team-status" {
			name = "teamId"
		}
		if s(row[name]) == partition && s(row["SK"]) == sort {
			return row
		}
	}
	return nil
}

// thing is an item of the index managed.
func thing(id, partition, managedKey string, more ...any) ddb.Item {
	item := ddb.Item{"id": text(id), "ID": text(partition), "managedKey": number(managedKey)}
	for n := 0; n < len(more); n += 2 {
		item[more[n].(string)] = more[n+1].(types.AttributeValue)
	}
	return item
}
