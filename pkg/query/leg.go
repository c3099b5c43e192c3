package query

import (
	"unicode/utf8"

	"github.com/heatsink-dev/heatsink/pkg/cursor"
	"github.com/heatsink-dev/heatsink/pkg/sortkey"
)

// leg is a stretch of the sort key that one key condition can express: equalities, then a condition on the part after them.
type leg struct {
	equal []sortkey.Value
	where sortkey.Condition
}

// legs are the stretches of a walk, in its order: one, unless it resumes from a position of another form.
func (r *Reader) legs(q *question, from *cursor.Position) []leg {
	equal, where := q.pinned()
	if from == nil {
		return []leg{{equal, where}}
	}
	return r.resume(equal, where, from.Parts, q.request.Descending)
}

// resume gives the legs of what is at or behind the sort value at, ties included. Behind (a, b) ascending, say, is: first part = a and second >= b, then first > a. No key condition
// says that in one, and a start key would have to know the order of ties, which a GSI does not tell.
func (r *Reader) resume(equal []sortkey.Value, where sortkey.Condition, at []sortkey.Value, descending bool) []leg {
	pinned := len(equal)
	if pinned == len(r.parts) {
		return []leg{{equal, where}} // all are ties
	}
	var legs []leg
	for n := len(at) - 1; n >= pinned; n-- {
		condition := sortkey.Condition{}
		if n == pinned {
			condition = asBounds(where)
		}
		bound := &sortkey.Bound{Value: at[n], Inclusive: n == len(at)-1}
		// The position is within the condition, so its bound is the tighter one; but an excluded end may equal it.
		if descending {
			condition.Upper = tighter(bound, condition.Upper)
		} else {
			condition.Lower = tighter(bound, condition.Lower)
		}
		condition, empty, err := r.parts[n].Normalise(condition)
		if err != nil || empty { // no error: positions are checked
			continue
		}
		legs = append(legs, leg{at[:n:n], condition})
	}
	return legs
}

// tighter is bound, unless the condition's own excludes the very same value.
func tighter(bound, own *sortkey.Bound) *sortkey.Bound {
	if own != nil && !own.Inclusive && sortkey.Compare(bound.Value, own.Value) == 0 {
		return own
	}
	return bound
}

// asBounds turns a prefix into the interval that it is.
func asBounds(where sortkey.Condition) sortkey.Condition {
	if where.Prefix == nil {
		return where
	}
	bounds := sortkey.Condition{Lower: &sortkey.Bound{Value: sortkey.Text(*where.Prefix), Inclusive: true}}
	if end, ok := afterPrefix(*where.Prefix); ok {
		bounds.Upper = &sortkey.Bound{Value: sortkey.Text(end)}
	}
	return bounds
}

// afterPrefix is the lowest text above all that begin with prefix; ok is false if there is none.
func afterPrefix(prefix string) (end string, ok bool) {
	for prefix != "" {
		last, size := utf8.DecodeLastRuneInString(prefix)
		prefix = prefix[:len(prefix)-size]
		if last == utf8.MaxRune {
			continue
		}
		if last++; last == 0xD800 { // surrogates are no text
			last = 0xE000
		}
		return prefix + string(last), true
	}
	return "", false
}
