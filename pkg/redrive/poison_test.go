package redrive_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
	"github.com/heatsink-dev/heatsink/pkg/indexsync"
	"github.com/heatsink-dev/heatsink/pkg/redrive"
)

// huge fits the base table, and no index table.
func huge(id, managedKey string) ddb.Item {
	item := user(id, managedKey)
	item["filler"] = text(strings.Repeat("x", ddb.MaxItemSize-ddb.Size(item)-len("filler")))
	return item
}

// TestADryRunFindsWhatWouldStay: what cannot be read, what has no version and what is too large, beside what can be replayed; and the run itself says the same.
func TestADryRunFindsWhatWouldStay(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	st := stream(now.Add(-time.Hour))
	record := func(change string, args ...any) json.RawMessage {
		return json.RawMessage(fmt.Sprintf(`{"eventName":"INSERT","eventSourceARN":%q,"dynamodb":{"ApproximateCreationDateTime":%d,`+change+`}}`, append([]any{st.ARN, now.Unix()}, args...)...))
	}
	noVersion := strings.Replace(string(change(t, st, nil, user("v", "1"))), `"SequenceNumber":`, `"Number":`, 1)
	b.put(t, "a", failure(t, nil, change(t, st, nil, user("u1", "1"))))
	b.put(t, "b", failure(t, nil, change(t, st, nil, huge("u2", "2")), change(t, st, nil, user("u3", "3"))))
	b.put(t, "c", failure(t, nil, record(`"SequenceNumber":"5","NewImage":{"userId":{}}`)))
	b.put(t, "d", failure(t, nil, json.RawMessage(noVersion)))
	dry := b.run(t, redrive.Options{DryRun: true})
	if dry.ToReplay != 1 || dry.Done != 0 || dry.StillPoison != 3 || dry.Records != 2 || dry.Deleted != 0 || len(b.live(t, "managed")) != 0 || len(b.keys(t.Context(), t)) != 4 {
		t.Errorf("report %+v", dry)
	}
	if dry.Stats.Upserts != 0 || b.faults.Count("PutItem") != 0 {
		t.Errorf("it counts what it did not do: %+v", dry.Stats)
	}
	for n, want := range []string{"409600: shrink or delete the base item, then redrive again", "still cannot be read", "SequenceNumber"} {
		if !strings.Contains(dry.Problems[n].Reason, want) {
			t.Errorf("%s: %s", dry.Problems[n].Key, dry.Problems[n].Reason)
		}
	}
	if got := b.run(t, redrive.Options{}); got.Done != dry.ToReplay || got.Records != dry.Records {
		t.Errorf("report %+v", got)
	} else if diff := cmp.Diff(dry.Problems, got.Problems); diff != "" {
		t.Errorf("the run ends otherwise than foretold (-foretold +run):\n%s", diff)
	}
}

// TestPoisonThatALaterChangeSupersededLeavesTheBucket: the owner did what the report said.
func TestPoisonThatALaterChangeSupersededLeavesTheBucket(t *testing.T) {
	t.Parallel()
	for name, later := range map[string]ddb.Item{"shrunk": user("u", "1"), "shrunk and moved": user("u", "2"), "deleted": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			st := stream(now.Add(-time.Hour))
			result, err := b.syncer.Process(t.Context(), indexsync.JoinRecords(change(t, st, nil, huge("u", "1"))))
			if err != nil || len(result.Parked) != 1 {
				t.Fatalf("%+v, %v", result, err)
			}
			if report := b.run(t, redrive.Options{}); report.StillPoison != 1 || !strings.Contains(report.Problems[0].Reason, "shrink or delete the base item") {
				t.Fatalf("report %+v", report)
			}
			if _, err := b.syncer.Process(t.Context(), indexsync.JoinRecords(change(t, st, huge("u", "1"), later))); err != nil {
				t.Fatal(err)
			}
			rows := b.live(t, "managed")
			if report := b.run(t, redrive.Options{DryRun: true}); report.ToReplay != 1 {
				t.Errorf("foretold %+v", report)
			}
			if report := b.run(t, redrive.Options{}); report.Done != 1 || report.Deleted != 1 || len(b.keys(t.Context(), t)) != 0 {
				t.Errorf("report %+v", report)
			}
			if diff := cmp.Diff(rows, b.live(t, "managed")); diff != "" || (len(rows) == 1) != (later != nil) {
				t.Errorf("%v %s", rows, diff)
			}
		})
	}
}

// Whether a record is superseded must be known before its object goes.
func TestPoisonStaysWhileItsRowCannotBeRead(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put(t, "x", failure(t, nil, change(t, stream(now.Add(-time.Hour)), nil, huge("u", "1"))))
	b.faults.Add(ddbtest.Rule{Operation: "GetItem", Do: ddbtest.Throttle(ddbtest.CodeThrottling)})
	if report := b.run(t, redrive.Options{}); report.Failed != 1 || len(b.keys(t.Context(), t)) != 1 || !strings.Contains(report.Problems[0].Reason, "run again") {
		t.Errorf("report %+v", report)
	}
}

// TestRecordsOfAnotherTableAreRefusedByItsName, whether the object says so, hides it, or holds records of both.
func TestRecordsOfAnotherTableAreRefusedByItsName(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	foreign, own := ddbtest.NewStream("Stranger", []string{"userId"}, ddbtest.NewClock(now.Add(-time.Hour)), 1), stream(now.Add(-time.Hour))
	b.put(t, "a", failure(t, nil, change(t, foreign, nil, user("f1", "1"))))
	b.put(t, "b", failure(t, func(o *indexsync.FailureObject) { o.Batch.StreamARN = foreign.ARN }, change(t, foreign, nil, user("f2", "1"))))
	b.put(t, "c", failure(t, func(o *indexsync.FailureObject) { o.Batch.StreamARN = own.ARN }, change(t, foreign, nil, user("f3", "1")), change(t, own, nil, user("o", "1"))))
	b.put(t, "d", failure(t, func(o *indexsync.FailureObject) {
		o.Payload = ""
		o.Batch = indexsync.FailedBatch{ShardID: "s", StreamARN: foreign.ARN, StartSequenceNumber: "1", EndSequenceNumber: "2"}
	}))
	for _, options := range []redrive.Options{{DryRun: true}, {}, {}} {
		report := b.run(t, options)
		if report.Refused != 4 || len(report.Problems) != 4 || len(b.keys(t.Context(), t)) != 4 || report.Records != 1 {
			t.Errorf("report %+v", report)
		}
		for _, problem := range report.Problems {
			if !strings.Contains(problem.Reason, `"Stranger"`) || strings.Contains(problem.Reason, redrive.Instead) {
				t.Errorf("%s: %s", problem.Key, problem.Reason)
			}
		}
	}
	if diff := cmp.Diff([]string{"a/0000000000001#o"}, b.live(t, "managed")); diff != "" {
		t.Error(diff)
	}
}
