// Command nickname is the HTTP function of users and their unique names: package accountapi behind API Gateway.
package main

import (
	"context"
	"errors"
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/heatsink-dev/heatsink/pkg/account"
	"github.com/heatsink-dev/heatsink/pkg/accountapi"
	"github.com/heatsink-dev/heatsink/pkg/catalog"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/edge"
	"github.com/heatsink-dev/heatsink/pkg/edge/routes"
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
	namespace, users, claims := env.Text(schema.EnvMetricsNamespace), env.Table(catalog.UserTable), env.Table(catalog.ClaimTable)
	tables, wrong := catalog.Load()
	aws, failed := config.LoadDefaultConfig(ctx)
	if err := errors.Join(env.Err(), wrong, failed); err != nil {
		return nil, err
	}
	table, _ := tables.Table(catalog.UserTable)
	service, err := account.New(account.Config{
		Client: dynamodb.NewFromConfig(aws, ddb.Metered), Users: table, UserTable: users, ClaimTable: claims,
		// What hangs on a user and must go first: add it here.
		Dependents: nil,
	})
	if err != nil {
		return nil, err
	}
	api, err := accountapi.New(service)
	if err != nil {
		return nil, err
	}
	router := edge.NewRouter(edge.RouterConfig{Logger: logger, Metrics: edge.NewMetrics(os.Stdout, namespace, routes.Nickname, nil)})
	api.Register(router)
	return edge.Adapt(router, edge.AdapterOptions{Logger: logger}), nil
}
