package indexsync

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
)

// The limits and defaults of a [FillConfig].
const (
	// DefaultFillSegments is enough for some thousand items a second.
	DefaultFillSegments = 4
	// MaxFillSegments bounds what one process reads at once, far below DynamoDB's own limit of 1,000,000
	// (https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Scan.html).
	MaxFillSegments = 256
	// FillPuts is how many rows of one segment are written at the same time.
	FillPuts = 16
)

// FillClient is what [Fill] needs of DynamoDB: *dynamodb.Client. The SDK's own retries should be off.
type FillClient interface {
	ddb.Scanner
	ddb.Putter
	TableDescriber
}

var _ FillClient = (*dynamodb.Client)(nil)

// FillConfig describes a [Fill]. Client, Target and Source are required.
type FillConfig struct {
	Client FillClient
	// Target is the index table to fill.
	Target Target
	// Source is the deployed name or ARN of the index's base table.
	Source string
	// Segments is how many parts of the base table are read at once, at most [MaxFillSegments]. Defaults to [DefaultFillSegments].
	Segments int
	// Retry waits between tries of a request. Its Attempts bound those after an unknown outcome; a throttled request is tried until the context ends.
	Retry ddb.Policy
	// Progress, where there is one, is told how many items are done, and of about how many: DynamoDB's own count, which may be six hours old. One call at a time.
	Progress func(done, about int64)
}

// FillReport counts items. Of a fill that ended well, Read = Written + Kept + NotIndexed + Rejected.
type FillReport struct {
	// Read were in the base table.
	Read int64 `json:"read"`
	// Written got their row.
	Written int64 `json:"written"`
	// Kept have one already, or a later change of theirs stands in its place: a row, or the mark of a removal.
	Kept int64 `json:"kept"`
	// NotIndexed have no place in the index, for want of a usable key attribute.
	NotIndexed int64 `json:"notIndexed"`
	// Rejected can have no row: DynamoDB refuses it (more than 400 KB), or the version attribute is missing or no number.
	Rejected int64 `json:"rejected"`
	// Reason is why one of the rejected is. It holds no values of the item.
	Reason string `json:"reason,omitempty"`
}

// Fill writes the rows of what a base table held before its index table was there: such items have no record in the stream. The indexer must be running, so that
// every change from before the fill's first read on is in the stream; Fill asks for the stream, and refuses a source without one.
//
// A row is written where there is none, under the lowest of all versions, so whatever the stream writes, before or after, a row or a tombstone, wins. Where the
// index's version is an attribute of the item, the row has that. So a fill may be repeated at will, and after an interruption simply starts again: what is there
// is kept.
//
// It makes two DescribeTable requests, strongly consistent Scans of the whole table, and one conditional PutItem for each item in the index. A put whose answer was
// lost is made again, and then counted as kept if it had taken effect. The report is as far as the fill came, also beside an error.
func Fill(ctx context.Context, config FillConfig) (FillReport, error) {
	f, err := newFill(config)
	if err != nil {
		return FillReport{}, err
	}
	check := &Syncer{source: config.Target.Index.Source, targets: []*target{f.target}}
	if err := check.CheckStream(ctx, f.Client, f.Source); err != nil {
		return FillReport{}, err
	}
	described, err := f.Client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &f.Source})
	if err != nil {
		return FillReport{}, fmt.Errorf("indexsync: describe table %s: %w", f.Source, err)
	}
	f.about = aws.ToInt64(described.Table.ItemCount)
	segments, ctx := errgroup.WithContext(ctx)
	for n := range f.Segments {
		segments.Go(func() error { return f.segment(ctx, int32(n)) }) //nolint:gosec // at most MaxFillSegments
	}
	if err := segments.Wait(); err != nil {
		return f.report, fmt.Errorf("indexsync: fill index %s: %w", f.target.index.Name, err)
	}
	if r := f.report; r.Read != r.Written+r.Kept+r.NotIndexed+r.Rejected {
		return r, fmt.Errorf("indexsync: fill index %s: %d items read are not %d written + %d kept + %d not indexed + %d rejected",
			f.target.index.Name, r.Read, r.Written, r.Kept, r.NotIndexed, r.Rejected)
	}
	return f.report, nil
}

// filling is one fill.
type filling struct {
	FillConfig

	target *target
	about  int64
	mu     sync.Mutex // guards report, and is held over Progress
	report FillReport
}

func newFill(config FillConfig) (*filling, error) {
	f := &filling{FillConfig: config}
	switch {
	case f.Client == nil:
		return nil, errors.New("indexsync: FillConfig.Client: is missing")
	case f.Source == "":
		return nil, errors.New("indexsync: FillConfig.Source: is missing")
	case f.Segments < 0 || f.Segments > MaxFillSegments:
		return nil, fmt.Errorf("indexsync: FillConfig.Segments: must be 1 to %d, is %d", MaxFillSegments, f.Segments)
	case f.Target.Index == nil || f.Target.Index.Source == nil:
		return nil, errors.New("indexsync: FillConfig.Target.Index: is missing")
	}
	if f.Segments == 0 {
		f.Segments = DefaultFillSegments
	}
	var err error
	if f.target, err = (&Syncer{source: f.Target.Index.Source}).target(0, f.Target); err != nil {
		return nil, fmt.Errorf("indexsync: FillConfig.Target%w", err)
	}
	return f, nil
}

// segment fills from one part of the table, a page after the other.
func (f *filling) segment(ctx context.Context, n int32) error {
	in := &dynamodb.ScanInput{TableName: &f.Source, ConsistentRead: aws.Bool(true), Segment: &n, TotalSegments: aws.Int32(int32(f.Segments))} //nolint:gosec // at most MaxFillSegments
	for {
		var page *dynamodb.ScanOutput
		err := f.persist(ctx, func(ctx context.Context) (err error) {
			page, err = f.Client.Scan(ctx, in)
			return err
		})
		if err != nil {
			return fmt.Errorf("scan table %s: %w", f.Source, err)
		}
		f.count(func(r *FillReport) { r.Read += int64(page.Count) })
		puts, each := errgroup.WithContext(ctx)
		puts.SetLimit(FillPuts)
		for _, item := range page.Items {
			puts.Go(func() error { return f.item(each, item) })
		}
		if err := puts.Wait(); err != nil {
			return err
		}
		if len(page.LastEvaluatedKey) == 0 {
			return nil
		}
		in.ExclusiveStartKey = page.LastEvaluatedKey
	}
}

// persist tries again what may be repeated: after an unknown outcome as often as the policy says, and as long as there is time where DynamoDB says to come later.
func (f *filling) persist(ctx context.Context, fn func(context.Context) error) error {
	patient := f.Retry
	patient.Attempts = math.MaxInt
	return ddb.Retry(ctx, patient, func(ctx context.Context) error { return ddb.RetryRead(ctx, f.Retry, fn) })
}

// item writes the row of one item, where it has one and nothing later stands there.
func (f *filling) item(ctx context.Context, item ddb.Item) error {
	index := f.target.index
	if _, _, ok := locate(index, item); !ok {
		f.count(func(r *FillReport) { r.NotIndexed++ })
		return nil
	}
	// The same for every fill, so that one that is repeated finds its own rows current.
	version := BackfillVersion(time.UnixMilli(0))
	if f.target.version != nil {
		var err error
		if version, err = attributeVersion(f.target.version, index.Version.Attribute, item); err != nil {
			f.reject(err.Error())
			return nil
		}
	}
	row, _, _ := Row(index, item, version)
	err := f.persist(ctx, func(ctx context.Context) error {
		_, err := f.Client.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: f.target.table, Item: row, ConditionExpression: upsertCondition, ExpressionAttributeNames: f.target.names,
			ExpressionAttributeValues: ddb.Item{":v": &types.AttributeValueMemberS{Value: version}},
		})
		return err
	})
	switch ddb.Classify(err).Class {
	case ddb.None:
		f.count(func(r *FillReport) { r.Written++ })
	case ddb.ConditionFailed:
		f.count(func(r *FillReport) { r.Kept++ })
	case ddb.Invalid:
		f.reject(refusedBy(index, row))
	default:
		return fmt.Errorf("write a row to %s: %w", *f.target.table, err)
	}
	return nil
}

func (f *filling) reject(reason string) {
	f.count(func(r *FillReport) {
		r.Rejected++
		r.Reason = reason
	})
}

func (f *filling) count(change func(*FillReport)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(&f.report)
	if f.Progress != nil {
		f.Progress(f.report.Written+f.report.Kept+f.report.NotIndexed+f.report.Rejected, f.about)
	}
}
