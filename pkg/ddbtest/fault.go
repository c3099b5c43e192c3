package ddbtest

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net"
	"net/http"
	"strings"
	"syscall"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
)

// ErrCrashed is what a call returns after [Crash]: the SDK does not retry it.
var ErrCrashed = errors.New("ddbtest: the process crashed here")

// Fault is what happens to an attempt. The constructors below make one.
type Fault struct {
	name string
	run  func(context.Context, *attempt) (*smithyhttp.Response, error)
}

// attempt is a request on its way out.
type attempt struct {
	operation string
	input     any
	request   *smithyhttp.Request
	send      func(context.Context, *smithyhttp.Request) (*smithyhttp.Response, error)
}

func passThrough(ctx context.Context, a *attempt) (*smithyhttp.Response, error) {
	return a.send(ctx, a.request)
}

// The codes of the three errors that say a request was throttled.
const (
	CodeProvisioned  = "ProvisionedThroughputExceededException"
	CodeRequestLimit = "RequestLimitExceeded"
	CodeThrottling   = "ThrottlingException"
)

// Throttle refuses with one of the three codes and DynamoDB's reasons; nothing reaches the engine. The field of the reasons is spelled as the
// service spells it for that code: ThrottlingReasons on two, throttlingReasons on ThrottlingException.
func Throttle(code string, reasons ...ddb.Throttle) Fault {
	field := "ThrottlingReasons"
	if code == CodeThrottling {
		field = "throttlingReasons"
	}
	type reason struct {
		Reason   string `json:"reason"`
		Resource string `json:"resource"`
	}
	list := []reason{}
	for _, r := range reasons {
		list = append(list, reason{Reason: r.Reason, Resource: r.Resource})
	}
	return refusal("throttle", http.StatusBadRequest, code, "Throughput exceeds the current capacity", map[string]any{field: list})
}

// Refuse answers 400 with any code; nothing reaches the engine.
func Refuse(code, message string) Fault {
	return refusal("refuse "+code, http.StatusBadRequest, code, message, nil)
}

// ServerError answers 500; nothing reaches the engine.
func ServerError() Fault {
	return refusal("server error", http.StatusInternalServerError, "InternalServerError", "Internal server error", nil)
}

// ServerErrorAfter answers 500 after the engine has done the work.
func ServerErrorAfter() Fault {
	broken := ServerError()
	return after("server error after", func(ctx context.Context, a *attempt) (*smithyhttp.Response, error) { return broken.run(ctx, a) })
}

// Dropped loses the request on its way: the engine never sees it, the SDK sees a connection reset.
func Dropped() Fault {
	return Fault{name: "dropped", run: func(context.Context, *attempt) (*smithyhttp.Response, error) { return nil, reset() }}
}

// LostAnswer loses the answer: the engine has done the work, the SDK sees a connection reset.
func LostAnswer() Fault {
	return after("lost answer", func(context.Context, *attempt) (*smithyhttp.Response, error) { return nil, reset() })
}

// Timeout is [LostAnswer] with a timeout in place of the reset.
func Timeout() Fault {
	return after("timeout", func(context.Context, *attempt) (*smithyhttp.Response, error) {
		return nil, &smithyhttp.RequestSendError{Err: &net.OpError{Op: "read", Net: "tcp", Err: timeoutError{}}}
	})
}

// Crash ends the process before the call: nothing reaches the engine, and the call returns [ErrCrashed]. With Rule.From it stays dead.
func Crash() Fault {
	return Fault{name: "crash", run: func(context.Context, *attempt) (*smithyhttp.Response, error) { return nil, ErrCrashed }}
}

// CrashAfter is [Crash] after the engine has done the work.
func CrashAfter() Fault {
	return after("crash after", func(context.Context, *attempt) (*smithyhttp.Response, error) { return nil, ErrCrashed })
}

// Run calls fn and then lets the request through: to do something at an exact place between two calls.
func Run(fn func()) Fault {
	return Fault{name: "run", run: func(ctx context.Context, a *attempt) (*smithyhttp.Response, error) {
		fn()
		return passThrough(ctx, a)
	}}
}

// RunAfter lets the request through and calls fn before its answer is returned.
func RunAfter(fn func()) Fault {
	return Fault{name: "run after", run: func(ctx context.Context, a *attempt) (*smithyhttp.Response, error) {
		response, err := passThrough(ctx, a)
		fn()
		return response, err
	}}
}

// Conflict answers as another transaction at the item does; nothing reaches the engine. A single write gets TransactionConflictException, a
// transaction is cancelled with TransactionConflict at these positions, or at the first one.
func Conflict(positions ...int) Fault {
	const code = "TransactionConflict"
	return Fault{name: "conflict", run: func(ctx context.Context, a *attempt) (*smithyhttp.Response, error) {
		operations := 0
		switch in := a.input.(type) {
		case *dynamodb.TransactWriteItemsInput:
			operations = len(in.TransactItems)
		case *dynamodb.TransactGetItemsInput:
			operations = len(in.TransactItems)
		default:
			return respond(http.StatusBadRequest, code+"Exception", "Transaction is ongoing for the item", nil), nil
		}
		codes := make([]string, operations)
		for n := range codes {
			codes[n] = "None"
		}
		if len(positions) == 0 {
			codes[0] = code
		}
		for _, n := range positions {
			codes[n] = code
		}
		return cancelled(codes), nil
	}}
}

// Cancel cancels a transaction with one code for each of its operations, such as "None" and "ThrottlingError"; nothing reaches the engine.
func Cancel(codes ...string) Fault {
	return Fault{name: "cancel", run: func(context.Context, *attempt) (*smithyhttp.Response, error) { return cancelled(codes), nil }}
}

func cancelled(codes []string) *smithyhttp.Response {
	type reason struct {
		Code    string `json:"Code"`
		Message string `json:"Message,omitempty"`
	}
	reasons := make([]reason, len(codes))
	for n, code := range codes {
		reasons[n].Code = code
		if code != "None" {
			reasons[n].Message = "Injected " + code
		}
	}
	return respond(http.StatusBadRequest, "TransactionCanceledException",
		"Transaction cancelled, please refer cancellation reasons for specific reasons ["+strings.Join(codes, ", ")+"]",
		map[string]any{"CancellationReasons": reasons})
}

// after lets the engine do the work, whatever it answers, and then answers something else.
func after(name string, answer func(context.Context, *attempt) (*smithyhttp.Response, error)) Fault {
	return Fault{name: name, run: func(ctx context.Context, a *attempt) (*smithyhttp.Response, error) {
		response, err := a.send(ctx, a.request)
		if err != nil {
			return response, err
		}
		if err := response.Body.Close(); err != nil {
			return nil, err
		}
		return answer(ctx, a)
	}}
}

func refusal(name string, status int, code, message string, fields map[string]any) Fault {
	return Fault{name: name, run: func(context.Context, *attempt) (*smithyhttp.Response, error) {
		return respond(status, code, message, fields), nil
	}}
}

// respond makes an error answer as DynamoDB writes it.
func respond(status int, code, message string, fields map[string]any) *smithyhttp.Response {
	body := map[string]any{"__type": "com.amazonaws.dynamodb.v20120810#" + code, "message": message}
	maps.Copy(body, fields)
	raw, err := json.Marshal(body)
	if err != nil {
		raw = []byte(`{}`) // only names and texts go in
	}
	return response(status, raw)
}

func reset() error {
	return &smithyhttp.RequestSendError{Err: &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}}
}

type timeoutError struct{}

func (timeoutError) Error() string   { return "i/o timeout" }
func (timeoutError) Timeout() bool   { return true }
func (timeoutError) Temporary() bool { return true }
