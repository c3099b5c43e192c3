package ddb

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// Classify interprets an error of the SDK's DynamoDB client, however it is wrapped. Throttling is told by three exception types that carry the same
// reasons in any pairing, so callers branch on Throttles, never on the type
// (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/troubleshooting-throttling-diagnostics.html).
//
// It sees the last attempt alone. Where the SDK's own retries were on, an attempt before it may have taken effect with its answer lost, so that a
// failed condition may be the caller's own success: whoever must know switches them off, or reads what stands there ([Failure].Item), or sees
// [Usage].Unknown of a [Meter].
func Classify(err error) Failure {
	if err == nil {
		return Failure{}
	}
	if cancelled, ok := errors.AsType[*types.TransactionCanceledException](err); ok {
		return transaction(cancelled)
	}
	if refused, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		return Failure{Class: ConditionFailed, Code: refused.ErrorCode(), Item: refused.Item}
	}
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		failure := Failure{Class: classOf(api.ErrorCode()), Code: api.ErrorCode(), Throttles: throttles(err)}
		if failure.Class == None { // an error without a code is still one
			failure.Class = Other
		}
		if failure.Class == Other && serverSide(err, api) {
			failure.Class = UnknownOutcome
		}
		return failure
	}
	return Failure{Class: withoutCode(err)}
}

func transaction(cancelled *types.TransactionCanceledException) Failure {
	failure := Failure{Code: cancelled.ErrorCode()}
	for _, reason := range cancelled.CancellationReasons {
		code := aws.ToString(reason.Code)
		failure.Positions = append(failure.Positions, Position{Class: classOf(code), Code: code, Item: reason.Item})
	}
	failure.Class = ofTransaction(failure.Positions)
	return failure
}

// classOf reads DynamoDB's codes: those of errors, and the shorter ones of cancellation reasons
// (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html,
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html#API_TransactWriteItems_Errors).
func classOf(code string) Class {
	switch strings.TrimSuffix(code, "Exception") {
	case "", "None":
		return None
	case "ConditionalCheckFailed":
		return ConditionFailed
	case "TransactionConflict", "ReplicatedWriteConflict":
		return Conflict
	case "ProvisionedThroughputExceeded", "RequestLimitExceeded", "Throttling", "ThrottlingError":
		return Throttled
	case "Validation", "ValidationError", "ItemCollectionSizeLimitExceeded", "IdempotentParameterMismatch", "DuplicateItem", "Serialization":
		return Invalid
	case "ResourceNotFound", "TableNotFound", "IndexNotFound":
		return NotFound
	case "TransactionInProgress", "InternalServerError", "InternalServer", "InternalFailure", "ServiceUnavailable", "RequestTimeout":
		// TransactionInProgress is about a request with the caller's own token: it goes on and may yet succeed.
		return UnknownOutcome
	default:
		return Other
	}
}

// serverSide reports whether an error of an unknown code came with a status that says nothing definite.
func serverSide(err error, api smithy.APIError) bool {
	if response, ok := errors.AsType[*smithyhttp.ResponseError](err); ok {
		return response.HTTPStatusCode() >= http.StatusInternalServerError
	}
	return api.ErrorFault() == smithy.FaultServer
}

// throttles reads the reasons. Three distinct types carry them, and errors.As on one does not find another.
func throttles(err error) []Throttle {
	var reasons []types.ThrottlingReason
	if e, ok := errors.AsType[*types.ProvisionedThroughputExceededException](err); ok {
		reasons = e.ThrottlingReasons
	} else if e, ok := errors.AsType[*types.RequestLimitExceeded](err); ok {
		reasons = e.ThrottlingReasons
	} else if e, ok := errors.AsType[*types.ThrottlingException](err); ok {
		reasons = e.ThrottlingReasons
	}
	var list []Throttle
	for _, reason := range reasons {
		list = append(list, Throttle{Reason: aws.ToString(reason.Reason), Resource: aws.ToString(reason.Resource)})
	}
	return list
}

// withoutCode classifies an error that is no answer of DynamoDB's.
func withoutCode(err error) Class {
	if _, ok := errors.AsType[smithy.InvalidParamsError](err); ok {
		return Invalid
	}
	if _, ok := errors.AsType[*smithy.SerializationError](err); ok {
		return Invalid
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return UnknownOutcome
	}
	if _, ok := errors.AsType[*aws.RequestCanceledError](err); ok {
		return UnknownOutcome
	}
	// Sent, and the answer missing or unreadable.
	if _, ok := errors.AsType[*smithyhttp.RequestSendError](err); ok {
		return UnknownOutcome
	}
	if _, ok := errors.AsType[*smithy.DeserializationError](err); ok {
		return UnknownOutcome
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return UnknownOutcome
	}
	if response, ok := errors.AsType[*smithyhttp.ResponseError](err); ok && response.HTTPStatusCode() >= http.StatusInternalServerError {
		return UnknownOutcome
	}
	return Other
}
