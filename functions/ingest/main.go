// Command ingest is the function that uploads come to, through a queue: package ingest behind SQS.
package main

import (
	"context"
	"errors"
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/heatsink-dev/heatsink/pkg/buffer"
	"github.com/heatsink-dev/heatsink/pkg/catalog"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/edge"
	"github.com/heatsink-dev/heatsink/pkg/edge/routes"
	"github.com/heatsink-dev/heatsink/pkg/ingest"
	"github.com/heatsink-dev/heatsink/pkg/ingestjobs"
	"github.com/heatsink-dev/heatsink/pkg/schema"
	"github.com/heatsink-dev/heatsink/pkg/shard"
)

func main() {
	logger := edge.NewLogger(os.Stdout, slog.LevelInfo)
	ingester, err := start(context.Background(), logger)
	if err != nil {
		logger.Error("cannot start", slog.Any("error", err))
		os.Exit(1)
	}
	lambda.StartHandlerFunc(ingester.Handle)
}

func start(ctx context.Context, logger *slog.Logger) (*ingestjobs.Ingester, error) {
	env := edge.NewEnvironment(os.LookupEnv)
	table, requests := env.Table(catalog.EventTable), env.Table(catalog.EventRequestTable)
	bucket, queue, namespace := env.Text(schema.EnvUploadBucket), env.Text(schema.EnvUploadQueue), env.Text(schema.EnvMetricsNamespace)
	layout, wrong := shard.NewLayout(catalog.EventShards()...)
	aws, failed := config.LoadDefaultConfig(ctx, config.WithHTTPClient(edge.HTTPClient(buffer.DefaultConcurrency)))
	if err := errors.Join(env.Err(), wrong, failed); err != nil {
		return nil, err
	}
	client := dynamodb.NewFromConfig(aws, ddb.Metered)
	store, err := buffer.New(buffer.Config{Client: client, Table: table, RequestTable: requests, Layout: layout})
	if err != nil {
		return nil, err
	}
	service, err := ingest.New(ingest.Config{Client: client, RequestTable: requests, Objects: s3.NewFromConfig(aws, edge.S3Options), Bucket: bucket, Events: store})
	if err != nil {
		return nil, err
	}
	metrics := edge.NewMetrics(os.Stdout, namespace, routes.Ingest, nil)
	return ingestjobs.New(ingestjobs.Config{Service: service, Bucket: bucket, Queue: sqs.NewFromConfig(aws), QueueURL: queue, Logger: logger, Metrics: metrics})
}
