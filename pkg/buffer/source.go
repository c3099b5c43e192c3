package buffer

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/shard"
)

// source reads the shards of a date from the table or an index.
type source struct {
	*Store
	date            string
	index           string // empty: the table
	partition, sort string // names of the key attributes
	low, high       string // bounds of the sort key, inclusive; empty: none
	last            time.Time
}

// maxSuffixText is not less than any suffix of a sort key: the largest code point.
const maxSuffixText = "\U0010FFFF"

func (s *Store) newSource(ctx context.Context, request ListRequest) *source {
	from := s.shardsOf(request.Date, request.State)
	if request.From != nil {
		from.low = fmt.Sprintf("%0*d", timeDigits, *request.From)
	}
	if request.To != nil {
		from.high = fmt.Sprintf("%0*d", timeDigits, *request.To) + maxSuffixText
	}
	if deadline, has := ctx.Deadline(); has {
		from.last = deadline.Add(-s.config.Budget.Margin)
	}
	return from
}

func (s *Store) shardsOf(date string, state State) *source {
	switch state {
	case Pending:
		return &source{Store: s, date: date, index: pendingIndex, partition: attrPendingPartition, sort: attrPendingSort}
	case Failed:
		return &source{Store: s, date: date, index: failedIndex, partition: attrFailedPartition, sort: attrFailedSort}
	default:
		return &source{Store: s, date: date, partition: attrPartition, sort: attrSort}
	}
}

// query of one shard between two keys, inclusive, each of which may be empty.
func (r *source) query(number int, low, high string) *dynamodb.QueryInput {
	in := &dynamodb.QueryInput{
		TableName:                 &r.config.Table,
		KeyConditionExpression:    aws.String("#p = :p"),
		ExpressionAttributeNames:  map[string]string{"#p": r.partition},
		ExpressionAttributeValues: ddb.Item{":p": str(r.date + "#" + strconv.Itoa(number))},
	}
	if r.index != "" {
		in.IndexName = &r.index
	}
	condition := ""
	switch {
	case low != "" && high != "":
		condition = " AND #s BETWEEN :low AND :high"
	case low != "":
		condition = " AND #s >= :low"
	case high != "":
		condition = " AND #s <= :high"
	default:
		return in
	}
	*in.KeyConditionExpression += condition
	in.ExpressionAttributeNames["#s"] = r.sort
	if low != "" {
		in.ExpressionAttributeValues[":low"] = str(low)
	}
	if high != "" {
		in.ExpressionAttributeValues[":high"] = str(high)
	}
	return in
}

// Read is one Query.
func (r *source) Read(ctx context.Context, ask shard.Ask) (shard.Batch[ddb.Item], error) {
	var batch shard.Batch[ddb.Item]
	if !r.last.IsZero() && r.config.Retry.Now().After(r.last) {
		return batch, shard.ErrBudget
	}
	low, high := r.low, r.high
	if ask.From != "" && ask.Inclusive {
		if ask.Descending {
			high = ask.From
		} else {
			low = ask.From
		}
	}
	if low != "" && high != "" && low > high {
		return batch, nil
	}
	in := r.query(ask.Shard, low, high)
	in.Limit = aws.Int32(int32(min(ask.Limit, MaxLimit+1))) //nolint:gosec // small
	in.ScanIndexForward = aws.Bool(!ask.Descending)
	if ask.From != "" && !ask.Inclusive {
		// The key of an event, there or not: DynamoDB goes on behind its place.
		key := ddb.Item{attrPartition: in.ExpressionAttributeValues[":p"], attrSort: str(ask.From)}
		key[r.partition], key[r.sort] = key[attrPartition], key[attrSort]
		in.ExclusiveStartKey = key
	}
	out, err := r.config.Client.Query(ctx, in)
	if err != nil {
		return batch, err
	}
	batch.Rows = make([]shard.Row[ddb.Item], len(out.Items))
	for n, item := range out.Items {
		batch.Rows[n] = shard.Row[ddb.Item]{Position: shard.Position{Key: text(item, r.sort)}, Value: item}
	}
	batch.Next = text(out.LastEvaluatedKey, r.sort)
	return batch, nil
}

// Stats counts the events of a date.
type Stats struct {
	// Pending events, failed ones among them.
	Pending int64
	// Failed are those pending that came from a retry.
	Failed int64
}

// Stats counts in both indexes, without reading what they hold: at least one request a shard and index, more where a shard's rows pass 1 MB. The indexes may be
// behind by a moment. Errors: [*FieldError] for the date, a [*shard.Error] with what the SDK returns.
func (s *Store) Stats(ctx context.Context, date string) (Stats, error) {
	if !validDate(date) {
		return Stats{}, bad("date", "must be a day YYYY-MM-DD, 1970-01-01 to %s", dateOf(MaxTime))
	}
	shards := s.config.Layout.Read(date, s.config.Now())
	states := []State{Pending, Failed}
	counts := make([]int64, len(states)*shards)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(s.config.ReadConcurrency)
	for n, state := range states {
		from := s.shardsOf(date, state)
		for number := range shards {
			group.Go(func() error {
				count, err := from.count(ctx, number)
				if err != nil {
					return fmt.Errorf("count %s events: %w", state, &shard.Error{Shard: number, Err: err})
				}
				counts[n*shards+number] = count
				return nil
			})
		}
	}
	if err := group.Wait(); err != nil {
		return Stats{}, err
	}
	var stats Stats
	for n, count := range counts {
		if n < shards {
			stats.Pending += count
		} else {
			stats.Failed += count
		}
	}
	return stats, nil
}

func (r *source) count(ctx context.Context, number int) (total int64, err error) {
	in := r.query(number, "", "")
	in.Select = types.SelectCount
	for {
		out, err := r.config.Client.Query(ctx, in)
		if err != nil {
			return 0, err
		}
		total += int64(out.Count)
		if len(out.LastEvaluatedKey) == 0 {
			return total, nil
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
	}
}
