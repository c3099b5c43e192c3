package query

import (
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/cursor"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/schema"
	"github.com/heatsink-dev/heatsink/pkg/sortkey"
)

// indexed reports whether the index table would hold a row of a GSI: every part fits, and the whole key with the base table's own. It is what makes both forms answer with
// the same items. Usual rows cost a look at each key attribute, and no allocation.
func (r *Reader) indexed(row ddb.Item) bool {
	length := len(r.keys) - 1 // separators
	for n := range r.keys {
		most, ok := longest(&r.keys[n], row[r.keys[n].Name])
		if !ok {
			return r.encodes(row)
		}
		length += most
	}
	return length <= sortkey.MaxSortKeyBytes || r.encodes(row)
}

// longest is an upper bound of the length of a value's encoding, in bytes. Where it cannot say so cheaply, ok is false: ask the codec.
func longest(part *sortkey.Part, attribute types.AttributeValue) (bytes int, ok bool) {
	const perEscape = 2 // an escaped byte becomes two; a binary's byte two digits
	switch value := attribute.(type) {
	case *types.AttributeValueMemberS:
		return perEscape * len(value.Value), part.Kind == sortkey.KindText && value.Value != ""
	case *types.AttributeValueMemberB:
		return perEscape * len(value.Value), part.Kind == sortkey.KindBinary && len(value.Value) > 0
	case *types.AttributeValueMemberN:
		if part.Width == 0 {
			return longestNumber, part.Kind == sortkey.KindNumber
		}
		return part.Width, len(value.Value) <= part.Width && digits(value.Value)
	default:
		return 0, false
	}
}

// longestNumber is the length of the longest encoding of any number, rounded up.
const longestNumber = 48

func digits(text string) bool {
	for n := range len(text) {
		if text[n] < '0' || text[n] > '9' {
			return false
		}
	}
	return text != ""
}

// encodes asks the codec itself.
func (r *Reader) encodes(row ddb.Item) bool {
	values := make([]sortkey.Value, len(r.keys))
	for n := range r.keys {
		value, ok := ddb.KeyValue(row[r.keys[n].Name])
		if !ok || value.String() == "" {
			return false // never in an index table either
		}
		values[n] = value
	}
	var stack [sortkey.MaxSortKeyBytes]byte
	_, err := r.index.Codec.Append(stack[:0], values...)
	return err == nil
}

// answers turns rows into the items of an answer, in place: what is reserved, private or only read for the cursor goes.
func (r *Reader) answers(q *question, rows []ddb.Item) {
	if len(q.request.Projection) > 0 {
		for _, row := range rows {
			for name := range row {
				if !slices.Contains(q.request.Projection, name) {
					delete(row, name)
				}
			}
		}
		return
	}
	if r.index.Projection.Kind != schema.All {
		// A GSI holds what its projection was when it was created.
		for _, row := range rows {
			for name := range row {
				if !r.index.Projects(name) {
					delete(row, name)
				}
			}
		}
		return
	}
	always, seldom := 0, r.hidden
	if q.form == schema.Table {
		always, seldom = 2, r.hidden[3:] // SK and _v, which each row of an index table has; behind them _deleted, which none has that passed the filter
	}
	for _, row := range rows {
		for _, name := range r.hidden[:always] {
			delete(row, name)
		}
		for _, name := range seldom {
			if _, has := row[name]; has { //nolint:staticcheck // mostly not there, and asking costs less than deleting
				delete(row, name)
			}
		}
	}
}

// errRow is a row, or a LastEvaluatedKey, without a sound key of the index.
var errRow = errors.New("a key of the answer is not one of the index")

// position of a raw row or of a LastEvaluatedKey.
func (r *Reader) position(form schema.Form, row ddb.Item) (cursor.Position, error) {
	at := cursor.Position{Form: form}
	if form == schema.Table {
		text, ok := row[schema.SortKeyAttribute].(*types.AttributeValueMemberS)
		if !ok {
			return at, fmt.Errorf("%w: %s is missing", errRow, schema.SortKeyAttribute)
		}
		values, err := r.index.Codec.Decode(text.Value)
		if err != nil {
			return at, fmt.Errorf("%w: %w", errRow, err)
		}
		at.Parts, at.Base = values[:len(r.parts):len(r.parts)], values[len(r.parts):]
		return at, nil
	}
	values := make([]sortkey.Value, len(r.keys))
	for n := range r.keys {
		value, ok := ddb.KeyValue(row[r.keys[n].Name])
		if !ok || value.Kind() != r.keys[n].Kind {
			return at, fmt.Errorf("%w: attribute %q is missing or of a wrong type", errRow, r.keys[n].Name)
		}
		values[n] = value
	}
	at.Parts, at.Base = values[:len(r.parts):len(r.parts)], values[len(r.parts):]
	return at, nil
}

// startKey is the ExclusiveStartKey behind a position of the same form.
func (r *Reader) startKey(q *question, at cursor.Position) (ddb.Item, error) {
	key := make(ddb.Item, 4)
	key[r.index.PartitionKey.Name] = ddb.Attribute(q.request.Partition)
	if q.form == schema.Table {
		text, err := r.index.Codec.Encode(slices.Concat(at.Parts, at.Base)...)
		if err != nil { // a definition that changed since
			return nil, cursor.ErrInvalid
		}
		key[schema.SortKeyAttribute] = &types.AttributeValueMemberS{Value: text}
		return key, nil
	}
	for n, value := range at.Parts {
		key[r.parts[n].Name] = ddb.Attribute(value)
	}
	for n, value := range at.Base {
		key[r.base[n].Name] = ddb.Attribute(value)
	}
	return key, nil
}

// advances reports whether next is behind start in the order of the walk. On a GSI, ties have no known order: there it must only be another row.
func (r *Reader) advances(q *question, start, next ddb.Item) (bool, error) {
	if q.form == schema.Table {
		from, ok1 := start[schema.SortKeyAttribute].(*types.AttributeValueMemberS)
		to, ok2 := next[schema.SortKeyAttribute].(*types.AttributeValueMemberS)
		if !ok1 || !ok2 {
			return false, fmt.Errorf("%w: %s is missing", errRow, schema.SortKeyAttribute)
		}
		if q.request.Descending {
			return to.Value < from.Value, nil
		}
		return to.Value > from.Value, nil
	}
	from, err := r.position(schema.GSI, start)
	if err != nil {
		return false, err
	}
	to, err := r.position(schema.GSI, next)
	if err != nil {
		return false, err
	}
	for n := range r.parts {
		switch c := sortkey.Compare(to.Parts[n], from.Parts[n]); {
		case c == 0:
		case q.request.Descending:
			return c < 0, nil
		default:
			return c > 0, nil
		}
	}
	for n := range r.base {
		if sortkey.Compare(to.Base[n], from.Base[n]) != 0 {
			return true, nil
		}
	}
	return false, nil
}
