package indexapi_test

import (
	"encoding/json"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/heatsink-dev/heatsink/pkg/edge"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

func TestEverySampleOfTheAPIIsAnswered(t *testing.T) {
	t.Parallel()
	f := newFixture(t, schema.Table)
	gateway := edge.Adapt(f.handler, edge.AdapterOptions{Logger: slog.New(slog.DiscardHandler)})
	samples, err := os.ReadDir("../../events")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, sample := range samples {
		if !strings.HasPrefix(sample.Name(), "api-index-") {
			continue
		}
		seen++
		text, err := os.ReadFile("../../events/" + sample.Name())
		if err != nil {
			t.Fatal(err)
		}
		var event events.APIGatewayV2HTTPRequest
		if err := json.Unmarshal(text, &event); err != nil {
			t.Fatal(err)
		}
		if answer, err := gateway(t.Context(), event); err != nil || answer.StatusCode != 200 {
			t.Errorf("%s: %+v, %v", sample.Name(), answer, err)
		}
	}
	if seen == 0 {
		t.Error("no samples")
	}
}
