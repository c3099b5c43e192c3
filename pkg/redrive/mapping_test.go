package redrive_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
	"github.com/heatsink-dev/heatsink/pkg/redrive"
)

// What the stream mapping itself gives up, because it grew too old while the index table was throttled, is complete in the bucket, in the form that AWS writes,
// and redrive finishes it: nothing is lost.
func TestWhatTheMappingGaveUpIsFinishedByRedrive(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	clock := ddbtest.NewClock(now.Add(-30 * time.Hour))
	throttled := true
	b.faults.Add(ddbtest.Rule{
		Operation: "PutItem", When: func(any) bool { return throttled },
		Do: ddbtest.Throttle(ddbtest.CodeProvisioned, ddb.Throttle{Reason: "TableWriteProvisionedThroughputExceeded", Resource: "r"}),
	})
	objects := map[string][]byte{}
	mapping := ddbtest.NewMapping(t, ddbtest.MappingConfig{
		Handler: func(ctx context.Context, payload []byte) ([]byte, error) {
			result, err := b.syncer.Process(ctx, payload)
			if err != nil {
				return nil, err
			}
			return fmt.Appendf(nil, `{"batchItemFailures":[{"itemIdentifier":%q}]}`, result.FailedSequence), nil
		},
		BatchSize: 7, MaximumRetryAttempts: ddbtest.Unlimited, MaximumRecordAge: time.Hour, BisectBatchOnFunctionError: true, ReportBatchItemFailures: true,
		Clock: clock, RetryDelay: 10 * time.Minute, Seed: 1,
		OnFailure: func(_ context.Context, key string, object []byte) error {
			objects[key] = object
			return nil
		},
	})
	stream := ddbtest.NewStream("User", []string{"userId"}, clock, 1)
	var want []string
	var records []json.RawMessage
	for n := range 20 {
		first, second := user(fmt.Sprintf("u%02d", n), "1"), user(fmt.Sprintf("u%02d", n), "2")
		records = append(records, change(t, stream, nil, first), change(t, stream, first, second))
		want = append(want, fmt.Sprintf("a/0000000000002#u%02d", n))
	}
	mapping.Send("shard", records...)
	if err := mapping.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for key, body := range objects {
		b.put(t, key, body)
	}
	given := len(objects)
	if stats := mapping.Stats(); given == 0 || stats.Discarded != 40 || stats.Lost != 0 || len(b.live(t, "managed")) != 0 {
		t.Fatalf("%d objects, %+v", given, stats)
	}
	for _, key := range b.keys(t.Context(), t) {
		if !strings.HasPrefix(key, "aws/lambda/") {
			t.Errorf("key %s", key)
		}
	}
	throttled = false
	if report := b.run(t, redrive.Options{Prefix: "aws/lambda/"}); report.Done != given || report.Records != 40 || report.Deleted != given {
		t.Errorf("report %+v", report)
	}
	if diff := cmp.Diff(want, b.live(t, "managed")); diff != "" {
		t.Error(diff)
	}
}
