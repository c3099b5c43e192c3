package stacks

import (
	"cmp"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatchactions"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/jsii-runtime-go"

	"github.com/heatsink-dev/heatsink/pkg/schema"
)

// WatchStack tells when something is wrong, and shows what is going on.
type WatchStack struct {
	Stack awscdk.Stack
	Topic awssns.Topic

	b      *builder
	d      *Deployment
	action awscloudwatchactions.SnsAction
}

func newWatchStack(b *builder, d *Deployment) *WatchStack {
	w := &WatchStack{Stack: b.stack(schema.WatchStack, "alarms, their topic and the dashboard", false), b: b, d: d}
	w.addTopic()
	w.watchParked()
	w.watchFunctions()
	w.watchStreams()
	w.watchUploads()
	w.watchTables()
	w.watchAPI()
	w.addDashboard()
	return w
}

// addTopic makes the topic that alarms go to; subscribing is the team's. Its key is our own: with AWS's key for SNS, whose policy cannot be changed,
// CloudWatch and EventBridge could not publish, and every alarm would be lost without a word
// (https://docs.aws.amazon.com/sns/latest/dg/sns-key-management.html).
func (w *WatchStack) addTopic() {
	key := awskms.NewKey(w.Stack, jsii.String("AlarmKey"), &awskms.KeyProps{
		Description: jsii.String("heatsink: the topic of alarms"), EnableKeyRotation: jsii.Bool(true), RemovalPolicy: awscdk.RemovalPolicy_DESTROY,
	})
	w.Topic = awssns.NewTopic(w.Stack, jsii.String("Alarms"), &awssns.TopicProps{
		DisplayName: jsii.String("heatsink " + string(w.b.options.Stage)), MasterKey: key, EnforceSSL: jsii.Bool(true),
	})
	cloudWatch, eventBridge := principal("cloudwatch.amazonaws.com"), principal("events.amazonaws.com")
	self := jsii.String("*") // in a key's policy that is the key itself
	key.AddToResourcePolicy(w.ownAlarms(to(cloudWatch, allow(useKey, self))), nil)
	w.Topic.AddToResourcePolicy(w.ownAlarms(to(cloudWatch, allow([]string{"sns:Publish"}, w.Topic.TopicArn()))))
	// Without a condition: EventBridge sends no aws:SourceAccount, and would be refused with one
	// (https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-troubleshooting.html).
	key.AddToResourcePolicy(to(eventBridge, allow(useKey, self)), nil)
	w.Topic.AddToResourcePolicy(to(eventBridge, allow([]string{"sns:Publish"}, w.Topic.TopicArn())))
	output(w.Stack, schema.OutputAlarmTopic, w.Topic.TopicArn())
	w.action = awscloudwatchactions.NewSnsAction(w.Topic)
}

// useKey is what publishing to an encrypted topic takes.
var useKey = []string{"kms:Decrypt", "kms:GenerateDataKey"}

func principal(service string) awsiam.IPrincipal {
	return awsiam.NewServicePrincipal(jsii.String(service), nil)
}

// to makes a statement one of a resource's own policy.
func to(who awsiam.IPrincipal, statement awsiam.PolicyStatement) awsiam.PolicyStatement {
	statement.AddPrincipals(who)
	return statement
}

// ownAlarms narrows a statement to alarms of this account.
func (w *WatchStack) ownAlarms(statement awsiam.PolicyStatement) awsiam.PolicyStatement {
	statement.AddCondition(jsii.String("StringEquals"), map[string]any{"aws:SourceAccount": w.Stack.Account()})
	return statement
}

// watchParked tells of every object in the failure bucket: a message that names it, by EventBridge, and an alarm on the rule's own metric, for a message
// can be overlooked and an alarm has a state.
func (w *WatchStack) watchParked() {
	// The L1, for the L2 target would grant EventBridge kms:GenerateDataKey*.
	rule := awsevents.NewCfnRule(w.Stack, jsii.String("Parked"), &awsevents.CfnRuleProps{
		Description: jsii.String("heatsink: a change record could not be written and waits in the failure bucket"),
		EventPattern: map[string]any{
			"source": []string{"aws.s3"}, "detail-type": []string{"Object Created"},
			"detail": map[string]any{"bucket": map[string]any{"name": []*string{w.d.Data.Failures.BucketName()}}},
		},
		Targets: []any{&awsevents.CfnRule_TargetProperty{Id: jsii.String("alarms"), Arn: w.Topic.TopicArn()}},
	})
	exempt(rule, exemption{
		rule:   "Serverless-EventBusDLQ",
		reason: "The record itself is safe in the bucket, and the alarm on the rule's metric fires also when the message does not arrive.",
	})
	byRule := map[string]*string{"RuleName": rule.Ref()}
	w.alarm(alarm{
		id: "RecordsParked", severity: page,
		text:   "Change records could not be written to an index table. Look at the objects' reason, mend it, then: heatsink redrive.",
		metric: metric("AWS/Events", "TriggeredRules", byRule, "Sum", 60), atLeast: 1, of: 1,
	})
	w.alarm(alarm{
		id: "ParkedMessageFailed", severity: ticket,
		text:   "EventBridge could not tell the topic of a parked record.",
		metric: metric("AWS/Events", "FailedInvocations", byRule, "Sum", 60), atLeast: 1, of: 1,
	})
}

// severity says who should act, and when. It leads the alarm's description.
type severity string

const (
	warn     severity = "warn"     // look at it today
	ticket   severity = "ticket"   // mend it this week
	page     severity = "page"     // act now
	critical severity = "critical" // data is about to be lost
)

// alarm is one alarm: it fires when the metric is over (or at least) a threshold in all, or in some, of the last periods.
type alarm struct {
	id       string
	severity severity
	text     string // what is wrong, and what to do
	metric   awscloudwatch.IMetric
	// Exactly one of them is set.
	over, atLeast, below float64
	// of is the number of periods looked at; points how many of them must breach, all if zero.
	of, points float64
	// missingIsBad treats a period without data as breaching. Else it is fine: most of these metrics are silent when all is well.
	missingIsBad bool
}

func (w *WatchStack) alarm(a alarm) {
	props := &awscloudwatch.AlarmProps{
		AlarmDescription:  jsii.String("[" + string(a.severity) + "] heatsink " + string(w.b.options.Stage) + ": " + a.text),
		Metric:            a.metric,
		EvaluationPeriods: jsii.Number(a.of), DatapointsToAlarm: jsii.Number(cmp.Or(a.points, a.of)),
		TreatMissingData: awscloudwatch.TreatMissingData_NOT_BREACHING,
	}
	if a.missingIsBad {
		props.TreatMissingData = awscloudwatch.TreatMissingData_BREACHING
	}
	switch {
	case a.over != 0:
		props.Threshold, props.ComparisonOperator = jsii.Number(a.over), awscloudwatch.ComparisonOperator_GREATER_THAN_THRESHOLD
	case a.below != 0:
		props.Threshold, props.ComparisonOperator = jsii.Number(a.below), awscloudwatch.ComparisonOperator_LESS_THAN_THRESHOLD
	default:
		props.Threshold, props.ComparisonOperator = jsii.Number(a.atLeast), awscloudwatch.ComparisonOperator_GREATER_THAN_OR_EQUAL_TO_THRESHOLD
	}
	built := awscloudwatch.NewAlarm(w.Stack, jsii.String(a.id), props)
	fixLogicalID(built.Node().DefaultChild(), a.id)
	built.AddAlarmAction(w.action)
	built.AddOkAction(w.action)
}

// metric names one metric exactly: with a dimension too few, CloudWatch takes it for another one, which has no data, and an alarm on it is silent for ever.
func metric(namespace, name string, dimensions map[string]*string, statistic string, seconds float64) awscloudwatch.Metric {
	return awscloudwatch.NewMetric(&awscloudwatch.MetricProps{
		Namespace: jsii.String(namespace), MetricName: jsii.String(name), DimensionsMap: &dimensions,
		Statistic: jsii.String(statistic), Period: awscdk.Duration_Seconds(jsii.Number(seconds)),
	})
}
