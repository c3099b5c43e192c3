package indexjobs_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
	"github.com/heatsink-dev/heatsink/pkg/indexjobs"
	"github.com/heatsink-dev/heatsink/pkg/indexsync"
	"github.com/heatsink-dev/heatsink/pkg/redrive"
)

func (f *fixture) redriver() *indexjobs.Redrive {
	f.Helper()
	redriver, err := redrive.New(redrive.Config{
		Bucket: f.bucket, Store: f.objects, Stream: ddbtest.Streams(f), Rows: f.client, Syncer: f.sources(true).Syncer, Now: func() time.Time { return now },
	})
	if err != nil {
		f.Fatal(err)
	}
	return indexjobs.NewRedrive(redriver, f.reporting())
}

// giveUp puts an object of the mapping's own form into the bucket.
func (f *fixture) giveUp(key string, records ...json.RawMessage) {
	f.Helper()
	var object indexsync.FailureObject
	object.RequestContext.Condition, object.Batch.BatchSize, object.Payload = "RecordAgeExceeded", len(records), string(ddbtest.Event(records...))
	body, err := json.Marshal(object)
	if err != nil {
		f.Fatal(err)
	}
	if _, err := f.objects.PutObject(f.Context(), &s3.PutObjectInput{Bucket: &f.bucket, Key: &key, Body: bytes.NewReader(body)}); err != nil {
		f.Fatal(err)
	}
}

func TestRedriveRepliesWhatBecameOfEachObject(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.giveUp("aws/lambda/a.json", f.change(nil, user("secret-a", 1)).JSON())
	old := f.change(nil, user("secret-b", 2))
	old.At = now.Add(-8 * 24 * time.Hour)
	f.giveUp("aws/lambda/b.json", old.JSON())
	answer, err := f.redriver().Handle(t.Context(), json.RawMessage(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	if len(answer.Problems) != 1 || answer.Problems[0].Key != "aws/lambda/b.json" || answer.Problems[0].Outcome != "refused" || answer.Problems[0].Reason == "" {
		t.Errorf("problems %+v", answer.Problems)
	}
	answer.Problems = nil
	want := indexjobs.RedriveAnswer{Objects: 2, Done: 1, Refused: 1, Deleted: 1, Records: 1, Last: "aws/lambda/b.json"}
	if diff := cmp.Diff(want, answer); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"aws/lambda/b.json"}, f.parked(t.Context())); diff != "" || len(f.rows()) != 1 {
		t.Errorf("%d rows, %s", len(f.rows()), diff)
	}
	if line := f.line("redrive"); line["objects"] != 2.0 || line["upserts"] != 1.0 || strings.Contains(f.log.String(), "secret") {
		t.Errorf("line %v", line)
	}
	if sums := f.sums(); sums["indexer: RedrivenObjects"] != 1 || sums["indexer: RedriveProblems"] != 1 || sums["indexer managed: Upserts"] != 1 {
		t.Errorf("metrics %v", sums)
	}
}

func TestADryRunAndKeepLeaveTheBucketAlone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.giveUp("aws/lambda/a.json", f.change(nil, user("a", 1)).JSON())
	f.giveUp("other/b.json", f.change(nil, user("b", 2)).JSON())
	for request, rows := range map[string]int{`{"dryRun":true}`: 0, `{"prefix":"aws/","keep":true}`: 1, `{"after":"other/b.json"}`: 1} {
		answer, err := f.redriver().Handle(t.Context(), json.RawMessage(request))
		if err != nil || answer.Deleted != 0 || len(f.parked(t.Context())) != 2 {
			t.Errorf("%s: %+v, %v, bucket %v", request, answer, err, f.parked(t.Context()))
		}
		if request == `{"dryRun":true}` && (answer.Records != 2 || answer.ToReplay != 2 || answer.Done != 0) || strings.Contains(request, "keep") && answer.Records != rows || strings.Contains(request, "after") && answer.Objects != 0 {
			t.Errorf("%s: %+v", request, answer)
		}
	}
}

// Also where the deployment has one table alone, so that there is nothing to choose between.
func TestRedriveRefusesRecordsOfATableThatIsNoSource(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	stranger := ddbtest.NewStream("Stranger", []string{"userId"}, ddbtest.NewClock(now), 1)
	record, _ := stranger.Change(nil, user("a", 1))
	f.giveUp("aws/lambda/a.json", record.JSON())
	answer, err := f.redriver().Handle(t.Context(), json.RawMessage(`{}`))
	if err != nil || answer.Refused != 1 || len(answer.Problems) != 1 || !strings.Contains(answer.Problems[0].Reason, `"Stranger"`) || len(f.rows()) != 0 || len(f.parked(t.Context())) != 1 {
		t.Errorf("%+v, %v", answer, err)
	}
	for arn, want := range map[string]bool{"": true, f.stream.ARN: true, stranger.ARN: false, strings.Replace(f.stream.ARN, "table/", "table/x", 1): false} {
		if syncer, err := f.sources(true).Syncer(arn); (err == nil) != want || (syncer != nil) != want {
			t.Errorf("%q: %v", arn, err)
		}
	}
}

func TestARedriveRequestIsUnderstoodInWholeOrRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.giveUp("aws/lambda/a.json", f.change(nil, user("a", 1)).JSON())
	for _, request := range []string{``, `[]`, `"x"`, `{"dryrunn":true}`, `{"dryRun":"yes"}`, `{} {}`, `{"prefix":5}`} {
		if answer, err := f.redriver().Handle(t.Context(), json.RawMessage(request)); err == nil {
			t.Errorf("%q: %+v", request, answer)
		}
	}
	if len(f.rows()) != 0 || len(f.parked(t.Context())) != 1 {
		t.Error("a refused request did something")
	}
}
