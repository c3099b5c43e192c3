package main

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/heatsink-dev/heatsink/pkg/buffer"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/edge"
	"github.com/heatsink-dev/heatsink/pkg/eventapi"
	"github.com/heatsink-dev/heatsink/pkg/ingest"
)

// surface serves the events, and batches past one request where there is a bucket for them: infra names one if function ingest is deployed.
func surface(config aws.Config, store *buffer.Store, requestTable, bucket string) (*eventapi.API, error) {
	options := eventapi.Options{TenantClaim: "tenant"}
	if bucket != "" {
		uploads, err := ingest.NewUploads(ingest.UploadsConfig{
			Client: dynamodb.NewFromConfig(config, ddb.Metered), RequestTable: requestTable, Batches: store,
			Presign: s3.NewPresignClient(s3.NewFromConfig(config, edge.S3Options)), Bucket: bucket,
		})
		if err != nil {
			return nil, err
		}
		options.Uploads = uploads
	}
	return eventapi.New(store, options)
}
