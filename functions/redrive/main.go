// Command redrive is the function that an operator invokes to replay the failure bucket: package redrive behind Lambda.
package main

import (
	"context"
	"errors"
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/heatsink-dev/heatsink/pkg/catalog"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/edge"
	"github.com/heatsink-dev/heatsink/pkg/edge/routes"
	"github.com/heatsink-dev/heatsink/pkg/indexjobs"
	"github.com/heatsink-dev/heatsink/pkg/indexsync"
	"github.com/heatsink-dev/heatsink/pkg/redrive"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

func main() {
	logger := edge.NewLogger(os.Stdout, slog.LevelInfo)
	handler, err := start(context.Background(), logger)
	if err != nil {
		logger.Error("cannot start", slog.Any("error", err))
		os.Exit(1)
	}
	lambda.StartHandlerFunc(handler.Handle)
}

func start(ctx context.Context, logger *slog.Logger) (*indexjobs.Redrive, error) {
	env := edge.NewEnvironment(os.LookupEnv)
	bucket, namespace := env.Text(schema.EnvFailureBucket), env.Text(schema.EnvMetricsNamespace)
	tables, wrong := catalog.Load()
	aws, failed := config.LoadDefaultConfig(ctx, config.WithHTTPClient(edge.HTTPClient(indexsync.DefaultConcurrency)))
	if err := errors.Join(wrong, failed); err != nil {
		return nil, err
	}
	client, objects := dynamodb.NewFromConfig(aws, ddb.Metered), s3.NewFromConfig(aws, edge.S3Options)
	sources, err := indexjobs.NewSources(indexjobs.SourceConfig{
		Catalog: tables, Deployed: env.Table, Client: client, Park: &indexsync.BucketParker{Bucket: bucket, Client: objects}, PartialBatch: true,
	})
	if err := errors.Join(env.Err(), err); err != nil {
		return nil, err
	}
	redriver, err := redrive.New(redrive.Config{Bucket: bucket, Store: objects, Stream: dynamodbstreams.NewFromConfig(aws), Rows: client, Syncer: sources.Syncer})
	if err := errors.Join(err, sources.Check(ctx, client)); err != nil {
		return nil, err
	}
	metrics := edge.NewMetrics(os.Stdout, namespace, routes.Redrive, nil)
	return indexjobs.NewRedrive(redriver, indexjobs.Reporting{Logger: logger, Metrics: metrics}), nil
}
