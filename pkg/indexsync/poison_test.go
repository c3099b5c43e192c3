package indexsync_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/indexsync"
)

// big is an item that fits DynamoDB's limit as a base item but not as a row with SK and _v.
func big(id, partition, managedKey string) ddb.Item {
	item := thing(id, partition, managedKey)
	item["filler"] = text(strings.Repeat("x", ddb.MaxItemSize-ddb.Size(item)-len("filler")))
	return item
}

func TestARowPastTheSizeLimitIsParkedAndHoldsBackNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, newReal(t), things(t, onlyManaged))
	huge := big("i1", "a", "1")
	if ddb.Size(huge) != ddb.MaxItemSize {
		t.Fatalf("the base item has %d bytes", ddb.Size(huge))
	}
	result := b.process(t,
		record{new: huge, sequence: seq(1)},
		record{new: thing("i2", "a", "2"), sequence: seq(2)},
	)
	if result.FailedSequence != "" || len(b.live(t, "managed")) != 1 {
		t.Errorf("failed %q, rows %d", result.FailedSequence, len(b.live(t, "managed")))
	}
	if len(result.Parked) != 1 || result.Parked[0].Sequence != seq(1) || !strings.Contains(result.Parked[0].Reason, "409600") {
		t.Errorf("parked %+v", result.Parked)
	}
}

// A refused state gives way to the state before it in the same batch, and what else the item has goes on.
func TestAParkedRecordFallsBackToTheOneBeforeIt(t *testing.T) {
	t.Parallel()
	b := newBench(t, newReal(t), things(t, onlyManaged))
	first, huge, last := thing("i", "a", "1", "n", number("1")), big("i", "a", "1"), big("i", "b", "2")
	b.process(t, record{new: thing("i", "z", "9"), sequence: seq(0)})
	result := b.process(t,
		record{old: thing("i", "z", "9"), new: first, sequence: seq(1)},
		record{old: first, new: huge, sequence: seq(2)},
	)
	if got := b.live(t, "managed"); len(got) != 1 || !ddb.EqualItems(got[0], first) {
		t.Errorf("rows %v, want the state before the refused one, and the old place buried", got)
	}
	if len(result.Parked) != 1 || result.Parked[0].Sequence != seq(2) {
		t.Errorf("parked %+v", result.Parked)
	}
	// A refused move: the new place cannot be shown, the old one is wrong.
	result = b.process(t, record{old: huge, new: last, sequence: seq(3)})
	if got := b.live(t, "managed"); len(got) != 0 || len(result.Parked) != 1 {
		t.Errorf("rows %v, parked %+v", got, result.Parked)
	}
}

func TestARecordThatTwoIndexesRefuseIsParkedOnce(t *testing.T) {
	t.Parallel()
	source := things(t)
	b := newBench(t, newMemory(), source)
	b.spy.hook = func(int, *dynamodb.PutItemInput) (bool, error) { return false, invalid("no") }
	result := b.process(t, record{new: thing("i", "a", "1", "teamId", text("t"), "status", text("on"), "joinedOn", text("x")), sequence: seq(1)})
	if len(b.spy.calls) != 2 || len(b.lot.parked) != 1 || len(result.Parked) != 1 || result.Stats.Parked != 1 {
		t.Errorf("%d calls, %d parked, result %+v", len(b.spy.calls), len(b.lot.parked), result.Parked)
	}
}

func TestAFailedParkingLeavesTheRecordUndone(t *testing.T) {
	t.Parallel()
	b := newBench(t, newMemory(), things(t, onlyManaged))
	full := errors.New("no bucket")
	b.lot.fail = func(indexsync.Poison) error { return full }
	bad := json.RawMessage(fmt.Sprintf(`{"eventName":"DANCE","eventSourceARN":%q,"dynamodb":{"SequenceNumber":%q}}`, streamARN, seq(2)))
	payload := indexsync.JoinRecords(record{new: thing("i1", "a", "1"), sequence: seq(1)}.raw(t), bad)
	result, err := b.syncer.Process(t.Context(), payload)
	if err != nil || result.FailedSequence != seq(2) || !errors.Is(result.Cause, full) || len(result.Parked) != 0 {
		t.Errorf("failed %q (%v), parked %v, error %v", result.FailedSequence, result.Cause, result.Parked, err)
	}
	// Neither a sequence number nor a parking place: the whole batch again.
	result, err = b.syncer.Process(t.Context(), []byte(`{"Records":[7]}`))
	if !errors.Is(err, full) || result.FailedSequence != "" {
		t.Errorf("failed %q, error %v", result.FailedSequence, err)
	}
}

// Every record that cannot be read, with the reason that an operator gets. None of them may stop the batch.
func TestUnreadableRecordsArePoisonWithAReason(t *testing.T) {
	t.Parallel()
	frame := func(name, change string) string {
		return fmt.Sprintf(`{"eventName":%q,"eventSourceARN":%q,"dynamodb":{"SequenceNumber":"5",%s}}`, name, streamARN, change)
	}
	const a, b = `{"id":{"S":"i"},"ID":{"S":"a"},"managedKey":{"N":"1"}}`, `{"id":{"S":"j"},"ID":{"S":"a"},"managedKey":{"N":"1"}}`
	for _, test := range []struct{ name, raw, want string }{
		{"not an object", `7`, "not a JSON object"},
		{"no event name", frame("", `"NewImage":`+a), "no eventName"},
		{"an unknown event", frame("TRUNCATE", `"NewImage":`+a), "none of INSERT, MODIFY, REMOVE"},
		{"a sequence number of the wrong type", `{"eventName":"INSERT","dynamodb":{"SequenceNumber":5,"NewImage":` + a + `}}`, "dynamodb.SequenceNumber"},
		{"a frame of the wrong type", `{"eventName":"INSERT","dynamodb":"x"}`, "dynamodb"},
		{"INSERT without NewImage", frame("INSERT", `"Keys":{"id":{"S":"i"}}`), "NEW_AND_OLD_IMAGES"},
		{"MODIFY without NewImage", frame("MODIFY", `"OldImage":`+a), "NEW_AND_OLD_IMAGES"},
		{"MODIFY without OldImage", frame("MODIFY", `"NewImage":`+a), "NEW_AND_OLD_IMAGES"},
		{"MODIFY with a null OldImage", frame("MODIFY", `"OldImage":null,"NewImage":`+a), "NEW_AND_OLD_IMAGES"},
		{"REMOVE without OldImage", frame("REMOVE", `"Keys":{"id":{"S":"i"}}`), "NEW_AND_OLD_IMAGES"},
		{"INSERT with OldImage", frame("INSERT", `"OldImage":`+a+`,"NewImage":`+a), "INSERT with OldImage"},
		{"REMOVE with NewImage", frame("REMOVE", `"OldImage":`+a+`,"NewImage":`+a), "REMOVE with NewImage"},
		{"images of two items", frame("MODIFY", `"OldImage":`+a+`,"NewImage":`+b), "different items"},
		{"an image without the key", frame("INSERT", `"NewImage":{"ID":{"S":"a"}}`), `"id" of type S`},
		{"an image with a key of the wrong type", frame("INSERT", `"NewImage":{"id":{"N":"1"}}`), `"id" of type S`},
		{"an image that is a list", frame("INSERT", `"NewImage":[]`), "NewImage"},
		{"an unknown type", frame("MODIFY", `"NewImage":`+a+`,"OldImage":{"id":{"S":"i"},"x":{"T":"1"}}`), "OldImage"},
		{"a value without a type", frame("INSERT", `"NewImage":{"id":{"S":"i"},"x":{}}`), "x"},
		{"a set element of the wrong type", frame("INSERT", `"NewImage":{"id":{"S":"i"},"x":{"BS":[7]}}`), "x"},
		{"no stream label", strings.ReplaceAll(frame("INSERT", `"NewImage":`+a), streamARN, "arn:x"), "stream label"},
		{"no sequence number", `{"eventName":"INSERT","eventSourceARN":"` + streamARN + `","dynamodb":{"NewImage":` + a + `}}`, "SequenceNumber"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			bench := newBench(t, newMemory(), things(t, onlyManaged))
			good := record{new: thing("good", "a", "1"), sequence: seq(1)}
			result, err := bench.syncer.Process(t.Context(), indexsync.JoinRecords(json.RawMessage(test.raw), good.raw(t)))
			if err != nil || result.FailedSequence != "" {
				t.Fatalf("failed %q, error %v", result.FailedSequence, err)
			}
			if len(bench.lot.parked) != 1 || string(bench.lot.parked[0].Record) != test.raw {
				t.Fatalf("parked %v", bench.lot.parked)
			}
			if reason := result.Parked[0].Reason; !strings.Contains(reason, test.want) {
				t.Errorf("reason %q, want it to name %q", reason, test.want)
			}
			if len(bench.live(t, "managed")) != 1 {
				t.Error("the good record is not in the index")
			}
		})
	}
}

// What a record may look like beside its images must not matter: times, identity, sizes, nulls.
func TestOddFramesAreNotPoison(t *testing.T) {
	t.Parallel()
	const image = `{"id":{"S":"i"},"ID":{"S":"a"},"managedKey":{"N":"1"}}`
	for _, extra := range []string{
		`"ApproximateCreationDateTime":1723439725123`, `"ApproximateCreationDateTime":null`, `"ApproximateCreationDateTime":"soon"`,
		`"ApproximateCreationDateTime":1.7E9`, `"ApproximateCreationDateTime":{}`, `"OldImage":null`, `"SizeBytes":"?"`, `"Keys":{"id":{"Q":1}}`,
	} {
		b := newBench(t, newMemory(), things(t, onlyManaged))
		raw := fmt.Sprintf(`{"eventName":"INSERT","userIdentity":"me","eventSourceARN":%q,"dynamodb":{"SequenceNumber":"5","NewImage":%s,%s}}`, streamARN, image, extra)
		result, err := b.syncer.Process(t.Context(), indexsync.JoinRecords(json.RawMessage(raw)))
		if err != nil || len(result.Parked) != 0 || len(b.live(t, "managed")) != 1 {
			t.Errorf("%s: %+v, %v", extra, result, err)
		}
	}
}

func TestAnErrorNeverHoldsTheItem(t *testing.T) {
	t.Parallel()
	b := newBench(t, newMemory(), things(t, onlyManaged))
	b.spy.hook = func(_ int, in *dynamodb.PutItemInput) (bool, error) {
		return false, invalid("value sesame is not allowed")
	}
	result := b.process(t, record{new: thing("sesame", "sesame", "1"), sequence: seq(1)})
	bad := json.RawMessage(`{"eventName":"INSERT","dynamodb":{"SequenceNumber":"1","NewImage":{"id":{"S":"sesame"},"x":{"N":"sesame"}}}}`)
	second, err := b.syncer.Process(t.Context(), indexsync.JoinRecords(bad))
	if err != nil {
		t.Fatal(err)
	}
	for _, parked := range slices.Concat(result.Parked, second.Parked) {
		if strings.Contains(parked.Reason, "sesame") {
			t.Errorf("the reason repeats a value: %q", parked.Reason)
		}
	}
	if len(result.Parked)+len(second.Parked) != 2 {
		t.Errorf("parked %+v, %+v", result.Parked, second.Parked)
	}
}
