package stacks

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssecretsmanager"
	"github.com/aws/jsii-runtime-go"

	"github.com/heatsink-dev/heatsink/pkg/schema"
)

// Logical ids of the buckets.
const (
	failureBucket = "FailureBucket"
	uploadBucket  = "UploadBucket"
)

// Prefixes of the failure bucket: AWS's own failure objects, and the indexer's.
const (
	// awsPrefix is where a stream mapping writes (https://docs.aws.amazon.com/lambda/latest/dg/services-dynamodb-errors.html).
	awsPrefix = "aws/lambda/"
	// poisonPrefix is where the indexer parks what can never be written.
	poisonPrefix = "heatsink/poison/"
	// uploadPrefix is where presigned uploads go in the upload bucket.
	uploadPrefix = schema.UploadPrefix
)

// DataStack holds everything that cannot be made again.
type DataStack struct {
	Stack awscdk.Stack
	// Tables by logical name: base tables and index tables.
	Tables map[string]awsdynamodb.Table
	// Failures takes stream records that could not be written.
	Failures awss3.Bucket
	// Uploads takes event batches past one HTTP request.
	Uploads awss3.Bucket
	// CursorSecret is what page cursors are sealed with.
	CursorSecret awssecretsmanager.Secret

	b *builder
}

func newDataStack(b *builder) *DataStack {
	d := &DataStack{
		Stack:  b.stack(schema.DataStack, "tables, buckets and the cursor secret", true),
		Tables: map[string]awsdynamodb.Table{}, b: b,
	}
	for _, table := range b.catalog.Tables() {
		d.addTable(table)
		for _, index := range table.StreamIndexes() {
			d.addIndexTable(index)
		}
	}
	d.Failures = d.bucket(failureBucket, 30, false)
	output(d.Stack, schema.OutputFailureBucket, d.Failures.BucketName())
	// A batch is ingested within minutes of its upload; a week is for looking at one that failed. With versions a second upload to the same URL leaves the first
	// one, from which the batch is ingested, as it is.
	d.Uploads = d.bucket(uploadBucket, 7, true)
	output(d.Stack, schema.OutputUploadBucket, d.Uploads.BucketName())
	d.addCursorSecret()
	d.keepExports()
	return d
}

func (d *DataStack) addTable(table *schema.BaseTable) {
	stream := awsdynamodb.StreamViewType("")
	if len(table.StreamIndexes()) > 0 {
		stream = awsdynamodb.StreamViewType_NEW_AND_OLD_IMAGES // the indexer needs the old key to bury it
	}
	built := d.table(table.Name, table.PartitionKey, table.SortKey, table.TTL, stream)
	for _, index := range table.Indexes {
		if index.Build.Has(schema.GSI) {
			built.AddGlobalSecondaryIndex(globalIndex(index))
		}
	}
}

func (d *DataStack) addIndexTable(index *schema.Index) {
	sortKey := schema.Attribute{Name: schema.SortKeyAttribute, Type: schema.String}
	built := d.table(index.TableName(), index.PartitionKey, sortKey, schema.TTLAttribute, "")
	// An index table can be made again from its base table, so it may leave in one deploy: with a strong reference CloudFormation would refuse
	// to drop it as long as the deployed function stacks name it. They are deployed right after.
	awscdk.CrossStackReferences_Of(built).Produce(awscdk.ReferenceStrength_WEAK)
}

func (d *DataStack) table(name string, partition, sort schema.Attribute, ttl string, stream awsdynamodb.StreamViewType) awsdynamodb.Table {
	props := &awsdynamodb.TableProps{
		PartitionKey:                     attribute(partition),
		BillingMode:                      awsdynamodb.BillingMode_PAY_PER_REQUEST,
		Encryption:                       awsdynamodb.TableEncryption_AWS_MANAGED,
		PointInTimeRecoverySpecification: &awsdynamodb.PointInTimeRecoverySpecification{PointInTimeRecoveryEnabled: jsii.Bool(true)},
		DeletionProtection:               jsii.Bool(d.b.options.Stage == Prod),
		RemovalPolicy:                    d.b.keep(),
		Stream:                           stream,
	}
	if sort.Name != "" {
		props.SortKey = attribute(sort)
	}
	if ttl != "" {
		props.TimeToLiveAttribute = jsii.String(ttl)
	}
	table := awsdynamodb.NewTable(d.Stack, jsii.String(schema.TableResource(name)), props)
	fixLogicalID(table.Node().DefaultChild(), schema.TableResource(name))
	d.Tables[name] = table
	output(d.Stack, schema.TableOutput(name), table.TableName())
	return table
}

// globalIndex describes the GSI form. More than one part of a sort key are several RANGE attributes, in order
// (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.DesignPattern.MultiAttributeKeys.html).
func globalIndex(index *schema.Index) *awsdynamodb.GlobalSecondaryIndexProps {
	props := &awsdynamodb.GlobalSecondaryIndexProps{
		IndexName:      jsii.String(index.Name),
		PartitionKey:   attribute(index.PartitionKey),
		ProjectionType: awsdynamodb.ProjectionType(index.Projection.Kind.String()),
	}
	var parts []*awsdynamodb.Attribute
	for _, part := range index.SortKey {
		parts = append(parts, attribute(part.Attribute))
	}
	switch len(parts) {
	case 0:
	case 1:
		props.SortKey = parts[0]
	default:
		props.SortKeys = &parts
	}
	if index.Projection.Kind == schema.Include {
		props.NonKeyAttributes = jsii.Strings(index.Projection.Attributes...)
	}
	return props
}

func attribute(a schema.Attribute) *awsdynamodb.Attribute {
	types := map[schema.AttributeType]awsdynamodb.AttributeType{
		schema.String: awsdynamodb.AttributeType_STRING,
		schema.Number: awsdynamodb.AttributeType_NUMBER,
		schema.Binary: awsdynamodb.AttributeType_BINARY,
	}
	return &awsdynamodb.Attribute{Name: jsii.String(a.Name), Type: types[a.Type]}
}

// bucket makes a private, encrypted bucket whose objects expire after days, and whose events go to EventBridge. Of a versioned one, what is not current any more
// stays for the same time once more.
func (d *DataStack) bucket(id string, days float64, versioned bool) awss3.Bucket {
	expire := &awss3.LifecycleRule{
		Id:                                  jsii.String("expire"),
		Expiration:                          awscdk.Duration_Days(jsii.Number(days)),
		AbortIncompleteMultipartUploadAfter: awscdk.Duration_Days(jsii.Number(1)),
	}
	if versioned {
		expire.NoncurrentVersionExpiration = awscdk.Duration_Days(jsii.Number(days))
	}
	bucket := awss3.NewBucket(d.Stack, jsii.String(id), &awss3.BucketProps{
		BlockPublicAccess: awss3.BlockPublicAccess_BLOCK_ALL(),
		Encryption:        awss3.BucketEncryption_S3_MANAGED,
		EnforceSSL:        jsii.Bool(true),
		ObjectOwnership:   awss3.ObjectOwnership_BUCKET_OWNER_ENFORCED,
		RemovalPolicy:     d.b.keep(),
		Versioned:         jsii.Bool(versioned),
		LifecycleRules:    &[]*awss3.LifecycleRule{expire},
	})
	// The L1 property: EventBridgeEnabled of the L2 would add a custom resource, a Python Lambda, for the same.
	bucket.Node().DefaultChild().(awss3.CfnBucket).SetNotificationConfiguration(&awss3.CfnBucket_NotificationConfigurationProperty{
		EventBridgeConfiguration: &awss3.CfnBucket_EventBridgeConfigurationProperty{EventBridgeEnabled: jsii.Bool(true)},
	})
	fixLogicalID(bucket.Node().DefaultChild(), id)
	exempt(bucket, exemption{
		rule: "AwsSolutions-S1",
		reason: "Only heatsink's own functions, by their roles, and presigned single uploads reach the bucket; CloudTrail data events show who did, " +
			"without a second bucket to keep.",
	})
	return bucket
}

// keepExports exports what other stacks may name, whether one does or not: this stack is deployed first, and without it the last function to name a
// table could not leave, for CloudFormation keeps an export as long as the deployed stacks import it.
func (d *DataStack) keepExports() {
	export := func(values ...*string) {
		for _, value := range values {
			d.Stack.ExportValue(value, nil)
		}
	}
	for _, table := range d.b.catalog.Tables() {
		export(d.Tables[table.Name].TableName(), d.Tables[table.Name].TableArn())
	}
	export(d.Failures.BucketName(), d.Failures.BucketArn(), d.Uploads.BucketName(), d.Uploads.BucketArn(), d.CursorSecret.SecretArn())
}

// streamARN is a weak reference: a stream ends with the last index table of its table, in one deploy.
func (d *DataStack) streamARN(table *schema.BaseTable) *string {
	return awscdk.Stack_ConsumeReference(d.Tables[table.Name].TableStreamArn(), awscdk.ReferenceStrength_WEAK)
}

// addCursorSecret makes 64 random characters of A-Z a-z 0-9 (about 380 bits), which never stand in a template.
func (d *DataStack) addCursorSecret() {
	d.CursorSecret = awssecretsmanager.NewSecret(d.Stack, jsii.String("CursorSecret"), &awssecretsmanager.SecretProps{
		Description: jsii.String("heatsink: what page cursors are sealed with"),
		GenerateSecretString: &awssecretsmanager.SecretStringGenerator{
			PasswordLength: jsii.Number(64), ExcludePunctuation: jsii.Bool(true), RequireEachIncludedType: jsii.Bool(true),
		},
		RemovalPolicy: d.b.keep(),
	})
	fixLogicalID(d.CursorSecret.Node().DefaultChild(), "CursorSecret")
	output(d.Stack, schema.OutputCursorSecret, d.CursorSecret.SecretArn())
	exempt(d.CursorSecret, exemption{
		rule: "AwsSolutions-SMG4",
		reason: "Rotated by one command (heatsink cursor rotate), never more often than a cursor lives: a schedule would cut readers off in the " +
			"middle of a walk for a secret that opens no data.",
	})
}
