package query_test

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/query"
	"github.com/heatsink-dev/heatsink/pkg/schema"
	"github.com/heatsink-dev/heatsink/pkg/sortkey"
)

// shapes is a base table with an index of each shape, all in both forms: widths, a number of any kind, several parts, a binary, a number partition, no sort key at all, the base
// table's own key as a part, and all three projections.
func shapes(t testing.TB) *schema.BaseTable {
	t.Helper()
	index := func(name, partition string, kind schema.ProjectionKind, parts ...schema.Part) schema.IndexDefinition {
		definition := schema.IndexDefinition{
			Name: name, PartitionKey: partition, SortKey: parts, Projection: schema.Projection{Kind: kind},
			TombstoneRetention: retention, Build: schema.GSI | schema.Table, Type: schema.Table,
		}
		if kind == schema.Include {
			definition.Projection.Attributes = []string{"plan"}
		}
		return definition
	}
	return compiled(t, schema.TableDefinition{
		Name: "Shapes",
		Attributes: []schema.Attribute{
			{Name: "id", Type: schema.String},
			{Name: "seq", Type: schema.Number},
			{Name: "p", Type: schema.String},
			{Name: "pn", Type: schema.Number},
			{Name: "n", Type: schema.Number},
			{Name: "m", Type: schema.Number},
			{Name: "a", Type: schema.String},
			{Name: "b", Type: schema.String},
			{Name: "x", Type: schema.Binary},
		},
		PartitionKey: "id", SortKey: "seq",
		Private: []string{"_secret"},
		Indexes: []schema.IndexDefinition{
			index("width1", "p", schema.All, schema.Part{Name: "n", Width: 1}),
			index("width3", "p", schema.KeysOnly, schema.Part{Name: "n", Width: 3}),
			index("width13", "p", schema.All, schema.Part{Name: "n", Width: 13}),
			index("number", "p", schema.Include, schema.Part{Name: "m"}),
			index("texts", "p", schema.All, schema.Part{Name: "a"}, schema.Part{Name: "b"}),
			index("mixed", "p", schema.All, schema.Part{Name: "a"}, schema.Part{Name: "n", Width: 13}, schema.Part{Name: "m"}),
			index("binary", "pn", schema.KeysOnly, schema.Part{Name: "x"}),
			index("unsorted", "pn", schema.All),
			index("own-key", "p", schema.All, schema.Part{Name: "id"}),
		},
	})
}

var (
	textPool = []string{
		"a", "a#", "a#x", "a$", "a!", "aa", "ab", "A", "#", "##", "$", "$T", "0", "10", "9", "\x00", "\x01a", "\x7f", "é", "漢字", "😀", "😀😀",
		"\U0010FFFF", "\U0010FFFFa", "\uD7FF", "\uE000", " ", "2024-01-05", "2024-01",
	}
	// Of the width parts: what fits, what does not, and several spellings of one number.
	integerPool = []string{"0", "1", "2", "2", "5", "9", "10", "99", "100", "999", "1000", "1699900000000", "9999999999999", "10000000000000", "-1", "-0.5", "1.5", "0.1"}
	numberPool  = []string{
		"0", "1", "1.5", "-1", "-1.5", "-20", "-5", "3", "900", "2800", "10", "9", "0.001", "1E-130", "9.9999999999999999999999999999999999999E+125", "-1E125",
		"9007199254740993", "9007199254740992", "12345678901234567890123456789012345678", "100", "1000",
	}
	binaryPool = []string{"\x00", "\x01", "a", "ab", "\xff", "\xff\x00", "#", "$"}
)

var parityRun atomic.Int64

// world is one case: base items and the partitions they are in. Every case has partitions of its own, so that all of them share the tables.
type world struct {
	run   int64
	items []ddb.Item
	past  []ddb.Item // what items were before they moved or were deleted
}

func (w *world) partition(index *schema.Index, n int) sortkey.Value {
	if index.PartitionKey.Type == schema.Number {
		return sortkey.Number(fmt.Sprint(w.run*10 + int64(n)))
	}
	return sortkey.Text(fmt.Sprintf("%s-%d-%d", []string{"t", "a#", "$😀"}[n], w.run, n))
}

// drawWorld draws a history of base items: created, changed, moved, deleted, with attributes missing.
func drawWorld(rt *rapid.T) *world {
	w := &world{run: parityRun.Add(1)}
	maybe := func(item ddb.Item, name string, value types.AttributeValue) {
		if rapid.IntRange(0, 9).Draw(rt, name+"?") > 0 {
			item[name] = value
		}
	}
	pick := func(pool []string, label string) string { return rapid.SampledFrom(pool).Draw(rt, label) }
	// A few values for each case, so that rows tie.
	few := func(pool []string, label string) []string {
		return rapid.SliceOfN(rapid.SampledFrom(pool), 2, 6).Draw(rt, label)
	}
	texts, more, integers, numbers := few(textPool, "texts"), few(textPool, "more texts"), few(integerPool, "integers"), few(numberPool, "numbers")
	current := map[string]ddb.Item{}
	for n := range rapid.IntRange(0, 60).Draw(rt, "writes") {
		id, seq := pick(textPool[:12], "id"), fmt.Sprint(rapid.IntRange(-1, 2).Draw(rt, "seq"))
		item := ddb.Item{"id": text(fmt.Sprintf("%s-%d", id, w.run)), "seq": number(seq), "name": text(fmt.Sprint("row ", n))}
		at := rapid.SampledFrom([]int{0, 0, 0, 0, 1, 2}).Draw(rt, "partition")
		item["p"] = text(w.partition(&schema.Index{PartitionKey: schema.Attribute{Type: schema.String}}, at).String())
		maybe(item, "pn", number(fmt.Sprint(w.run*10+int64(at))))
		maybe(item, "n", number(pick(integers, "n")))
		maybe(item, "m", number(pick(numbers, "m")))
		maybe(item, "a", text(pick(texts, "a")))
		maybe(item, "b", text(pick(more, "b")))
		maybe(item, "x", binary(pick(binaryPool, "x")))
		maybe(item, "plan", text(pick([]string{"free", "paid"}, "plan")))
		maybe(item, "_secret", text("not for readers"))
		if rapid.IntRange(0, 4).Draw(rt, "reserved?") == 0 {
			item["SK"], item["_v"], item["_deleted"], item["_ttl"] = text("own"), number("7"), text("yes"), number("1")
		}
		key := id + "/" + seq
		if before, ok := current[key]; ok {
			w.past = append(w.past, before)
		}
		current[key] = item
		if rapid.IntRange(0, 5).Draw(rt, "delete?") == 0 {
			w.past = append(w.past, item)
			delete(current, key)
		}
	}
	for _, key := range slices.Sorted(keysOf(current)) {
		w.items = append(w.items, current[key])
	}
	return w
}

func keysOf[K comparable, V any](m map[K]V) func(func(K) bool) {
	return func(yield func(K) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// drawRequest draws a condition of any kind on the index, with operands in and out of what rows can hold.
func drawRequest(rt *rapid.T, w *world, index *schema.Index) query.Request {
	request := query.Request{
		Partition:  w.partition(index, rapid.SampledFrom([]int{0, 0, 0, 0, 1}).Draw(rt, "of")),
		Descending: rapid.Bool().Draw(rt, "descending"),
	}
	operand := func(part schema.KeyPart, label string) sortkey.Value {
		switch {
		case part.Name == "id":
			return sortkey.Text(fmt.Sprintf("%s-%d", rapid.SampledFrom(textPool[:12]).Draw(rt, label), w.run))
		case part.Width > 0:
			return sortkey.Number(rapid.SampledFrom(append(integerPool, "1E3", "5.0", "-7E20", "3E40")).Draw(rt, label))
		case part.Type == schema.Number:
			return sortkey.Number(rapid.SampledFrom(append(numberPool, "1E3", "2.50")).Draw(rt, label))
		case part.Type == schema.Binary:
			return sortkey.Binary([]byte(rapid.SampledFrom(append(binaryPool, "", "zz")).Draw(rt, label)))
		default:
			return sortkey.Text(rapid.SampledFrom(append(textPool, "", "zz", "a#xx")).Draw(rt, label))
		}
	}
	parts := index.SortKey
	pinned := 0
	if len(parts) > 0 {
		pinned = rapid.IntRange(0, len(parts)).Draw(rt, "pinned")
	}
	// Pin to what some item has, mostly, or the answer is nearly always empty.
	var like ddb.Item
	if len(w.items) > 0 {
		like = rapid.SampledFrom(w.items).Draw(rt, "like")
	}
	for _, part := range parts[:pinned] {
		value, ok := ddb.KeyValue(like[part.Name])
		if !ok || rapid.IntRange(0, 9).Draw(rt, "other?") == 0 {
			value = operand(part, "under")
		}
		request.Under = append(request.Under, value)
	}
	if pinned == len(parts) {
		return request
	}
	part := parts[pinned]
	bound := func(label string) *sortkey.Bound {
		return &sortkey.Bound{Value: operand(part, label), Inclusive: rapid.Bool().Draw(rt, label+" inclusive")}
	}
	switch rapid.SampledFrom([]string{"none", "none", "equal", "prefix", "lower", "upper", "both", "both"}).Draw(rt, "kind") {
	case "equal":
		request.Where.Equal = new(operand(part, "equal"))
	case "prefix":
		if part.Type == schema.String {
			request.Where.Prefix = new(operand(part, "prefix").String())
		}
	case "lower":
		request.Where.Lower = bound("lower")
	case "upper":
		request.Where.Upper = bound("upper")
	case "both":
		request.Where.Lower, request.Where.Upper = bound("lower"), bound("upper")
	}
	return request
}

// TestParityOfFormsAndModel: on random histories, every condition, order, limit and page gives the same items from the GSI, from the index table and from a model in memory, in the
// same order up to ties; Count and Exists agree; a walk that changes form on its way loses nothing and repeats ties alone.
func TestParityOfFormsAndModel(t *testing.T) {
	t.Parallel()
	table := shapes(t)
	s := newStore(t, table)
	readers := map[string]*query.Reader{}
	for _, index := range table.Indexes {
		readers[index.Name] = s.reader(index.Name, query.Budget{})
	}
	rapid.Check(t, func(rt *rapid.T) {
		w := drawWorld(rt)
		indexes := rapid.SliceOfNDistinct(rapid.SampledFrom(table.Indexes), 3, 3, rapid.ID).Draw(rt, "indexes")
		s.batch(rt, s.name, w.items)
		s.bury(rt, indexes, w.past) // first: an item may have come back to where it was
		s.index(rt, indexes, w.items)
		for n := range 9 {
			index := indexes[n%len(indexes)]
			request := drawRequest(rt, w, index)
			request.Limit = rapid.IntRange(1, 9).Draw(rt, "limit")
			var filter func(ddb.Item) bool
			if index.Projects("plan") && rapid.IntRange(0, 3).Draw(rt, "filter?") == 0 {
				request.Filter = &query.Filter{
					Expression: "#plan = :paid OR attribute_not_exists(#plan)", Names: map[string]string{"#plan": "plan"},
					Values: map[string]types.AttributeValue{":paid": text("paid")},
				}
				filter = func(item ddb.Item) bool {
					plan, ok := item["plan"].(*types.AttributeValueMemberS)
					return !ok || plan.Value == "paid"
				}
			}
			if rapid.IntRange(0, 3).Draw(rt, "projection?") == 0 {
				request.Projection = []string{"id", "seq"}
				if index.Projects("plan") {
					request.Projection = append(request.Projection, "plan")
				}
			}
			c := &parity{t: rt, model: &model{index, w.items}, reader: readers[index.Name], request: request}
			c.want = c.model.answer(request, filter)
			c.check(rapid.IntRange(0, 2).Draw(rt, "switch after"))
		}
	})
}

// parity compares one request.
type parity struct {
	t       *rapid.T
	model   *model
	reader  *query.Reader
	request query.Request
	want    []ddb.Item
}

func (c *parity) check(pagesBeforeSwitch int) {
	for _, form := range []schema.Form{schema.GSI, schema.Table} {
		c.request.Form, c.request.Cursor = form, ""
		var got []ddb.Item
		for {
			page, err := c.reader.Query(c.t.Context(), c.request)
			if err != nil {
				c.t.Fatalf("%s: %v", form, err)
			}
			if len(page.Items) > c.request.Limit || page.Cursor != "" && len(page.Items) < c.request.Limit {
				c.t.Fatalf("%s: a page of %d items, limit %d, cursor %t", form, len(page.Items), c.request.Limit, page.Cursor != "")
			}
			got = append(got, page.Items...)
			if c.request.Cursor = page.Cursor; page.Cursor == "" {
				break
			}
		}
		c.same(form.String(), got, form == schema.Table)

		all, err := collect(c.t.Context(), c.reader, func() query.Request { r := c.request; r.Limit = 0; return r }())
		if err != nil {
			c.t.Fatalf("%s: all: %v", form, err)
		}
		c.same(form.String()+" all", all, form == schema.Table)

		counted, err := c.reader.Count(c.t.Context(), c.request)
		if err != nil || counted.Count != int64(len(c.want)) || counted.Cursor != "" {
			c.t.Fatalf("%s: count %+v, %v, want %d", form, counted, err, len(c.want))
		}
		exists, err := c.reader.Exists(c.t.Context(), c.request)
		if err != nil || exists.Exists != (len(c.want) > 0) || exists.Cursor != "" {
			c.t.Fatalf("%s: exists %+v, %v, want %d", form, exists, err, len(c.want))
		}
	}
	c.switches(schema.GSI, schema.Table, pagesBeforeSwitch)
	c.switches(schema.Table, schema.GSI, pagesBeforeSwitch)
}

// same compares items in order. exact: ties too; else they may stand in any order.
func (c *parity) same(what string, got []ddb.Item, exact bool) {
	if len(got) != len(c.want) {
		c.t.Fatalf("%s: %d items, want %d\ngot  %v\nwant %v", what, len(got), len(c.want), c.names(got), c.names(c.want))
	}
	left := slices.Clone(c.want)
	for n, item := range got {
		at := slices.IndexFunc(left, func(want ddb.Item) bool { return c.is(item, want) })
		switch {
		case at < 0:
			c.t.Fatalf("%s: item %d is not of the answer\ngot  %v\nwant %v", what, n, c.names(got), c.names(c.want))
		case at > 0 && (exact || c.model.compare(left[0], left[at], false) != 0):
			c.t.Fatalf("%s: item %d is out of order\ngot  %v\nwant %v", what, n, c.names(got), c.names(c.want))
		}
		left = slices.Delete(left, at, at+1)
	}
}

// is tells whether an answer's item is exactly how the index shows a base item.
func (c *parity) is(got, base ddb.Item) bool {
	return ddb.EqualItems(got, c.model.shown(base, c.request))
}

func (c *parity) names(items []ddb.Item) []string {
	var names []string
	for _, item := range items {
		name := ""
		for _, key := range []string{"id", "seq", "n", "m", "a", "b", "x"} {
			if value, ok := ddb.KeyValue(item[key]); ok {
				name += fmt.Sprintf("%s=%q ", key, value.String())
			}
		}
		names = append(names, name)
	}
	return names
}

// switches walks on one form for some pages and finishes on the other.
func (c *parity) switches(from, to schema.Form, pages int) {
	c.request.Form, c.request.Cursor = from, ""
	seen := make([]int, len(c.want))
	last := 0 // index in want of where the latest item belongs
	boundary := -1
	for n := 0; ; n++ {
		if n > pages {
			c.request.Form = to
		}
		page, err := c.reader.Query(c.t.Context(), c.request)
		if err != nil {
			c.t.Fatalf("%s to %s: page %d: %v", from, to, n, err)
		}
		for _, item := range page.Items {
			at := slices.IndexFunc(c.want, func(want ddb.Item) bool { return c.is(item, want) })
			if at < 0 {
				c.t.Fatalf("%s to %s: an item that is not of the answer", from, to)
			}
			if before := c.model.compare(c.want[at], c.want[last], false); before != 0 && (before < 0) != c.request.Descending {
				c.t.Fatalf("%s to %s: page %d goes back", from, to, n)
			}
			if seen[at]++; seen[at] > 2 || seen[at] == 2 && (boundary < 0 || c.model.compare(c.want[at], c.want[boundary], false) != 0) {
				c.t.Fatalf("%s to %s: page %d repeats what is no tie of the position", from, to, n)
			}
			last = at
		}
		if n == pages {
			boundary = last
		}
		if c.request.Cursor = page.Cursor; page.Cursor == "" {
			break
		}
	}
	for at, times := range seen {
		if times == 0 {
			c.t.Fatalf("%s to %s: item %d of %d is lost: %v", from, to, at, len(seen), c.names(c.want[at:at+1]))
		}
	}
}
