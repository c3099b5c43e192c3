package ddbtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
)

const shard = "shardId-00000001573689847184-864758bb"

// rig is a mapping with a scripted handler that keeps what it was given: one string of item names a delivery.
type rig struct {
	*ddbtest.Mapping
	clock     *ddbtest.Clock
	delivered []string
	sequence  map[string]string // of an item's name
	names     map[string]string // of a sequence number
	objects   map[string]json.RawMessage
}

// newRig: answer gets the names of a delivery and returns the names it reports failed, or an error.
func newRig(t *testing.T, cfg ddbtest.MappingConfig, answer func(r *rig, names string) ([]byte, error)) *rig {
	t.Helper()
	r := &rig{
		clock: ddbtest.NewClock(time.Time{}), sequence: map[string]string{}, names: map[string]string{}, objects: map[string]json.RawMessage{},
	}
	cfg.Clock = r.clock
	cfg.OnFailure = func(_ context.Context, key string, object []byte) error {
		r.objects[key] = object
		return nil
	}
	cfg.Handler = func(_ context.Context, payload []byte) ([]byte, error) {
		names := r.read(t, payload)
		r.delivered = append(r.delivered, names)
		return answer(r, names)
	}
	r.Mapping = ddbtest.NewMapping(t, cfg)
	return r
}

func (r *rig) read(t *testing.T, payload []byte) string {
	t.Helper()
	var event struct {
		Records []struct {
			DynamoDB struct{ SequenceNumber string }
		}
	}
	if err := json.Unmarshal(payload, &event); err != nil {
		t.Fatal(err)
	}
	names := ""
	for _, record := range event.Records {
		names += r.names[record.DynamoDB.SequenceNumber]
	}
	return names
}

// send puts one record for each letter into the shard.
func (r *rig) send(t *testing.T, stream *ddbtest.Stream, shard, names string) {
	t.Helper()
	for name := range strings.SplitSeq(names, "") {
		record, ok := stream.Change(nil, ddb.Item{"userId": text(name)})
		if !ok {
			t.Fatal("no record")
		}
		r.sequence[name], r.names[record.Sequence] = record.Sequence, name
		r.Send(shard, record.JSON())
	}
}

func (r *rig) stream(seed uint64) *ddbtest.Stream {
	return ddbtest.NewStream("User", []string{"userId"}, r.clock, seed)
}

// report answers with these items as failed.
func (r *rig) report(names string) []byte {
	var failures []string
	for _, name := range names {
		failures = append(failures, fmt.Sprintf(`{"itemIdentifier":%q}`, r.sequence[string(name)]))
	}
	return []byte(`{"batchItemFailures":[` + strings.Join(failures, ",") + `]}`)
}

var errHandler = errors.New("handler failed")

func TestHowAResponseIsRead(t *testing.T) {
	t.Parallel()
	// The handler answers once so, and then with success. What is delivered second tells how it was read.
	const all, none = "abcd", ""
	for _, test := range []struct {
		name   string
		answer func(r *rig) ([]byte, error)
		second string
	}{
		{"an empty response is success", func(*rig) ([]byte, error) { return nil, nil }, none},
		{"null is success", func(*rig) ([]byte, error) { return []byte(`null`), nil }, none},
		{"an empty object is success", func(*rig) ([]byte, error) { return []byte(`{}`), nil }, none},
		{"a null list is success", func(*rig) ([]byte, error) { return []byte(`{"batchItemFailures":null}`), nil }, none},
		{"an empty list is success", func(*rig) ([]byte, error) { return []byte(`{"batchItemFailures":[]}`), nil }, none},
		{"one id is the checkpoint", func(r *rig) ([]byte, error) { return r.report("c"), nil }, "cd"},
		{"of several ids the lowest is the checkpoint", func(r *rig) ([]byte, error) { return r.report("dbc"), nil }, "bcd"},
		{"the last id alone delivers the last again", func(r *rig) ([]byte, error) { return r.report("d"), nil }, "d"},
		{"the first id delivers everything again", func(r *rig) ([]byte, error) { return r.report("a"), nil }, all},
		{"an empty id is failure of the batch", func(*rig) ([]byte, error) {
			return []byte(`{"batchItemFailures":[{"itemIdentifier":""}]}`), nil
		}, all},
		{"a null id is failure of the batch", func(*rig) ([]byte, error) {
			return []byte(`{"batchItemFailures":[{"itemIdentifier":null}]}`), nil
		}, all},
		{"a bad key name is failure of the batch", func(r *rig) ([]byte, error) {
			return []byte(`{"batchItemFailures":[{"ItemIdentifier":"` + r.sequence["c"] + `"}]}`), nil
		}, all},
		{"an empty id beside a good one is failure of the batch", func(r *rig) ([]byte, error) {
			return []byte(`{"batchItemFailures":[{"itemIdentifier":"` + r.sequence["c"] + `"},{"itemIdentifier":""}]}`), nil
		}, all},
		{"an id outside the batch is failure of the batch", func(*rig) ([]byte, error) {
			return []byte(`{"batchItemFailures":[{"itemIdentifier":"1"}]}`), nil
		}, all},
		{"an id outside the batch beside a good one is too", func(r *rig) ([]byte, error) {
			return []byte(`{"batchItemFailures":[{"itemIdentifier":"` + r.sequence["c"] + `"},{"itemIdentifier":"1"}]}`), nil
		}, all},
		{"no JSON is failure of the batch", func(*rig) ([]byte, error) { return []byte(`oops`), nil }, all},
		{"an error is failure of the batch", func(*rig) ([]byte, error) { return nil, errHandler }, all},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			first := true
			r := newRig(t, ddbtest.MappingConfig{ReportBatchItemFailures: true, MaximumRetryAttempts: 1}, func(r *rig, _ string) ([]byte, error) {
				if !first {
					return nil, nil
				}
				first = false
				return test.answer(r)
			})
			r.send(t, r.stream(1), shard, "abcd")
			if err := r.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			want := []string{"abcd"}
			if test.second != none {
				want = append(want, test.second)
			}
			if diff := cmp.Diff(want, r.delivered); diff != "" {
				t.Error(diff)
			}
			if r.Stats().Done != 4 || len(r.objects) != 0 {
				t.Errorf("stats %+v, %d objects: all records must be done", r.Stats(), len(r.objects))
			}
		})
	}
}

func TestReportedFailuresMeanNothingUnlessConfigured(t *testing.T) {
	t.Parallel()
	r := newRig(t, ddbtest.MappingConfig{}, func(r *rig, _ string) ([]byte, error) { return r.report("b"), nil })
	r.send(t, r.stream(1), shard, "abc")
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"abc"}, r.delivered); diff != "" {
		t.Error(diff)
	}
}

func TestBisectingIsolatesTheBadRecordWithoutSpendingRetries(t *testing.T) {
	t.Parallel()
	for _, reporting := range []bool{false, true} { // "regardless of your ReportBatchItemFailures setting"
		r := newRig(t, ddbtest.MappingConfig{BisectBatchOnFunctionError: true, ReportBatchItemFailures: reporting, MaximumRetryAttempts: 1},
			func(_ *rig, names string) ([]byte, error) {
				if strings.Contains(names, "c") {
					return nil, errHandler
				}
				return nil, nil
			})
		r.send(t, r.stream(1), shard, "abcdef")
		if err := r.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		// In order all the time; c alone spends its one retry, and def is not held up after it.
		if diff := cmp.Diff([]string{"abcdef", "abc", "a", "bc", "b", "c", "c", "def"}, r.delivered); diff != "" {
			t.Error(diff)
		}
		stats := r.Stats()
		if stats.Splits != 3 || stats.Discarded != 1 || stats.Done != 5 || stats.Lost != 0 || len(r.objects) != 1 {
			t.Errorf("stats %+v, %d objects", stats, len(r.objects))
		}
	}
}

func TestAPartialResponseIsCutAtTheReturnedSequence(t *testing.T) {
	t.Parallel()
	r := newRig(t, ddbtest.MappingConfig{BisectBatchOnFunctionError: true, ReportBatchItemFailures: true, MaximumRetryAttempts: 2},
		func(r *rig, names string) ([]byte, error) {
			if strings.Contains(names, "c") {
				return r.report("c"), nil
			}
			return nil, nil
		})
	r.send(t, r.stream(1), shard, "abcdef")
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	// The cut is free; then the checkpoint stands still and the quota of 2 goes. What is left goes with it, whole: why a poison must be parked.
	if diff := cmp.Diff([]string{"abcdef", "cdef", "cdef", "cdef"}, r.delivered); diff != "" {
		t.Error(diff)
	}
	if stats := r.Stats(); stats.Splits != 1 || stats.Discarded != 4 || stats.Done != 2 {
		t.Errorf("stats %+v", stats)
	}
}

func TestRetriesAreCountedToTheLast(t *testing.T) {
	t.Parallel()
	for _, retries := range []int{0, 1, 5, 10_000} {
		r := newRig(t, ddbtest.MappingConfig{MaximumRetryAttempts: retries, RetryDelay: time.Second}, func(*rig, string) ([]byte, error) { return nil, errHandler })
		r.send(t, r.stream(1), shard, "ab")
		if err := r.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if stats := r.Stats(); stats.Invocations != 1+retries || stats.Retries != retries || stats.Discarded != 2 {
			t.Errorf("%d retries: stats %+v", retries, stats)
		}
	}
}

func TestWithoutALimitOneBadRecordBlocksItsShardForADayAndIsGone(t *testing.T) {
	t.Parallel()
	r := newRig(t, ddbtest.MappingConfig{MaximumRetryAttempts: ddbtest.Unlimited, RetryDelay: time.Hour, BatchSize: 1}, func(_ *rig, names string) ([]byte, error) {
		if names == "a" {
			return nil, errHandler
		}
		return nil, nil
	})
	stream := r.stream(1)
	r.send(t, stream, shard, "a")
	r.clock.Advance(2 * time.Hour)
	r.send(t, stream, shard, "b")
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	stats := r.Stats()
	if stats.Expired != 1 || stats.Done != 1 || stats.Discarded != 0 || len(r.objects) != 0 {
		t.Errorf("stats %+v, %d objects: what the stream no longer has reaches no destination", stats, len(r.objects))
	}
	if r.delivered[len(r.delivered)-1] != "b" {
		t.Errorf("b must come once a is gone: %v", r.delivered)
	}
}

func TestRecordsPastTheirAgeAreDiscardedAndYoungerOnesGoOn(t *testing.T) {
	t.Parallel()
	r := newRig(t, ddbtest.MappingConfig{MaximumRetryAttempts: ddbtest.Unlimited, MaximumRecordAge: time.Minute, RetryDelay: 20 * time.Second},
		func(_ *rig, names string) ([]byte, error) {
			if strings.Contains(names, "a") {
				return nil, errHandler
			}
			return nil, nil
		})
	stream := r.stream(1)
	r.send(t, stream, shard, "a")
	r.clock.Advance(30 * time.Second)
	r.send(t, stream, shard, "b")
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	// a is 30 s old at first; after two retries it is 70 s old.
	if diff := cmp.Diff([]string{"ab", "ab", "b"}, r.delivered); diff != "" {
		t.Error(diff)
	}
	if len(r.objects) != 1 {
		t.Fatalf("%d objects, want 1", len(r.objects))
	}
	for _, object := range r.objects {
		got := decodeObject(t, object)
		if got.RequestContext.Condition != "RecordAgeExceeded" || got.Batch.Size != 1 || r.read(t, []byte(got.Payload)) != "a" || got.RequestContext.InvokeCount != 2 {
			t.Errorf("object %s", object)
		}
	}
}

func TestAFunctionThatIsNotInvokedIsLimitedByAgeAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t, ddbtest.MappingConfig{MaximumRecordAge: time.Minute, RetryDelay: time.Second}, func(*rig, string) ([]byte, error) {
		return nil, ddbtest.ErrNotInvoked
	})
	r.send(t, r.stream(1), shard, "a")
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if stats := r.Stats(); stats.Invocations != 0 || stats.Discarded != 1 || len(r.delivered) != 61 {
		t.Errorf("stats %+v after %d tries", stats, len(r.delivered))
	}
	for _, object := range r.objects {
		if strings.Contains(string(object), "responseContext") {
			t.Errorf("never invoked, so no responseContext: %s", object)
		}
	}
}

// object is the shape of AWS's own, for reading.
type object struct {
	RequestContext struct {
		RequestID   string `json:"requestId"`
		FunctionARN string `json:"functionArn"`
		Condition   string `json:"condition"`
		InvokeCount int    `json:"approximateInvokeCount"`
	} `json:"requestContext"`
	ResponseContext *struct {
		StatusCode      int     `json:"statusCode"`
		ExecutedVersion string  `json:"executedVersion"`
		FunctionError   *string `json:"functionError"`
	} `json:"responseContext"`
	Version   string `json:"version"`
	Timestamp string `json:"timestamp"`
	Batch     struct {
		ShardID      string `json:"shardId"`
		Start        string `json:"startSequenceNumber"`
		End          string `json:"endSequenceNumber"`
		FirstArrival string `json:"approximateArrivalOfFirstRecord"`
		LastArrival  string `json:"approximateArrivalOfLastRecord"`
		Size         int    `json:"batchSize"`
		StreamARN    string `json:"streamArn"`
	} `json:"DDBStreamBatchInfo"`
	Payload string `json:"payload"`
}

func decodeObject(t *testing.T, raw []byte) object {
	t.Helper()
	var o object
	decoder := json.NewDecoder(strings.NewReader(string(raw)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&o); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	return o
}

func TestTheFailureObjectIsAsAWSWritesIt(t *testing.T) {
	t.Parallel()
	for _, partial := range []bool{false, true} {
		r := newRig(t, ddbtest.MappingConfig{ReportBatchItemFailures: true, MaximumRetryAttempts: 1, RetryDelay: time.Second}, func(r *rig, names string) ([]byte, error) {
			if partial {
				return r.report(names[:1]), nil
			}
			return nil, errHandler
		})
		stream := r.stream(1)
		r.send(t, stream, shard, "a")
		r.clock.Advance(3 * time.Second)
		r.send(t, stream, shard, "b")
		if err := r.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(r.objects) != 1 {
			t.Fatalf("%d objects, want 1", len(r.objects))
		}
		for key, raw := range r.objects {
			want := regexp.MustCompile(`^aws/lambda/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/` + shard +
				`/2026/11/14/2026-11-14T00\.00\.04-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
			if !want.MatchString(key) {
				t.Errorf("key %s", key)
			}
			got := decodeObject(t, raw)
			if got.RequestContext.Condition != "RetryAttemptsExhausted" || got.RequestContext.InvokeCount != 2 || got.RequestContext.RequestID == "" ||
				got.RequestContext.FunctionARN == "" || got.Version != "1.0" || got.Timestamp != "2026-11-14T00:00:04.000Z" {
				t.Errorf("object %s", raw)
			}
			if got.ResponseContext == nil || got.ResponseContext.StatusCode != 200 || got.ResponseContext.ExecutedVersion != "$LATEST" ||
				(got.ResponseContext.FunctionError == nil) != partial {
				t.Errorf("responseContext of %s", raw)
			}
			if b := got.Batch; b.ShardID != shard || b.Start != r.sequence["a"] || b.End != r.sequence["b"] || b.Size != 2 || b.StreamARN != stream.ARN ||
				b.FirstArrival != "2026-11-14T00:00:00Z" || b.LastArrival != "2026-11-14T00:00:03Z" {
				t.Errorf("DDBStreamBatchInfo of %s", raw)
			}
			if r.read(t, []byte(got.Payload)) != "ab" {
				t.Errorf("the payload must be the whole event: %s", got.Payload)
			}
		}
	}
}

func TestOrderWithinAShardAndParentBeforeChild(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		r := newRig(t, ddbtest.MappingConfig{BatchSize: 2, Seed: seed}, func(*rig, string) ([]byte, error) { return nil, nil })
		r.Child("grandchild", "child")
		r.Child("child", "parent")
		r.send(t, r.stream(1), "grandchild", "xyz")
		r.send(t, r.stream(2), "child", "klm")
		r.send(t, r.stream(3), "parent", "abc")
		r.send(t, r.stream(4), "other", "123")
		if err := r.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		all := strings.Join(r.delivered, "")
		lineage := strings.Map(func(c rune) rune {
			if c < 'a' {
				return -1
			}
			return c
		}, all)
		if lineage != "abcklmxyz" {
			t.Fatalf("seed %d: %s", seed, lineage)
		}
		if strings.Index(all, "1") > strings.Index(all, "2") || strings.Index(all, "2") > strings.Index(all, "3") {
			t.Fatalf("seed %d: %s", seed, all)
		}
	}
}

func TestTheParallelizationFactorKeepsTheOrderOfAKeyAlone(t *testing.T) {
	t.Parallel()
	orders := map[string]bool{}
	for seed := range uint64(20) {
		var seen []string
		clock := ddbtest.NewClock(time.Time{})
		m := ddbtest.NewMapping(t, ddbtest.MappingConfig{BatchSize: 1, ParallelizationFactor: 10, Seed: seed, Clock: clock, Handler: func(_ context.Context, payload []byte) ([]byte, error) {
			var event struct {
				Records []struct {
					DynamoDB struct{ NewImage json.RawMessage }
				}
			}
			if err := json.Unmarshal(payload, &event); err != nil {
				return nil, err
			}
			item, err := ddb.DecodeItem(event.Records[0].DynamoDB.NewImage)
			if err != nil {
				return nil, err
			}
			user, _ := ddb.KeyValue(item["userId"])
			version, _ := ddb.KeyValue(item["v"])
			seen = append(seen, user.String()+version.String())
			return nil, nil
		}})
		stream := ddbtest.NewStream("User", []string{"userId"}, clock, 1)
		for version := range 3 {
			for user := range 6 {
				record, _ := stream.Change(nil, ddb.Item{"userId": text(string(rune('a' + user))), "v": number(strconv.Itoa(version))})
				m.Send(shard, record.JSON())
			}
		}
		if err := m.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		last := map[byte]byte{}
		for _, one := range seen {
			if one[1] < last[one[0]] {
				t.Fatalf("seed %d: %v", seed, seen)
			}
			last[one[0]] = one[1]
		}
		orders[strings.Join(seen, " ")] = true
	}
	if len(orders) < 2 {
		t.Error("every seed gave one order: nothing ran in parallel")
	}
}

func TestADestinationThatRefusesLosesTheRecords(t *testing.T) {
	t.Parallel()
	m := ddbtest.NewMapping(t, ddbtest.MappingConfig{
		Handler:   func(context.Context, []byte) ([]byte, error) { return nil, errHandler },
		OnFailure: func(context.Context, string, []byte) error { return errHandler },
	})
	record := ddbtest.Record{New: ddb.Item{"userId": text("a")}, Keys: ddb.Item{"userId": text("a")}, Sequence: "1"}
	m.Send(shard, record.JSON())
	if err := m.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if stats := m.Stats(); stats.Discarded != 1 || stats.Lost != 1 {
		t.Errorf("stats %+v", stats)
	}
}

func TestAPayloadStaysWithin6MB(t *testing.T) {
	t.Parallel()
	const limit = 6 << 20
	largest := 0
	m := ddbtest.NewMapping(t, ddbtest.MappingConfig{Handler: func(_ context.Context, payload []byte) ([]byte, error) {
		largest = max(largest, len(payload))
		return nil, nil
	}})
	big := text(strings.Repeat("x", 390_000))
	stream := ddbtest.NewStream("User", []string{"userId"}, ddbtest.NewClock(time.Time{}), 1)
	for n := range 40 {
		record, _ := stream.Change(nil, ddb.Item{"userId": text(strconv.Itoa(n)), "big": big})
		m.Send(shard, record.JSON())
	}
	if err := m.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if largest > limit+64 || m.Stats().Invocations != 3 || m.Stats().Done != 40 {
		t.Errorf("largest %d, stats %+v", largest, m.Stats())
	}
}
