package edge_test

import (
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/heatsink-dev/heatsink/pkg/edge"
)

func TestTheHTTPClientKeepsAConnectionForEachCallAtOnce(t *testing.T) {
	t.Parallel()
	for concurrency, want := range map[int]int{32: 32, 1: awshttp.DefaultHTTPTransportMaxIdleConnsPerHost} {
		client, ok := edge.HTTPClient(concurrency).(interface{ GetTransport() *http.Transport })
		if !ok {
			t.Fatal("the client does not show its transport")
		}
		if got := client.GetTransport().MaxIdleConnsPerHost; got != want {
			t.Errorf("%d connections for %d calls at once, want %d", got, concurrency, want)
		}
	}
}

func TestBucketsStandInThePathOnlyAwayFromAWS(t *testing.T) {
	t.Parallel()
	for _, endpoint := range []*string{nil, aws.String("http://127.0.0.1:1")} {
		options := s3.Options{BaseEndpoint: endpoint}
		edge.S3Options(&options)
		if options.UsePathStyle != (endpoint != nil) {
			t.Errorf("endpoint %v: path style %t", endpoint, options.UsePathStyle)
		}
	}
}
