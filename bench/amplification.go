package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/guregu/dynamo/v2"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/query"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

// amplificationPages is how many pages of 100 live items each walk has.
const amplificationPages = 10

// spread is a partition of an index table.
type spread struct {
	name  string
	dead  []bool // by position
	sizes []int
}

// walked is what a walk cost, over all of its full pages.
type walked struct {
	evaluated, requests, readUnits float64
	needed                         float64 // rows that had to be read: up to each page's last item
	worst, floor                   float64 // requests of the page with most past its floor, and that floor
	pages                          float64
}

// amplification counts what is read to fill pages of 100 from partitions with dead rows in between: evenly spread, which limits are stated for, and at random.
func amplification(ctx context.Context, w *world, r *report) error {
	reader, err := w.reader(query.Budget{})
	if err != nil {
		return err
	}
	for _, random := range []bool{false, true} {
		for _, live := range []float64{1, 0.5, 0.1} {
			if random && live == 1 {
				continue
			}
			rows, err := w.spread(ctx, live, random)
			if err != nil {
				return err
			}
			if err := compareWalks(ctx, w, r, reader, rows, live, random); err != nil {
				return fmt.Errorf("%s: %w", rows.name, err)
			}
		}
	}
	return nil
}

func compareWalks(ctx context.Context, w *world, r *report, reader *query.Reader, rows *spread, live float64, random bool) error {
	ours, err := w.walk(ctx, rows, ourWalk(reader, rows.name))
	if err != nil {
		return err
	}
	peer, err := w.walk(ctx, rows, w.dynamoWalk(rows.name))
	if err != nil {
		return fmt.Errorf("%s: %w", guregu, err)
	}
	naive, err := w.walk(ctx, rows, w.naiveWalk(rows.name))
	if err != nil {
		return fmt.Errorf("%s: %w", rawSDK, err)
	}
	name := fmt.Sprintf("live ratio %g, dead rows evenly spread", live)
	rowLimit, requestLimit := atMost(1.1), peerPlus(2)
	if random {
		name = fmt.Sprintf("live ratio %g, dead rows at random", live)
		rowLimit, requestLimit = none, none
	}
	r.add(name, "rows read/page", ours.evaluated/ours.pages, "rows that had to be read", ours.needed/ours.pages, rowLimit)
	r.add(name, "requests, the worst page", ours.worst, "floor", ours.floor, requestLimit)
	r.add(name, "requests/page", ours.requests/ours.pages, rawSDK+", Limit = page", naive.requests/naive.pages, none)
	r.add(name, "RRU/page", ours.readUnits/ours.pages, rawSDK+", Limit = page", naive.readUnits/naive.pages, none)
	r.add(name, "RRU/page", ours.readUnits/ours.pages, guregu, peer.readUnits/peer.pages, none)
	return nil
}

// spread loads a partition that holds enough live rows for the walk.
func (w *world) spread(ctx context.Context, live float64, random bool) (*spread, error) {
	p := &spread{name: fmt.Sprintf("spread-%g-%v", live, random)}
	source := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same rows in each run
	every := int(math.Round(1 / live))
	var rows []ddb.Item
	for found := 0; found < amplificationPages*pageSize+pageSize/2; {
		n := len(rows)
		dead := n%every != every/2
		if random {
			dead = source.Float64() >= live
		}
		if !dead {
			found++
		}
		row, err := w.row(user(p.name, n), dead)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
		p.dead, p.sizes = append(p.dead, dead), append(p.sizes, ddb.Size(row))
	}
	return p, w.load(ctx, w.managed.TableName(), rows)
}

// walk takes the full pages of a walk and weighs each: next gives how many items a page has.
func (w *world) walk(ctx context.Context, rows *spread, next func(context.Context) (int, error)) (walked, error) {
	var sum walked
	at := 0 // the row behind the last item
	for range amplificationPages {
		items := 0
		counts, err := w.counted(ctx, func() (err error) { items, err = next(ctx); return err })
		if err != nil {
			return sum, err
		}
		if items < pageSize {
			return sum, fmt.Errorf("a page has %d items instead of %d", items, pageSize)
		}
		needed, bytes := 0, 0
		for found := 0; found < items; needed++ {
			if !rows.dead[at+needed] {
				found++
			}
			bytes += rows.sizes[at+needed]
		}
		at += needed
		floor := math.Ceil(float64(bytes) / (1 << 20))
		requests := float64(counts.Requests["Query"])
		sum.needed += float64(needed)
		sum.evaluated += float64(counts.Evaluated)
		sum.requests += requests
		sum.readUnits += counts.ReadUnits
		if sum.pages == 0 || requests-floor > sum.worst-sum.floor {
			sum.worst, sum.floor = requests, floor
		}
		sum.pages++
	}
	return sum, nil
}

func ourWalk(reader *query.Reader, partition string) func(context.Context) (int, error) {
	request := query.Request{Partition: partitionOf(partition), Limit: pageSize, Form: schema.Table}
	return func(ctx context.Context) (int, error) {
		page, err := reader.Query(ctx, request)
		if err != nil {
			return 0, err
		}
		if page.Cursor == "" {
			return 0, errors.New("the walk ended before the rows did")
		}
		request.Cursor = page.Cursor
		return len(page.Items), nil
	}
}

// dynamoWalk uses guregu/dynamo's own way to a page of live items.
func (w *world) dynamoWalk(partition string) func(context.Context) (int, error) {
	table := dynamo.NewFromIface(w.peer).Table(w.managed.TableName())
	var start dynamo.PagingKey
	return func(ctx context.Context) (int, error) {
		var items []ddb.Item
		var err error
		start, err = table.Get("ID", partition).Filter("attribute_not_exists($)", schema.DeletedAttribute).Limit(pageSize).StartFrom(start).
			AllWithLastEvaluatedKey(ctx, &items)
		return len(items), err
	}
}

// naiveWalk is the usual loop over the SDK: read pages of the size that is wanted until there are enough items, and go on from the last one taken.
func (w *world) naiveWalk(partition string) func(context.Context) (int, error) {
	var start ddb.Item
	return func(ctx context.Context) (int, error) {
		var items []ddb.Item
		for {
			out, err := w.raw.Query(ctx, &dynamodb.QueryInput{
				TableName: aws.String(w.managed.TableName()), KeyConditionExpression: aws.String("#p = :p"), Limit: aws.Int32(pageSize), ExclusiveStartKey: start,
				FilterExpression: aws.String(liveRows), ExpressionAttributeNames: map[string]string{"#p": "ID", "#d": schema.DeletedAttribute},
				ExpressionAttributeValues: ddb.Item{":p": s(partition)},
			})
			if err != nil {
				return 0, err
			}
			items = append(items, out.Items...)
			if len(items) >= pageSize {
				last := items[pageSize-1]
				start = ddb.Item{"ID": last["ID"], schema.SortKeyAttribute: last[schema.SortKeyAttribute]}
				return pageSize, nil
			}
			if start = out.LastEvaluatedKey; start == nil {
				return len(items), nil
			}
		}
	}
}
