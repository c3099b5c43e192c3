package indexjobs

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/edge"
	"github.com/heatsink-dev/heatsink/pkg/indexsync"
)

// Reporting is where an invocation is summed up.
type Reporting struct {
	Logger  *slog.Logger
	Metrics *edge.Metrics
	// Now is the system's clock if nil.
	Now func() time.Time
}

func (r Reporting) withDefaults() Reporting {
	if r.Now == nil {
		r.Now = time.Now
	}
	return r
}

// Indexer answers batches of change records.
type Indexer struct {
	sources *Sources
	Reporting
}

// NewIndexer for the sources.
func NewIndexer(sources *Sources, reporting Reporting) *Indexer {
	return &Indexer{sources: sources, Reporting: reporting.withDefaults()}
}

// Handle is the Lambda handler. Its answer names at most one failed record, the first that is not done
// (https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-batchfailurereporting.html); an error gives the whole batch back.
func (i *Indexer) Handle(ctx context.Context, payload json.RawMessage) (events.DynamoDBEventResponse, error) {
	answer := events.DynamoDBEventResponse{BatchItemFailures: []events.DynamoDBBatchItemFailure{}}
	source, err := i.sources.of(payload)
	if err != nil {
		i.Logger.ErrorContext(ctx, "batch", slog.Any("error", err))
		return answer, err
	}
	started := i.Now()
	result, err := source.syncer.Process(ctx, payload)
	i.report(ctx, source.logical, result, err, i.Now().Sub(started))
	if err == nil && result.FailedSequence != "" {
		answer.BatchItemFailures = append(answer.BatchItemFailures, events.DynamoDBBatchItemFailure{ItemIdentifier: result.FailedSequence})
	}
	return answer, err
}

func (i *Indexer) report(ctx context.Context, table string, result indexsync.Result, err error, elapsed time.Duration) {
	stats, level := result.Stats, slog.LevelInfo
	cause := err
	if cause == nil {
		cause = result.Cause
	}
	attrs := append([]slog.Attr{slog.String("table", table)}, statsAttrs(stats)...)
	attrs = append(attrs, slog.Float64("elapsedMs", float64(elapsed.Microseconds())/1000))
	if len(result.NotIndexed) > 0 {
		attrs = append(attrs, slog.Any("notIndexedRecords", omissions(result.NotIndexed)))
	}
	failed := 0.0
	if cause != nil {
		level, failed = slog.LevelError, 1
		attrs = append(attrs, slog.String("category", ddb.Classify(cause).Class.String()), slog.String("failedSequence", result.FailedSequence), slog.Any("error", cause))
	}
	for _, parked := range result.Parked {
		i.Logger.ErrorContext(ctx, "parked", slog.String("table", table), slog.String("sequence", parked.Sequence), slog.String("reason", parked.Reason))
	}
	i.Logger.LogAttrs(ctx, level, "batch", attrs...)
	i.emit(ctx, nil,
		edge.Metric{Name: "BatchRecords", Unit: edge.Count, Value: float64(stats.Records)},
		edge.Metric{Name: "FailedBatches", Unit: edge.Count, Value: failed},
		edge.Metric{Name: "Parked", Unit: edge.Count, Value: float64(stats.Parked)})
	i.stats(ctx, stats)
}

// omission is an [indexsync.Omission] in a log line: with the sequence number, the item is found in the stream.
type omission struct {
	Sequence string `json:"sequence"`
	Index    string `json:"index"`
	Reason   string `json:"reason"`
}

func omissions(list []indexsync.Omission) []omission {
	shown := make([]omission, 0, len(list))
	for _, o := range list {
		shown = append(shown, omission{Sequence: o.Sequence, Index: o.Index, Reason: string(o.Reason)})
	}
	return shown
}

// stats emits what happened on each index. What did not happen is left out: a busy indexer writes such lines all day, and their bytes are billed.
func (r Reporting) stats(ctx context.Context, stats indexsync.Stats) {
	for _, index := range stats.Indexes {
		notIndexed := 0
		for _, n := range index.NotIndexed {
			notIndexed += n
		}
		var metrics []edge.Metric
		for _, count := range []struct {
			name  string
			value int
		}{
			{"Upserts", index.Upserts},
			{"Tombstones", index.Tombstones},
			{"StaleSkips", index.StaleSkips},
			{"KeyMoves", index.KeyMoves},
			{"NotIndexed", notIndexed},
			{"ReservedDropped", index.ReservedDropped},
		} {
			if count.value > 0 {
				metrics = append(metrics, edge.Metric{Name: count.name, Unit: edge.Count, Value: float64(count.value)})
			}
		}
		r.emit(ctx, edge.Dimensions{"Index": index.Index}, metrics...)
	}
	for throttle, n := range stats.Throttles {
		r.emit(ctx, edge.Dimensions{"LimitType": known(throttle.LimitType()), "ResourceType": known(throttle.ResourceType())},
			edge.Metric{Name: "Throttled", Unit: edge.Count, Value: float64(n)})
	}
}

// known stands in for what DynamoDB left out: CloudWatch takes no empty dimension.
func known(value string) string {
	if value == "" {
		return "unknown"
	}
	return value
}

func (r Reporting) emit(ctx context.Context, dimensions edge.Dimensions, metrics ...edge.Metric) {
	if err := r.Metrics.Emit(dimensions, metrics...); err != nil {
		r.Logger.ErrorContext(ctx, "metrics lost", slog.Any("error", err))
	}
}

// statsAttrs are the counts of a summary line.
func statsAttrs(stats indexsync.Stats) []slog.Attr {
	attrs := []slog.Attr{
		slog.Int("records", stats.Records), slog.Int("upserts", stats.Upserts), slog.Int("tombstones", stats.Tombstones), slog.Int("staleSkips", stats.StaleSkips),
		slog.Int("keyMoves", stats.KeyMoves), slog.Int("unchanged", stats.Unchanged), slog.Int("reservedDropped", stats.ReservedDropped),
		slog.Int("ttlRemoves", stats.TTLRemoves), slog.Int("parked", stats.Parked),
	}
	var reasons []any
	for _, reason := range slices.Sorted(maps.Keys(stats.NotIndexed)) {
		reasons = append(reasons, slog.Int(string(reason), stats.NotIndexed[reason]))
	}
	if len(reasons) > 0 {
		attrs = append(attrs, slog.Group("notIndexed", reasons...))
	}
	throttles := 0
	for _, n := range stats.Throttles {
		throttles += n
	}
	if throttles > 0 {
		attrs = append(attrs, slog.Int("throttled", throttles))
	}
	return attrs
}
