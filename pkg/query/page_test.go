package query_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/query"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

// page reads one page of partition t of the index table, or fails.
func page(t *testing.T, reader *query.Reader, request query.Request) *query.Page {
	t.Helper()
	request.Partition = partition("t")
	got, err := reader.Query(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func names(from, to int) []string { return ids(rowsOf(user, from, to)) }

func wantIDs(t *testing.T, got []ddb.Item, want []string) {
	t.Helper()
	if diff := cmp.Diff(want, ids(got)); diff != "" {
		t.Fatalf("items (-want +got):\n%s", diff)
	}
}

func TestReadsOfSevenAndTenWithLimitTenResumeAtItemEleven(t *testing.T) {
	t.Parallel()
	for form, row := range map[schema.Form]func(int) ddb.Item{schema.Table: tableRow, schema.GSI: user} {
		key := tableKey
		if form == schema.GSI {
			key = gsiKey
		}
		reader, s := scripted(t, query.Budget{},
			answer(7, key(7), rowsOf(row, 1, 7)...), // a 1 MB split
			answer(10, key(17), rowsOf(row, 8, 17)...),
			answer(1, nil, row(11)))
		first := page(t, reader, query.Request{Limit: 10, Form: form})
		wantIDs(t, first.Items, names(1, 10))
		page(t, reader, query.Request{Limit: 10, Form: form, Cursor: first.Cursor})
		if diff := cmp.Diff(key(10), s.inputs[2].ExclusiveStartKey, ignoreInternals); diff != "" {
			t.Errorf("%s: the next page does not start behind item 10 (-want +got):\n%s", form, diff)
		}
	}
}

// ignoreInternals lets cmp compare attribute values.
var ignoreInternals = cmp.Comparer(func(a, b types.AttributeValue) bool { return ddb.Equal(a, b) })

func TestAnEmptyAnswerWithAKeyIsNotTheEnd(t *testing.T) {
	t.Parallel()
	reader, s := scripted(t, query.Budget{}, answer(3, tableKey(3)), answer(30, tableKey(33)), answer(1, nil, tableRow(34)))
	got := page(t, reader, query.Request{Limit: 3})
	wantIDs(t, got.Items, names(34, 34))
	if got.Cursor != "" {
		t.Error("a cursor at the end")
	}
	if diff := cmp.Diff([]int32{3, 30, 300}, s.limits()); diff != "" {
		t.Errorf("reads that find nothing must grow (-want +got):\n%s", diff)
	}
	if want := (query.Cost{Requests: 3, Evaluated: 34, ReadUnits: 1.5}); got.Cost != want {
		t.Errorf("cost %+v, want %+v", got.Cost, want)
	}
}

func TestExistsGoesOnUntilAMatchOrNoKey(t *testing.T) {
	t.Parallel()
	count := func(evaluated, live int, next ddb.Item) any {
		out := answer(evaluated, next)
		out.Count = int32(live)
		return out
	}
	reader, s := scripted(t, query.Budget{}, count(1, 0, tableKey(1)), count(10, 0, tableKey(11)), count(100, 1, tableKey(111)))
	got, err := reader.Exists(t.Context(), query.Request{Partition: partition("t")})
	if err != nil || !got.Exists || got.Cursor != "" {
		t.Fatalf("%+v, %v", got, err)
	}
	if s.inputs[0].Select != types.SelectCount {
		t.Error("Exists transfers items")
	}
	reader, _ = scripted(t, query.Budget{}, count(1, 0, tableKey(1)), count(3, 0, ddb.Item{}))
	got, err = reader.Exists(t.Context(), query.Request{Partition: partition("t")})
	if err != nil || got.Exists || got.Cursor != "" {
		t.Fatalf("%+v, %v", got, err)
	}
}

func TestAnEmptyKeyIsTheEnd(t *testing.T) {
	t.Parallel()
	reader, s := scripted(t, query.Budget{}, answer(2, ddb.Item{}, rowsOf(tableRow, 1, 2)...))
	got := page(t, reader, query.Request{Limit: 5})
	wantIDs(t, got.Items, names(1, 2))
	if got.Cursor != "" || len(s.inputs) != 1 {
		t.Errorf("cursor %t after %d calls", got.Cursor != "", len(s.inputs))
	}
}

func TestExactlyAPageThenAnEmptyOneWithoutCursor(t *testing.T) {
	t.Parallel()
	reader, _ := scripted(t, query.Budget{}, answer(3, tableKey(3), rowsOf(tableRow, 1, 3)...), answer(0, nil))
	first := page(t, reader, query.Request{Limit: 3})
	wantIDs(t, first.Items, names(1, 3))
	second := page(t, reader, query.Request{Limit: 3, Cursor: first.Cursor})
	if second.Items == nil || len(second.Items) != 0 || second.Cursor != "" {
		t.Errorf("second page: %+v", second)
	}
	// Where DynamoDB says that it is the end, so does the page.
	reader, _ = scripted(t, query.Budget{}, answer(3, nil, rowsOf(tableRow, 1, 3)...))
	if got := page(t, reader, query.Request{Limit: 3}); got.Cursor != "" || len(got.Items) != 3 {
		t.Errorf("%d items, cursor %t", len(got.Items), got.Cursor != "")
	}
}

func TestLimitHoldsWhateverThePages(t *testing.T) {
	t.Parallel()
	for limit := 1; limit <= 30; limit++ {
		for _, split := range []int{0, 1, 2, 7} {
			for _, descending := range []bool{false, true} {
				table := &plain{rows: 25, live: func(n int) bool { return n%3 == 1 }, split: split}
				reader := table.reader(t, query.Budget{Pages: 1000})
				var got []ddb.Item
				for cursor, pages := "", 0; pages == 0 || cursor != ""; pages++ {
					p := page(t, reader, query.Request{Limit: limit, Cursor: cursor, Descending: descending})
					if len(p.Items) > limit || len(p.Items) < limit && p.Cursor != "" {
						t.Fatalf("limit %d, split %d: a page of %d with cursor %t", limit, split, len(p.Items), p.Cursor != "")
					}
					got, cursor = append(got, p.Items...), p.Cursor
				}
				var want []string
				for n := 1; n < 25; n += 3 {
					want = append(want, names(n, n)...)
				}
				if descending {
					slices.Reverse(want)
				}
				wantIDs(t, got, want)
			}
		}
	}
}

func TestAnEmptyPartitionIsAnEmptyPage(t *testing.T) {
	t.Parallel()
	reader, _ := scripted(t, query.Budget{}, answer(0, nil))
	got := page(t, reader, query.Request{})
	if got.Items == nil || len(got.Items) != 0 || got.Cursor != "" || got.Cost.Requests != 1 {
		t.Errorf("%+v", got)
	}
}

func TestTheSameCursorTwiceGivesTheSamePage(t *testing.T) {
	t.Parallel()
	table := &plain{rows: 9, live: func(int) bool { return true }}
	reader := table.reader(t, query.Budget{})
	first := page(t, reader, query.Request{Limit: 4})
	for range 2 {
		wantIDs(t, page(t, reader, query.Request{Limit: 4, Cursor: first.Cursor}).Items, names(4, 7))
	}
}

func TestTheFirstReadIsOfLimitRowsAndOneRequestFillsALivePage(t *testing.T) {
	t.Parallel()
	table := &plain{rows: 1000, live: func(int) bool { return true }}
	got := page(t, table.reader(t, query.Budget{}), query.Request{Limit: 100})
	if want := (query.Cost{Requests: 1, Evaluated: 100, ReadUnits: 0.5}); got.Cost != want || len(got.Items) != 100 {
		t.Errorf("%d items for %+v, want %+v", len(got.Items), got.Cost, want)
	}
	if got := page(t, table.reader(t, query.Budget{}), query.Request{}); len(got.Items) != query.DefaultLimit {
		t.Errorf("a page without limit has %d items, want %d", len(got.Items), query.DefaultLimit)
	}
}

// TestReadAmplification: with dead rows evenly spread, a walk reads at most a tenth more rows than it must and needs at most two requests a page more than the one that knew where the page
// ends.
func TestReadAmplification(t *testing.T) {
	t.Parallel()
	for _, every := range []int{1, 2, 10} { // live ratios 1.0, 0.5, 0.1
		for _, limit := range []int{10, 50, 100, 1000} {
			for phase := range every {
				t.Run(fmt.Sprintf("1 of %d live, limit %d, phase %d", every, limit, phase), func(t *testing.T) {
					t.Parallel()
					table := &plain{rows: 12 * limit * every, live: func(n int) bool { return n%every == phase }}
					reader := table.reader(t, query.Budget{})
					cursor := ""
					for range 10 {
						got := page(t, reader, query.Request{Limit: limit, Cursor: cursor})
						if len(got.Items) != limit || got.Cost.Requests > 3 {
							t.Fatalf("%d items with %d requests", len(got.Items), got.Cost.Requests)
						}
						cursor = got.Cursor
					}
					// Ten pages end at the live row number 10*limit.
					must := (10*limit-1)*every + phase + 1
					if table.evaluated*10 > must*11 {
						t.Errorf("%d rows read, %d had to be", table.evaluated, must)
					}
				})
			}
		}
	}
}

// TestReadAmplificationOfScatteredRows: where dead rows fall by chance, an estimate is one; the mean stays close all the same.
func TestReadAmplificationOfScatteredRows(t *testing.T) {
	t.Parallel()
	const limit, pages = 100, 60
	for _, live := range []uint64{50, 10} { // in a hundred
		scattered := func(n int) bool {
			h := uint64(n)*0x9E3779B97F4A7C15 + 7 // splitmix64: a fixed, even scatter
			h = (h ^ h>>30) * 0xBF58476D1CE4E5B9
			h = (h ^ h>>27) * 0x94D049BB133111EB
			return (h^h>>31)%100 < live
		}
		table := &plain{rows: 2_000_000, live: scattered}
		reader := table.reader(t, query.Budget{})
		cursor := ""
		for range pages {
			cursor = page(t, reader, query.Request{Limit: limit, Cursor: cursor}).Cursor
		}
		must := 0
		for found := 0; found < limit*pages; must++ {
			if scattered(must) {
				found++
			}
		}
		if requests := len(table.inputs); table.evaluated*10 > must*11 || requests*10 > pages*28 {
			t.Errorf("%d %% live: %d rows read, %d had to be; %d requests for %d pages", live, table.evaluated, must, requests, pages)
		}
	}
}

func TestNoReadAsksForLessThanOneRow(t *testing.T) {
	t.Parallel()
	// plain fails on such a read; these budgets and limits leave nothing over at some point.
	for evaluated := 1; evaluated < 40; evaluated++ {
		table := &plain{rows: 60, live: func(n int) bool { return n%7 == 6 }, split: 4}
		reader := table.reader(t, query.Budget{Evaluated: evaluated})
		for limit := 1; limit < 12; limit++ {
			got := page(t, reader, query.Request{Limit: limit})
			if got.Cost.Evaluated > evaluated {
				t.Fatalf("%d rows read of a budget of %d", got.Cost.Evaluated, evaluated)
			}
		}
	}
}

func TestAPositionThatDoesNotAdvanceEndsTheWalk(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name          string
		form          schema.Form
		descending    bool
		first, second ddb.Item
		stuck         bool
	}{
		{"table, the same", schema.Table, false, tableKey(5), tableKey(5), true},
		{"table, behind", schema.Table, false, tableKey(5), tableKey(4), true},
		{"table, further", schema.Table, false, tableKey(5), tableKey(6), false},
		{"table descending, further", schema.Table, true, tableKey(5), tableKey(4), false},
		{"table descending, behind", schema.Table, true, tableKey(5), tableKey(6), true},
		{"GSI, the same", schema.GSI, false, gsiKey(5), gsiKey(5), true},
		{"GSI, behind", schema.GSI, false, gsiKey(5), gsiKey(4), true},
		{"GSI, further", schema.GSI, false, gsiKey(5), gsiKey(6), false},
		{"GSI descending, behind", schema.GSI, true, gsiKey(5), gsiKey(6), true},
		{"GSI, a tie in any order", schema.GSI, false, gsiKey(5), with(gsiKey(5), "userId", text("a")), false},
		{"GSI, another spelling of the same number", schema.GSI, false, gsiKey(5), with(gsiKey(5), "managedKey", number("5.0")), true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			request := query.Request{Partition: partition("t"), Form: test.form, Descending: test.descending, Limit: 3}
			script := func() *query.Reader {
				reader, _ := scripted(t, query.Budget{}, answer(3, test.first), answer(30, test.second), answer(300, nil))
				return reader
			}
			_, err := script().Query(t.Context(), request)
			_, errCount := script().Count(t.Context(), request)
			_, errExists := script().Exists(t.Context(), request)
			_, errAll := collect(t.Context(), script(), request)
			for call, err := range map[string]error{"Query": err, "Count": errCount, "Exists": errExists, "All": errAll} {
				if got := errors.Is(err, query.ErrNoAdvance); got != test.stuck {
					t.Errorf("%s: %v", call, err)
				}
			}
		})
	}
}

func with(item ddb.Item, name string, value types.AttributeValue) ddb.Item {
	item[name] = value
	return item
}

func TestAKeyWithoutTheTablesOwnKeyIsAnError(t *testing.T) {
	t.Parallel()
	short := gsiKey(3)
	delete(short, "userId")
	reader, _ := scripted(t, query.Budget{}, answer(3, short, rowsOf(user, 1, 3)...))
	if got, err := reader.Query(t.Context(), query.Request{Partition: partition("t"), Form: schema.GSI, Limit: 3}); err == nil {
		t.Errorf("a page whose cursor would loop: %+v", got)
	}
}

// TestTheCostIsWhatWentOut: requests and read units, on the real engine.
func TestTheCostIsWhatWentOut(t *testing.T) {
	t.Parallel()
	s := newStore(t, userTable(t))
	s.put(t, rowsOf(user, 1, 20)...)
	s.bury(t, s.table.Indexes, rowsOf(user, 21, 40))
	reader := s.reader("managed", query.Budget{})
	for _, form := range []schema.Form{schema.GSI, schema.Table} {
		request := query.Request{Limit: 15, Form: form}
		first := page(t, reader, request)
		if calls := s.spent(); len(calls) != 1 || first.Cost != (query.Cost{Requests: 1, Evaluated: 15, ReadUnits: 0.5}) {
			t.Errorf("%s: %d calls, %+v", form, len(calls), first.Cost)
		}
		request.Cursor = first.Cursor
		second := page(t, reader, request)
		calls := s.spent()
		if len(calls) != second.Cost.Requests || second.Cost.ReadUnits != 0.5*float64(len(calls)) || len(calls) > 2 {
			t.Errorf("%s: %d calls, %+v", form, len(calls), second.Cost)
		}
	}
	request := query.Request{Limit: 1, Consistent: true}
	if got := page(t, reader, request); got.Cost.ReadUnits != 1 {
		t.Errorf("a consistent read: %+v", got.Cost)
	}
}
