package stacks

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3"
	"github.com/aws/jsii-runtime-go"

	"github.com/heatsink-dev/heatsink/pkg/schema"
)

// allow is a statement of exact actions on exact resources.
func allow(actions []string, resources ...*string) awsiam.PolicyStatement {
	return awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{Actions: jsii.Strings(actions...), Resources: &resources})
}

// allowInTransaction allows single writes only inside TransactWriteItems: no code path, and nobody with the function's role, can touch an item
// outside of the conditions that travel with it (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis-iam.html).
func allowInTransaction(resources ...*string) awsiam.PolicyStatement {
	statement := allow([]string{"dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem", "dynamodb:ConditionCheckItem"}, resources...)
	statement.AddCondition(jsii.String("ForAnyValue:StringEquals"), map[string]any{"dynamodb:EnclosingOperation": []string{"TransactWriteItems"}})
	return statement
}

// ownBucket narrows S3 statements to buckets of this account: a bucket name that someone else took after a deletion gets nothing.
func ownBucket(stack awscdk.Stack, statement awsiam.PolicyStatement) awsiam.PolicyStatement {
	statement.AddCondition(jsii.String("StringEquals"), map[string]any{"s3:ResourceAccount": stack.Account()})
	return statement
}

// readStream allows one change stream to be read.
func readStream(arn *string) awsiam.PolicyStatement {
	return allow([]string{"dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator"}, arn)
}

// findStreams is the one wildcard resource of heatsink: Lambda refuses a stream mapping whose role lacks ListStreams, and that action takes no
// resource (https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazondynamodb.html). It tells names of streams, no data.
func findStreams() awsiam.PolicyStatement {
	return allow([]string{"dynamodb:ListStreams"}, jsii.String("*"))
}

// below is the ARN of the objects under prefix.
func below(bucket awss3.Bucket, prefix string) *string {
	return bucket.ArnForObjects(jsii.String(prefix + "*"))
}

// forms lists what a Query on the index names, in each form that is built: readers may be switched without a change of rights.
func (d *DataStack) forms(index *schema.Index) []*string {
	var resources []*string
	if index.Build.Has(schema.GSI) {
		resources = append(resources, d.indexARN(index))
	}
	if index.Build.Has(schema.Table) {
		resources = append(resources, d.Tables[index.TableName()].TableArn())
	}
	return resources
}

// indexARN is the exact ARN of a GSI.
func (d *DataStack) indexARN(index *schema.Index) *string {
	return jsii.String(*d.Tables[index.Source.Name].TableArn() + "/index/" + index.Name)
}

// tableVariables gives the deployed names of tables and index tables to a function.
func (d *DataStack) tableVariables(logicalNames ...string) map[string]*string {
	variables := map[string]*string{}
	for _, name := range logicalNames {
		variables[schema.TableEnv(name)] = d.Tables[name].TableName()
	}
	return variables
}

// grant adds statements to the function's role.
func grant(to *function, statements ...awsiam.PolicyStatement) {
	for _, statement := range statements {
		to.lambda.AddToRolePolicy(statement)
	}
}
