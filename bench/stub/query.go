package stub

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
)

// pageBytes is what one response evaluates at most (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Query.Pagination.html).
const pageBytes = 1 << 20

// queryRequest is a Query, as far as the stub knows it.
type queryRequest struct {
	TableName, IndexName           string
	KeyConditionExpression         string
	KeyConditions                  map[string]legacyCondition
	FilterExpression               string
	ProjectionExpression           string
	ExpressionAttributeNames       map[string]string
	ExpressionAttributeValues      rawItem
	ExclusiveStartKey              rawItem
	Limit                          *int
	ScanIndexForward               *bool
	ConsistentRead                 bool
	Select, ReturnConsumedCapacity string
}

type legacyCondition struct {
	AttributeValueList []rawValue
	ComparisonOperator string
}

// answer is a Query's, before it is written.
type answer struct {
	rows      []*row
	names     []string // projected; nil: all
	evaluated int
	last      ddb.Item
	units     float64
}

func (t *table) query(q *queryRequest) (*answer, error) {
	x, err := t.index(q.IndexName)
	if err != nil {
		return nil, err
	}
	values, err := q.ExpressionAttributeValues.decode()
	if err != nil {
		return nil, err
	}
	key, pinned, err := q.keyCondition(values)
	if err != nil {
		return nil, err
	}
	partition, ok := keyText(pinned[x.partition])
	if !ok {
		return nil, fmt.Errorf("stub: the key condition has no equality on %s", x.partition)
	}
	filter := condition(nil)
	if q.FilterExpression != "" {
		if filter, _, err = compile(q.FilterExpression, q.ExpressionAttributeNames, values); err != nil {
			return nil, err
		}
	}
	a := &answer{}
	if a.names, err = q.projection(); err != nil {
		return nil, err
	}
	start, err := q.ExclusiveStartKey.decode()
	if err != nil {
		return nil, err
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	x.read(q, partition, start, key, filter, a)
	return a, nil
}

func (t *table) index(name string) (*index, error) {
	if name == "" {
		return t.primary, nil
	}
	if x, ok := t.indexes[name]; ok {
		return x, nil
	}
	return nil, fmt.Errorf("stub: table %s has no index %s", t.name, name)
}

// read goes through a partition as DynamoDB does: key condition, start key, limit or size, and only then the filter.
func (x *index) read(q *queryRequest, partition string, start ddb.Item, key, filter condition, a *answer) {
	rows := x.partitions[partition]
	forward := q.ScanIndexForward == nil || *q.ScanIndexForward
	at := func(n int) *row {
		if forward {
			return rows[n]
		}
		return rows[len(rows)-1-n]
	}
	from := 0
	if len(start) > 0 {
		position, found := x.find(partition, start)
		switch {
		case forward && found:
			from = position + 1
		case forward:
			from = position
		default: // what is before it
			from = len(rows) - position
		}
	}
	size, began := 0, false
	for n := from; n < len(rows); n++ {
		r := at(n)
		if !key(r.item) {
			if began {
				break
			}
			continue
		}
		began = true
		a.evaluated++
		size += r.size
		if filter == nil || filter(r.item) {
			a.rows = append(a.rows, r)
		}
		if q.Limit != nil && a.evaluated == *q.Limit || size >= pageBytes {
			a.last = x.keyOf(r.item)
			break
		}
	}
	a.units = ddb.ReadUnits(size, q.ConsistentRead)
}

func (x *index) keyOf(item ddb.Item) ddb.Item {
	key := make(ddb.Item, len(x.keys))
	for _, name := range x.keys {
		key[name] = item[name]
	}
	return key
}

// keyCondition is the expression or its older form, in which guregu/dynamo still writes it.
func (q *queryRequest) keyCondition(values ddb.Item) (condition, ddb.Item, error) {
	if q.KeyConditionExpression != "" {
		return compile(q.KeyConditionExpression, q.ExpressionAttributeNames, values)
	}
	pinned := ddb.Item{}
	var all []condition
	for name, legacy := range q.KeyConditions {
		var operands []types.AttributeValue
		for _, raw := range legacy.AttributeValueList {
			value, err := raw.decode()
			if err != nil {
				return nil, nil, err
			}
			operands = append(operands, value)
		}
		if len(operands) == 0 {
			return nil, nil, fmt.Errorf("stub: KeyConditions: %s has no value", name)
		}
		if legacy.ComparisonOperator == "BEGINS_WITH" {
			all = append(all, beginsWith(name, operands[0]))
			continue
		}
		test, err := compare(name, legacy.ComparisonOperator, operands[0], operands[len(operands)-1])
		if err != nil {
			return nil, nil, fmt.Errorf("stub: KeyConditions: %w", err)
		}
		if legacy.ComparisonOperator == "EQ" {
			pinned[name] = operands[0]
		}
		all = append(all, test)
	}
	return func(item ddb.Item) bool {
		return !slices.ContainsFunc(all, func(test condition) bool { return !test(item) })
	}, pinned, nil
}

// projection lists the attributes asked for: top-level names only.
func (q *queryRequest) projection() ([]string, error) {
	if q.ProjectionExpression == "" {
		return nil, nil
	}
	e := &expression{names: q.ExpressionAttributeNames}
	var names []string
	for word := range strings.SplitSeq(q.ProjectionExpression, ",") {
		name, err := e.name(strings.TrimSpace(word))
		if err != nil || strings.ContainsAny(word, ".[") {
			return nil, fmt.Errorf("stub: ProjectionExpression %q: top-level names only", q.ProjectionExpression)
		}
		names = append(names, name)
	}
	return names, nil
}
