// Command api is the HTTP function of the indexes: package indexapi behind API Gateway.
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

	"github.com/heatsink-dev/heatsink/pkg/catalog"
	"github.com/heatsink-dev/heatsink/pkg/cursor"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/edge"
	"github.com/heatsink-dev/heatsink/pkg/edge/routes"
	"github.com/heatsink-dev/heatsink/pkg/indexapi"
	"github.com/heatsink-dev/heatsink/pkg/schema"
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
	tables, wrong := catalog.Load()
	aws, failed := config.LoadDefaultConfig(ctx)
	if err := errors.Join(wrong, failed); err != nil {
		return nil, err
	}
	users, _ := tables.Table(catalog.UserTable)
	sealer := cursor.New(cursor.NewSecretKeyring(secretsmanager.NewFromConfig(aws), secret, cursor.SecretKeyringOptions{}), cursor.Options{})
	served, err := indexapi.Open(users, env.Table, dynamodb.NewFromConfig(aws, ddb.Metered), sealer)
	if err := errors.Join(env.Err(), err); err != nil {
		return nil, err
	}
	api, err := indexapi.New(served, indexapi.Options{TenantClaim: "tenant"})
	if err != nil {
		return nil, err
	}
	router := edge.NewRouter(edge.RouterConfig{Logger: logger, Metrics: edge.NewMetrics(os.Stdout, namespace, routes.API, nil)})
	api.Register(router)
	return edge.Adapt(router, edge.AdapterOptions{Logger: logger}), nil
}
