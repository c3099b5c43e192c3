package edge

import (
	"context"
	"io"
	"log/slog"

	"github.com/aws/aws-lambda-go/lambdacontext"
)

// NewLogger writes one JSON object a line to w, with Lambda's own names for time, level and message, and the request id of the invocation in
// ctx. Unlike lambdacontext.NewLogger it does not turn to text where Lambda's log format is not set, as on the local cloud: log queries and
// the metrics beside the lines (see [Metrics]) need JSON everywhere.
func NewLogger(w io.Writer, level slog.Leveler) *slog.Logger {
	return slog.New(invocationHandler{slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: lambdacontext.ReplaceAttr})})
}

type invocationHandler struct{ slog.Handler }

// Handle adds the request id.
func (h invocationHandler) Handle(ctx context.Context, record slog.Record) error {
	if invocation, ok := lambdacontext.FromContext(ctx); ok && invocation.AwsRequestID != "" {
		record = record.Clone()
		record.AddAttrs(slog.String("requestId", invocation.AwsRequestID))
	}
	return h.Handler.Handle(ctx, record)
}

// WithAttrs keeps the request id.
func (h invocationHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return invocationHandler{h.Handler.WithAttrs(attrs)}
}

// WithGroup keeps the request id, which then stands inside the group.
func (h invocationHandler) WithGroup(name string) slog.Handler {
	return invocationHandler{h.Handler.WithGroup(name)}
}
