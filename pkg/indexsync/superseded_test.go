package indexsync_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/indexsync"
)

// What an item's owner does about a row that is too large: each of it supersedes the record.
func TestARefusedRecordIsDoneOnceALaterOneStandsInItsPlace(t *testing.T) {
	t.Parallel()
	huge := big("i", "a", "1")
	for name, later := range map[string]ddb.Item{"shrunk": thing("i", "a", "1"), "shrunk and moved": thing("i", "b", "2"), "deleted": nil, "out of the index": {"id": text("i")}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newReal(t)
			b := newBench(t, e, things(t, onlyManaged))
			poison := event(t, record{new: huge, sequence: seq(1)})
			redriving := b.syncer.WithReader(e)
			if result, err := redriving.Process(t.Context(), poison); err != nil || len(result.Parked) != 1 || !result.Parked[0].Refused {
				t.Fatalf("with nothing newer: %+v, %v", result, err)
			}
			b.process(t, record{old: huge, new: later, sequence: seq(2)})
			before := b.engine.rows(t, b.tables["managed"])
			for name, syncer := range map[string]*indexsync.Syncer{"redriven": redriving, "tried": redriving.WithoutWrites()} {
				if result, err := syncer.Process(t.Context(), poison); err != nil || len(result.Parked) != 0 || result.FailedSequence != "" || result.Stats.StaleSkips != 1 {
					t.Errorf("%s: %+v, %v", name, result, err)
				}
			}
			if result := b.process(t, record{new: huge, sequence: seq(1)}); len(result.Parked) != 1 {
				t.Errorf("without a reader: %+v", result)
			}
			if diff := cmp.Diff(len(before), len(b.engine.rows(t, b.tables["managed"]))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAnOlderRowSupersedesNothing(t *testing.T) {
	t.Parallel()
	e := newReal(t)
	b := newBench(t, e, things(t, onlyManaged))
	small, huge := thing("i", "a", "1"), big("i", "a", "1")
	b.process(t, record{new: small, sequence: seq(1)})
	if result, err := b.syncer.WithReader(e).Process(t.Context(), event(t, record{old: small, new: huge, sequence: seq(2)})); err != nil || len(result.Parked) != 1 {
		t.Errorf("%+v, %v", result, err)
	}
}

// failing is a table that cannot be read now.
type failing struct{}

// GetItem fails.
func (failing) GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return nil, errors.New("not now")
}

func TestWhetherARecordIsSupersededMustBeKnown(t *testing.T) {
	t.Parallel()
	b := newBench(t, newReal(t), things(t, onlyManaged))
	result, err := b.syncer.WithReader(failing{}).Process(t.Context(), event(t, record{new: big("i", "a", "1"), sequence: seq(1)}))
	if err != nil || result.FailedSequence != seq(1) || len(result.Parked) != 0 || !strings.Contains(fmt.Sprint(result.Cause), "read a row of index managed") {
		t.Errorf("%+v, %v", result, err)
	}
}

// TestWithoutWritesFindsWhatCanBeKnownWithoutThem: what cannot be read, and rows past the limit; and it writes nothing.
func TestWithoutWritesFindsWhatCanBeKnownWithoutThem(t *testing.T) {
	t.Parallel()
	b := newBench(t, newReal(t), things(t, onlyManaged))
	fits := big("i2", "a", "2")
	fits["filler"] = text(strings.Repeat("x", ddb.MaxItemSize-ddb.Size(thing("i2", "a", "2"))-len("filler")-200))
	result, err := b.syncer.WithoutWrites().Process(t.Context(), event(t,
		record{new: big("i1", "a", "1"), sequence: seq(1)}, record{new: fits, sequence: seq(2)}, record{sequence: seq(3)}, record{new: thing("i4", "a", "4"), sequence: seq(4)}))
	if err != nil || len(result.Parked) != 2 || result.Parked[0].Sequence != seq(1) || !result.Parked[0].Refused || result.Parked[1].Sequence != seq(3) || result.Parked[1].Refused {
		t.Errorf("%+v, %v", result, err)
	}
	if rows := b.engine.rows(t, b.tables["managed"]); len(rows) != 0 || len(b.spy.wrote()) != 0 {
		t.Errorf("%d rows", len(rows))
	}
}

// TestWhatIsNotIndexedForAFaultIsNamedByItsRecord, the first 20 of it; the counts are of all.
func TestWhatIsNotIndexedForAFaultIsNamedByItsRecord(t *testing.T) {
	t.Parallel()
	b := newBench(t, newReal(t), things(t, onlyManaged))
	var records []record
	var want []indexsync.Omission
	for n := range indexsync.MaxOmissions + 5 {
		item, reason := thing(fmt.Sprintf("secret%d", n), "secret", "1"), indexsync.ReasonNull
		switch n % 4 {
		case 0:
			item["managedKey"] = null()
		case 1:
			item["managedKey"], reason = text("secret"), indexsync.ReasonWrongType
		case 2:
			item["managedKey"], reason = number("12345678901234"), indexsync.ReasonTooWide
		default:
			delete(item, "managedKey") // sparse: no fault
			reason = ""
		}
		records = append(records, record{new: item, sequence: seq(n)})
		if reason != "" && len(want) < indexsync.MaxOmissions {
			want = append(want, indexsync.Omission{Sequence: seq(n), Index: "managed", Reason: reason})
		}
	}
	for range 5 { // past the limit
		records = append(records, record{new: thing(fmt.Sprintf("more%d", len(records)), "p", "-1"), sequence: seq(len(records))})
		if len(want) < indexsync.MaxOmissions {
			want = append(want, indexsync.Omission{Sequence: seq(len(records) - 1), Index: "managed", Reason: indexsync.ReasonNegative})
		}
	}
	result := b.process(t, records...)
	if diff := cmp.Diff(want, result.NotIndexed); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(fmt.Sprintf("%+v", result.NotIndexed), "secret") || result.Stats.NotIndexed[indexsync.ReasonNegative] != 5 {
		t.Errorf("%+v", result)
	}
}
