// Command events is the HTTP function of the event buffer: package eventapi behind API Gateway.
package main

import (
	"context"
	"errors"
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/heatsink-dev/heatsink/pkg/buffer"
	"github.com/heatsink-dev/heatsink/pkg/catalog"
	"github.com/heatsink-dev/heatsink/pkg/cursor"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/edge"
	"github.com/heatsink-dev/heatsink/pkg/edge/routes"
	"github.com/heatsink-dev/heatsink/pkg/schema"
	"github.com/heatsink-dev/heatsink/pkg/shard"
)

func main() {
	logger := edge.NewLogger(os.Stdout, slog.LevelInfo)
	handler, err := start(context.Background(), logger)
	if err != nil {
		logger.Error("cannot start", slog.Any("error", err))
		os.Exit(1)
	}
	lambda.StartHandlerFunc(handler)
}

func start(ctx context.Context, logger *slog.Logger) (edge.GatewayHandler, error) {
	env := edge.NewEnvironment(os.LookupEnv)
	secret, namespace := env.Text(schema.EnvCursorSecret), env.Text(schema.EnvMetricsNamespace)
	table, requests := env.Table(catalog.EventTable), env.Table(catalog.EventRequestTable)
	layout, wrong := shard.NewLayout(catalog.EventShards()...)
	aws, failed := config.LoadDefaultConfig(ctx, config.WithHTTPClient(edge.HTTPClient(buffer.DefaultConcurrency)))
	if err := errors.Join(env.Err(), wrong, failed); err != nil {
		return nil, err
	}
	store, err := buffer.New(buffer.Config{
		Client: dynamodb.NewFromConfig(aws, ddb.Metered), Table: table, RequestTable: requests, Layout: layout,
		Cursors: cursor.New(cursor.NewSecretKeyring(secretsmanager.NewFromConfig(aws), secret, cursor.SecretKeyringOptions{}), cursor.Options{}),
	})
	if err != nil {
		return nil, err
	}
	events, err := surface(aws, store, requests, env.TextOr(schema.EnvUploadBucket, ""))
	if err != nil {
		return nil, err
	}
	router := edge.NewRouter(edge.RouterConfig{Logger: logger, Metrics: edge.NewMetrics(os.Stdout, namespace, routes.Events, nil)})
	events.Register(router)
	return edge.Adapt(router, edge.AdapterOptions{Logger: logger}), nil
}
