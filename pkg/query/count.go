package query

import "context"

// Existence is an answer of [Reader.Exists].
type Existence struct {
	// Exists is true where an item was found.
	Exists bool
	// Cursor: the budget, or a read that failed for a passing reason, ended the call before an item was found. Empty: the answer is final.
	Cursor string
	// Cost of this call.
	Cost Cost
}

// Counted is an answer of [Reader.Count].
type Counted struct {
	// Count of the items up to where the call ended.
	Count int64
	// Cursor: the budget, or a read that failed for a passing reason, ended the call first. Call again with it and add the counts. Empty: everything is counted.
	Cursor string
	// Cost of this call.
	Cost Cost
}

// Exists tells whether at least one item matches, behind the cursor if there is one. It looks at one row first and at ten times as many each time that it finds none
// live: one live row behind 10,000 tombstones takes five or six requests. Errors are those of [Reader.Query].
func (r *Reader) Exists(ctx context.Context, request Request) (Existence, error) {
	found, cursor, cost, err := r.tally(ctx, request, true)
	return Existence{Exists: found > 0, Cursor: cursor, Cost: cost}, err
}

// Count counts the items that match, behind the cursor if there is one. It reads every row: up to 1 MB a request, transferring no items of an index table and only the
// keys of a GSI (whose rows need a look). Errors are those of [Reader.Query].
func (r *Reader) Count(ctx context.Context, request Request) (Counted, error) {
	count, cursor, cost, err := r.tally(ctx, request, false)
	return Counted{Count: count, Cursor: cursor, Cost: cost}, err
}

// tally counts live rows: all of them, or until there is one.
func (r *Reader) tally(ctx context.Context, request Request, one bool) (count int64, cursor string, cost Cost, err error) {
	q, err := r.ask(request)
	if err != nil {
		return 0, "", cost, err
	}
	w, err := r.begin(ctx, q, fetchKeys)
	if err != nil {
		return 0, "", cost, r.wrap("count", err)
	}
	sizes := sizer{first: 1}
	for !w.done() {
		size := maxRead
		if one {
			size = sizes.next(1)
		}
		from := &w.segments[0]
		output, err := w.read(w.within(size))
		if err != nil {
			if cursor, err = w.interrupted(err); err != nil {
				return 0, "", w.cost, r.wrap("count", err)
			}
			break
		}
		live := int(output.Count)
		for _, row := range output.Items {
			if !w.live(from, row) {
				live--
			}
		}
		sizes.saw(int(output.ScannedCount), live)
		count += int64(live)
		if one && count > 0 {
			break
		}
		if !w.done() && w.spent() {
			if cursor, err = w.here(); err != nil {
				return 0, "", w.cost, r.wrap("count", err)
			}
			break
		}
	}
	return count, cursor, w.cost, nil
}
