package ddbtest

import (
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
)

// EndpointEnv names the environment variable with the URL of the engine that tests run on.
const EndpointEnv = "HEATSINK_TEST_ENDPOINT"

// Region is the one that tests speak to.
const Region = "us-east-1"

// Endpoint is the engine's URL. Without one the test fails: an engine that is not there must never look like a test that passed.
func Endpoint(t testing.TB) string {
	t.Helper()
	endpoint := os.Getenv(EndpointEnv)
	if endpoint == "" {
		t.Fatalf("ddbtest: %s is not set: run the tests with make test, or set it to the URL of a DynamoDB for tests", EndpointEnv)
	}
	return endpoint
}

// Config is an SDK configuration for the engine, with dummy credentials. Other services of the local cloud take it too.
func Config(t testing.TB) aws.Config {
	t.Helper()
	transport := awshttp.NewBuildableClient().WithTransportOptions(func(tr *http.Transport) {
		tr.MaxIdleConnsPerHost = 16
		t.Cleanup(tr.CloseIdleConnections)
	})
	return aws.Config{
		Region:       Region,
		BaseEndpoint: aws.String(Endpoint(t)),
		Credentials:  credentials.NewStaticCredentialsProvider("test", "test", ""),
		HTTPClient:   transport,
		Retryer:      Retryer,
	}
}

// Retryer retries what the SDK's DynamoDB client retries, as often as it does (4 attempts), but without waiting and without a quota.
func Retryer() aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts = 4
		o.RateLimiter = noQuota{}
		o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return 0, nil })
	})
}

// Client is a client of the real engine. opts are the client's options, such as [Faults.Install] or ddb.Metered.
func Client(t testing.TB, opts ...func(*dynamodb.Options)) *dynamodb.Client {
	t.Helper()
	return dynamodb.NewFromConfig(Config(t), opts...)
}

// Streams is a client of the engine's change streams.
func Streams(t testing.TB, opts ...func(*dynamodbstreams.Options)) *dynamodbstreams.Client {
	t.Helper()
	return dynamodbstreams.NewFromConfig(Config(t), opts...)
}
