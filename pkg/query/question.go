package query

import (
	"context"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"github.com/heatsink-dev/heatsink/pkg/cursor"
	"github.com/heatsink-dev/heatsink/pkg/schema"
	"github.com/heatsink-dev/heatsink/pkg/sortkey"
)

// question is a checked request, in values: the same for both forms.
type question struct {
	request Request
	form    schema.Form
	filter  string
	// under and where are normalised to what key attributes can hold.
	under []sortkey.Value
	where sortkey.Condition
	// empty: nothing can match, make no call.
	empty bool
}

// ask checks a request. Its error is a [*RequestError] or [ErrConsistentGSI].
func (r *Reader) ask(request Request) (*question, error) {
	q := &question{request: request}
	var err error
	if q.form, err = r.form(request.Form); err != nil {
		return nil, err
	}
	if request.Consistent && q.form == schema.GSI {
		return nil, ErrConsistentGSI
	}
	if kind := r.index.PartitionKey.Type.Kind(); request.Partition.Kind() != kind {
		return nil, badRequest("Partition", "must be a %s, is a %s", kind, request.Partition.Kind())
	}
	if err := sortkey.CheckPartitionKey(r.index.PartitionKey.Name, request.Partition); err != nil {
		return nil, badKey("Partition", err)
	}
	if err := r.askCondition(q); err != nil {
		return nil, err
	}
	if err := r.checkProjection(request.Projection); err != nil {
		return nil, err
	}
	if request.Filter != nil {
		if q.filter, err = request.Filter.check(r); err != nil {
			return nil, err
		}
	}
	return q, nil
}

func (r *Reader) askCondition(q *question) error {
	under := q.request.Under
	if len(under) > len(r.parts) {
		return badRequest("Under", "has %d values, the sort key of index %s has %d parts", len(under), r.index.Name, len(r.parts))
	}
	for n := range under {
		equal, empty, err := r.parts[n].Normalise(sortkey.Condition{Equal: &under[n]})
		if err != nil {
			return badKey("Under["+strconv.Itoa(n)+"]", err)
		}
		q.empty = q.empty || empty
		if !empty {
			q.under = append(q.under, *equal.Equal)
		}
	}
	if len(under) == len(r.parts) {
		if q.request.Where != (sortkey.Condition{}) {
			return badRequest("Where", "no part of the sort key is left for it: index %s has %d, Under has %d", r.index.Name, len(r.parts), len(under))
		}
		return nil
	}
	where, empty, err := r.parts[len(under)].Normalise(q.request.Where)
	if err != nil {
		return badKey("Where", err)
	}
	q.where, q.empty = where, q.empty || empty
	return nil
}

func (r *Reader) checkProjection(names []string) error {
	if len(names) > MaxProjection {
		return badRequest("Projection", "has %d names, the limit is %d", len(names), MaxProjection)
	}
	for n, name := range names {
		field := "Projection[" + strconv.Itoa(n) + "]"
		switch {
		case name == "":
			return badRequest(field, "is empty")
		case !r.index.Projects(name):
			return badRequest(field, "is no attribute that index %s carries", r.index.Name)
		case slices.Contains(names[:n], name):
			return badRequest(field, "stands twice")
		}
	}
	return nil
}

// limit of a page.
func (q *question) limit() (int, error) {
	switch limit := q.request.Limit; {
	case limit < 0 || limit > MaxLimit:
		return 0, badRequest("Limit", "must be 0 to %d, is %d", MaxLimit, limit)
	case limit == 0:
		return DefaultLimit, nil
	default:
		return limit, nil
	}
}

// pinned are the leading parts that have one value, an equality in where included, and the condition on the part after them.
func (q *question) pinned() ([]sortkey.Value, sortkey.Condition) {
	if q.where.Equal == nil {
		return q.under, q.where
	}
	return append(slices.Clip(q.under), *q.where.Equal), sortkey.Condition{}
}

// binding ties a cursor to the question.
func (r *Reader) binding(q *question) cursor.Binding {
	return cursor.Binding{
		Scope: "index:" + r.index.Name, Partition: q.request.Partition, Condition: q.canonical(),
		Descending: q.request.Descending, Tenant: q.request.Tenant,
	}
}

// canonical is one text for each condition: a sign for the kind of each operand, its length and its text. An equality in Where is the same as one more value in Under.
func (q *question) canonical() string {
	var text strings.Builder
	put := func(sign byte, value string) {
		var length [binary.MaxVarintLen64]byte
		text.WriteByte(sign)
		text.Write(length[:binary.PutUvarint(length[:], uint64(len(value)))])
		text.WriteString(value)
	}
	under, where := q.pinned()
	for _, value := range under {
		put('=', value.String())
	}
	if where.Prefix != nil {
		put('^', *where.Prefix)
	}
	end := func(bound *sortkey.Bound, open, closed byte) {
		switch {
		case bound == nil:
		case bound.Inclusive:
			put(closed, bound.Value.String())
		default:
			put(open, bound.Value.String())
		}
	}
	end(where.Lower, '(', '[')
	end(where.Upper, ')', ']')
	return text.String()
}

// open reads the request's cursor. Where the request has none, ok is false.
func (r *Reader) open(ctx context.Context, q *question) (at cursor.Position, ok bool, err error) {
	if q.request.Cursor == "" {
		return at, false, nil
	}
	payload, err := r.config.Cursors.Open(ctx, r.binding(q), q.request.Cursor)
	if err != nil {
		return at, false, err
	}
	if at.UnmarshalBinary(payload) != nil || !r.admits(q, at) {
		return at, false, cursor.ErrInvalid
	}
	return at, true, nil
}

// admits reports whether a position can be one of this question's walk. The seal binds it to the question already; but the index's definition may have changed since.
// An end that the condition excludes still counts: a GSI reads it, so that a walk may stand there.
func (r *Reader) admits(q *question, at cursor.Position) bool {
	if len(at.Parts) != len(r.parts) || len(at.Base) != len(r.base) {
		return false
	}
	for n, value := range at.Parts {
		if value.Kind() != r.parts[n].Kind || value.String() == "" {
			return false
		}
	}
	for n, value := range at.Base {
		if value.Kind() != r.base[n].Type.Kind() || value.String() == "" {
			return false
		}
	}
	under, where := q.pinned()
	for n, value := range under {
		if sortkey.Compare(at.Parts[n], value) != 0 {
			return false
		}
	}
	if len(under) == len(r.parts) {
		return true
	}
	value := at.Parts[len(under)]
	switch {
	case where.Prefix != nil && !strings.HasPrefix(value.String(), *where.Prefix):
		return false
	case where.Lower != nil && sortkey.Compare(value, where.Lower.Value) < 0:
		return false
	case where.Upper != nil && sortkey.Compare(value, where.Upper.Value) > 0:
		return false
	default:
		return true
	}
}

// seal makes the cursor of a position.
func (r *Reader) seal(ctx context.Context, q *question, at cursor.Position) (string, error) {
	payload, err := at.MarshalBinary()
	if err != nil {
		return "", err
	}
	return r.config.Cursors.Seal(ctx, r.binding(q), payload)
}
