// Command indexer is the function that the change streams feed: package indexsync behind a stream mapping.
package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/heatsink-dev/heatsink/pkg/catalog"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/edge"
	"github.com/heatsink-dev/heatsink/pkg/edge/routes"
	"github.com/heatsink-dev/heatsink/pkg/indexjobs"
	"github.com/heatsink-dev/heatsink/pkg/indexsync"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

// untilDeadline is Lambda's longest run, so the invocation's own deadline ends it: a short throttle is waited out here, and a long one cannot use up the mapping's
// count of tries before the record's age ends them.
const untilDeadline = 15 * time.Minute

func main() {
	logger := edge.NewLogger(os.Stdout, slog.LevelInfo)
	indexer, err := start(context.Background(), logger)
	if err != nil {
		logger.Error("cannot start", slog.Any("error", err))
		os.Exit(1)
	}
	lambda.StartHandlerFunc(indexer.Handle)
}

func start(ctx context.Context, logger *slog.Logger) (*indexjobs.Indexer, error) {
	env := edge.NewEnvironment(os.LookupEnv)
	bucket, namespace, partial := env.Text(schema.EnvFailureBucket), env.Text(schema.EnvMetricsNamespace), env.Bool(schema.EnvPartialBatch)
	tables, wrong := catalog.Load()
	aws, failed := config.LoadDefaultConfig(ctx, config.WithHTTPClient(edge.HTTPClient(indexsync.DefaultConcurrency)))
	if err := errors.Join(wrong, failed); err != nil {
		return nil, err
	}
	client := dynamodb.NewFromConfig(aws, ddb.Metered)
	sources, err := indexjobs.NewSources(indexjobs.SourceConfig{
		Catalog: tables, Deployed: env.Table, Client: client, PartialBatch: partial, Patience: untilDeadline,
		Park: &indexsync.BucketParker{Bucket: bucket, Client: s3.NewFromConfig(aws, edge.S3Options)},
	})
	if err := errors.Join(env.Err(), err); err != nil {
		return nil, err
	}
	if err := sources.Check(ctx, client); err != nil {
		return nil, err
	}
	metrics := edge.NewMetrics(os.Stdout, namespace, routes.Indexer, nil)
	return indexjobs.NewIndexer(sources, indexjobs.Reporting{Logger: logger, Metrics: metrics}), nil
}
