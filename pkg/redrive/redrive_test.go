package redrive_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
	"github.com/heatsink-dev/heatsink/pkg/indexsync"
	"github.com/heatsink-dev/heatsink/pkg/redrive"
)

const moved = "team-2/1699900000500#user-aaa"

func change(t testing.TB, stream *ddbtest.Stream, old, changed ddb.Item) json.RawMessage {
	t.Helper()
	record, ok := stream.Change(old, changed)
	if !ok {
		t.Fatal("nothing changed")
	}
	return record.JSON()
}

func stream(at time.Time) *ddbtest.Stream {
	return ddbtest.NewStream("User", []string{"userId"}, ddbtest.NewClock(at), 1)
}

// Vector 11 of the stream study, the half with a payload; the other half is TestVector11WithoutAPayloadTheStreamIsRead.
func TestVector11WithAPayloadTheRecordsAreReplayedAndTheObjectIsDeleted(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"failure-with-payload.json", "failure-with-payload-function-error.json"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			const key = "aws/lambda/0b1c/shardId-1/2026/11/14/2026-11-14T00.13.49-x"
			b.put(t, key, sample(t, name))
			report := b.run(t, redrive.Options{})
			if report.Done != 1 || report.Deleted != 1 || report.Records != 3 || report.Last != key || len(report.Problems) != 0 {
				t.Errorf("report %+v", report)
			}
			if diff := cmp.Diff([]string{moved}, b.live(t, "managed")); diff != "" {
				t.Error(diff)
			}
			if keys := b.keys(t.Context(), t); len(keys) != 0 {
				t.Errorf("left in the bucket: %v", keys)
			}
		})
	}
}

func TestReplayingIsRepeatable(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put(t, "aws/lambda/x", sample(t, "failure-with-payload.json"))
	b.put(t, "aws/lambda/y", sample(t, "failure-with-payload-function-error.json"))
	for range 4 {
		if report := b.run(t, redrive.Options{Keep: true}); report.Done != 2 || report.Deleted != 0 {
			t.Fatalf("report %+v", report)
		}
		if diff := cmp.Diff([]string{moved}, b.live(t, "managed")); diff != "" {
			t.Fatal(diff)
		}
	}
	if keys := b.keys(t.Context(), t); len(keys) != 2 {
		t.Errorf("kept objects: %v", keys)
	}
}

func TestAReplayNeverOverridesWhatIsNewer(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	st := stream(now.Add(-time.Hour))
	first, second := user("u", "1"), user("u", "2")
	insert, move, remove := change(t, st, nil, first), change(t, st, first, second), change(t, st, second, nil)
	b.put(t, "a", failure(t, nil, insert))
	b.put(t, "b", failure(t, nil, move))
	if _, err := b.syncer.Process(t.Context(), indexsync.JoinRecords(remove)); err != nil {
		t.Fatal(err)
	}
	b.run(t, redrive.Options{})
	if rows := b.live(t, "managed"); len(rows) != 0 {
		t.Errorf("a removed item came back: %v", rows)
	}
}

// What the indexer parked, redriven in vain, then with the cause gone.
func TestPoisonIsCompletedOnceItsCauseIsGone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	st := stream(now.Add(-time.Hour))
	batch := indexsync.JoinRecords(change(t, st, nil, user("u1", "1")), change(t, st, nil, user("u2", "2")))
	refuse := func() {
		b.faults.Add(ddbtest.Rule{Operation: "PutItem", When: func(input any) bool {
			return bytes.Contains(fmt.Appendf(nil, "%v", s(item(input)["SK"])), []byte("u1"))
		}, Do: ddbtest.Refuse("ValidationException", "it is Monday")})
	}
	refuse()
	result, err := b.syncer.Process(t.Context(), batch)
	if err != nil || result.FailedSequence != "" || len(result.Parked) != 1 {
		t.Fatalf("%+v, %v", result, err)
	}
	keys := b.keys(t.Context(), t)
	if len(keys) != 1 || !strings.HasPrefix(keys[0], indexsync.PoisonPrefix) {
		t.Fatalf("bucket: %v", keys)
	}
	report := b.run(t, redrive.Options{})
	if report.StillPoison != 1 || len(report.Problems) != 1 || !strings.Contains(report.Problems[0].Reason, "refuses the row") || report.Stats.Parked != 0 {
		t.Errorf("report %+v", report)
	}
	if !strings.HasPrefix(report.Problems[0].Condition, indexsync.PoisonCondition+": ") {
		t.Errorf("condition %q", report.Problems[0].Condition)
	}
	if again := b.keys(t.Context(), t); !slices.Equal(keys, again) {
		t.Errorf("bucket %v, want it as before: %v", again, keys)
	}
	b.faults.Clear()
	if report := b.run(t, redrive.Options{}); report.Done != 1 || report.Deleted != 1 {
		t.Errorf("report %+v", report)
	}
	if diff := cmp.Diff([]string{"a/0000000000001#u1", "a/0000000000002#u2"}, b.live(t, "managed")); diff != "" {
		t.Error(diff)
	}
}

// A poison record inside an object of AWS's stays there alone: the others are applied, and it is not parked under a name of ours.
func TestPoisonInABatchOfAWSStaysInItsObject(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	st := stream(now.Add(-time.Hour))
	bad := json.RawMessage(fmt.Sprintf(`{"eventName":"INSERT","dynamodb":{"ApproximateCreationDateTime":%d,"SequenceNumber":"5","NewImage":{"x":{}}}}`, now.Unix()))
	b.put(t, "aws/lambda/x", failure(t, nil, change(t, st, nil, user("u1", "1")), bad, change(t, st, nil, user("u2", "2"))))
	report := b.run(t, redrive.Options{})
	if got := report.Problems[0]; got.Outcome != redrive.StillPoison || got.Records != 3 || got.Replayed != 2 || got.Poison != 1 {
		t.Errorf("report %+v", got)
	}
	if len(b.live(t, "managed")) != 2 {
		t.Error("the records around it are not applied")
	}
	if diff := cmp.Diff([]string{"aws/lambda/x"}, b.keys(t.Context(), t)); diff != "" {
		t.Error(diff)
	}
}

func TestRecordsThatTombstonesMayHaveForgottenAreRefused(t *testing.T) {
	t.Parallel()
	const retention = 7*24*time.Hour - time.Hour // of the catalog's indexes, less the margin
	created := func(value any) json.RawMessage {
		raw, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		return json.RawMessage(fmt.Sprintf(`{"eventName":"INSERT","eventSourceARN":"arn:aws:dynamodb:r:1:table/User/stream/2026-11-01T00:00:00.000",`+
			`"dynamodb":{"ApproximateCreationDateTime":%s,"SequenceNumber":"7","NewImage":{"userId":{"S":"u"},"ID":{"S":"a"},"managedKey":{"N":"1"}}}}`, raw))
	}
	young, old := now.Add(-retention), now.Add(-retention-time.Second)
	for _, test := range []struct {
		name    string
		record  json.RawMessage
		change  func(*indexsync.FailureObject)
		refused bool
	}{
		{"seconds, just in time", created(young.Unix()), nil, false},
		{"seconds, too old", created(old.Unix()), nil, true},
		{"milliseconds, just in time", created(young.UnixMilli()), nil, false},
		{"milliseconds, too old", created(old.UnixMilli()), nil, true},
		{"fractional seconds, too old", created(float64(old.UnixMilli()) / 1000), nil, true},
		{"no time, arrived in time", created(nil), func(o *indexsync.FailureObject) { o.Batch.ApproximateArrivalOfFirstRecord = young.Format(time.RFC3339) }, false},
		{"no time, arrived too long ago", created(nil), func(o *indexsync.FailureObject) { o.Batch.ApproximateArrivalOfFirstRecord = old.Format(time.RFC3339) }, true},
		{"no time, given up a day after it may have come", created(nil), func(o *indexsync.FailureObject) { o.Timestamp = young.Add(24 * time.Hour).Format(time.RFC3339Nano) }, false},
		{"no time, given up longer ago", created(nil), func(o *indexsync.FailureObject) { o.Timestamp = old.Add(24 * time.Hour).Format(time.RFC3339Nano) }, true},
		{"a time in the future, and an object that is old", created(now.Add(50 * time.Hour).Unix()), func(o *indexsync.FailureObject) { o.Timestamp = old.Format(time.RFC3339) }, true},
		{"no time at all", created("soon"), func(o *indexsync.FailureObject) { o.Timestamp = "" }, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.put(t, "x", failure(t, test.change, test.record))
			report := b.run(t, redrive.Options{})
			if (report.Refused == 1) != test.refused || (len(b.live(t, "managed")) == 0) != test.refused || (len(b.keys(t.Context(), t)) == 1) != test.refused {
				t.Errorf("report %+v, rows %v", report, b.live(t, "managed"))
			}
			if (test.name == "no time at all") != (test.refused && strings.HasPrefix(report.Problems[0].Reason, "of unknown age: ")) {
				t.Errorf("reason %q", report.Problems[0].Reason)
			}
			if test.refused && !strings.Contains(report.Problems[0].Reason, redrive.Instead) {
				t.Errorf("the reason does not say what to do: %q", report.Problems[0].Reason)
			}
		})
	}
}

func TestADryRunWritesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put(t, "x", sample(t, "failure-with-payload.json"))
	report := b.run(t, redrive.Options{DryRun: true})
	if report.Done != 0 || report.ToReplay != 1 || report.Records != 3 || report.Deleted != 0 || len(b.keys(t.Context(), t)) != 1 || b.faults.Count("PutItem") != 0 {
		t.Errorf("report %+v, %d puts", report, b.faults.Count("PutItem"))
	}
}

func TestAnObjectThatIsNotDoneStays(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put(t, "x", sample(t, "failure-with-payload.json"))
	b.faults.Add(ddbtest.Rule{Operation: "PutItem", Do: ddbtest.Throttle(ddbtest.CodeThrottling, ddb.Throttle{Reason: "TableWriteAccountLimitExceeded", Resource: "r"})})
	report := b.run(t, redrive.Options{})
	if report.Failed != 1 || len(b.keys(t.Context(), t)) != 1 || len(report.Stats.Throttles) != 1 || !strings.Contains(report.Problems[0].Reason, "run again") {
		t.Errorf("report %+v", report)
	}
	b.faults.Clear()
	if report := b.run(t, redrive.Options{}); report.Done != 1 {
		t.Errorf("report %+v", report)
	}
}

func TestWhatIsNoFailureObjectIsReportedAndLeftAlone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for key, body := range map[string]string{
		"a": `hello`, "b": `{}`, "c": `[]`, "d": `{"DDBStreamBatchInfo":{"shardId":"s"}}`, "e": `{"payload":"no event"}`, "f": ``, "g": `{"payload":{"Records":[]}}`,
	} {
		b.put(t, key, []byte(body))
	}
	var seen []string
	report := b.run(t, redrive.Options{Progress: func(n, m int, object redrive.ObjectReport) {
		seen = append(seen, fmt.Sprintf("%d of %d: %s %s", n, m, object.Key, object.Outcome))
	}})
	if report.Failed != 7 || report.Objects != 7 || len(b.keys(t.Context(), t)) != 7 {
		t.Errorf("report %+v", report)
	}
	want := []string{"1 of 7: a failed", "2 of 7: b failed", "3 of 7: c failed", "4 of 7: d failed", "5 of 7: e failed", "6 of 7: f failed", "7 of 7: g failed"}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Error(diff)
	}
}

// smallPages lists three objects a page.
type smallPages struct {
	redrive.Store
	lists int
}

func (p *smallPages) ListObjectsV2(ctx context.Context, in *s3.ListObjectsV2Input, opts ...func(*s3.Options)) (*s3.ListObjectsV2Output, error) {
	p.lists++
	in.MaxKeys = aws.Int32(3)
	return p.Store.ListObjectsV2(ctx, in, opts...)
}

func TestThePrefixIsKeptAndPagesAreFollowedWhileObjectsAreDeleted(t *testing.T) {
	t.Parallel()
	var pages *smallPages
	b := newBench(t, func(c *redrive.Config) { pages = &smallPages{Store: c.Store}; c.Store = pages })
	st := stream(now.Add(-time.Hour))
	for n := range 8 {
		b.put(t, fmt.Sprintf("in/%d", n), failure(t, nil, change(t, st, nil, user(fmt.Sprintf("u%d", n), "1"))))
	}
	b.put(t, "out/1", sample(t, "failure-with-payload.json"))
	report := b.run(t, redrive.Options{Prefix: "in/", After: "in/0"})
	if report.Done != 7 || report.Deleted != 7 || len(b.live(t, "managed")) != 7 || pages.lists != 3 {
		t.Errorf("report %+v, %d lists", report, pages.lists)
	}
	if diff := cmp.Diff([]string{"in/0", "out/1"}, b.keys(t.Context(), t)); diff != "" {
		t.Error(diff)
	}
}

// tick lets time pass with each object.
type tick struct {
	redrive.Store
	each time.Duration
}

func (k tick) GetObject(context.Context, *s3.GetObjectInput, ...func(*s3.Options)) (*s3.GetObjectOutput, error) {
	time.Sleep(k.each)
	return nil, fmt.Errorf("not today")
}

func (k tick) ListObjectsV2(context.Context, *s3.ListObjectsV2Input, ...func(*s3.Options)) (*s3.ListObjectsV2Output, error) {
	page := &s3.ListObjectsV2Output{}
	for n := range 5 {
		page.Contents = append(page.Contents, object(fmt.Sprint(n)))
	}
	return page, nil
}

func TestARunStopsInTimeAndSaysWhereToGoOn(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.config.Margin = 2 * time.Second
	synctest.Test(t, func(t *testing.T) {
		b.config.Store = tick{each: time.Second}
		ctx, cancel := context.WithTimeout(t.Context(), 4500*time.Millisecond)
		defer cancel()
		redriver, err := redrive.New(b.config)
		if err != nil {
			t.Fatal(err)
		}
		report, err := redriver.Run(ctx, redrive.Options{})
		if err != nil || !report.Stopped || report.Last != "1" || report.Objects != 2 {
			t.Errorf("report %+v, error %v; want two objects and a stop", report, err)
		}
		ctx, cancel = context.WithCancel(t.Context())
		cancel()
		if _, err := redriver.Run(ctx, redrive.Options{}); err == nil {
			t.Error("a cancelled run is no error")
		}
	})
}

func TestABucketThatCannotBeListedIsAnError(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.config.Bucket = "there-is-no-such-bucket"
	redriver, err := redrive.New(b.config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := redriver.Run(t.Context(), redrive.Options{}); err == nil || !strings.Contains(err.Error(), "list bucket there-is-no-such-bucket") {
		t.Errorf("error %v", err)
	}
}

func TestNewNamesTheFaultyField(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for field, spoil := range map[string]func(*redrive.Config){
		"Config.Bucket": func(c *redrive.Config) { c.Bucket = "" },
		"Config.Store":  func(c *redrive.Config) { c.Store = nil },
		"Config.Stream": func(c *redrive.Config) { c.Stream = nil },
		"Config.Rows":   func(c *redrive.Config) { c.Rows = nil },
		"Config.Syncer": func(c *redrive.Config) { c.Syncer = nil },
		"Config.Margin": func(c *redrive.Config) { c.Margin = -1 },
	} {
		config := b.config
		spoil(&config)
		if _, err := redrive.New(config); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
}
