package indexsync_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
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
