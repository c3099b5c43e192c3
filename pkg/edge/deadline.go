package edge

import (
	"context"
	"time"
)

// Times of an HTTP function. API Gateway gives an integration 30 s at most
// (https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-quotas.html).
const (
	// HTTPDeadline is how long a handler may take.
	HTTPDeadline = 28 * time.Second
	// AnswerMargin is kept free before Lambda's own deadline, so that an answer still gets out.
	AnswerMargin = 500 * time.Millisecond
)

// WithBudget bounds the work of one invocation: by limit from now, and by margin before the deadline that ctx has already (Lambda's), whichever is
// first.
func WithBudget(ctx context.Context, now time.Time, limit, margin time.Duration) (context.Context, context.CancelFunc) {
	end := now.Add(limit)
	if deadline, ok := ctx.Deadline(); ok && deadline.Add(-margin).Before(end) {
		end = deadline.Add(-margin)
	}
	return context.WithDeadline(ctx, end)
}
