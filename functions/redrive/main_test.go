package main

import (
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/heatsink-dev/heatsink/pkg/catalog"
	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

var needed = []string{schema.EnvFailureBucket, schema.EnvMetricsNamespace, "HEATSINK_TABLE_USER", "HEATSINK_TABLE_USER_MANAGED_INDEX", "HEATSINK_TABLE_USER_TEAM_STATUS_INDEX"}

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

func TestItStartsWithWhatInfraSets(t *testing.T) {
	environment(t)
	tables, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	users, _ := tables.Table(catalog.UserTable)
	t.Setenv(schema.TableEnv(users.Name), ddbtest.Table(t, users))
	for _, index := range users.StreamIndexes() {
		t.Setenv(schema.TableEnv(index.TableName()), ddbtest.IndexTable(t, index))
	}
	for name, value := range map[string]string{
		schema.EnvCursorSecret: "secret", schema.EnvFailureBucket: "failures", schema.EnvMetricsNamespace: "Heatsink", schema.EnvPartialBatch: "true",
	} {
		t.Setenv(name, value)
	}
	if handler, err := start(t.Context(), slog.New(slog.DiscardHandler)); err != nil || handler == nil {
		t.Errorf("it did not start: %v", err)
	}
}
