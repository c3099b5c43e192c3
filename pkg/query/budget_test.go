package query_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/query"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

// TestEachBudgetEndsWithACursorAndTheWalkIsWhole: whatever ends a page early, the pages together are everything, once, and counts add up.
func TestEachBudgetEndsWithACursorAndTheWalkIsWhole(t *testing.T) {
	t.Parallel()
	for name, budget := range map[string]query.Budget{
		"one request":  {Pages: 1},
		"two requests": {Pages: 2},
		"one row":      {Evaluated: 1},
		"seven rows":   {Evaluated: 7},
		"one byte":     {Bytes: 1},
		"two items":    {Bytes: 2 * ddb.Size(tableRow(100))},
		"several":      {Pages: 3, Evaluated: 20, Bytes: 5 * ddb.Size(tableRow(100))},
	} {
		for _, split := range []int{0, 5} {
			table := &plain{rows: 100, live: func(n int) bool { return n/10%3 == 1 }, split: split}
			reader := table.reader(t, budget)
			request := query.Request{Partition: partition("t"), Limit: 12}
			var got []ddb.Item
			for calls := 0; ; calls++ {
				before := table.evaluated
				p := page(t, reader, request)
				full := budget.Pages > 0 && p.Cost.Requests > budget.Pages || budget.Evaluated > 0 && table.evaluated-before > budget.Evaluated
				if full || calls > 300 || p.Cost.Evaluated != table.evaluated-before {
					t.Fatalf("%s: call %d cost %+v", name, calls, p.Cost)
				}
				if size := sizes(p.Items); budget.Bytes > 0 && size > budget.Bytes && len(p.Items) > 1 {
					t.Fatalf("%s: a page of %d bytes", name, size)
				}
				got = append(got, p.Items...)
				if request.Cursor = p.Cursor; p.Cursor == "" {
					break
				}
			}
			var want []string
			for _, from := range []int{10, 40, 70} {
				want = append(want, names(from, from+9)...)
			}
			wantIDs(t, got, want)

			request.Cursor = ""
			var total int64
			found := 0
			for calls := 0; ; calls++ {
				counted, err := reader.Count(t.Context(), request)
				if err != nil || calls > 300 {
					t.Fatalf("%s: %v", name, err)
				}
				total += counted.Count
				if request.Cursor = counted.Cursor; counted.Cursor == "" {
					break
				}
			}
			request.Cursor = ""
			for calls := 0; found == 0; calls++ {
				exists, err := reader.Exists(t.Context(), request)
				if err != nil || calls > 300 || !exists.Exists && exists.Cursor == "" || exists.Exists && exists.Cursor != "" {
					t.Fatalf("%s: %+v, %v", name, exists, err)
				}
				if request.Cursor = exists.Cursor; exists.Exists {
					found++
				}
			}
			if total != 30 {
				t.Errorf("%s: counts add up to %d, want 30", name, total)
			}
		}
	}
}

// sizes sums up items as the page's budget does: with the reserved attributes of their rows.
func sizes(items []ddb.Item) int {
	total := 0
	for _, item := range items {
		total += ddb.Size(item) + len(schema.SortKeyAttribute) + len(rowKey(1)) + len(schema.VersionAttribute) + 1
	}
	return total
}

func TestBytesAreNotWeighedBeforeTheyCanMatter(t *testing.T) {
	t.Parallel()
	// One response holds at most 1 MB, so the default of 4 MB leaves the first four alone; the fifth is weighed, with the others.
	big := strings.Repeat("x", 300_000)
	row := func(n int) ddb.Item { return with(tableRow(n), "name", text(big)) }
	var answers []any
	for n := 1; n <= 18; n += 3 {
		answers = append(answers, answer(3, tableKey(n+2), row(n), row(n+1), row(n+2)))
	}
	reader, s := scripted(t, query.Budget{}, answers...)
	got := page(t, reader, query.Request{Limit: 100})
	if len(s.inputs) != 5 || len(got.Items) != 13 || got.Cursor == "" {
		t.Errorf("%d items of 300 KB in %d requests, cursor %t; want 13 (under 4 MiB) in 5", len(got.Items), len(s.inputs), got.Cursor != "")
	}
}

// TestTheDeadlineLeavesItsMargin: no read begins within the margin, and none lasts into it; what is read is answered, with a cursor.
func TestTheDeadlineLeavesItsMargin(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		slow := &slowly{plain: &plain{rows: 100, live: func(n int) bool { return n%2 == 1 }, split: 1}, each: 100 * time.Millisecond}
		reader, err := query.New(indexOf(t, userTable(t), "managed"), query.Config{
			Client: slow, IndexTable: "index", Cursors: sealer(t), Budget: query.Budget{Margin: 450 * time.Millisecond, Pages: 1000},
		})
		if err != nil {
			t.Fatal(err)
		}
		request := query.Request{Partition: partition("t"), Limit: 50}
		got, err := reader.Query(ctx, request)
		if err != nil || got.Cost.Requests != 5 || got.Cursor == "" {
			t.Fatalf("%+v, %v", got, err)
		}
		wantIDs(t, got.Items, []string{"u00001", "u00003"})
		// Within the margin, one read is still made: a call always advances.
		request.Cursor = got.Cursor
		next, err := reader.Query(ctx, request)
		if err != nil || next.Cost.Requests != 1 || next.Cursor == "" || len(next.Items) != 1 {
			t.Fatalf("%+v, %v", next, err)
		}
		_, err = collect(ctx, reader, request)
		interrupted, ok := errors.AsType[*query.InterruptedError](err)
		if !ok || !errors.Is(err, query.ErrBudget) || interrupted.Cursor == "" {
			t.Fatal(err)
		}
	})
}

// slowly takes its time for each answer, and gives up with the context.
type slowly struct {
	*plain
	each time.Duration
}

func (s *slowly) Query(ctx context.Context, in *queryInput, opts ...optFn) (*queryOutput, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(s.each):
		return s.plain.Query(ctx, in, opts...)
	}
}

func TestANegativeMarginIsNone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		slow := &slowly{plain: &plain{rows: 5, live: func(int) bool { return true }, split: 1}, each: 150 * time.Millisecond}
		reader, err := query.New(indexOf(t, userTable(t), "managed"), query.Config{Client: slow, IndexTable: "index", Cursors: sealer(t), Budget: query.Budget{Margin: -1}})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := reader.Query(ctx, query.Request{Partition: partition("t")}); err != nil || len(got.Items) != 5 {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// TestOneLiveRowAmongTenThousandTombstones, on the real engine: Exists finds it, a page finds it, and neither reads a row twice.
func TestOneLiveRowAmongTenThousandTombstones(t *testing.T) {
	t.Parallel()
	const dead = 10_000
	s := newStore(t, userTable(t))
	var rows []ddb.Item
	for n := range dead {
		rows = append(rows, ddb.Item{
			"ID": text("t"), "SK": text(rowKey(n)), "_deleted": &types.AttributeValueMemberBOOL{Value: true}, "_v": text("1"), "_ttl": number("1899999999"),
		})
	}
	s.batch(t, s.tables["managed"], rows)
	s.put(t, user(dead))
	reader := s.reader("managed", query.Budget{})
	request := query.Request{Partition: partition("t")}
	exists, err := reader.Exists(t.Context(), request)
	if err != nil || !exists.Exists || exists.Cost.Evaluated != dead+1 || exists.Cost.Requests > 6 {
		t.Errorf("%+v, %v", exists, err)
	}
	request.Limit = 10
	got, err := reader.Query(t.Context(), request)
	if err != nil || got.Cursor != "" || got.Cost.Evaluated != dead+1 || got.Cost.Requests > 5 {
		t.Fatalf("%+v, %v", got, err)
	}
	wantIDs(t, got.Items, names(dead, dead))
	request.Descending = true
	if exists, err = reader.Exists(t.Context(), request); err != nil || !exists.Exists || exists.Cost.Evaluated != 1 {
		t.Errorf("newest first: %+v, %v", exists, err)
	}
}

func TestAllYieldsEverythingAndLeavesEarly(t *testing.T) {
	t.Parallel()
	table := &plain{rows: 3000, live: func(n int) bool { return n%2 == 0 }}
	reader := table.reader(t, query.Budget{Pages: 1, Evaluated: 1}) // a page's budget is no bound of a walk
	all, err := collect(t.Context(), reader, query.Request{Partition: partition("t")})
	if err != nil || len(all) != 1500 || len(table.inputs) != 3 {
		t.Fatalf("%d items in %d requests, %v", len(all), len(table.inputs), err)
	}
	table.inputs = nil
	all, err = collect(t.Context(), reader, query.Request{Partition: partition("t"), Limit: 77})
	if err != nil || len(all) != 77 || table.evaluated > 3000+200 {
		t.Errorf("%d items, %v", len(all), err)
	}
	table.inputs = nil
	for item, err := range reader.All(t.Context(), query.Request{Partition: partition("t")}) {
		if err != nil || item == nil {
			t.Fatal(err)
		}
		break
	}
	if len(table.inputs) != 1 {
		t.Errorf("%d requests for one item", len(table.inputs))
	}
}

// TestAnErrorOfAllComesLastOnceAndTellsWhereToGoOn, whether the client fails or the context ends amid a response.
func TestAnErrorOfAllComesLastOnceAndTellsWhereToGoOn(t *testing.T) {
	t.Parallel()
	throttled := &types.ThrottlingException{}
	for _, form := range []schema.Form{schema.GSI, schema.Table} {
		key := map[schema.Form]func(int) ddb.Item{schema.Table: tableKey, schema.GSI: gsiKey}[form]
		rows := func(from, to int) []ddb.Item {
			return rowsOf(func(n int) ddb.Item { return answerRow(form, n) }, from, to)
		}
		for stopAfter := range 6 {
			ctx, cancel := context.WithCancel(t.Context())
			reader, s := scripted(t, query.Budget{}, answer(3, key(3), rows(1, 3)...), answer(2, key(5), rows(4, 5)...), throttled, answer(1, nil, rows(6, 6)...))
			request := query.Request{Partition: partition("t"), Form: form}
			var got []ddb.Item
			var failures []error
			if stopAfter == 0 {
				cancel()
			}
			for item, err := range reader.All(ctx, request) {
				if err != nil {
					failures = append(failures, err)
					continue
				}
				if len(failures) > 0 {
					t.Fatal("an item behind the error")
				}
				if got = append(got, item); len(got) == stopAfter {
					cancel()
				}
			}
			cancel()
			wantIDs(t, got, names(1, max(1, stopAfter))[:stopAfter])
			want := context.Canceled
			if len(failures) != 1 || !errors.Is(failures[0], want) {
				t.Fatalf("stop after %d: %v", stopAfter, failures)
			}
			interrupted, ok := errors.AsType[*query.InterruptedError](failures[0])
			if !ok || (interrupted.Cursor == "") != (stopAfter == 0) {
				t.Fatalf("stop after %d: %+v", stopAfter, failures[0])
			}
			if stopAfter == 0 {
				continue
			}
			s.answers, s.inputs = []any{answer(0, nil)}, nil
			request.Cursor = interrupted.Cursor
			if _, err := collect(t.Context(), reader, request); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(key(stopAfter), s.inputs[0].ExclusiveStartKey, ignoreInternals); diff != "" {
				t.Errorf("stop after %d: resumes elsewhere (-want +got):\n%s", stopAfter, diff)
			}
		}
		reader, s := scripted(t, query.Budget{}, answer(3, key(3)), throttled, answer(0, nil))
		_, err := collect(t.Context(), reader, query.Request{Partition: partition("t"), Form: form})
		interrupted, ok := errors.AsType[*query.InterruptedError](err)
		if !ok {
			t.Fatal(err)
		}
		if _, err := collect(t.Context(), reader, query.Request{Partition: partition("t"), Form: form, Cursor: interrupted.Cursor}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(key(3), s.inputs[2].ExclusiveStartKey, ignoreInternals); diff != "" {
			t.Errorf("behind dead rows alone, it resumes elsewhere (-want +got):\n%s", diff)
		}
		reader, _ = scripted(t, query.Budget{}, answer(3, key(3), rows(1, 3)...), throttled)
		got, err := collect(t.Context(), reader, query.Request{Partition: partition("t"), Form: form})
		interrupted, ok = errors.AsType[*query.InterruptedError](err)
		if len(got) != 3 || !ok || interrupted.Cursor == "" || ddb.Classify(err).Class != ddb.Throttled {
			t.Errorf("%d items, %v", len(got), err)
		}
	}
}
