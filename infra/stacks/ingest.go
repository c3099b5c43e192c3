package stacks

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/aws-cdk-go/awscdk/v2/awseventstargets"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/jsii-runtime-go"

	"github.com/heatsink-dev/heatsink/pkg/catalog"
	"github.com/heatsink-dev/heatsink/pkg/edge/routes"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

// IngestStack brings uploads into the event buffer: bucket, EventBridge, queue, function.
type IngestStack struct {
	Stack       awscdk.Stack
	Ingest      *function
	Queue, Dead awssqs.Queue
}

const (
	// ingestTimeout is how long one batch may take; what it has not done then, the message's next delivery goes on with.
	ingestTimeout = 900
	// ingestConcurrency is how many batches are ingested at a time: each alone can bring as many writes as a table takes at first.
	ingestConcurrency = 10
	// ingestReceives bounds the deliveries of a message. Each quarter of an hour of a large batch takes one, and so does a duplicate each time that it finds the
	// batch in work: this is for five hours, and for half a day of failures.
	ingestReceives = 20
)

func newIngestStack(b *builder, data *DataStack) *IngestStack {
	i := &IngestStack{Stack: b.stack(schema.IngestStack, "uploads into the event buffer", false)}
	i.addQueues()
	i.addRule(data)
	i.addFunction(b, data)
	return i
}

// addQueues makes the queue of uploads and the one for those that are given up.
func (i *IngestStack) addQueues() {
	i.Dead = awssqs.NewQueue(i.Stack, jsii.String("UploadsFailed"), &awssqs.QueueProps{
		Encryption: awssqs.QueueEncryption_SQS_MANAGED, EnforceSSL: jsii.Bool(true), RetentionPeriod: awscdk.Duration_Days(jsii.Number(14)),
	})
	i.Queue = awssqs.NewQueue(i.Stack, jsii.String("Uploads"), &awssqs.QueueProps{
		Encryption: awssqs.QueueEncryption_SQS_MANAGED, EnforceSSL: jsii.Bool(true),
		// Six times the function's timeout (https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html).
		VisibilityTimeout: awscdk.Duration_Seconds(jsii.Number(6 * ingestTimeout)),
		DeadLetterQueue:   &awssqs.DeadLetterQueue{Queue: i.Dead, MaxReceiveCount: jsii.Number(ingestReceives)},
	})
	awscdk.CrossStackReferences_Of(i.Queue).Produce(awscdk.ReferenceStrength_WEAK)
	awscdk.CrossStackReferences_Of(i.Dead).Produce(awscdk.ReferenceStrength_WEAK)
	exempt(i.Dead, exemption{rule: "Serverless-SQSRedrivePolicy", reason: "It is the dead-letter queue itself; an alarm watches it."})
}

// addRule sends what is put below the prefix to the queue.
func (i *IngestStack) addRule(data *DataStack) {
	rule := awsevents.NewRule(i.Stack, jsii.String("Uploaded"), &awsevents.RuleProps{
		Description: jsii.String("heatsink: an upload is complete"),
		EventPattern: &awsevents.EventPattern{
			Source: jsii.Strings("aws.s3"), DetailType: jsii.Strings("Object Created"),
			Detail: &map[string]any{
				"bucket": map[string]any{"name": []*string{data.Uploads.BucketName()}},
				"object": map[string]any{"key": []any{map[string]any{"prefix": uploadPrefix}}},
			},
		},
	})
	rule.AddTarget(awseventstargets.NewSqsQueue(i.Queue, &awseventstargets.SqsQueueProps{DeadLetterQueue: i.Dead}))
}

func (i *IngestStack) addFunction(b *builder, data *DataStack) {
	environment := data.eventVariables(b)
	environment[schema.EnvUploadQueue] = i.Queue.QueueUrl()
	i.Ingest = b.function(i.Stack, functionProps{
		Name: routes.Ingest, Description: "stores the events of an upload",
		MemoryMB: 1024, TimeoutSeconds: ingestTimeout, Reserved: ingestConcurrency, Environment: environment,
	})
	grant(
		i.Ingest,
		// Each event is put under its own key, on condition that it is not there, and never changed; the batch's record says how far the upload is.
		allow([]string{"dynamodb:PutItem"}, data.Tables[catalog.EventTable].TableArn()),
		allow([]string{"dynamodb:GetItem", "dynamodb:UpdateItem"}, data.Tables[catalog.EventRequestTable].TableArn()),
		// By its version: a later upload to the same URL is another one.
		ownBucket(i.Stack, allow([]string{"s3:GetObject", "s3:GetObjectVersion"}, below(data.Uploads, uploadPrefix))),
		allow([]string{"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility", "sqs:GetQueueAttributes"}, i.Queue.QueueArn()),
	)
	exemptWildcards(i.Ingest, "An upload's object is named by its batch id, made when it is asked for.", objects(uploadBucket, uploadPrefix))
	mapping := awslambda.NewEventSourceMapping(i.Stack, jsii.String("UploadsMapping"), &awslambda.EventSourceMappingProps{
		Target: i.Ingest.lambda, EventSourceArn: i.Queue.QueueArn(),
		BatchSize: jsii.Number(1), // one upload may take the whole invocation
		// Past the function's own concurrency the mapping would receive messages and be refused, which counts as received
		// (https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html).
		MaxConcurrency:          jsii.Number(ingestConcurrency),
		ReportBatchItemFailures: jsii.Bool(true),
	})
	exempt(mapping, exemption{
		rule:   "Serverless-LambdaEventSourceMappingDestination",
		reason: "A queue's mapping takes no destination: a message that is given up goes to the dead-letter queue.",
	})
}
