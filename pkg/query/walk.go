package query

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/cursor"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

// Cost of one call.
type Cost struct {
	// Requests is the number of Query requests, without the client's own retries.
	Requests int
	// Evaluated is the number of rows read, live or not, returned or not.
	Evaluated int
	// ReadUnits that DynamoDB reports as consumed (RRU).
	ReadUnits float64
}

// walk reads a question's rows, response by response.
type walk struct {
	reader *Reader
	q      *question
	ctx    context.Context //nolint:containedctx // lives as long as one call of the Reader
	input  dynamodb.QueryInput
	// segments still to read, the current one first. None: the walk is at its end.
	segments []segment
	// last is where DynamoDB stopped, the latest time that it did; between two segments, the last row of the one before.
	last ddb.Item
	cost Cost
}

// What a read brings back.
type fetch uint8

const (
	fetchItems fetch = iota + 1 // the attributes of an answer
	fetchKeys                   // the keys that rows are checked by
)

// begin opens the cursor and builds the first read. It makes no request of DynamoDB; opening a cursor may make one of the keyring.
func (r *Reader) begin(ctx context.Context, q *question, what fetch) (*walk, error) {
	w := &walk{reader: r, q: q, ctx: ctx}
	at, resumes, err := r.open(ctx, q)
	if err != nil {
		return nil, err
	}
	if q.empty {
		return w, nil
	}
	var from *cursor.Position // of the other form
	if resumes && at.Form != q.form {
		from = &at
	}
	if w.segments, err = r.segments(q, r.legs(q, from)); err != nil {
		return nil, err
	}
	r.prepare(q, what, w.segments, &w.input)
	if resumes && from == nil {
		if w.input.ExclusiveStartKey, err = r.startKey(q, at); err != nil {
			return nil, err
		}
	}
	return w, nil
}

const (
	deletedName = "#" + ours + "d"
	liveFilter  = "attribute_not_exists(" + deletedName + ")"
)

// prepare fills in what all reads of a walk share, and gives each segment its placeholders.
func (r *Reader) prepare(q *question, what fetch, segments []segment, input *dynamodb.QueryInput) {
	input.TableName = &r.config.IndexTable
	filter := liveFilter
	if q.form == schema.GSI {
		input.TableName, input.IndexName = &r.config.BaseTable, &r.index.Name
		filter = ""
	} else {
		for n := range segments {
			segments[n].names[deletedName] = schema.DeletedAttribute
		}
	}
	switch {
	case filter != "" && q.filter != "":
		filter += " AND " + q.filter
	case filter == "":
		filter = q.filter
	}
	if filter != "" {
		input.FilterExpression = &filter
	}
	if q.request.Filter != nil {
		for n := range segments {
			segments[n].add(q.request.Filter.Names, q.request.Filter.Values)
		}
	}
	r.project(q, what, segments, input)
	if q.request.Consistent {
		input.ConsistentRead = aws.Bool(true)
	}
	if q.request.Descending {
		input.ScanIndexForward = aws.Bool(false)
	}
	input.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
}

// project asks for the attributes that the walk needs and no others.
func (r *Reader) project(q *question, what fetch, segments []segment, input *dynamodb.QueryInput) {
	var names []string
	switch {
	case what == fetchKeys && q.form == schema.Table:
		input.Select = types.SelectCount // its rows need no check
		return
	case what == fetchItems && len(q.request.Projection) == 0:
		return
	case what == fetchItems:
		names = append(names, q.request.Projection...)
	}
	for _, name := range r.positionNames(q.form) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	var text strings.Builder
	for n, name := range names {
		placeholder := "#" + ours + "a" + strconv.Itoa(n)
		if n > 0 {
			text.WriteString(", ")
		}
		text.WriteString(placeholder)
		for s := range segments {
			segments[s].names[placeholder] = name
		}
	}
	input.ProjectionExpression = aws.String(text.String())
}

// positionNames are the attributes that a row's position is made of.
func (r *Reader) positionNames(form schema.Form) []string {
	if form == schema.Table {
		return r.hidden[:1] // SK
	}
	return r.keyNames
}

// done reports whether everything is read.
func (w *walk) done() bool { return len(w.segments) == 0 }

// read makes one request for at most size rows; 0 leaves it to DynamoDB's 1 MB.
func (w *walk) read(size int) (*dynamodb.QueryOutput, error) {
	current := &w.segments[0]
	input := w.input // the client keeps none of it, but middleware might
	input.KeyConditionExpression = &current.condition
	input.ExpressionAttributeNames = current.names
	input.ExpressionAttributeValues = current.values
	if size > 0 {
		input.Limit = aws.Int32(int32(min(size, maxRead))) //nolint:gosec // bounded
	}
	output, err := w.ask(w.ctx, &input)
	if err != nil {
		return nil, err
	}
	w.cost.Requests++
	w.cost.Evaluated += int(output.ScannedCount)
	if output.ConsumedCapacity != nil && output.ConsumedCapacity.CapacityUnits != nil {
		w.cost.ReadUnits += *output.ConsumedCapacity.CapacityUnits
	}
	return output, w.advance(output)
}

// ask makes the request. As soon as there is a position to hand out, no read may last into the margin: what is known would have no time left to be answered with.
func (w *walk) ask(ctx context.Context, input *dynamodb.QueryInput) (*dynamodb.QueryOutput, error) {
	client, margin := w.reader.config.Client, w.reader.config.Budget.Margin
	deadline, limited := ctx.Deadline()
	if !limited || margin < 0 || w.last == nil {
		return client.Query(ctx, input)
	}
	short, cancel := context.WithDeadline(ctx, deadline.Add(-margin))
	defer cancel()
	output, err := client.Query(short, input)
	if err != nil && short.Err() != nil && ctx.Err() == nil {
		return nil, fmt.Errorf("%w: %w", ErrBudget, err)
	}
	return output, err
}

// passing reports whether a failed read ends the call as the budget does: a later call may go on from the position that is known, so that a partition that is throttled again
// and again is still walked to its end. Without a position, and where the caller gave up, the failure is the answer.
func (w *walk) passing(err error) bool {
	if w.last == nil || errors.Is(w.ctx.Err(), context.Canceled) {
		return false
	}
	class := ddb.Classify(err).Class
	return class == ddb.Throttled || class == ddb.UnknownOutcome
}

// interrupted is the cursor to answer with in place of a failed read, or the failure.
func (w *walk) interrupted(failure error) (string, error) {
	if !w.passing(failure) {
		return "", failure
	}
	at, err := w.here()
	if err != nil {
		return "", errors.Join(failure, err)
	}
	return at, nil
}

// advance moves to where the next read begins. Only the key tells whether there is more, never the number of items; an empty key is none.
func (w *walk) advance(output *dynamodb.QueryOutput) error {
	start, next := w.input.ExclusiveStartKey, output.LastEvaluatedKey
	if len(next) == 0 {
		w.input.ExclusiveStartKey = nil
		w.segments = w.segments[1:]
		if n := len(output.Items); n > 0 && len(w.segments) > 0 {
			w.last = w.key(output.Items[n-1])
		}
		return nil
	}
	if start != nil {
		ok, err := w.reader.advances(w.q, start, next)
		if err != nil {
			return err
		}
		if !ok {
			return ErrNoAdvance
		}
	}
	w.input.ExclusiveStartKey, w.last = next, next
	return nil
}

// key copies what a row's position is made of.
func (w *walk) key(row ddb.Item) ddb.Item {
	names := w.reader.positionNames(w.q.form)
	key := make(ddb.Item, len(names))
	for _, name := range names {
		key[name] = row[name]
	}
	return key
}

// live reports whether a row of the current answer counts. Rows of an index table always do: DynamoDB has dropped the others.
func (w *walk) live(from *segment, row ddb.Item) bool {
	return w.q.form == schema.Table || from.admits(row) && w.reader.indexed(row)
}

// spent reports whether the budget allows no further read. It also holds the walk to making progress: the first read is always allowed, and so is the next one as long as there is no
// position to hand out.
func (w *walk) spent() bool {
	budget := &w.reader.config.Budget
	switch {
	case w.last == nil:
		return false
	case w.cost.Requests >= budget.Pages || w.cost.Evaluated >= budget.Evaluated:
		return true
	default:
		return w.late()
	}
}

// late reports whether the context's deadline is too close for another read.
func (w *walk) late() bool {
	deadline, ok := w.ctx.Deadline()
	return ok && w.reader.config.Budget.Margin >= 0 && !w.reader.config.Now().Add(w.reader.config.Budget.Margin).Before(deadline)
}

// within cuts the size of a read to the rows that the budget still allows.
func (w *walk) within(size int) int {
	return max(1, min(size, w.reader.config.Budget.Evaluated-w.cost.Evaluated))
}

// here is the cursor of where DynamoDB stopped.
func (w *walk) here() (string, error) { return w.behind(w.last) }

// behind is the cursor of the position behind a row.
func (w *walk) behind(row ddb.Item) (string, error) {
	at, err := w.reader.position(w.q.form, row)
	if err != nil {
		return "", err
	}
	return w.reader.seal(w.ctx, w.q, at)
}
