package indexapi

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/heatsink-dev/heatsink/pkg/edge"
)

// conditionNames are the parameters of every route, pageNames those of items.
var (
	conditionNames = []string{"partition", "under", "eq", "lt", "lte", "gt", "gte", "prefix", "cursor", "consistent"}
	pageNames      = append([]string{"order", "limit"}, conditionNames...)
)

// conditions is the JSON body of exists and count.
type conditions struct {
	Partition  *edge.Scalar `json:"partition"`
	Under      edge.Scalars `json:"under"`
	Eq         *edge.Scalar `json:"eq"`
	Lt         *edge.Scalar `json:"lt"`
	Lte        *edge.Scalar `json:"lte"`
	Gt         *edge.Scalar `json:"gt"`
	Gte        *edge.Scalar `json:"gte"`
	Prefix     *string      `json:"prefix"`
	Cursor     *string      `json:"cursor"`
	Consistent *bool        `json:"consistent"`
}

// input is the JSON body of items, and what a query string is read into: the parameters as they were sent.
type input struct {
	conditions
	Order *string `json:"order"`
	Limit *int    `json:"limit" span:"1 to 1000"`
}

// read takes the parameters from the query string of a GET or the body of a POST.
func read(r *http.Request, names []string) (input, error) {
	if r.Method != http.MethodPost {
		parameters, err := edge.ParseQuery(r.URL.RawQuery, names...)
		if err != nil {
			return input{}, err
		}
		return fromQuery(parameters)
	}
	if _, err := edge.ParseQuery(r.URL.RawQuery); err != nil {
		return input{}, err
	}
	if len(names) == len(pageNames) {
		return edge.DecodeBody[input](r)
	}
	body, err := edge.DecodeBody[conditions](r)
	return input{conditions: body}, err
}

func fromQuery(parameters edge.Parameters) (input, error) {
	text := func(name string) *edge.Scalar {
		if value, ok := parameters[name]; ok {
			return &edge.Scalar{Text: value}
		}
		return nil
	}
	in := input{
		conditions: conditions{
			Partition: text("partition"), Eq: text("eq"), Lt: text("lt"), Lte: text("lte"), Gt: text("gt"), Gte: text("gte"),
			Prefix: parameters.Text("prefix"), Cursor: parameters.Text("cursor"),
		},
		Order: parameters.Text("order"),
	}
	if under := text("under"); under != nil {
		in.Under = edge.Scalars{*under}
	}
	if limit, ok := parameters["limit"]; ok {
		n, err := strconv.Atoi(limit)
		if err != nil || strconv.Itoa(n) != limit {
			return input{}, badLimit()
		}
		in.Limit = &n
	}
	switch value, ok := parameters["consistent"]; {
	case !ok:
	case value == "true" || value == "false":
		consistent := value == "true"
		in.Consistent = &consistent
	default:
		return input{}, edge.Invalid("consistent", "must be true or false")
	}
	return in, nil
}

// shape names the condition without its values: "all", "eq", "gte+lt", "under+prefix".
func (in *input) shape() string {
	var names []string
	for _, part := range []struct {
		name string
		set  bool
	}{
		{"under", len(in.Under) > 0},
		{"eq", in.Eq != nil},
		{"prefix", in.Prefix != nil},
		{"gt", in.Gt != nil},
		{"gte", in.Gte != nil},
		{"lt", in.Lt != nil},
		{"lte", in.Lte != nil},
	} {
		if part.set {
			names = append(names, part.name)
		}
	}
	if len(names) == 0 {
		return "all"
	}
	return strings.Join(names, "+")
}
