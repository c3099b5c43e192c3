package edge

import (
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// HTTPClient is the SDK's HTTP client with room for as many idle connections to one host as calls are made at once: with the SDK's own 10 the rest would
// dial, and shake hands, for every call.
func HTTPClient(concurrency int) aws.HTTPClient {
	return awshttp.NewBuildableClient().WithTransportOptions(func(transport *http.Transport) {
		transport.MaxIdleConnsPerHost = max(concurrency, awshttp.DefaultHTTPTransportMaxIdleConnsPerHost)
	})
}

// S3Options of every S3 client. The bucket stands in the path where the client talks to another endpoint than AWS's: on the local cloud no DNS knows a bucket's own
// host. And an object without a checksum, as Lambda writes its failure objects, is no reason for a line in the log.
func S3Options(options *s3.Options) {
	options.UsePathStyle = options.BaseEndpoint != nil
	options.DisableLogOutputChecksumValidationSkipped = true
}
