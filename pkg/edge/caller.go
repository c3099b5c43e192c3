package edge

import (
	"context"

	"github.com/aws/aws-lambda-go/events"
)

type callerKey struct{}

// caller is what the gateway knows of who sent a request.
type caller struct {
	requestID string
	claims    map[string]string
}

func withCaller(ctx context.Context, event events.APIGatewayV2HTTPRequest) context.Context {
	known := caller{requestID: event.RequestContext.RequestID}
	if authorizer := event.RequestContext.Authorizer; authorizer != nil && authorizer.JWT != nil {
		known.claims = authorizer.JWT.Claims
	}
	return context.WithValue(ctx, callerKey{}, known)
}

// RequestID is the gateway's id of the request, which its access log has too. Empty without a gateway.
func RequestID(ctx context.Context) string {
	known, _ := ctx.Value(callerKey{}).(caller)
	return known.requestID
}

// Claim is a claim of the JWT that the gateway's authorizer has checked. Empty where the request has none, which is always so with IAM authorization.
func Claim(ctx context.Context, name string) string {
	known, _ := ctx.Value(callerKey{}).(caller)
	return known.claims[name]
}
