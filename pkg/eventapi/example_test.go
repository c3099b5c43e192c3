package eventapi_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"

	"github.com/heatsink-dev/heatsink/pkg/buffer"
	"github.com/heatsink-dev/heatsink/pkg/edge"
	"github.com/heatsink-dev/heatsink/pkg/eventapi"
)

// retried is a service whose events are all retried.
type retried struct{ eventapi.Service }

func (retried) Complete(context.Context, string) error {
	return &buffer.RetriedError{Successor: "2026-11-30.7.1796040060000-0123456789abcdef-0000000"}
}

func Example() {
	api, err := eventapi.New(retried{}, eventapi.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	router := edge.NewRouter(edge.RouterConfig{Logger: slog.New(slog.DiscardHandler), Metrics: edge.NewMetrics(io.Discard, "Heatsink", "events", nil)})
	api.Register(router)
	answer := httptest.NewRecorder()
	router.ServeHTTP(answer, httptest.NewRequestWithContext(context.Background(), "POST", "/v1/events/some-id/complete", nil))
	fmt.Println(answer.Code, answer.Body)
	// Output:
	// 409 {"code":"event_retried","detail":"a retry closed the event","status":409,"successor":"2026-11-30.7.1796040060000-0123456789abcdef-0000000","title":"Conflict","type":"about:blank"}
}
