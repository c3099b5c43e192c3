package indexsync_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/indexsync"
)

func TestAMovedItemIsUpsertedBeforeItIsBuried(t *testing.T) {
	t.Parallel()
	a, b, c := thing("i", "a", "1"), thing("i", "b", "2"), thing("i", "c", "3")
	for _, test := range []struct {
		name    string
		records []record
		want    []string
	}{
		{"A to B", []record{{old: a, new: b}}, []string{"upsert b/0000000000002#i", "tombstone a/0000000000001#i"}},
		{"A to B to C buries B too", []record{{old: a, new: b}, {old: b, new: c}}, []string{"upsert c/0000000000003#i", "tombstone b/0000000000002#i", "tombstone a/0000000000001#i"}},
		{"A to B to A", []record{{old: a, new: b}, {old: b, new: a}}, []string{"upsert a/0000000000001#i", "tombstone b/0000000000002#i"}},
		{"created, moved, removed", []record{{new: a}, {old: a, new: b}, {old: b}}, []string{"tombstone a/0000000000001#i", "tombstone b/0000000000002#i"}},
		{"removed and created elsewhere", []record{{old: a}, {new: b}}, []string{"upsert b/0000000000002#i", "tombstone a/0000000000001#i"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			bench := newBench(t, newMemory(), things(t, onlyManaged))
			for n := range test.records {
				test.records[n].sequence = seq(n)
			}
			if result := bench.process(t, test.records...); result.FailedSequence != "" {
				t.Fatalf("failed: %v", result.Cause)
			}
			if diff := cmp.Diff(test.want, bench.spy.wrote()); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

// Peer report 49 (DynamoDbBackUp#29): parallel handling of one key's records left an old state.
func TestPeer49AnyOrderOfOneKeysRecordsEndsWithTheLast(t *testing.T) {
	t.Parallel()
	v := []ddb.Item{nil, thing("i", "a", "1", "n", number("1")), thing("i", "a", "1", "n", number("2")), thing("i", "a", "1", "n", number("3"))}
	r := []record{{}, {new: v[1], sequence: seq(1)}, {old: v[1], new: v[2], sequence: seq(2)}, {old: v[2], new: v[3], sequence: seq(3)}}
	for _, order := range [][]int{{1, 2, 3}, {3, 2, 1}, {2, 3, 1, 1}, {3, 1, 2, 3}, {1, 3, 2}, {2, 1, 3, 2, 1}} {
		for _, together := range []bool{true, false} {
			b := newBench(t, newMemory(), things(t, onlyManaged))
			var batch []record
			for _, n := range order {
				batch = append(batch, r[n])
			}
			if together {
				b.process(t, batch...)
			} else {
				for _, one := range batch {
					b.process(t, one)
				}
			}
			if got := b.live(t, "managed"); len(got) != 1 || !ddb.EqualItems(got[0], v[3]) {
				t.Errorf("order %v, together %t: %v", order, together, got)
			}
			if together && len(b.spy.calls) != 1 {
				t.Errorf("order %v: %d writes of one key, want 1", order, len(b.spy.calls))
			}
		}
	}
}

// Peer report 51 (yulin#342): failures are a checkpoint, not a set, and a replay is harmless.
func TestPeer51TheEarliestFailureIsNamedAndAReplayIsHarmless(t *testing.T) {
	t.Parallel()
	b := newBench(t, newReal(t), things(t, onlyManaged))
	var batch []record
	for n := range 20 {
		batch = append(batch, record{new: thing(fmt.Sprintf("i%02d", n), "a", "1"), sequence: seq(n)})
	}
	b.spy.hook = func(_ int, in *dynamodb.PutItemInput) (bool, error) {
		if sort := s(in.Item["SK"]); strings.HasSuffix(sort, "#i07") || strings.HasSuffix(sort, "#i12") {
			return false, throttle()
		}
		return false, nil
	}
	for range 3 {
		if result := b.process(t, batch...); result.FailedSequence != seq(7) {
			t.Fatalf("failed %q, want %q", result.FailedSequence, seq(7))
		}
	}
	b.spy.hook = nil
	for range 3 {
		if result := b.process(t, batch[7:]...); result.FailedSequence != "" {
			t.Fatal(result.Cause)
		}
	}
	if got := len(b.live(t, "managed")); got != 20 {
		t.Errorf("%d rows, want 20", got)
	}
}

// Peer report 53 (minidyn#138): a key that goes a, b, a.
func TestPeer53AKeyThatComesBack(t *testing.T) {
	t.Parallel()
	b := newBench(t, newReal(t), things(t, onlyManaged))
	a, other := thing("i", "a", "1"), thing("i", "b", "2")
	all := []record{{new: a, sequence: seq(1)}, {old: a, new: other, sequence: seq(2)}, {old: other, new: a, sequence: seq(3)}}
	for _, r := range all {
		b.process(t, r)
	}
	b.process(t, all[1]) // late
	b.process(t, all...)
	if got := b.live(t, "managed"); len(got) != 1 || !ddb.EqualItems(got[0], a) {
		t.Errorf("rows %v, want %v", got, a)
	}
}

func TestTheFirstRecordOfAFailedItemIsNamed(t *testing.T) {
	t.Parallel()
	b := newBench(t, newReal(t), things(t, onlyManaged))
	v := []ddb.Item{thing("i", "a", "1"), thing("i", "b", "2"), thing("i", "c", "3")}
	b.process(t, record{new: v[0], sequence: seq(0)})
	b.spy.calls = nil
	b.spy.hook = func(_ int, in *dynamodb.PutItemInput) (bool, error) {
		if s(in.Item["ID"]) == "c" {
			return false, throttle()
		}
		return false, nil
	}
	result := b.process(t,
		record{new: thing("other", "a", "5"), sequence: seq(1)},
		record{old: v[0], new: v[1], sequence: seq(2)},
		record{old: v[1], new: v[2], sequence: seq(3)},
	)
	if result.FailedSequence != seq(2) {
		t.Errorf("failed %q, want the item's first, %q", result.FailedSequence, seq(2))
	}
	if got := b.live(t, "managed"); len(got) != 2 {
		t.Errorf("rows %v: the old place must stay", got)
	}
}

// A crash after any call of a batch, then the batch again.
func TestACrashAfterAnyCallThenTheBatchAgainEndsRight(t *testing.T) {
	t.Parallel()
	b := newBench(t, newReal(t), things(t), oneByOne)
	for _, after := range []bool{false, true} {
		for crash := 1; ; crash++ {
			h := &history{prefix: fmt.Sprintf("c%d%t-", crash, after), pick: seeded(7)} // the same life each time
			h.grow(24, 3)
			b.spy.calls = nil
			batch := h.records
			b.spy.hook = func(n int, _ *dynamodb.PutItemInput) (bool, error) {
				if n >= crash {
					return after && n == crash, errCrash
				}
				return false, nil
			}
			b.process(t, batch...)
			crashed := len(b.spy.calls) >= crash
			b.spy.hook = nil
			if result := b.process(t, batch...); result.FailedSequence != "" {
				t.Fatal(result.Cause)
			}
			if err := h.check(t, b); err != nil {
				t.Errorf("crash at call %d, after it %t: %v", crash, after, err)
			}
			if !crashed {
				if crash < 8 {
					t.Errorf("only %d calls in the batch", crash)
				}
				break
			}
		}
	}
}

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

func TestFaultyKeyAttributesAreNotIndexedAndCountedByReason(t *testing.T) {
	t.Parallel()
	live := thing("i", "a", "1")
	for _, test := range []struct {
		name   string
		change func(ddb.Item)
		want   indexsync.NotIndexed
	}{
		{"absent", func(i ddb.Item) { delete(i, "managedKey") }, ""},
		{"partition absent", func(i ddb.Item) { delete(i, "ID") }, ""},
		{"NULL", func(i ddb.Item) { i["managedKey"] = null() }, indexsync.ReasonNull},
		{"partition NULL", func(i ddb.Item) { i["ID"] = null() }, indexsync.ReasonNull},
		{"empty", func(i ddb.Item) { i["ID"] = text("") }, indexsync.ReasonEmpty},
		{"wrong type", func(i ddb.Item) { i["managedKey"] = text("1") }, indexsync.ReasonWrongType},
		{"a list", func(i ddb.Item) { i["ID"] = &types.AttributeValueMemberL{} }, indexsync.ReasonWrongType},
		{"too wide", func(i ddb.Item) { i["managedKey"] = number("12345678901234") }, indexsync.ReasonTooWide},
		{"negative", func(i ddb.Item) { i["managedKey"] = number("-1") }, indexsync.ReasonNegative},
		{"fraction", func(i ddb.Item) { i["managedKey"] = number("0.5") }, indexsync.ReasonFraction},
		{"partition past 2,048 bytes", func(i ddb.Item) { i["ID"] = text(strings.Repeat("x", 2049)) }, indexsync.ReasonTooLong},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, newReal(t), things(t, onlyManaged))
			b.process(t, record{new: live, sequence: seq(1)})
			item := maps.Clone(live)
			test.change(item)
			result := b.process(t, record{old: live, new: item, sequence: seq(2)})
			var want map[indexsync.NotIndexed]int
			if test.want != "" {
				want = map[indexsync.NotIndexed]int{test.want: 1}
			}
			if diff := cmp.Diff(want, result.Stats.NotIndexed); diff != "" {
				t.Errorf("not indexed (-want +got):\n%s", diff)
			}
			if len(b.live(t, "managed")) != 0 || result.Stats.Tombstones != 1 || result.Stats.Parked != 0 {
				t.Errorf("the old row was not buried: %+v", result.Stats)
			}
			// And back again.
			b.process(t, record{old: item, new: live, sequence: seq(3)})
			if len(b.live(t, "managed")) != 1 {
				t.Error("the item did not come back")
			}
		})
	}
	t.Run("sort key past 1,024 bytes", func(t *testing.T) {
		t.Parallel()
		b := newBench(t, newReal(t), things(t, onlyManaged))
		for n, id := range []string{strings.Repeat("k", 1024-14), strings.Repeat("k", 1024-13)} {
			result := b.process(t, record{new: thing(id, "a", "1"), sequence: seq(n)})
			if got, want := result.Stats.NotIndexed[indexsync.ReasonTooLong], n; got != want || len(b.live(t, "managed")) != 1 {
				t.Errorf("an id of %d bytes: %d too long, want %d; %d rows", len(id), got, want, len(b.live(t, "managed")))
			}
		}
	})
}

func TestReservedAndPrivateAttributesStayOutOfRows(t *testing.T) {
	t.Parallel()
	b := newBench(t, newReal(t), things(t, onlyManaged))
	item := thing("i", "a", "1", "SK", text("evil"), "_v", text("zzzz"), "_deleted", null(), "_ttl", number("1"), "_secret", text("s"), "n", number("1"))
	result := b.process(t, record{new: item, sequence: seq(1)})
	want := thing("i", "a", "1", "n", number("1"), "SK", text("0000000000001#i"), "_v", text(version(t, 1)))
	if got := b.row(t, "managed", "a", "0000000000001#i"); !ddb.EqualItems(want, got) {
		t.Errorf("row (-want +got):\n%s", cmp.Diff(want, got, itemOptions))
	}
	if result.Stats.ReservedDropped != 4 {
		t.Errorf("%d reserved attributes dropped, want 4", result.Stats.ReservedDropped)
	}
}

func TestChangesThatAnIndexDoesNotShowCostNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, newMemory(), things(t))
	item := func(more ...any) ddb.Item {
		return thing("i", "a", "1", append([]any{"teamId", text("t"), "status", text("on"), "joinedOn", text("x")}, more...)...)
	}
	b.process(t, record{new: item(), sequence: seq(1)})
	b.spy.calls = nil
	result := b.process(t, record{old: item(), new: item("_secret", text("s"), "_v", text("9")), sequence: seq(2)})
	if len(b.spy.calls) != 0 || result.Stats.Unchanged != 2 {
		t.Errorf("private and reserved attributes: %v, %+v", b.spy.wrote(), result.Stats)
	}
	b.process(t, record{old: item(), new: item("note", text("only managed shows it")), sequence: seq(3)})
	if diff := cmp.Diff([]string{"upsert a/0000000000001#i"}, b.spy.wrote()); diff != "" {
		t.Error(diff)
	}
	// A set in another order and a number in another spelling are no change.
	b.spy.calls = nil
	b.process(t, record{
		old: item("s", &types.AttributeValueMemberSS{Value: []string{"a", "b"}}, "n", number("1.0")),
		new: item("s", &types.AttributeValueMemberSS{Value: []string{"b", "a"}}, "n", number("1")), sequence: seq(4),
	})
	if len(b.spy.calls) != 0 {
		t.Errorf("equal values: %v", b.spy.wrote())
	}
}

func TestTTLRemovalsAreCountedAndBuriedLikeOthers(t *testing.T) {
	t.Parallel()
	b := newBench(t, newMemory(), things(t, onlyManaged))
	item := thing("i", "a", "1")
	result := b.process(t, record{new: item, sequence: seq(1)}, record{old: item, sequence: seq(2), ttl: true})
	if result.Stats.TTLRemoves != 1 || result.Stats.Tombstones != 1 {
		t.Errorf("%+v", result.Stats)
	}
}

func TestAttributeVersions(t *testing.T) {
	t.Parallel()
	item := func(rev string) ddb.Item {
		if rev == "" {
			return thing("i", "a", "1")
		}
		return thing("i", "a", "1", "rev", number(rev))
	}
	for _, test := range []struct {
		name     string
		old, new ddb.Item
		version  string // of the row; empty: poison
		reason   string
	}{
		{"created", nil, item("7"), "000007", ""},
		{"another spelling", nil, item("7.0E1"), "000070", ""},
		{"grown", item("9"), thing("i", "a", "1", "rev", number("10")), "000010", ""},
		{"versioned late", item(""), item("1"), "000001", ""},
		{"removed", item("7"), nil, "000007", ""},
		{"missing", nil, item(""), "", `"rev" is missing`},
		{"negative", nil, item("-1"), "", "negative"},
		{"a fraction", nil, item("1.5"), "", "fraction"},
		{"too wide", nil, item("1234567"), "", "7 digits"},
		{"a text", nil, thing("i", "a", "1", "rev", text("1")), "", "not a number"},
		{"standing still", item("5"), thing("i", "a", "1", "rev", number("5"), "n", number("1")), "", "did not grow"},
		{"going back", item("5"), item("4"), "", "did not grow"},
		{"removed without", item(""), nil, "", `"rev" is missing`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, newReal(t), things(t, byRevision))
			result := b.process(t, record{old: test.old, new: test.new, sequence: seq(1)})
			row := b.row(t, "managed", "a", "0000000000001#i")
			if test.version == "" {
				if row != nil || len(result.Parked) != 1 || !strings.Contains(result.Parked[0].Reason, test.reason) {
					t.Errorf("row %v, parked %+v, want it parked for %q", row, result.Parked, test.reason)
				}
				return
			}
			if len(result.Parked) != 0 || s(row["_v"]) != test.version {
				t.Errorf("row %v, parked %+v, want version %s", row, result.Parked, test.version)
			}
		})
	}
}

// A removal has the version of the row that it removes, so the tombstone must win the tie, and the removed state must not come back.
func TestARemovalByAttributeVersionWinsItsTie(t *testing.T) {
	t.Parallel()
	b := newBench(t, newReal(t), things(t, byRevision))
	item := thing("i", "a", "1", "rev", number("5"))
	insert, remove := record{new: item, sequence: seq(1)}, record{old: item, sequence: seq(2)}
	for _, order := range [][]record{{insert, remove}, {remove, insert}, {insert}, {remove}, {insert}} {
		b.process(t, order...)
	}
	if len(b.live(t, "managed")) != 0 {
		t.Error("the removed item is visible")
	}
	b.process(t, record{new: thing("i", "a", "1", "rev", number("6")), sequence: seq(3)})
	if len(b.live(t, "managed")) != 1 {
		t.Error("the item that was created again is not visible")
	}
}

// A stream that was created again begins its numbers anew.
func TestALaterStreamOverridesAnEarlierOne(t *testing.T) {
	t.Parallel()
	b := newBench(t, newReal(t), things(t, onlyManaged))
	first, second := thing("i", "a", "1", "n", number("1")), thing("i", "a", "1", "n", number("2"))
	later := strings.ReplaceAll(streamARN, label, "2026-02-02T03:04:05.678")
	b.process(t, record{new: first, sequence: "99999999999999999999999999"})
	b.process(t, record{old: first, new: second, sequence: "100000000000000000000", arn: later})
	if got := b.live(t, "managed"); len(got) != 1 || !ddb.EqualItems(got[0], second) {
		t.Errorf("rows %v", got)
	}
}

func TestManyRecordsOfOneKeyAreOneWrite(t *testing.T) {
	t.Parallel()
	b := newBench(t, newMemory(), things(t, onlyManaged))
	var batch []record
	var old ddb.Item
	for n := range 100 {
		item := thing("i", "a", "1", "n", number(fmt.Sprint(n)))
		batch = append(batch, record{old: old, new: item, sequence: seq(n)})
		old = item
	}
	b.process(t, batch...)
	if len(b.spy.calls) != 1 || !ddb.EqualItems(b.live(t, "managed")[0], old) {
		t.Errorf("%d writes, rows %v", len(b.spy.calls), b.live(t, "managed"))
	}
}

// slow is a writer that takes its time, by the bubble's clock, and counts how many calls run at once.
type slow struct {
	inner   ddb.Putter
	each    time.Duration
	mu      sync.Mutex
	running int
	most    int
}

func (w *slow) PutItem(ctx context.Context, in *dynamodb.PutItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	w.mu.Lock()
	w.running++
	w.most = max(w.most, w.running)
	w.mu.Unlock()
	defer func() { w.mu.Lock(); w.running--; w.mu.Unlock() }()
	select {
	case <-time.After(w.each):
		return w.inner.PutItem(ctx, in)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func distinct(n int) []record {
	var batch []record
	for n := range n {
		batch = append(batch, record{new: thing(fmt.Sprintf("i%03d", n), "a", "1"), sequence: seq(n)})
	}
	return batch
}

// 100 records of distinct items at 5 ms a write take two rounds of 50, and never more than 50 at once.
func TestDistinctItemsAreWrittenAtTheSameTimeAndBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &slow{inner: newMemory(), each: 5 * time.Millisecond}
		b := newBench(t, w.inner.(engine), things(t, onlyManaged), func(c *indexsync.Config) { c.Writer = w })
		begin := time.Now()
		b.process(t, distinct(100)...)
		if took := time.Since(begin); took != 10*time.Millisecond || w.most != indexsync.DefaultConcurrency {
			t.Errorf("took %s with at most %d at once, want 10 ms with 50", took, w.most)
		}
	})
}

// Behind a failure nothing new is begun; what was begun before it comes to its end.
func TestBehindAFailureNothingIsBegun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &slow{inner: newMemory(), each: 10 * time.Millisecond}
		b := newBench(t, w.inner.(engine), things(t, onlyManaged), func(c *indexsync.Config) { c.Concurrency = 4 })
		b.spy.inner = w
		b.spy.hook = func(_ int, in *dynamodb.PutItemInput) (bool, error) {
			if strings.HasSuffix(s(in.Item["SK"]), "#i002") {
				time.Sleep(15 * time.Millisecond) // the others are at their second item by then
				return false, throttle()
			}
			return false, nil
		}
		result := b.process(t, distinct(100)...)
		if result.FailedSequence != seq(2) || result.Stats.Upserts != 6 {
			t.Errorf("failed %q, %d upserts; want 6", result.FailedSequence, result.Stats.Upserts)
		}
	})
}

func TestNothingIsBegunBeyondTheMarginAndTheRestIsReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &slow{inner: newMemory(), each: time.Second}
		b := newBench(t, w.inner.(engine), things(t, onlyManaged), func(c *indexsync.Config) {
			c.Writer, c.Concurrency, c.Margin = w, 1, 2*time.Second
		})
		ctx, cancel := context.WithTimeout(t.Context(), 5500*time.Millisecond)
		defer cancel()
		begin := time.Now()
		result, err := b.syncer.Process(ctx, event(t, distinct(10)...))
		if err != nil || result.FailedSequence != seq(3) || result.Stats.Upserts != 3 {
			t.Errorf("failed %q, %d upserts, error %v; want the fourth", result.FailedSequence, result.Stats.Upserts, err)
		}
		if took := time.Since(begin); took != 3500*time.Millisecond {
			t.Errorf("took %s, want to end at the margin", took)
		}
		// A deadline that leaves no time at all: nothing is done, all of it is reported.
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		result, err = b.syncer.Process(ctx, event(t, distinct(2)...))
		if err != nil || result.FailedSequence != seq(0) || !errors.Is(result.Cause, indexsync.ErrDeadline) {
			t.Errorf("failed %q, cause %v, error %v", result.FailedSequence, result.Cause, err)
		}
		// Poison is not parked beyond the margin either.
		result, err = b.syncer.Process(ctx, []byte(`{"Records":[{"dynamodb":{"SequenceNumber":"1"}}]}`))
		if err != nil || result.FailedSequence != "1" || len(b.lot.parked) != 0 {
			t.Errorf("failed %q, parked %v, error %v", result.FailedSequence, b.lot.parked, err)
		}
	})
}

func TestOneHangingCallCannotTakeTheWholeTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &slow{inner: newMemory(), each: time.Hour}
		b := newBench(t, w.inner.(engine), things(t, onlyManaged), func(c *indexsync.Config) { c.Writer, c.CallTimeout = w, 3*time.Second })
		begin := time.Now()
		result := b.process(t, distinct(1)...)
		if took := time.Since(begin); took != 3*time.Second || result.FailedSequence != seq(0) {
			t.Errorf("took %s, failed %q", took, result.FailedSequence)
		}
		if class := ddb.Classify(result.Cause).Class; class != ddb.UnknownOutcome {
			t.Errorf("cause %v is %s", result.Cause, class)
		}
	})
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

// An index whose table fails keeps the item out of no other.
func TestAThrottledIndexDoesNotKeepAnItemOutOfTheOthers(t *testing.T) {
	t.Parallel()
	b := newBench(t, newReal(t), things(t), oneByOne)
	b.spy.hook = func(_ int, in *dynamodb.PutItemInput) (bool, error) {
		if *in.TableName == b.tables["managed"] {
			return false, throttle()
		}
		return false, nil
	}
	result := b.process(t, record{new: thing("i", "a", "1", "teamId", text("t"), "status", text("on"), "joinedOn", text("x")), sequence: seq(1)})
	if result.FailedSequence != seq(1) || len(b.live(t, "team-status")) != 1 || len(b.live(t, "managed")) != 0 {
		t.Errorf("failed %q, rows %v", result.FailedSequence, b.live(t, "team-status"))
	}
}
