package ingestjobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/edge"
	"github.com/heatsink-dev/heatsink/pkg/ingest"
)

// Hider changes when a message is seen again. *sqs.Client implements it.
type Hider interface {
	ChangeMessageVisibility(context.Context, *sqs.ChangeMessageVisibilityInput, ...func(*sqs.Options)) (*sqs.ChangeMessageVisibilityOutput, error)
}

var _ Hider = (*sqs.Client)(nil)

// Service is *ingest.Ingester.
type Service interface {
	Ingest(context.Context, ingest.Upload) (ingest.Result, error)
}

var _ Service = (*ingest.Ingester)(nil)

// Config of [New]. All but Now are required.
type Config struct {
	Service Service
	// Bucket that uploads go to. A message of another bucket is left alone.
	Bucket string
	// Queue changes the visibility of messages in QueueURL.
	Queue    Hider
	QueueURL string
	// Logger and Metrics are where an upload is summed up.
	Logger  *slog.Logger
	Metrics *edge.Metrics
	// Now is the clock. Nil: time.Now.
	Now func() time.Time
}

// Ingester answers a queue's messages.
type Ingester struct{ Config }

// New checks the configuration.
func New(config Config) (*Ingester, error) {
	switch {
	case config.Service == nil || config.Bucket == "":
		return nil, errors.New("ingestjobs: Config.Service or Config.Bucket is missing")
	case config.Queue == nil || config.QueueURL == "":
		return nil, errors.New("ingestjobs: Config.Queue or Config.QueueURL is missing")
	case config.Logger == nil || config.Metrics == nil:
		return nil, errors.New("ingestjobs: Config.Logger or Config.Metrics is missing")
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	return &Ingester{config}, nil
}

// Handle is the Lambda handler. It answers which messages are not settled; it returns no error.
func (i *Ingester) Handle(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
	answer := events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}}
	for _, message := range event.Records {
		if !i.settle(ctx, message) {
			answer.BatchItemFailures = append(answer.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: message.MessageId})
		}
	}
	return answer, nil
}

// settle ingests what a message tells of. False: it must come again.
func (i *Ingester) settle(ctx context.Context, message events.SQSMessage) bool {
	received := receives(message)
	told, err := readMessage(message.Body)
	if err != nil {
		i.Logger.ErrorContext(ctx, "unreadable message", slog.String("messageId", message.MessageId), slog.Int("receives", received), slog.Any("error", err))
		i.hide(ctx, message, later(received))
		return false
	}
	batchID, ours := ingest.BatchOf(told.Detail.Object.Key)
	if !ours || told.Detail.Bucket.Name != i.Bucket {
		i.Logger.WarnContext(ctx, "object of another kind", slog.String("messageId", message.MessageId))
		return true
	}
	ctx, meter := ddb.WithMeter(ctx)
	started := i.Now()
	result, err := i.Service.Ingest(ctx, ingest.Upload{
		BatchID: batchID, ETag: strings.Trim(told.Detail.Object.ETag, `"`), Version: told.Detail.Object.Version,
		Hold: func(ctx context.Context, hidden time.Duration) { i.hide(ctx, message, hidden) },
	})
	i.report(ctx, batchID, received, result, err, meter.Usage(), i.Now().Sub(started))
	switch {
	case err != nil:
		i.hide(ctx, message, later(received))
		return false
	case result.Outcome == ingest.Busy:
		// A little behind the lease; and further on each time, as a worker at a large batch renews it many times.
		i.hide(ctx, message, max(result.Wait+time.Second, later(received)))
		return false
	case !result.Outcome.Settled():
		i.hide(ctx, message, 0)
		return false
	}
	return true
}

func (i *Ingester) report(ctx context.Context, batchID string, received int, result ingest.Result, err error, usage ddb.Usage, elapsed time.Duration) {
	attrs := []slog.Attr{
		slog.String("batchId", batchID), slog.String("outcome", result.Outcome.String()), slog.String("status", string(result.Status.State)),
		slog.Int("accepted", result.Accepted), slog.Int("rejected", result.Rejected), slog.Int("acceptedInAll", result.Status.Accepted),
		slog.Int("rejectedInAll", result.Status.Rejected), slog.Int("receives", received), slog.Int("requests", usage.Requests), slog.Int("attempts", usage.Attempts),
		slog.Float64("writeUnits", usage.WriteUnits), slog.Int("throttled", usage.Throttles), slog.Float64("elapsedMs", float64(elapsed.Microseconds())/1000),
	}
	level, failed, superseded := slog.LevelInfo, 0.0, 0.0
	if result.Ended && result.Status.State == ingest.Failed {
		level, failed = slog.LevelWarn, 1
		attrs = append(attrs, slog.String("reason", result.Status.Reason))
	}
	if result.Outcome == ingest.Superseded {
		superseded = 1
	}
	if err != nil {
		level = slog.LevelError
		attrs = append(attrs, slog.String("category", ddb.Classify(err).Class.String()), slog.Any("error", err))
	}
	i.Logger.LogAttrs(ctx, level, "upload", attrs...)
	emitted := i.Metrics.Emit(
		nil,
		edge.Metric{Name: "EventsIngested", Unit: edge.Count, Value: float64(result.Accepted)},
		edge.Metric{Name: "EventsRejected", Unit: edge.Count, Value: float64(result.Rejected)},
		edge.Metric{Name: "IngestFailed", Unit: edge.Count, Value: failed},
		edge.Metric{Name: "UploadsSuperseded", Unit: edge.Count, Value: superseded},
		edge.Metric{Name: "WriteUnits", Unit: edge.Count, Value: usage.WriteUnits},
	)
	if emitted != nil {
		i.Logger.ErrorContext(ctx, "metrics lost", slog.Any("error", emitted))
	}
}

// hide makes a message come again after a time. Where that fails, it comes after the time that held before: later or sooner, but it comes.
func (i *Ingester) hide(ctx context.Context, message events.SQSMessage, hidden time.Duration) {
	const patience = 5 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, err := i.Queue.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{
		QueueUrl: &i.QueueURL, ReceiptHandle: &message.ReceiptHandle, VisibilityTimeout: int32((hidden + time.Second - 1) / time.Second), //nolint:gosec // minutes
	})
	if err != nil {
		i.Logger.WarnContext(ctx, "visibility unchanged", slog.String("messageId", message.MessageId), slog.Any("error", fmt.Errorf("change a message's visibility: %w", err)))
	}
}

// receives is how often the message was delivered, this time included.
func receives(message events.SQSMessage) int {
	n, err := strconv.Atoi(message.Attributes["ApproximateReceiveCount"])
	if err != nil {
		return 1
	}
	return max(1, n)
}

// later is a wait that doubles with each delivery: 10 s to 15 min.
func later(received int) time.Duration {
	const first, most = 10 * time.Second, 15 * time.Minute
	wait := first
	for range received - 1 {
		if wait *= 2; wait >= most {
			return most
		}
	}
	return wait
}
