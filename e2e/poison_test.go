package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/pkg/catalog"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
	"github.com/heatsink-dev/heatsink/pkg/edge/routes"
	"github.com/heatsink-dev/heatsink/pkg/indexjobs"
	"github.com/heatsink-dev/heatsink/pkg/indexsync"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

// An item that just fits the base table is too large as an index row, which has SK and _v besides.
func TestAPoisonRecordIsParkedWholeAndHoldsBackNothing(t *testing.T) {
	t.Parallel()
	s := onStage(t)
	s.user(0, 0, nil)
	poison := ddb.Item{"userId": text(s.id(1)), "ID": text(s.partition), "managedKey": number(firstTime + 1), "filler": text("")}
	filler := strings.Repeat("x", ddb.MaxItemSize-ddb.Size(poison))
	poison["filler"] = text(filler)
	s.put(poison)
	s.user(2, 2, nil)
	s.settled(2, 0)
	if diff := cmp.Diff(s.users(0, 2), s.get("managed/items").ids()); diff != "" {
		t.Error(diff)
	}
	var key string
	s.eventually("the poison record is in the failure bucket", func() (bool, any) {
		key = s.findParked(s.id(1))
		return key != "", s.listParked()
	})
	// Parked once more by a redelivery, it replaces itself.
	if again := s.parkedOf(s.id(1)); len(again) != 1 {
		t.Errorf("one record, objects %v", again)
	}
	var object indexsync.FailureObject
	if err := json.Unmarshal(s.object(key), &object); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(object.RequestContext.Condition, indexsync.PoisonCondition) || object.Batch.StreamARN == "" || object.Batch.BatchSize != 1 {
		t.Errorf("context %+v, batch %+v", object.RequestContext, object.Batch)
	}
	if !strings.Contains(object.Payload, filler) || strings.Contains(object.RequestContext.Condition, "xxxx") {
		t.Errorf("the payload must hold the whole record, the condition none of it: %s", object.RequestContext.Condition)
	}
	// A smaller version of the item comes through.
	s.user(1, 1, nil)
	s.settled(3, 0)
	if diff := cmp.Diff(s.users(0, 1, 2), s.get("managed/items").ids()); diff != "" {
		t.Error(diff)
	}
}

// AWS writes such an object when it gives a batch up. Redriven, its records are in the index, and what is too old is refused and stays.
func TestRedriveCompletesWhatTheMappingGaveUp(t *testing.T) {
	t.Parallel()
	s := onStage(t)
	s.user(0, 0, nil)
	s.settled(1, 0)
	clock := ddbtest.NewClock(time.Now())
	stream := ddbtest.NewStream(s.table(catalog.UserTable), []string{"userId"}, clock, 1)
	change := func(n int) json.RawMessage {
		record, _ := stream.Change(nil, ddb.Item{"userId": text(s.id(n)), "ID": text(s.partition), "managedKey": number(int64(firstTime + n))})
		return record.JSON()
	}
	prefix := "aws/lambda/" + s.prefix + "/"
	s.giveUp(prefix+"lost.json", change(1), change(2))
	clock.Advance(-8 * 24 * time.Hour)
	s.giveUp(prefix+"old.json", change(3))

	if got := s.redrive(`{"prefix":"` + prefix + `","dryRun":true}`); got.Objects != 2 || got.Records != 2 || got.Refused != 1 || got.Deleted != 0 {
		t.Errorf("dry run: %+v", got)
	}
	s.settled(1, 0)
	got := s.redrive(`{"prefix":"` + prefix + `"}`)
	if got.Objects != 2 || got.Done != 1 || got.Refused != 1 || got.Deleted != 1 || got.Records != 2 || len(got.Problems) != 1 || got.Problems[0].Key != prefix+"old.json" {
		t.Errorf("run: %+v", got)
	}
	s.settled(3, 0)
	if diff := cmp.Diff(s.users(0, 1, 2), s.get("managed/items").ids()); diff != "" {
		t.Error(diff)
	}
	if got := s.redrive(`{"prefix":"` + prefix + `"}`); got.Objects != 1 || got.Refused != 1 {
		t.Errorf("another run: %+v", got)
	}
	if _, failed := s.invoke(routes.Redrive, `{"prefixes":["x"]}`); !failed {
		t.Error("a request with an unknown field was run")
	}
}

// giveUp puts an object of the mapping's own form into the failure bucket.
func (s *stage) giveUp(key string, records ...json.RawMessage) {
	s.Helper()
	var object indexsync.FailureObject
	object.RequestContext.Condition, object.Version, object.Timestamp = "RetryAttemptsExhausted", "1.0", time.Now().UTC().Format(time.RFC3339)
	object.Batch.BatchSize, object.Payload = len(records), string(ddbtest.Event(records...))
	body, err := json.Marshal(object)
	if err != nil {
		s.Fatal(err)
	}
	bucket := s.output(schema.OutputFailureBucket)
	if _, err := s.s3.PutObject(s.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: bytes.NewReader(body)}); err != nil {
		s.Fatal(err)
	}
}

// invoke calls a deployed function.
func (s *stage) invoke(function, payload string) (answer []byte, failed bool) {
	s.Helper()
	name := s.output(schema.FunctionOutput(function))
	got, err := s.lambda.Invoke(s.Context(), &lambda.InvokeInput{FunctionName: &name, Payload: []byte(payload)})
	if err != nil {
		s.Fatal(err)
	}
	return got.Payload, got.FunctionError != nil
}

func (s *stage) redrive(payload string) (got indexjobs.RedriveAnswer) {
	s.Helper()
	answer, failed := s.invoke(routes.Redrive, payload)
	if err := json.Unmarshal(answer, &got); err != nil || failed {
		s.Fatalf("redrive: %s (%v)", answer, err)
	}
	return got
}

func (s *stage) listParked() []string {
	s.Helper()
	bucket, keys := s.output(schema.OutputFailureBucket), []string(nil)
	pages := s3.NewListObjectsV2Paginator(s.s3, &s3.ListObjectsV2Input{Bucket: &bucket})
	for pages.HasMorePages() {
		answer, err := pages.NextPage(s.Context())
		if err != nil {
			s.Fatal(err)
		}
		for _, object := range answer.Contents {
			keys = append(keys, *object.Key)
		}
	}
	slices.Sort(keys)
	return keys
}

// parkedOf lists the objects whose payload is about a user.
func (s *stage) parkedOf(user string) (keys []string) {
	s.Helper()
	for _, key := range s.listParked() {
		if strings.Contains(string(s.object(key)), user) {
			keys = append(keys, key)
		}
	}
	return keys
}

func (s *stage) findParked(user string) string {
	s.Helper()
	if keys := s.parkedOf(user); len(keys) > 0 {
		return keys[0]
	}
	return ""
}

func (s *stage) object(key string) []byte {
	s.Helper()
	bucket := s.output(schema.OutputFailureBucket)
	answer, err := s.s3.GetObject(s.Context(), &s3.GetObjectInput{Bucket: &bucket, Key: &key})
	if err != nil {
		s.Fatal(fmt.Errorf("get %s: %w", key, err))
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		s.Fatal(err)
	}
	return body
}
