package ddb_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
)

const tableARN = "arn:aws:dynamodb:us-east-1:123456789012:table/T"

// TestThrottlingReasonsOfEachWireCase: ThrottlingException spells the field in lower case, the two others do not; the other spelling reads as no reasons.
func TestThrottlingReasonsOfEachWireCase(t *testing.T) {
	t.Parallel()
	want := []ddb.Throttle{
		{Reason: "TableWriteKeyRangeThroughputExceeded", Resource: tableARN},
		{Reason: "IndexWriteAccountLimitExceeded", Resource: tableARN + "/index/i"},
	}
	for code, field := range map[string]string{
		"ProvisionedThroughputExceededException": "ThrottlingReasons",
		"RequestLimitExceeded":                   "ThrottlingReasons",
		"ThrottlingException":                    "throttlingReasons",
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			body := fmt.Sprintf(`{"__type":"com.amazonaws.dynamodb.v20120810#%s","message":"slow down","%s":[{"reason":%q,"resource":%q},{"reason":%q,"resource":%q}]}`,
				code, field, want[0].Reason, want[0].Resource, want[1].Reason, want[1].Resource)
			client := stub(t, answer(http.StatusBadRequest, body))
			_, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("T"), Item: ddb.Item{"a": text("b")}})
			if attempts, ok := errors.AsType[*retry.MaxAttemptsError](err); !ok || attempts.Attempt != 4 {
				t.Fatalf("want the SDK to have given up after 4 attempts: %v", err)
			}
			failure := ddb.Classify(fmt.Errorf("write a row: %w", err))
			if failure.Class != ddb.Throttled || failure.Code != code {
				t.Errorf("%s %s", failure.Class, failure.Code)
			}
			if d := cmp.Diff(want, failure.Throttles); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestThrottlesTakenApart(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string][3]string{
		"TableWriteKeyRangeThroughputExceeded":     {"Table", "Write", "KeyRangeThroughput"},
		"IndexReadAccountLimitExceeded":            {"Index", "Read", "AccountLimit"},
		"TableReadProvisionedThroughputExceeded":   {"Table", "Read", "ProvisionedThroughput"},
		"IndexWriteMaxOnDemandThroughputExceeded":  {"Index", "Write", "MaxOnDemandThroughput"},
		"SomethingElse":                            {},
		"":                                         {},
		"TableWriteKeyRangeThroughputExceededSoon": {},
	} {
		throttle := ddb.Throttle{Reason: reason}
		if got := [3]string{throttle.ResourceType(), throttle.Operation(), throttle.LimitType()}; got != want {
			t.Errorf("%s: %v", reason, got)
		}
	}
}

func TestErrorsOnTheWire(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		status int
		body   string
		want   ddb.Class
	}{
		{"a failed condition", 400, `{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"no"}`, ddb.ConditionFailed},
		{"a conflict with a transaction", 400, `{"__type":"x#TransactionConflictException","message":"no"}`, ddb.Conflict},
		{"a conflict between replicas", 400, `{"__type":"x#ReplicatedWriteConflictException","message":"no"}`, ddb.Conflict},
		{"the same transaction still going on may yet succeed", 400, `{"__type":"x#TransactionInProgressException","Message":"no"}`, ddb.UnknownOutcome},
		{"a token with other parameters", 400, `{"__type":"x#IdempotentParameterMismatchException","Message":"no"}`, ddb.Invalid},
		{"validation", 400, `{"__type":"com.amazon.coral.validate#ValidationException","message":"no"}`, ddb.Invalid},
		{"serialization", 400, `{"__type":"com.amazon.coral.service#SerializationException"}`, ddb.Invalid},
		{"a full item collection", 400, `{"__type":"x#ItemCollectionSizeLimitExceededException","message":"no"}`, ddb.Invalid},
		{"no such table", 400, `{"__type":"x#ResourceNotFoundException","message":"no"}`, ddb.NotFound},
		{"no permission", 400, `{"__type":"com.amazon.coral.service#AccessDeniedException","Message":"no"}`, ddb.Other},
		{"an expired token", 400, `{"__type":"com.amazon.coral.service#ExpiredTokenException","message":"no"}`, ddb.Other},
		{"an unknown error of ours", 400, `{"__type":"x#BrandNewException","message":"no"}`, ddb.Other},
		{"an error without a code", 400, `{}`, ddb.Other},
		{"an internal error", 500, `{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError","message":"no"}`, ddb.UnknownOutcome},
		{"unavailable", 503, `{"__type":"x#ServiceUnavailable","message":"no"}`, ddb.UnknownOutcome},
		{"an unknown error of theirs", 500, `{"__type":"x#BrandNewException","message":"no"}`, ddb.UnknownOutcome},
		{"a gateway's page", 502, `<html>`, ddb.UnknownOutcome},
		{"success that cannot be read", 200, `{"Attributes":`, ddb.UnknownOutcome},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			client := stub(t, answer(test.status, test.body))
			_, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("T"), Item: ddb.Item{"a": text("b")}})
			if err == nil {
				t.Fatal("no error")
			}
			if got := ddb.Classify(err); got.Class != test.want {
				t.Errorf("%s, want %s: %v", got.Class, test.want, err)
			}
		})
	}
}

func TestAFailedConditionCarriesTheItemInTheWay(t *testing.T) {
	t.Parallel()
	client := stub(t, answer(400, `{"__type":"x#ConditionalCheckFailedException","message":"no","Item":{"a":{"S":"b"}}}`))
	_, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("T"), Item: ddb.Item{"a": text("b")}})
	if got := ddb.Classify(err); !ddb.EqualItems(got.Item, ddb.Item{"a": text("b")}) {
		t.Errorf("%v", got.Item)
	}
}

func TestATransactionPositionByPosition(t *testing.T) {
	t.Parallel()
	client := stub(t, answer(400, `{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException","Message":"cancelled","CancellationReasons":[
		{"Code":"None"},{"Code":"ConditionalCheckFailed","Message":"no","Item":{"a":{"S":"b"}}},{"Code":"TransactionConflict","Message":"no"},
		{"Code":"ThrottlingError"},{"Code":"ProvisionedThroughputExceeded"},{"Code":"ValidationError"},{"Code":"ItemCollectionSizeLimitExceeded"},
		{"Code":"AccessDenied"},{}]}`))
	_, err := client.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{Put: &types.Put{TableName: aws.String("T"), Item: ddb.Item{"a": text("b")}}},
	}})
	failure := ddb.Classify(err)
	want := []ddb.Position{
		{Code: "None"},
		{Class: ddb.ConditionFailed, Code: "ConditionalCheckFailed", Item: ddb.Item{"a": text("b")}},
		{Class: ddb.Conflict, Code: "TransactionConflict"},
		{Class: ddb.Throttled, Code: "ThrottlingError"},
		{Class: ddb.Throttled, Code: "ProvisionedThroughputExceeded"},
		{Class: ddb.Invalid, Code: "ValidationError"},
		{Class: ddb.Invalid, Code: "ItemCollectionSizeLimitExceeded"},
		{Class: ddb.Other, Code: "AccessDenied"},
		{},
	}
	if d := diff(want, failure.Positions); d != "" {
		t.Error(d)
	}
	if failure.Class != ddb.ConditionFailed || failure.Code != "TransactionCanceledException" {
		t.Errorf("%s %s", failure.Class, failure.Code)
	}
}

func TestWhatRulesACancelledTransaction(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		codes string
		want  ddb.Class
	}{
		{"None,TransactionConflict,ConditionalCheckFailed", ddb.ConditionFailed}, // a failed condition outranks a conflict
		{"ConditionalCheckFailed,ValidationError", ddb.ConditionFailed},
		{"TransactionConflict,ValidationError", ddb.Invalid},
		{"TransactionConflict,AccessDenied", ddb.Other},
		{"TransactionConflict,ThrottlingError", ddb.Throttled},
		{"None,TransactionConflict", ddb.Conflict},
		{"None,None", ddb.Other},
		{"", ddb.Other},
	} {
		err := &types.TransactionCanceledException{}
		for code := range strings.SplitSeq(test.codes, ",") {
			err.CancellationReasons = append(err.CancellationReasons, types.CancellationReason{Code: aws.String(code)})
		}
		if got := ddb.Classify(&smithy.OperationError{Err: err}).Class; got != test.want {
			t.Errorf("%s: %s, want %s", test.codes, got, test.want)
		}
	}
	if got := ddb.Classify(&types.TransactionCanceledException{}).Class; got != ddb.Other {
		t.Errorf("without reasons: %s", got)
	}
}

func TestWithoutADefiniteAnswerTheOutcomeIsUnknown(t *testing.T) {
	t.Parallel()
	for _, err := range []error{
		context.DeadlineExceeded, context.Canceled, io.ErrUnexpectedEOF, io.EOF, net.ErrClosed,
		&aws.RequestCanceledError{Err: context.Canceled}, &smithy.CanceledError{Err: context.Canceled},
		&smithyhttp.RequestSendError{Err: syscall.ECONNRESET}, &net.OpError{Op: "read", Err: syscall.ECONNRESET},
		&smithy.DeserializationError{Err: errors.New("cut")}, &net.DNSError{Err: "no such host"},
		&types.InternalServerError{}, &types.TransactionInProgressException{},
	} {
		wrapped := fmt.Errorf("write: %w", &smithy.OperationError{ServiceID: "DynamoDB", OperationName: "PutItem", Err: &retry.MaxAttemptsError{Attempt: 4, Err: err}})
		if got := ddb.Classify(wrapped).Class; got != ddb.UnknownOutcome {
			t.Errorf("%T: %s", err, got)
		}
	}
}

func TestACallThatOutlivesItsContext(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}), make(chan struct{})
	client := stub(t, func(http.ResponseWriter, *http.Request) {
		close(arrived)
		<-release
	})
	t.Cleanup(func() { close(release) })
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-arrived
		cancel()
	}()
	_, err := client.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String("T"), Item: ddb.Item{"a": text("b")}})
	if got := ddb.Classify(err).Class; got != ddb.UnknownOutcome {
		t.Errorf("%s: %v", got, err)
	}
}

func TestRequestsThatNeverLeft(t *testing.T) {
	t.Parallel()
	client := stub(t, answer(200, `{}`))
	_, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{})
	if got := ddb.Classify(err).Class; got != ddb.Invalid {
		t.Errorf("the SDK's own validation: %s: %v", got, err)
	}
	if got := ddb.Classify(nil).Class; got != ddb.None {
		t.Errorf("nil: %s", got)
	}
	if got := ddb.Classify(errors.New("x")).Class; got != ddb.Other {
		t.Errorf("any error: %s", got)
	}
	if ddb.Class(99).String() != "unspecified" || ddb.Throttled.String() != "throttled" {
		t.Error("names of classes")
	}
}
