package main

import (
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/heatsink-dev/heatsink/pkg/catalog"
	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

var needed = []string{schema.EnvMetricsNamespace, "HEATSINK_TABLE_USER", "HEATSINK_TABLE_CLAIM"}

// environment clears the function's variables and points the SDK at the test engine.
func environment(t *testing.T) {
	t.Helper()
	for _, name := range needed {
		t.Setenv(name, "")
	}
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": ddbtest.Endpoint(t), "AWS_REGION": ddbtest.Region, "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_PROFILE": "",
	} {
		t.Setenv(name, value)
	}
}

func TestAStartNamesEveryMissingVariable(t *testing.T) {
	environment(t)
	_, err := start(t.Context(), slog.New(slog.DiscardHandler))
	if err == nil {
		t.Fatal("it started without configuration")
	}
	for _, name := range needed {
		if !strings.Contains(err.Error(), "environment variable "+name+" is missing") {
			t.Errorf("%s is not named: %v", name, err)
		}
	}
}

func TestItServesWithWhatInfraSets(t *testing.T) {
	environment(t)
	tables, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{catalog.UserTable, catalog.ClaimTable} {
		table, _ := tables.Table(name)
		t.Setenv(schema.TableEnv(name), ddbtest.Table(t, table))
	}
	t.Setenv(schema.EnvMetricsNamespace, "Heatsink")
	handler, err := start(t.Context(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	call := func(method, path, body string) events.APIGatewayV2HTTPResponse {
		request := events.APIGatewayV2HTTPRequest{RawPath: path, Body: body}
		request.RequestContext.HTTP.Method = method
		answer, err := handler(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	if got := call("POST", "/v1/users", `{"userId":"u1","nickname":"Alice"}`); got.StatusCode != 201 || got.Body != `{"nickname":"Alice","userId":"u1"}` {
		t.Errorf("%+v", got)
	}
	if got := call("DELETE", "/v1/users/u1", ""); got.StatusCode != 204 || got.Body != "" {
		t.Errorf("%+v", got)
	}
}
