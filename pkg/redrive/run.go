package redrive

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// Options of one run.
type Options struct {
	// Prefix limits the run to objects below it. Empty: the whole bucket, which is both AWS's objects (aws/lambda/) and the indexer's own ([indexsync.PoisonPrefix]).
	Prefix string
	// After skips all keys up to this one: the Last of a run that stopped.
	After string
	// DryRun reads and decodes everything, builds the rows, and says what would be replayed, refused or still be poison; it writes and deletes nothing. It knows DynamoDB's limit of an
	// item's size, and cannot foretell another refusal, nor what an earlier object of the same run would supersede.
	DryRun bool
	// Keep leaves objects that are done where they are.
	Keep bool
	// Progress is told each object as it is handled: the n-th of about m. It costs a second listing beforehand. May be nil.
	Progress func(n, m int, object ObjectReport)
}

// errTime is why a run stops before its end.
var errTime = errors.New("redrive: the time is nearly over")

// Run replays the failure objects below the prefix, one after the other. What goes wrong with an object is in the report, and the run goes on. An error is about the run as
// a whole: the bucket cannot be listed, or the caller's context has ended. The report is valid beside an error. When the time is nearly over the run stops and says so.
func (r *Redriver) Run(ctx context.Context, options Options) (Report, error) {
	var report Report
	whole := ctx
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadlineCause(ctx, deadline.Add(-r.config.Margin), errTime)
		defer cancel()
	}
	stop := func(err error) (Report, error) {
		if errors.Is(context.Cause(ctx), errTime) && whole.Err() == nil {
			report.Stopped, err = true, nil
		}
		return report, err
	}
	total := 0
	if options.Progress != nil {
		for _, err := range r.keys(ctx, options) {
			if err != nil {
				return stop(err)
			}
			total++
		}
	}
	for key, err := range r.keys(ctx, options) {
		if err != nil {
			return stop(err)
		}
		object, stats := r.object(ctx, key, options)
		report.Stats.Add(stats)
		if ctx.Err() != nil && object.Outcome == Failed {
			return stop(context.Cause(ctx)) // it was cut off: the next run begins with it
		}
		report.add(object)
		if options.Progress != nil {
			options.Progress(report.Objects, max(total, report.Objects), object)
		}
	}
	return report, nil
}

// keys lists the bucket by pages. Each page begins behind the last key of the one before, so deletions on the way do not matter.
func (r *Redriver) keys(ctx context.Context, options Options) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		after := options.After
		for {
			if ctx.Err() != nil {
				yield("", context.Cause(ctx))
				return
			}
			input := &s3.ListObjectsV2Input{Bucket: aws.String(r.config.Bucket), Prefix: aws.String(options.Prefix)}
			if after != "" {
				input.StartAfter = aws.String(after)
			}
			page, err := r.config.Store.ListObjectsV2(ctx, input)
			if err != nil {
				yield("", fmt.Errorf("redrive: list bucket %s: %w", r.config.Bucket, err))
				return
			}
			for _, object := range page.Contents {
				if after = aws.ToString(object.Key); !yield(after, nil) {
					return
				}
				if ctx.Err() != nil {
					yield("", context.Cause(ctx))
					return
				}
			}
			if !aws.ToBool(page.IsTruncated) || len(page.Contents) == 0 {
				return
			}
		}
	}
}
