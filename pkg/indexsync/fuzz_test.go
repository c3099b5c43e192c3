package indexsync_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/heatsink-dev/heatsink/pkg/indexsync"
)

// FuzzProcess gives any bytes as an event: an error, or every record written, skipped or parked as it came. Nothing panics, and nothing may be invented: no row without a version.
func FuzzProcess(f *testing.F) {
	names, err := filepath.Glob(filepath.Join(events, "stream-*.json"))
	if err != nil || len(names) == 0 {
		f.Fatal("no samples")
	}
	for _, name := range names {
		raw, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	for _, raw := range []string{
		``, `null`, `{"Records":[null,7,"x",[],{}]}`, `{"Records":[{"eventName":"INSERT","dynamodb":{"NewImage":{"userId":{"S":"u"}}}}]}`,
		`{"Records":[{"eventName":"REMOVE","eventSourceARN":"a/stream/2","dynamodb":{"SequenceNumber":"1","OldImage":{"userId":{"S":"u"},"ID":{"S":"a"},"managedKey":{"N":"1E2"}}}}]}`,
		`{"Records":[{"eventName":"MODIFY","dynamodb":{"SequenceNumber":"\ud800","NewImage":{"userId":{"BS":[7]}}}}]}`,
	} {
		f.Add([]byte(raw))
	}
	source := users(f)
	f.Fuzz(func(t *testing.T, payload []byte) {
		b := newBench(t, newMemory(), source)
		result, err := b.syncer.Process(t.Context(), payload)
		if err != nil {
			return
		}
		if result.FailedSequence != "" {
			t.Fatalf("failed %q without a fault: %v", result.FailedSequence, result.Cause)
		}
		records, err := indexsync.SplitRecords(payload)
		if err != nil || len(records) != result.Stats.Records {
			t.Fatalf("%d records, %d counted, %v", len(records), result.Stats.Records, err)
		}
		if len(b.lot.parked) != len(result.Parked) || len(result.Parked) > len(records) {
			t.Fatalf("%d parked, %d told, of %d", len(b.lot.parked), len(result.Parked), len(records))
		}
		for _, poison := range b.lot.parked {
			if !json.Valid(poison.Record) || poison.Reason == "" {
				t.Fatalf("parked %+v", poison)
			}
		}
		for _, table := range b.tables {
			for _, row := range b.engine.rows(t, table) {
				if s(row["_v"]) == "" || s(row["SK"]) == "" {
					t.Fatalf("row %v", row)
				}
			}
		}
	})
}

// FuzzRecordFields: what is read of a record beside its images takes any bytes.
func FuzzRecordFields(f *testing.F) {
	for _, raw := range []string{``, `{}`, `{"dynamodb":{"ApproximateCreationDateTime":1e400,"SequenceNumber":"1"}}`, `{"dynamodb":{"ApproximateCreationDateTime":-1}}`, `{"dynamodb":{"ApproximateCreationDateTime":"NaN"}}`} {
		f.Add([]byte(raw), "arn:aws:dynamodb:r:1:table/T/stream/2026", "7")
	}
	f.Fuzz(func(t *testing.T, raw []byte, arn, sequence string) {
		if at, ok := indexsync.RecordTime(raw); ok && (at.Year() < 1970 || at.Year() > 9999) {
			t.Fatalf("time %s", at)
		}
		_ = indexsync.RecordSequence(raw)
		key := indexsync.PoisonKey(indexsync.Poison{Record: raw, StreamARN: arn, Sequence: sequence})
		if len(key) <= len(indexsync.PoisonPrefix) || key[:len(indexsync.PoisonPrefix)] != indexsync.PoisonPrefix {
			t.Fatalf("key %q", key)
		}
	})
}
