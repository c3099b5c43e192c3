package edge

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

// GatewayHandler is what lambda.StartHandlerFunc takes for an HTTP function. Its error is always nil.
type GatewayHandler = func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error)

// AdapterOptions of [Adapt]. Logger is needed; Now is the system's clock if nil.
type AdapterOptions struct {
	Logger *slog.Logger
	Now    func() time.Time
}

// Adapt serves API Gateway's payload 2.0 with a net/http handler
// (https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html). It never returns an error, and a handler that
// panics answers [Internal]: an error would become the gateway's own 500, outside our form, and cost Lambda its process.
//
// The path is the event's rawPath as it stands, which the gateway has decoded already: decoding again would change "/a%b". The query is
// rawQueryString. A header that was sent several times is one value, joined by the gateway with commas, and stays so.
func Adapt(handler http.Handler, options AdapterOptions) GatewayHandler {
	now := options.Now
	if now == nil {
		now = time.Now
	}
	return func(ctx context.Context, event events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		ctx, cancel := WithBudget(ctx, now(), HTTPDeadline, AnswerMargin)
		defer cancel()
		ctx = withCaller(ctx, event)
		answer := &recorder{}
		request, err := newRequest(ctx, event)
		if err != nil {
			WriteProblem(ctx, answer, Invalid("body", "is not valid base64"))
			return answer.response(), nil
		}
		answer = serve(ctx, handler, request, options.Logger)
		if len(answer.body) > MaxAnswerBytes {
			options.Logger.ErrorContext(ctx, "answer is too large", slog.Int("bytes", len(answer.body)), slog.Int("limit", MaxAnswerBytes))
			answer = &recorder{}
			WriteProblem(ctx, answer, &Problem{Code: Internal, Detail: "the answer is too large"})
		}
		return answer.response(), nil
	}
}

func newRequest(ctx context.Context, event events.APIGatewayV2HTTPRequest) (*http.Request, error) {
	body := event.Body
	if event.IsBase64Encoded {
		decoded, err := base64.StdEncoding.DecodeString(body)
		if err != nil {
			return nil, fmt.Errorf("decode body: %w", err)
		}
		body = string(decoded)
	}
	header := make(http.Header, len(event.Headers)+1)
	for name, value := range event.Headers {
		header.Set(name, value)
	}
	if len(event.Cookies) > 0 {
		header.Set("Cookie", strings.Join(event.Cookies, "; "))
	}
	request := &http.Request{
		Method: event.RequestContext.HTTP.Method,
		URL:    &url.URL{Path: event.RawPath, RawQuery: event.RawQueryString},
		Proto:  "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Host: header.Get("Host"),
		ContentLength: int64(len(body)), Body: io.NopCloser(strings.NewReader(body)),
		RemoteAddr: event.RequestContext.HTTP.SourceIP,
	}
	return request.WithContext(ctx), nil
}

// serve runs the handler. After a panic nothing of what it wrote goes out. The log gets the stack and the panic's type, never its text, which may quote an item.
func serve(ctx context.Context, handler http.Handler, request *http.Request, logger *slog.Logger) (answer *recorder) {
	answer = &recorder{}
	defer func() {
		if reason := recover(); reason != nil {
			logger.ErrorContext(ctx, "handler panicked", slog.String("panic", fmt.Sprintf("%T", reason)), slog.String("stack", string(debug.Stack())))
			answer = &recorder{}
			WriteProblem(ctx, answer, &Problem{Code: Internal, Detail: "something went wrong on our side"})
		}
	}()
	handler.ServeHTTP(answer, request)
	return answer
}
