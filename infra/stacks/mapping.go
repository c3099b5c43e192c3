package stacks

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3"
	"github.com/aws/jsii-runtime-go"
)

// mappingProps is how a change stream is handed to the indexer. Every value is a choice; the zero value is no mapping.
type mappingProps struct {
	// BatchSize is the most records of one invocation. The indexer writes distinct items at once: 100 take as long as a few.
	BatchSize float64
	// WindowSeconds waits for a fuller batch. Zero: an index row would be late by it, and a poll, four a second, gathers enough by itself.
	WindowSeconds float64
	// Parallelization is the number of batches of one shard at once; each item stays in one lane, in order. A shard brings at most the 1,000
	// writes a second of its partition, one lane does about 3,000, so 2 are for catching up after an outage. More lanes would throttle the index sooner
	// than help it.
	Parallelization float64
	// MaxAgeHours ends the retries of a record, which then goes to the failure bucket. A stream keeps 24 h; the hour between is for that delivery.
	MaxAgeHours float64
	// Retries bounds the tries of a batch that fails; 10,000 is the most that Lambda takes. An index table that is merely throttled must lose no record by
	// count: the indexer uses its whole minute before it reports a failure, so 10,000 tries last a week and MaxAgeHours ends them first. A record that
	// can never be written doesn't come this way: the indexer parks it.
	Retries float64
}

// indexerMapping is the mapping of every table with index tables.
var indexerMapping = mappingProps{BatchSize: 100, WindowSeconds: 0, Parallelization: 2, MaxAgeHours: 23, Retries: 10_000}

// props are the mapping in CDK's words. No filter: a filter drops records, and each REMOVE, also one by TTL, buries a row.
func (m mappingProps) props(onFailure awslambda.IEventSourceDlq) *awslambda.EventSourceMappingOptions {
	return &awslambda.EventSourceMappingOptions{
		// LATEST loses what is written while a mapping is being made or updated.
		StartingPosition:      awslambda.StartingPosition_TRIM_HORIZON,
		BatchSize:             jsii.Number(m.BatchSize),
		MaxBatchingWindow:     awscdk.Duration_Seconds(jsii.Number(m.WindowSeconds)),
		ParallelizationFactor: jsii.Number(m.Parallelization),
		MaxRecordAge:          awscdk.Duration_Hours(jsii.Number(m.MaxAgeHours)),
		RetryAttempts:         jsii.Number(m.Retries),
		// Halves a batch that crashed the function, until the record that does it is alone.
		BisectBatchOnError:      jsii.Bool(true),
		ReportBatchItemFailures: jsii.Bool(true),
		OnFailure:               onFailure,

		SupportS3OnFailureDestination: jsii.Bool(true), // DynamoDB takes one; CDK asks to be told
		// Polled, invoked, failed, dropped, delivered: alarms need them, and without this nothing counts a dropped record.
		MetricsConfig: &awslambda.MetricsConfig{Metrics: &[]awslambda.MetricType{awslambda.MetricType_EVENT_COUNT}},
	}
}

// failureDestination sends what a mapping gives up to a bucket, whole. CDK's own S3OnFailureDestination grants s3:GetObject*, s3:DeleteObject*
// and more on every object; the mapping needs to put below its own prefix and to list the bucket
// (https://docs.aws.amazon.com/lambda/latest/dg/services-dynamodb-errors.html).
type failureDestination struct {
	stack  awscdk.Stack
	bucket awss3.Bucket
}

var _ awslambda.IEventSourceDlq = (*failureDestination)(nil)

// Bind grants the function's role, which the mapping uses, its two actions.
func (d *failureDestination) Bind(_ awslambda.IEventSourceMapping, target awslambda.IFunction) *awslambda.DlqDestinationConfig {
	target.AddToRolePolicy(ownBucket(d.stack, allow([]string{"s3:PutObject"}, below(d.bucket, awsPrefix))))
	target.AddToRolePolicy(ownBucket(d.stack, allow([]string{"s3:ListBucket"}, d.bucket.BucketArn())))
	return &awslambda.DlqDestinationConfig{Destination: d.bucket.BucketArn()}
}
