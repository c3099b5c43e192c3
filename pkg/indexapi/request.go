package indexapi

import (
	"encoding/base64"
	"errors"

	"github.com/heatsink-dev/heatsink/pkg/cursor"
	"github.com/heatsink-dev/heatsink/pkg/edge"
	"github.com/heatsink-dev/heatsink/pkg/query"
	"github.com/heatsink-dev/heatsink/pkg/schema"
	"github.com/heatsink-dev/heatsink/pkg/sortkey"
)

// The limit of a page.
const (
	defaultLimit = 50
	maxLimit     = 1000
)

func badLimit() error { return edge.Invalid("limit", "must be a whole number from 1 to %d", maxLimit) }

// request turns the parameters into a read of the index. Its error is a problem that names the parameter.
func (in *input) request(index *schema.Index) (query.Request, error) {
	request := query.Request{Limit: defaultLimit}
	if in.Limit != nil {
		if *in.Limit < 1 || *in.Limit > maxLimit {
			return query.Request{}, badLimit()
		}
		request.Limit = *in.Limit
	}
	if in.Order != nil {
		if *in.Order != "asc" && *in.Order != "desc" {
			return query.Request{}, edge.Invalid("order", "must be asc or desc")
		}
		request.Descending = *in.Order == "desc"
	}
	if in.Cursor != nil {
		if *in.Cursor == "" { // no cursor of ours, and taking it for none would start a walk again, for ever
			return query.Request{}, problem(cursor.ErrInvalid)
		}
		request.Cursor = *in.Cursor
	}
	request.Consistent = in.Consistent != nil && *in.Consistent
	if request.Consistent && index.Type == schema.GSI {
		return query.Request{}, problem(query.ErrConsistentGSI)
	}
	var err error
	if request.Partition, err = in.partition(index); err != nil {
		return query.Request{}, err
	}
	if request.Under, err = in.under(index); err != nil {
		return query.Request{}, err
	}
	request.Where, err = in.where(index)
	return request, err
}

func (in *input) partition(index *schema.Index) (sortkey.Value, error) {
	if in.Partition == nil {
		return sortkey.Value{}, edge.Invalid("partition", "is missing")
	}
	value, err := parse("partition", *in.Partition, index.PartitionKey.Type)
	if err != nil {
		return value, err
	}
	if err := sortkey.CheckPartitionKey("partition", value); err != nil {
		return value, edge.Invalid("partition", "must be 1 to %d bytes", sortkey.MaxPartitionKeyBytes)
	}
	return value, nil
}

func (in *input) under(index *schema.Index) ([]sortkey.Value, error) {
	if len(in.Under) > len(index.SortKey) {
		return nil, edge.Invalid("under", "the index's sort key has %d parts, not %d", len(index.SortKey), len(in.Under))
	}
	var under []sortkey.Value
	for n, scalar := range in.Under {
		value, err := parse("under", scalar, index.SortKey[n].Type)
		if err != nil {
			return nil, err
		}
		under = append(under, value)
	}
	return under, nil
}

// where is the condition on the part behind those that under pins.
func (in *input) where(index *schema.Index) (sortkey.Condition, error) {
	var where sortkey.Condition
	name := in.contradiction()
	if name != "" {
		return where, edge.Invalid(name, "contradicts another condition: eq, or prefix, or at most one of gt and gte with one of lt and lte")
	}
	for _, condition := range []struct {
		name   string
		scalar *edge.Scalar
		apply  func(sortkey.Value)
	}{
		{"eq", in.Eq, func(v sortkey.Value) { where.Equal = &v }},
		{"gt", in.Gt, func(v sortkey.Value) { where.Lower = &sortkey.Bound{Value: v} }},
		{"gte", in.Gte, func(v sortkey.Value) { where.Lower = &sortkey.Bound{Value: v, Inclusive: true} }},
		{"lt", in.Lt, func(v sortkey.Value) { where.Upper = &sortkey.Bound{Value: v} }},
		{"lte", in.Lte, func(v sortkey.Value) { where.Upper = &sortkey.Bound{Value: v, Inclusive: true} }},
	} {
		if condition.scalar == nil {
			continue
		}
		part, err := in.part(condition.name, index)
		if err != nil {
			return where, err
		}
		value, err := parse(condition.name, *condition.scalar, part.Type)
		if err != nil {
			return where, err
		}
		condition.apply(value)
	}
	if in.Prefix != nil {
		part, err := in.part("prefix", index)
		if err != nil {
			return where, err
		}
		if part.Type != schema.String {
			return where, edge.Invalid("prefix", "only a text has one, %s is not", part.Name)
		}
		where.Prefix = in.Prefix
	}
	return where, nil
}

// part is the one that a condition applies to.
func (in *input) part(condition string, index *schema.Index) (schema.KeyPart, error) {
	if len(in.Under) >= len(index.SortKey) {
		return schema.KeyPart{}, edge.Invalid(condition, "the index's sort key has no part left for it")
	}
	return index.SortKey[len(in.Under)], nil
}

// contradiction is the name of a condition that another one excludes, or "".
func (in *input) contradiction() string {
	bounds := in.Gt != nil || in.Gte != nil || in.Lt != nil || in.Lte != nil
	switch {
	case in.Prefix != nil && (in.Eq != nil || bounds):
		return "prefix"
	case in.Eq != nil && bounds:
		return "eq"
	case in.Gt != nil && in.Gte != nil:
		return "gt"
	case in.Lt != nil && in.Lte != nil:
		return "lt"
	default:
		return ""
	}
}

// parse reads a parameter as a value of an attribute's type.
func parse(name string, scalar edge.Scalar, kind schema.AttributeType) (sortkey.Value, error) {
	if scalar.IsNumber && kind != schema.Number {
		return sortkey.Value{}, edge.Invalid(name, "must be a string")
	}
	switch kind {
	case schema.Number:
		number, err := sortkey.CanonicalNumber(scalar.Text)
		if err != nil {
			return sortkey.Value{}, edge.Invalid(name, "must be a DynamoDB number: %s", numberFault(err))
		}
		return sortkey.Number(number), nil
	case schema.Binary:
		bytes, err := base64.StdEncoding.Strict().DecodeString(scalar.Text)
		if err != nil {
			return sortkey.Value{}, edge.Invalid(name, "must be standard base64 of a binary value")
		}
		return sortkey.Binary(bytes), nil
	default:
		return sortkey.Text(scalar.Text), nil
	}
}

// numberFault says what is wrong with a number, with the limit.
func numberFault(err error) string {
	fault, ok := errors.AsType[*sortkey.Error](err)
	switch {
	case ok && fault.Reason == sortkey.ReasonDigits:
		return "it has more than 38 significant digits"
	case ok && fault.Reason == sortkey.ReasonMagnitude:
		return "its magnitude is out of 1E-130 to 9.99E+125"
	default:
		return "the text is not a number"
	}
}

// Request reads query parameters, as GET items takes them, into a request for the index. Its error is an [*edge.Problem] that names the parameter.
func Request(index *schema.Index, parameters edge.Parameters) (query.Request, error) {
	in, err := fromQuery(parameters)
	if err != nil {
		return query.Request{}, err
	}
	return in.request(index)
}
