package query

import (
	"context"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

// Page is one answer of [Reader.Query].
type Page struct {
	// Items in the order asked for, at most Limit. Never nil.
	Items []ddb.Item
	// Cursor continues behind the last item, or where the budget or a passing failure ended the page. Empty at the end of the index, and only there: the page behind a
	// cursor may be empty.
	Cursor string
	// Cost of this page.
	Cost Cost
}

// maxResponse is what one response can hold, in bytes of items, before any filter
// (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Query.Pagination.html).
const maxResponse = 1 << 20

// Query returns a page: Limit live items, unless the index ends first (then there is no cursor) or the budget does (then there is one). It makes one request if the first Limit
// rows are live, and as few more as the live ratio allows. A read that fails for a passing reason (throttled, timed out, 5xx) behind one that succeeded ends the page as the budget
// does.
//
// Errors: [*RequestError] and [ErrConsistentGSI] before any call; cursor.ErrInvalid for a cursor that is not of this question; [ErrNoAdvance]; and what the
// client returns, for ddb.Classify: of the first read, or a failure that will not pass, or the caller's own cancellation. With an error there is no page: ask again.
func (r *Reader) Query(ctx context.Context, request Request) (*Page, error) {
	q, err := r.ask(request)
	if err != nil {
		return nil, err
	}
	limit, err := q.limit()
	if err != nil {
		return nil, err
	}
	w, err := r.begin(ctx, q, fetchItems)
	if err != nil {
		return nil, r.wrap("read", err)
	}
	page, err := w.page(limit)
	if err != nil {
		return nil, r.wrap("read", err)
	}
	return page, nil
}

// page fills a page. Rows stay raw until its end, because the cursor may come from the last of them.
func (w *walk) page(limit int) (*Page, error) {
	var rows []ddb.Item
	var cursor string
	weight := scale{most: w.reader.config.Budget.Bytes}
	sizes := sizer{first: limit}
	for !w.done() {
		from := &w.segments[0]
		evaluated := w.cost.Evaluated
		output, err := w.read(w.within(sizes.next(limit - len(rows))))
		if err != nil {
			if cursor, err = w.interrupted(err); err != nil {
				return nil, err
			}
			break
		}
		live := w.keep(from, output.Items)
		sizes.saw(w.cost.Evaluated-evaluated, len(live))
		taken := weight.take(rows, live[:min(len(live), limit-len(rows))], w.cost.Requests)
		if rows == nil {
			rows = live[:taken]
		} else {
			rows = append(rows, live[:taken]...)
		}
		switch {
		case taken < len(live): // full, with rows left over
			cursor, err = w.behind(rows[len(rows)-1])
		case w.done():
		case len(rows) == limit || w.spent():
			cursor, err = w.here()
		default:
			continue
		}
		if err != nil {
			return nil, err
		}
		break
	}
	w.reader.answers(w.q, rows)
	if rows == nil {
		rows = []ddb.Item{}
	}
	return &Page{Items: rows, Cursor: cursor, Cost: w.cost}, nil
}

// keep drops rows that do not count, in place.
func (w *walk) keep(from *segment, rows []ddb.Item) []ddb.Item {
	if w.q.form == schema.Table {
		return rows
	}
	for n, row := range rows {
		if w.live(from, row) {
			continue
		}
		kept := rows[:n]
		for _, row := range rows[n+1:] {
			if w.live(from, row) {
				kept = append(kept, row)
			}
		}
		return kept
	}
	return rows
}

// scale keeps a page within the budget's bytes. It weighs nothing until the responses could have brought more.
type scale struct {
	most    int
	weighed int // rows
	bytes   int
}

// take is how many of more can stand behind rows.
func (s *scale) take(rows, more []ddb.Item, responses int) int {
	if responses*maxResponse <= s.most {
		return len(more)
	}
	for ; s.weighed < len(rows); s.weighed++ {
		s.bytes += ddb.Size(rows[s.weighed])
	}
	for n, row := range more {
		size := ddb.Size(row)
		if s.bytes+size > s.most && s.weighed > 0 {
			return n
		}
		s.bytes += size
		s.weighed++
	}
	return len(more)
}
