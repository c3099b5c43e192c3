package indexjobs_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
	"github.com/heatsink-dev/heatsink/pkg/edge"
	"github.com/heatsink-dev/heatsink/pkg/indexjobs"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

func TestABatchThatIsDoneAnswersNoFailureAndSumsUp(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a, b := user("secret-a", 1), user("secret-b", 2)
	answer, err := f.handle(true, ddbtest.Event(f.change(nil, a).JSON(), f.change(nil, b).JSON(), f.change(b, nil).JSON()))
	if err != nil || answer != `{"batchItemFailures":[]}` {
		t.Fatalf("answer %s, %v", answer, err)
	}
	if rows := f.rows(); len(rows) != 2 {
		t.Errorf("%d rows, want a live one and a tombstone", len(rows))
	}
	line := f.line("batch")
	for name, want := range map[string]any{"table": "User", "records": 3.0, "upserts": 1.0, "tombstones": 1.0, "staleSkips": 0.0, "parked": 0.0, "level": "INFO", "elapsedMs": 0.0} {
		if line[name] != want {
			t.Errorf("%s is %v, want %v", name, line[name], want)
		}
	}
	if strings.Contains(f.log.String()+f.metrics.String(), "secret") {
		t.Errorf("a key stands in log or metrics: %s %s", f.log.String(), f.metrics.String())
	}
	want := map[string]float64{"indexer: BatchRecords": 3, "indexer: FailedBatches": 0, "indexer: Parked": 0, "indexer managed: Upserts": 1, "indexer managed: Tombstones": 1}
	if diff := cmp.Diff(want, f.sums()); diff != "" {
		t.Error(diff)
	}
}

func TestAThrottledBatchNamesItsFirstRecordOrIsAnError(t *testing.T) {
	t.Parallel()
	for _, partial := range []bool{true, false} {
		f := newFixture(t)
		f.faults.Add(ddbtest.Rule{Operation: "PutItem", Do: ddbtest.Throttle(ddbtest.CodeThrottling, ddb.Throttle{
			Reason: "TableWriteKeyRangeThroughputExceeded", Resource: "arn:aws:dynamodb:us-east-1:123456789012:table/secret",
		})})
		first := f.change(nil, user("a", 1))
		answer, err := f.handle(partial, ddbtest.Event(first.JSON(), f.change(nil, user("b", 2)).JSON()))
		if partial && (err != nil || answer != `{"batchItemFailures":[{"itemIdentifier":"`+first.Sequence+`"}]}`) || !partial && err == nil {
			t.Errorf("partial %t: answer %s, %v", partial, answer, err)
		}
		if line := f.line("batch"); line["level"] != "ERROR" || line["category"] != "throttled" || line["failedSequence"] != first.Sequence || line["throttled"] == nil {
			t.Errorf("partial %t: line %v", partial, line)
		}
		sums := f.sums()
		if sums["indexer: FailedBatches"] != 1 || sums["indexer KeyRangeThroughput Table: Throttled"] < 1 {
			t.Errorf("partial %t: metrics %v", partial, sums)
		}
	}
}

func TestAPoisonRecordIsParkedAndNamedWithoutItsContent(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	poison := f.change(nil, user("secret-a", 1))
	poison.RawNew = json.RawMessage(`{"userId":{"X":"secret-value"}}`)
	answer, err := f.handle(true, ddbtest.Event(poison.JSON(), f.change(nil, user("secret-b", 2)).JSON()))
	if err != nil || answer != `{"batchItemFailures":[]}` || len(f.rows()) != 1 {
		t.Fatalf("answer %s, %v, %d rows", answer, err, len(f.rows()))
	}
	if keys := f.parked(t.Context()); len(keys) != 1 {
		t.Errorf("objects %v", keys)
	}
	if line := f.line("parked"); line["sequence"] != poison.Sequence || line["reason"] == "" || line["level"] != "ERROR" || line["table"] != "User" {
		t.Errorf("line %v", line)
	}
	if strings.Contains(f.log.String(), "secret") || f.sums()["indexer: Parked"] != 1 {
		t.Errorf("log %s, metrics %v", f.log.String(), f.sums())
	}
}

func TestWhatIsNotIndexedForAFaultIsNamedInTheSummary(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	faulty := user("secret-a", 1)
	faulty["managedKey"] = &types.AttributeValueMemberS{Value: "secret-number"}
	record := f.change(nil, faulty)
	if answer, err := f.handle(true, ddbtest.Event(f.change(nil, user("b", 1)).JSON(), record.JSON())); err != nil {
		t.Fatalf("%s, %v", answer, err)
	}
	want := []any{map[string]any{"sequence": record.Sequence, "index": "managed", "reason": "wrong_type"}}
	if diff := cmp.Diff(want, f.line("batch")["notIndexedRecords"]); diff != "" || strings.Contains(f.log.String(), "secret") {
		t.Errorf("%s\n%s", diff, f.log.String())
	}
}

func TestAPayloadThatIsNoEventIsAnError(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, payload := range []string{`{}`, `[]`, `null`, `{"Records":5}`} {
		if answer, err := f.handle(true, []byte(payload)); err == nil {
			t.Errorf("%s: answer %s", payload, answer)
		}
	}
}

func TestEverySampleOfTheStreamIsAnswered(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	samples, err := os.ReadDir("../../events")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, sample := range samples {
		if !strings.HasPrefix(sample.Name(), "stream-") {
			continue
		}
		seen++
		payload, err := os.ReadFile("../../events/" + sample.Name())
		if err != nil {
			t.Fatal(err)
		}
		if answer, err := f.handle(true, payload); err != nil || answer != `{"batchItemFailures":[]}` {
			t.Errorf("%s: answer %s, %v", sample.Name(), answer, err)
		}
	}
	if seen == 0 || len(f.rows()) == 0 || len(f.parked(t.Context())) == 0 {
		t.Errorf("%d samples, %d rows, objects %v", seen, len(f.rows()), f.parked(t.Context()))
	}
}

func TestAStartTellsAllThatIsMissing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, err := indexjobs.NewSources(indexjobs.SourceConfig{Catalog: f.catalog, Deployed: func(string) string { return "" }, Client: f.client})
	if err == nil || !strings.Contains(err.Error(), "table User") {
		t.Errorf("error %v", err)
	}
	plain, err := schema.Compile(schema.TableDefinition{Name: "Plain", Attributes: []schema.Attribute{{Name: "pk", Type: schema.String}}, PartitionKey: "pk"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := indexjobs.NewSources(indexjobs.SourceConfig{Catalog: plain}); err == nil || !strings.Contains(err.Error(), "no table of the catalog has an index table") {
		t.Errorf("error %v", err)
	}
}

// describer answers as a deployed table with another stream would.
type describer struct {
	view    types.StreamViewType
	enabled bool
}

// DescribeTable gives the stream's settings.
func (d describer) DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error) {
	return &dynamodb.DescribeTableOutput{Table: &types.TableDescription{StreamSpecification: &types.StreamSpecification{StreamEnabled: &d.enabled, StreamViewType: d.view}}}, nil
}

func TestAStartRefusesAStreamWithoutOldImages(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	sources := f.sources(true)
	if err := sources.Check(t.Context(), f.client); err != nil {
		t.Errorf("the real table: %v", err)
	}
	for name, client := range map[string]describer{"new images": {types.StreamViewTypeNewImage, true}, "keys": {types.StreamViewTypeKeysOnly, true}, "no stream": {"", false}} {
		if err := sources.Check(t.Context(), client); err == nil || !strings.Contains(err.Error(), "User") {
			t.Errorf("%s: error %v", name, err)
		}
	}
	f.names["UserManagedIndex"] = f.names["User"]
	if err := f.sources(true).Check(t.Context(), f.client); err == nil {
		t.Error("an index table that is its own source was accepted")
	}
}

func TestABatchGoesToTheTableThatItComesFrom(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.catalog = twoTables(t)
	for _, table := range f.catalog.Tables() {
		f.names[table.Name] = ddbtest.Table(t, table)
		for _, index := range table.StreamIndexes() {
			f.names[index.TableName()] = ddbtest.IndexTable(t, index)
		}
	}
	for _, table := range []string{"One", "Two"} {
		f.stream = ddbtest.NewStream(f.names[table], []string{"pk"}, ddbtest.NewClock(now), 1)
		item := ddb.Item{"pk": &types.AttributeValueMemberS{Value: "a"}, "group": &types.AttributeValueMemberS{Value: table}}
		if answer, err := f.handle(true, ddbtest.Event(f.change(nil, item).JSON())); err != nil {
			t.Fatalf("%s: %s, %v", table, answer, err)
		}
		if rows := ddbtest.Dump(t, f.client, f.names[table+"ByGroupOf"+table+"Index"]); len(rows) != 1 {
			t.Errorf("%s: %d rows", table, len(rows))
		}
		if syncer, err := f.sources(true).Syncer(f.stream.ARN); err != nil || syncer == nil {
			t.Errorf("%s: no syncer: %v", table, err)
		}
	}
	stranger := ddbtest.NewStream("Stranger", []string{"pk"}, ddbtest.NewClock(now), 1)
	record, _ := stranger.Change(nil, user("a", 1))
	if answer, err := f.handle(true, ddbtest.Event(record.JSON())); err == nil {
		t.Errorf("a stranger's batch was taken: %s", answer)
	}
	for _, payload := range []string{"{", `{"Records":[]}`} {
		if answer, err := f.handle(true, []byte(payload)); err == nil {
			t.Errorf("%s was taken: %s", payload, answer)
		}
	}
	if _, err := f.sources(true).Syncer(""); err == nil {
		t.Error("a syncer was found for no stream")
	}
}

func twoTables(t *testing.T) *schema.Catalog {
	t.Helper()
	var definitions []schema.TableDefinition
	for _, name := range []string{"One", "Two"} {
		definitions = append(definitions, schema.TableDefinition{
			Name: name, Attributes: []schema.Attribute{{Name: "pk", Type: schema.String}, {Name: "group", Type: schema.String}}, PartitionKey: "pk",
			Indexes: []schema.IndexDefinition{{
				Name: "by-group-of-" + name, PartitionKey: "group", Projection: schema.Projection{Kind: schema.All}, TombstoneRetention: 48 * 3600 * 1e9, Build: schema.Table,
			}},
		})
	}
	compiled, err := schema.Compile(definitions...)
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

// full is a disk that is.
type full struct{}

// Write fails.
func (full) Write([]byte) (int, error) { return 0, errors.New("no space") }

func TestLostMetricsDoNotFailABatch(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	reporting := f.reporting()
	reporting.Metrics = edge.NewMetrics(full{}, "Heatsink", "indexer", nil)
	if _, err := indexjobs.NewIndexer(f.sources(true), reporting).Handle(t.Context(), ddbtest.Event(f.change(nil, user("a", 1)).JSON())); err != nil || len(f.rows()) != 1 {
		t.Errorf("%d rows, %v", len(f.rows()), err)
	}
	if line := f.line("metrics lost"); line["level"] != "ERROR" {
		t.Errorf("line %v", line)
	}
}
