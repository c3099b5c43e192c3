package main

import (
	"encoding/json"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/heatsink-dev/heatsink/pkg/catalog"
	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

var needed = []string{schema.EnvMetricsNamespace, schema.EnvUploadBucket, schema.EnvUploadQueue, "HEATSINK_TABLE_EVENT", "HEATSINK_TABLE_EVENT_REQUEST"}

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
	for _, name := range []string{catalog.EventTable, catalog.EventRequestTable} {
		table, _ := tables.Table(name)
		t.Setenv(schema.TableEnv(name), ddbtest.Table(t, table))
	}
	for name, value := range map[string]string{schema.EnvMetricsNamespace: "Heatsink", schema.EnvUploadBucket: "heatsink-uploads", schema.EnvUploadQueue: "http://queue"} {
		t.Setenv(name, value)
	}
	ingester, err := start(t.Context(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile("../../events/ingest-upload.json")
	if err != nil {
		t.Fatal(err)
	}
	var event events.SQSEvent
	if err := json.Unmarshal(raw, &event); err != nil {
		t.Fatal(err)
	}
	// Nobody made the sample's batch: it is settled.
	if answer, err := ingester.Handle(t.Context(), event); err != nil || len(answer.BatchItemFailures) != 0 {
		t.Errorf("%+v %v", answer, err)
	}
}
