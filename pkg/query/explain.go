package query

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/schema"
)

// Plan is what a request becomes.
type Plan struct {
	// Form that is read.
	Form schema.Form
	// Table to query, and the Index of it, which is empty for an index table.
	Table, Index string
	// Empty: no row can match, no call is made, and the fields below are empty.
	Empty bool
	// KeyCondition, Filter and Projection are DynamoDB's expressions, Names and Values their placeholders.
	KeyCondition, Filter, Projection string
	Names                            map[string]string
	Values                           map[string]types.AttributeValue
	// Checks made on each row that DynamoDB gives, because it cannot make them.
	Checks []string
	// Descending and Consistent as asked.
	Descending, Consistent bool
	// FirstRead is the Limit of the first read of a page, in rows. Later ones follow the live ratio.
	FirstRead int
	// Budget of one call.
	Budget Budget
}

// Explain tells what the first read of a page will be, without making it. It makes no request, and so does not open the request's cursor. Its errors are those of [Reader.Query] for
// the request itself.
func (r *Reader) Explain(request Request) (Plan, error) {
	q, err := r.ask(request)
	if err != nil {
		return Plan{}, err
	}
	limit, err := q.limit()
	if err != nil {
		return Plan{}, err
	}
	plan := Plan{
		Form: q.form, Table: r.config.IndexTable, Descending: request.Descending, Consistent: request.Consistent,
		FirstRead: min(limit, r.config.Budget.Evaluated), Budget: r.config.Budget,
	}
	if q.form == schema.GSI {
		plan.Table, plan.Index = r.config.BaseTable, r.index.Name
	}
	var segments []segment
	if !q.empty {
		if segments, err = r.segments(q, r.legs(q, nil)); err != nil {
			return Plan{}, err
		}
	}
	if len(segments) == 0 {
		plan.Empty, plan.FirstRead = true, 0
		return plan, nil
	}
	var input dynamodb.QueryInput
	r.prepare(q, fetchItems, segments, &input)
	first := &segments[0]
	plan.KeyCondition, plan.Names, plan.Values = first.condition, first.names, first.values
	plan.Filter, plan.Projection = aws.ToString(input.FilterExpression), aws.ToString(input.ProjectionExpression)
	plan.Checks = r.checks(q, first)
	return plan, nil
}

// checks in words.
func (r *Reader) checks(q *question, s *segment) []string {
	if q.form == schema.Table {
		return nil
	}
	var checks []string
	if s.low != nil {
		checks = append(checks, s.part+" is not the lower bound itself (BETWEEN includes it)")
	}
	if s.high != nil {
		checks = append(checks, s.part+" is not the upper bound itself (BETWEEN includes it)")
	}
	return append(checks, "an index table could hold the row: "+strings.Join(r.keyNames, ", ")+" fit into one sort key")
}

// Explain is [Reader.Explain] of a deployment that is not at hand: it needs the names of the base table and of the index table and no client. Logical names do.
func Explain(index *schema.Index, baseTable, indexTable string, request Request) (Plan, error) {
	return newReader(index, Config{BaseTable: baseTable, IndexTable: indexTable, Budget: DefaultBudget()}).Explain(request)
}
