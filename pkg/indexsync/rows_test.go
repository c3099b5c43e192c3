package indexsync_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/indexsync"
)

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
