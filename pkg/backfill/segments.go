package backfill

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"github.com/heatsink-dev/heatsink/pkg/account"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/unique"
)

// segments is a parallel scan, strongly consistent: a page shows each of its items as it is when the page is read.
type segments struct {
	*Tool
	table      table
	phase      string
	attributes []string
	limit      int // items of a page; zero: 1 MB
	page       func(ctx context.Context, segment int, items []ddb.Item, next ddb.Item) error
	// start is where each segment goes on; nil for all from the beginning. A segment that is done stays out.
	start []ddb.Item
	done  []bool
}

func (t *Tool) userSegments(users table, phase string) *segments {
	return &segments{Tool: t, table: users, phase: phase, attributes: account.OwnedAttributes()}
}

func (t *Tool) claimSegments(claims table) *segments {
	return &segments{Tool: t, table: claims, phase: PhaseClaims, attributes: []string{
		unique.KeyAttribute, unique.OwnerAttribute, unique.IncarnationAttribute, unique.RequestAttribute,
	}}
}

// run reads every segment to its end, side by side. The first error ends all of them. Requests: a Scan for each page, 1 RRU for each 4 KB of whole items, since a
// projection is free of cost and of savings.
func (s *segments) run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	var mu sync.Mutex
	progress := Progress{Phase: s.phase, About: s.table.about, Segments: s.config.Segments}
	report := func(items int, ended bool) {
		if s.config.Progress == nil {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		progress.Done += int64(items)
		if ended {
			progress.SegmentsDone++
		}
		s.config.Progress(progress)
	}
	for n := range s.config.Segments {
		if s.done != nil && s.done[n] {
			report(0, true)
			continue
		}
		group.Go(func() error {
			err := s.segment(ctx, n, report)
			if err != nil {
				return fmt.Errorf("segment %d of table %s: %w", n, s.table.name, err)
			}
			return nil
		})
	}
	return group.Wait()
}

func (s *segments) segment(ctx context.Context, n int, report func(items int, ended bool)) error {
	in := &dynamodb.ScanInput{
		TableName: &s.table.name, ConsistentRead: aws.Bool(true),
		Segment: aws.Int32(int32(n)), TotalSegments: aws.Int32(int32(s.config.Segments)), //nolint:gosec // at most MaxSegments
	}
	in.ExpressionAttributeNames = map[string]string{}
	var names []string
	for k, attribute := range s.attributes {
		placeholder := "#" + strconv.Itoa(k)
		in.ExpressionAttributeNames[placeholder] = attribute
		names = append(names, placeholder)
	}
	in.ProjectionExpression = aws.String(strings.Join(names, ", "))
	if s.limit > 0 {
		in.Limit = aws.Int32(int32(s.limit)) //nolint:gosec // at most 1000
	}
	if s.start != nil {
		in.ExclusiveStartKey = s.start[n]
	}
	for {
		var out *dynamodb.ScanOutput
		err := s.read(ctx, func(ctx context.Context) (err error) {
			out, err = s.config.Client.Scan(ctx, in)
			return err
		})
		if err != nil {
			return fmt.Errorf("scan: %w", err)
		}
		next := out.LastEvaluatedKey
		if len(next) == 0 {
			next = nil
		}
		if err := s.page(ctx, n, out.Items, next); err != nil {
			return err
		}
		report(len(out.Items), next == nil)
		if next == nil {
			return nil
		}
		in.ExclusiveStartKey = next
	}
}
