package accountapi_test

import (
	"encoding/json"
	"log/slog"
	"os"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/heatsink-dev/heatsink/pkg/edge"
)

// The samples in events/, in the order of a user's life, through the adapter.
func TestTheSamplesAreALife(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	serve := edge.Adapt(f.handler, edge.AdapterOptions{Logger: slog.New(slog.DiscardHandler)})
	const user = `{"ID":"team-1","email":"someone@example.com","managedKey":1699900000000,"nickname":"Bücher","userId":"user-1"}`
	for _, test := range []struct {
		sample string
		status int
		body   string
	}{
		{"sign-up", 201, user},
		{"sign-up", 201, user},
		{"owner", 200, `{"nickname":"Bücher","userId":"user-1"}`},
		{"rename", 200, `{"ID":"team-1","email":"someone@example.com","managedKey":1699900000000,"nickname":"Alice","userId":"user-1"}`},
		{"withdraw", 204, ""},
		{"withdraw", 204, ""},
	} {
		text, err := os.ReadFile("../../events/nickname-" + test.sample + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var event events.APIGatewayV2HTTPRequest
		if err := json.Unmarshal(text, &event); err != nil {
			t.Fatal(err)
		}
		answer, err := serve(t.Context(), event)
		if err != nil || answer.StatusCode != test.status || answer.Body != test.body {
			t.Errorf("%s: %d %s %v", test.sample, answer.StatusCode, answer.Body, err)
		}
	}
}
