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

var needed = []string{schema.EnvCursorSecret, schema.EnvMetricsNamespace, "HEATSINK_TABLE_EVENT", "HEATSINK_TABLE_EVENT_REQUEST"}

// environment clears the function's variables and points the SDK at the test engine.
func environment(t *testing.T) {
	t.Helper()
	for _, name := range append([]string{schema.EnvUploadBucket}, needed...) {
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

func TestItStartsWithWhatInfraSets(t *testing.T) {
	environment(t)
	tables, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{catalog.EventTable, catalog.EventRequestTable} {
		table, _ := tables.Table(name)
		t.Setenv(schema.TableEnv(name), ddbtest.Table(t, table))
	}
	for name, value := range map[string]string{
		schema.EnvCursorSecret: "secret", schema.EnvMetricsNamespace: "Heatsink",
	} {
		t.Setenv(name, value)
	}
	// Batches past one request are served where infra names a bucket for them.
	for bucket, want := range map[string]int{"": 404, "uploads": 201} {
		t.Setenv(schema.EnvUploadBucket, bucket)
		handler, err := start(t.Context(), slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		request := events.APIGatewayV2HTTPRequest{RawPath: "/v1/event-batches", Body: "{}"}
		request.RequestContext.HTTP.Method = "POST"
		if answer, err := handler(t.Context(), request); err != nil || answer.StatusCode != want {
			t.Errorf("bucket %q: %+v %v", bucket, answer, err)
		}
	}
}
