package query

import (
	"context"
	"iter"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
)

// InterruptedError ends [Reader.All] before all items are out.
type InterruptedError struct {
	// Cursor continues behind the last item that was yielded. Empty: start again.
	Cursor string
	// Err is why: the context's error, [ErrBudget], or what the client returned.
	Err error
}

// Error says why.
func (e *InterruptedError) Error() string { return "walk interrupted: " + e.Err.Error() }

// Unwrap gives the cause.
func (e *InterruptedError) Unwrap() error { return e.Err }

// firstOfAll is the first read, in rows, of a walk without a limit. The second is [growth] times as large, the others what DynamoDB gives: whoever takes so many will take
// them all.
const firstOfAll = 100

// All yields every item, or the first Limit if the request has one, reading ahead of the loop by one response at most. The error comes last and once: those of [Reader.Query]
// for the request itself, or an [*InterruptedError] with the cursor to go on from. Leaving the loop early costs nothing more. Of the budget only Margin holds.
func (r *Reader) All(ctx context.Context, request Request) iter.Seq2[ddb.Item, error] {
	return func(yield func(ddb.Item, error) bool) {
		err := r.all(ctx, request, func(item ddb.Item) bool { return yield(item, nil) })
		if err != nil {
			yield(nil, err)
		}
	}
}

func (r *Reader) all(ctx context.Context, request Request, yield func(ddb.Item) bool) error {
	q, err := r.ask(request)
	if err != nil {
		return err
	}
	if request.Limit < 0 {
		return badRequest("Limit", "must not be negative, is %d", request.Limit)
	}
	w, err := r.begin(ctx, q, fetchItems)
	if err != nil {
		return r.wrap("read", err)
	}
	if at, err := w.all(request.Limit, yield); err != nil {
		return r.wrap("read", &InterruptedError{Cursor: w.resumeAt(at), Err: err})
	}
	return nil
}

// all yields until the end, the limit (0: none) or until yield says stop. With an error it tells the position behind the last item yielded, nil if there is none.
func (w *walk) all(limit int, yield func(ddb.Item) bool) (at ddb.Item, err error) {
	sizes := sizer{first: limit}
	mark := ddb.Item{}
	for yielded := 0; !w.done(); {
		if err := w.ctx.Err(); err != nil {
			return at, err
		}
		if w.cost.Requests > 0 && w.late() {
			return at, ErrBudget
		}
		size := 0
		switch {
		case limit > 0:
			size = sizes.next(limit - yielded)
		case w.cost.Requests == 0:
			size = firstOfAll
		case w.cost.Requests == 1:
			size = firstOfAll * growth
		}
		from := &w.segments[0]
		output, err := w.read(size)
		if err != nil {
			return at, err
		}
		live := w.keep(from, output.Items)
		sizes.saw(int(output.ScannedCount), len(live))
		for n, row := range live {
			if err := w.ctx.Err(); err != nil {
				return at, err
			}
			for _, name := range w.reader.positionNames(w.q.form) {
				mark[name] = row[name]
			}
			w.reader.answers(w.q, live[n:n+1])
			at, yielded = mark, yielded+1
			if !yield(row) || yielded == limit {
				return nil, nil
			}
		}
		at = w.last
	}
	return nil, nil
}

// resumeAt is the cursor to hand out with an error. Sealing needs no request as long as the key is cached; if it fails too, the caller can only start again.
func (w *walk) resumeAt(at ddb.Item) string {
	if at == nil {
		return w.q.request.Cursor
	}
	cursor, err := w.behind(at)
	if err != nil {
		return ""
	}
	return cursor
}
