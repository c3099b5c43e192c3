package edge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
)

// Code is the stable name of a kind of error: what a client branches on.
type Code string

// The codes. Adding one means adding its status below.
const (
	InvalidParameter    Code = "invalid_parameter"
	InvalidCursor       Code = "invalid_cursor"
	UnknownIndex        Code = "unknown_index"
	UnknownRoute        Code = "unknown_route"
	UserNotFound        Code = "user_not_found"
	NicknameNotFound    Code = "nickname_not_found"
	EventNotFound       Code = "event_not_found"
	BatchNotFound       Code = "batch_not_found"
	MethodNotAllowed    Code = "method_not_allowed"
	UserExists          Code = "user_exists"
	UserWithdrawing     Code = "user_withdrawing"
	NicknameTaken       Code = "nickname_taken"
	EmailTaken          Code = "email_taken"
	IdempotencyMismatch Code = "idempotency_mismatch"
	EventDone           Code = "event_done"
	EventRetried        Code = "event_retried"
	TooLarge            Code = "too_large"
	Throttled           Code = "throttled"
	TryAgain            Code = "try_again"
	Internal            Code = "internal"
)

// Status is the one table from codes to HTTP statuses. An unknown code is a 500.
func (c Code) Status() int {
	switch c {
	case InvalidParameter, InvalidCursor:
		return http.StatusBadRequest
	case UnknownIndex, UnknownRoute, UserNotFound, NicknameNotFound, EventNotFound, BatchNotFound:
		return http.StatusNotFound
	case MethodNotAllowed:
		return http.StatusMethodNotAllowed
	case UserExists, UserWithdrawing, NicknameTaken, EmailTaken, IdempotencyMismatch, EventDone, EventRetried:
		return http.StatusConflict
	case TooLarge:
		return http.StatusRequestEntityTooLarge
	case Throttled:
		return http.StatusTooManyRequests
	case TryAgain:
		return http.StatusServiceUnavailable
	case Internal:
		return http.StatusInternalServerError
	default:
		return http.StatusInternalServerError
	}
}

// Problem is an error as a client sees it (RFC 9457). Code, Detail and Members leave in the body; Cause is for the log alone.
type Problem struct {
	Code Code
	// Detail is a sentence for people. It names a parameter and a limit, never a value and never an internal error's text.
	Detail string
	// Members are further fields of the body, such as the successor of an event. They cannot replace the standard ones.
	Members map[string]any
	// RetryAfter is when to try again. Zero means a second for Throttled and TryAgain, and no such header for the rest.
	RetryAfter time.Duration
	Cause      error
}

// Error is for logs and tests: the code, the detail, the cause.
func (p *Problem) Error() string {
	text := string(p.Code)
	if p.Detail != "" {
		text += ": " + p.Detail
	}
	if p.Cause != nil {
		text += ": " + p.Cause.Error()
	}
	return text
}

// Unwrap gives the cause.
func (p *Problem) Unwrap() error { return p.Cause }

// Invalid is an [InvalidParameter] whose detail begins with the parameter's name.
func Invalid(parameter, reason string, args ...any) *Problem {
	return &Problem{Code: InvalidParameter, Detail: parameter + ": " + fmt.Sprintf(reason, args...)}
}

// ProblemFor gives the problem of any error: its own if it is or wraps one, else by what stopped it. A throttled request is [Throttled]; a conflict, an
// unknown outcome and the end of the time are [TryAgain]; everything else is [Internal].
func ProblemFor(err error) *Problem {
	if problem, ok := errors.AsType[*Problem](err); ok {
		return problem
	}
	switch ddb.Classify(err).Class {
	case ddb.Throttled:
		return &Problem{Code: Throttled, Detail: "the table is busy: try again", Cause: err}
	case ddb.Conflict, ddb.UnknownOutcome:
		return &Problem{Code: TryAgain, Detail: "not finished: try again", Cause: err}
	default:
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return &Problem{Code: TryAgain, Detail: "not finished in time: try again", Cause: err}
	}
	return &Problem{Code: Internal, Detail: "something went wrong on our side", Cause: err}
}

// retryAfter is the header's value in whole seconds, rounded up, or "" for none.
func (p *Problem) retryAfter() string {
	wait := p.RetryAfter
	if wait <= 0 {
		if p.Code != Throttled && p.Code != TryAgain {
			return ""
		}
		wait = time.Second
	}
	return strconv.FormatInt(int64((wait+time.Second-1)/time.Second), 10)
}
