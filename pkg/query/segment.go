package query

import (
	"maps"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/schema"
	"github.com/heatsink-dev/heatsink/pkg/sortkey"
)

// segment is one key condition, ready to send.
type segment struct {
	condition string
	names     map[string]string
	values    map[string]types.AttributeValue
	// part is the attribute whose excluded ends, low and high, DynamoDB reads all the same: on a GSI an interval with two ends is a BETWEEN, which includes both.
	part      string
	low, high *sortkey.Value
}

// Placeholders of key conditions.
const (
	partitionName  = "#" + ours + "p"
	partitionValue = ":" + ours + "p"
	sortName       = "#" + ours + "s"
	lowValue       = ":" + ours + "l"
	highValue      = ":" + ours + "h"
)

// segments are the key conditions of a walk, in its order. None: nothing can match.
func (r *Reader) segments(q *question, legs []leg) ([]segment, error) {
	if q.form == schema.Table {
		return r.tableSegments(q, legs)
	}
	segments := make([]segment, 0, len(legs))
	for _, leg := range legs {
		segments = append(segments, r.gsiSegment(q, leg))
	}
	return segments, nil
}

func (r *Reader) newSegment(q *question) segment {
	s := segment{
		names:  make(map[string]string, 4),
		values: make(map[string]types.AttributeValue, 4),
	}
	s.names[partitionName] = r.index.PartitionKey.Name
	s.values[partitionValue] = ddb.Attribute(q.request.Partition)
	return s
}

// tableSegments joins the legs: in an index table's one sort key they follow on each other, so that they are one stretch.
func (r *Reader) tableSegments(q *question, legs []leg) ([]segment, error) {
	var all sortkey.Range
	found := false
	for _, leg := range legs {
		stretch, err := r.index.Codec.Range(leg.equal, leg.where)
		switch {
		case err != nil:
			return nil, badKey("Where", err)
		case stretch.Empty:
		case !found:
			all, found = stretch, true
		case q.request.Descending: // the one before is above this one
			all.Low = stretch.Low
		default:
			all.High = stretch.High
		}
	}
	if !found {
		return nil, nil
	}
	s := r.newSegment(q)
	text := func(placeholder, value string) { s.values[placeholder] = &types.AttributeValueMemberS{Value: value} }
	switch {
	case all.All:
		s.condition = partitionName + " = " + partitionValue
		return []segment{s}, nil
	case all.Prefix != "":
		s.condition = partitionName + " = " + partitionValue + " AND begins_with(" + sortName + ", " + lowValue + ")"
		text(lowValue, all.Prefix)
	default:
		s.condition = partitionName + " = " + partitionValue + " AND " + sortName + " BETWEEN " + lowValue + " AND " + highValue
		text(lowValue, all.Low)
		text(highValue, all.High)
	}
	s.names[sortName] = schema.SortKeyAttribute
	return []segment{s}, nil
}

// gsiSegment is a multi-attribute key condition: equalities from the left, then one range
// (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.DesignPattern.MultiAttributeKeys.html).
func (r *Reader) gsiSegment(q *question, leg leg) segment {
	s := r.newSegment(q)
	var text strings.Builder
	text.WriteString(partitionName + " = " + partitionValue)
	for n, value := range leg.equal {
		name := equalNames[n]
		text.WriteString(" AND #" + name + " = :" + name)
		s.names["#"+name] = r.parts[n].Name
		s.values[":"+name] = ddb.Attribute(value)
	}
	if len(leg.equal) < len(r.parts) {
		s.gsiRange(&text, r.parts[len(leg.equal)], leg.where)
	}
	s.condition = text.String()
	return s
}

// equalNames are the placeholders of a GSI's leading parts. It has at most schema.MaxGSIKeyParts.
var equalNames = [schema.MaxGSIKeyParts]string{ours + "0", ours + "1", ours + "2", ours + "3"}

func (s *segment) gsiRange(text *strings.Builder, part sortkey.Part, where sortkey.Condition) {
	low, high := where.Lower, where.Upper
	if part.Width > 0 {
		// What the part cannot hold is not in the index table either: let DynamoDB leave it out, as far as an interval can.
		if low == nil {
			low = &sortkey.Bound{Value: sortkey.Number("0"), Inclusive: true}
		}
		if high == nil {
			high = &sortkey.Bound{Value: sortkey.Number(nines[:part.Width]), Inclusive: true}
		}
	}
	operand := func(placeholder string, value sortkey.Value) { s.values[placeholder] = ddb.Attribute(value) }
	switch {
	case where.Prefix != nil:
		text.WriteString(" AND begins_with(" + sortName + ", " + lowValue + ")")
		operand(lowValue, sortkey.Text(*where.Prefix))
	case low != nil && high != nil:
		text.WriteString(" AND " + sortName + " BETWEEN " + lowValue + " AND " + highValue)
		operand(lowValue, low.Value)
		operand(highValue, high.Value)
		s.exclude(part.Name, low, high)
	case low != nil:
		text.WriteString(" AND " + sortName + sign(">", low.Inclusive) + lowValue)
		operand(lowValue, low.Value)
	case high != nil:
		text.WriteString(" AND " + sortName + sign("<", high.Inclusive) + highValue)
		operand(highValue, high.Value)
	default:
		return
	}
	s.names[sortName] = part.Name
}

// nines is the largest integer of the widest part.
const nines = "99999999999999999999999999999999999999"

func sign(open string, inclusive bool) string {
	if inclusive {
		return " " + open + "= "
	}
	return " " + open + " "
}

func (s *segment) exclude(part string, low, high *sortkey.Bound) {
	s.part = part
	if !low.Inclusive {
		s.low = &low.Value
	}
	if !high.Inclusive {
		s.high = &high.Value
	}
}

// admits drops the rows at an excluded end.
func (s *segment) admits(row ddb.Item) bool {
	if s.low == nil && s.high == nil {
		return true
	}
	value, _ := ddb.KeyValue(row[s.part])
	return (s.low == nil || sortkey.Compare(value, *s.low) != 0) && (s.high == nil || sortkey.Compare(value, *s.high) != 0)
}

// add puts a caller's placeholders beside the segment's own.
func (s *segment) add(names map[string]string, values map[string]types.AttributeValue) {
	maps.Copy(s.names, names)
	maps.Copy(s.values, values)
}
