package indexsync_test

import (
	"fmt"
	"maps"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

// choose draws a number below n; rapid and a seeded generator both do.
type choose func(label string, n int) int

// history is a random life of a few items: what the base table ends as, and the records of its stream.
type history struct {
	prefix   string // of ids and partitions, so that many histories share a table
	revision bool   // every write grows the attribute rev
	pick     choose
	base     map[string]ddb.Item
	records  []record
	states   map[string][]ddb.Item // of each item: before its first record, then after each
	of       []string              // the item of each record
	rev      int
	number   func(n int) string
}

// values are what an attribute can be; nil is absent.
var values = map[string][]types.AttributeValue{
	// Most are sound, so that items move, tie and come back; each fault of a key attribute is among them.
	"managedKey": {
		number("1"), number("2"), number("3"), number("1699900000000"), number("2"), number("1"), number("1"), number("2"), number("1"), number("2"),
		number("1"), number("2"), number("-1"), number("1.5"), number("99999999999999"), null(), text("1"), nil,
	},
	"status":   {text("on"), text("off"), text("on"), text("off"), text("on"), text("off"), text("paused"), null(), text(""), number("1"), nil},
	"joinedOn": {text("2026-01-01"), text("2026-01-02"), nil},
	"nickname": {text("n1"), text("n2"), nil},
	"note":     {text("x"), text("y"), number("1.10"), nil},
	"SK":       {nil, nil, nil, text("evil")},
	"_v":       {nil, nil, nil, text("zzz")},
	"_secret":  {nil, text("s1"), text("s2")},
}

// attributes in a fixed order, so that a seed means one history.
var attributes = []string{"ID", "managedKey", "teamId", "status", "joinedOn", "nickname", "note", "SK", "_v", "_secret"}

func (h *history) value(name string) types.AttributeValue {
	switch name {
	case "ID", "teamId":
		of := []types.AttributeValue{text(h.prefix + "a"), text(h.prefix + "b"), text(h.prefix + "a"), text(h.prefix + "b"), text(h.prefix + "a"), null(), text(""), nil}
		return of[h.pick(name, len(of))]
	default:
		return values[name][h.pick(name, len(values[name]))]
	}
}

// grow lives for so many operations on so many items.
func (h *history) grow(operations, items int) {
	if h.base == nil {
		h.base, h.states = map[string]ddb.Item{}, map[string][]ddb.Item{}
	}
	if h.number == nil {
		h.number = seq
	}
	for range operations {
		id := fmt.Sprintf("%si%d", h.prefix, h.pick("item", items))
		old := h.base[id]
		var item ddb.Item
		switch action := h.pick("action", 10); {
		case action < 5 || old == nil: // a whole new state
			item = ddb.Item{"id": text(id)}
			for _, name := range attributes {
				if value := h.value(name); value != nil {
					item[name] = value
				}
			}
		case action < 8: // one attribute
			item = maps.Clone(old)
			name := attributes[h.pick("attribute", len(attributes))]
			delete(item, name)
			if value := h.value(name); value != nil {
				item[name] = value
			}
		case action < 9:
			item = nil // deleted
		default:
			continue // written as it is, which no stream tells
		}
		if item != nil && h.revision {
			h.rev++
			item["rev"] = number(fmt.Sprint(h.rev))
		}
		if item != nil && old != nil && ddb.EqualItems(old, item) {
			continue
		}
		if _, known := h.states[id]; !known {
			h.states[id] = []ddb.Item{nil}
		}
		h.records = append(h.records, record{old: old, new: item, sequence: h.number(len(h.records))})
		h.of = append(h.of, id)
		h.states[id] = append(h.states[id], item)
		h.base[id] = item
	}
}

// place says where an index shows an item, by a rule of its own that knows only the values above.
func (h *history) place(index string, item ddb.Item) (partition, sort string, ok bool) {
	texts := func(name string) bool { v, is := item[name].(*types.AttributeValueMemberS); return is && v.Value != "" }
	switch index {
	case "managed":
		key, is := item["managedKey"].(*types.AttributeValueMemberN)
		if !texts("ID") || !is || len(key.Value) > 13 || key.Value == "-1" || key.Value == "1.5" {
			return "", "", false
		}
		return s(item["ID"]), fmt.Sprintf("%013s", key.Value) + "#" + s(item["id"]), true
	default:
		if !texts("teamId") || !texts("status") || !texts("joinedOn") {
			return "", "", false
		}
		return s(item["teamId"]), s(item["status"]) + "#" + s(item["joinedOn"]) + "#" + s(item["id"]), true
	}
}

// fold is what an index must show: partition and sort key -> row without _v.
func (h *history) fold(index string) map[[2]string]ddb.Item {
	rows := map[[2]string]ddb.Item{}
	for _, item := range h.base {
		partition, sort, ok := h.place(index, item)
		if !ok {
			continue
		}
		row := ddb.Item{"SK": text(sort)}
		for name, value := range item {
			switch name {
			case "SK", "_v", "_deleted", "_ttl", "_secret":
			case "id", "teamId", "status", "joinedOn", "nickname":
				row[name] = value
			default:
				if index == "managed" {
					row[name] = value
				}
			}
		}
		rows[[2]string{partition, sort}] = row
	}
	return rows
}

// check compares the live rows of every index that are of this history with the fold of its base table.
func (h *history) check(t testing.TB, b *bench) error {
	for _, index := range b.source.Indexes {
		want, seen := h.fold(index.Name), 0
		for _, row := range h.rows(t, b, index) {
			if _, dead := row["_deleted"]; dead {
				if row["_ttl"] == nil {
					return fmt.Errorf("index %s: a tombstone without _ttl: %v", index.Name, row["SK"])
				}
				continue
			}
			key := [2]string{s(row[index.PartitionKey.Name]), s(row["SK"])}
			expected, ok := want[key]
			shown := maps.Clone(row)
			delete(shown, "_v")
			switch {
			case !ok:
				return fmt.Errorf("index %s: the row %v should not be there", index.Name, key)
			case !ddb.EqualItems(expected, shown):
				return fmt.Errorf("index %s: the row %v is %v, want %v", index.Name, key, shown, expected)
			}
			seen++
		}
		if seen != len(want) {
			return fmt.Errorf("index %s: %d live rows, want %d", index.Name, seen, len(want))
		}
	}
	return nil
}

// rows are those of this history in an index: it has two partitions of its own, and others may share the table.
func (h *history) rows(t testing.TB, b *bench, index *schema.Index) []ddb.Item {
	t.Helper()
	return b.engine.of(t, b.tables[index.Name], index, h.prefix+"a", h.prefix+"b")
}
