package stacks

import (
	"maps"
	"path/filepath"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/jsii-runtime-go"

	"github.com/heatsink-dev/heatsink/pkg/schema"
)

// metricsNamespace is the CloudWatch namespace of the functions' own metrics.
const metricsNamespace = "Heatsink"

// functionProps describes one function.
type functionProps struct {
	// Name of its folder below functions/.
	Name        string
	Description string
	// MemoryMB also buys CPU: 1,769 MB are one core (https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html).
	MemoryMB float64
	// TimeoutSeconds until Lambda ends an invocation.
	TimeoutSeconds float64
	// Reserved is the concurrency set aside for it, and its ceiling. Only in prod: a new account has 10 in all and must keep 10 unreserved
	// (https://docs.aws.amazon.com/lambda/latest/dg/configuration-concurrency.html), so that dev would not deploy there at all. Zero: none.
	Reserved float64
	// Environment beside what every function gets.
	Environment map[string]*string
}

// function is a deployed function with what others need of it.
// The Lambda is a field and not embedded: jsii takes a struct that embeds one for a subclass of it.
type function struct {
	lambda         awslambda.Function
	name           string
	timeoutSeconds float64
	logs           awslogs.LogGroup
}

// function makes a Lambda function with its own role, log group and output. No SnapStart (Go starts in tens of milliseconds and provided.al2023 has none), no
// X-Ray: HTTP APIs and stream mappings pass no trace on and the binary carries no instrumentation, so a trace would show what REPORT lines and
// metrics show already, and would ask for a grant on every resource.
func (b *builder) function(stack awscdk.Stack, props functionProps) *function {
	id := strings.TrimSuffix(schema.FunctionOutput(props.Name), "Name") // IndexerFunction
	logs := b.logGroup(stack, id+"Logs")
	role := awsiam.NewRole(stack, jsii.String(id+"Role"), &awsiam.RoleProps{
		AssumedBy:   awsiam.NewServicePrincipal(jsii.String("lambda.amazonaws.com"), nil),
		Description: jsii.String("heatsink: what function " + props.Name + " may do"),
	})
	built := awslambda.NewFunction(stack, jsii.String(id), &awslambda.FunctionProps{
		Description:  jsii.String("heatsink: " + props.Description),
		Runtime:      awslambda.Runtime_PROVIDED_AL2023(),
		Architecture: b.architecture(),
		Handler:      jsii.String("bootstrap"),
		Code:         awslambda.Code_FromAsset(jsii.String(filepath.Join(b.options.Dist, props.Name)), nil),
		MemorySize:   jsii.Number(props.MemoryMB),
		Timeout:      awscdk.Duration_Seconds(jsii.Number(props.TimeoutSeconds)),
		Role:         role,
		LogGroup:     logs,
		Environment:  b.environment(props),

		LoggingFormat:         awslambda.LoggingFormat_JSON,
		ApplicationLogLevelV2: awslambda.ApplicationLogLevel_INFO,
		SystemLogLevelV2:      awslambda.SystemLogLevel_INFO, // keeps the REPORT line: duration, memory, cold start

		ReservedConcurrentExecutions: b.reserved(props),
	})
	fixLogicalID(built.Node().DefaultChild(), id)
	role.AddToPolicy(allow([]string{"logs:CreateLogStream", "logs:PutLogEvents"}, logs.LogGroupArn()))
	output(stack, schema.FunctionOutput(props.Name), built.FunctionName())
	// The watch stack names the function; a function must be able to leave without a deploy of its own for that.
	awscdk.CrossStackReferences_Of(built).Produce(awscdk.ReferenceStrength_WEAK)
	exempt(built, exemption{
		rule:   "Serverless-LambdaDLQ",
		reason: "It is for asynchronous invocations, and nothing invokes it so: a caller waits, or a mapping keeps the record or message until it is done.",
	}, exemption{
		rule:   "Serverless-LambdaTracing",
		reason: "No trace reaches or leaves it (HTTP API, stream mapping, uninstrumented binary): X-Ray would bill a copy of the REPORT line and need a grant on *.",
	})
	return &function{lambda: built, name: props.Name, timeoutSeconds: props.TimeoutSeconds, logs: logs}
}

func (b *builder) environment(props functionProps) *map[string]*string {
	environment := map[string]*string{
		schema.EnvStage:            jsii.String(string(b.options.Stage)),
		schema.EnvMetricsNamespace: jsii.String(metricsNamespace),
	}
	maps.Copy(environment, props.Environment)
	return &environment
}

// architecture is arm64 on AWS, a fifth cheaper for the same work; the local cloud starts functions as processes of this machine.
func (b *builder) architecture() awslambda.Architecture {
	if b.options.Local && hostArchitecture == "amd64" {
		return awslambda.Architecture_X86_64()
	}
	return awslambda.Architecture_ARM_64()
}

func (b *builder) reserved(props functionProps) *float64 {
	if b.options.Stage != Prod || props.Reserved == 0 {
		return nil
	}
	return jsii.Number(props.Reserved)
}

// logGroup keeps a log for three months in prod, two weeks in dev.
func (b *builder) logGroup(stack awscdk.Stack, id string) awslogs.LogGroup {
	retention := awslogs.RetentionDays_TWO_WEEKS
	if b.options.Stage == Prod {
		retention = awslogs.RetentionDays_THREE_MONTHS
	}
	return awslogs.NewLogGroup(stack, jsii.String(id), &awslogs.LogGroupProps{Retention: retention, RemovalPolicy: b.keep()})
}
