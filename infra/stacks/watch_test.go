package stacks_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// alarmLines lists the alarms of a template, one line each:
// IndexLagPage [page]: AWS/Lambda IteratorAge{FunctionName=${IndexerFunction}} Maximum/60s > 3600000 in 1 of 1, missing notBreaching
func alarmLines(t template) []string {
	var lines []string
	for id, resource := range t.resources("AWS::CloudWatch::Alarm") {
		p, _ := resource["Properties"].(map[string]any)
		description, _ := p["AlarmDescription"].(string)
		severity, _, _ := strings.Cut(description, " ")
		operator := map[any]string{
			"GreaterThanThreshold": ">", "GreaterThanOrEqualToThreshold": ">=", "LessThanThreshold": "<",
		}[p["ComparisonOperator"]]
		statistic := p["Statistic"]
		if statistic == nil {
			statistic = p["ExtendedStatistic"]
		}
		actions := ""
		if !sendsTo(t, p["AlarmActions"]) || !sendsTo(t, p["OKActions"]) {
			actions = " WITHOUT ACTIONS"
		}
		lines = append(lines, fmt.Sprintf("%s %s: %v %v{%s} %v/%vs %s %s in %v of %v, missing %v%s", id, severity, p["Namespace"], p["MetricName"],
			dimensionText(p["Dimensions"]), statistic, p["Period"], operator, number(p["Threshold"]), p["DatapointsToAlarm"], p["EvaluationPeriods"],
			p["TreatMissingData"], actions))
	}
	slices.Sort(lines)
	return lines
}

func number(value any) string {
	encoded, _ := json.Marshal(value)
	return string(encoded)
}

func dimensionText(value any) string {
	all, _ := value.([]any)
	var parts []string
	for _, one := range all {
		dimension, _ := one.(map[string]any)
		parts = append(parts, fmt.Sprintf("%v=%v", dimension["Name"], dimension["Value"]))
	}
	slices.Sort(parts)
	return strings.Join(parts, ",")
}

// sendsTo reports whether actions are the topic and nothing else.
func sendsTo(t template, actions any) bool {
	for id := range t.resources("AWS::SNS::Topic") {
		return text(actions) == text(list{"${" + id + "}"})
	}
	return false
}

// wantedAlarms are all of them, for every function and the deployment's own tables.
func wantedAlarms(rule string) []string {
	var want []string
	add := func(format string, values ...any) { want = append(want, fmt.Sprintf(format, values...)) }

	for _, f := range []struct {
		name    string
		slowest int // ms
	}{{"Indexer", 48000}, {"Redrive", 720000}, {"Api", 23200}, {"Nickname", 23200}, {"Events", 23200}, {"Ingest", 720000}} {
		by := "{FunctionName=${" + f.name + "Function}}"
		add("%sErrors [page]: AWS/Lambda Errors%s Sum/60s >= 1 in 3 of 5, missing notBreaching", f.name, by)
		add("%sThrottles [page]: AWS/Lambda Throttles%s Sum/60s >= 1 in 3 of 5, missing notBreaching", f.name, by)
		add("%sSlow [ticket]: AWS/Lambda Duration%s p99/300s > %d in 2 of 3, missing notBreaching", f.name, by, f.slowest)
	}

	lag := "AWS/Lambda IteratorAge{FunctionName=${IndexerFunction}} Maximum/60s >"
	add("IndexLagWarn [warn]: %s 60000 in 5 of 5, missing notBreaching", lag)
	add("IndexLagPage [page]: %s 3600000 in 1 of 1, missing notBreaching", lag)
	add("IndexLagCritical [critical]: %s 43200000 in 1 of 1, missing notBreaching", lag)
	add("FailureDeliveryFailed [critical]: AWS/Lambda DestinationDeliveryFailures{FunctionName=${IndexerFunction}} Sum/60s >= 1 in 1 of 1, missing notBreaching")
	mapping := "{EventSourceMappingUUID=${UserStream}}"
	add("UserStreamDropped [critical]: AWS/Lambda DroppedEventCount%s Sum/60s >= 1 in 1 of 1, missing notBreaching", mapping)
	add("UserStreamGivenUp [page]: AWS/Lambda OnFailureDestinationDeliveredEventCount%s Sum/60s >= 1 in 1 of 1, missing notBreaching", mapping)
	add("UserStreamFailing [ticket]: AWS/Lambda FailedInvokeEventCount%s Sum/60s >= 1 in 10 of 10, missing notBreaching", mapping)
	add("UserStreamNotPolled [page]: AWS/Lambda PolledEventCount%s SampleCount/300s < 1 in 3 of 3, missing breaching", mapping)

	for table, index := range map[string]string{"UserManagedIndex": "managed", "UserTeamStatusIndex": "team-status"} {
		add("%sNotIndexed [warn]: Heatsink NotIndexed{Function=indexer,Index=%s} Sum/300s >= 1 in 1 of 1, missing notBreaching", table, index)
	}

	add("RecordsParked [page]: AWS/Events TriggeredRules{RuleName=${%s}} Sum/60s >= 1 in 1 of 1, missing notBreaching", rule)
	add("ParkedMessageFailed [ticket]: AWS/Events FailedInvocations{RuleName=${%s}} Sum/60s >= 1 in 1 of 1, missing notBreaching", rule)
	add("UploadsFailed [page]: AWS/SQS ApproximateNumberOfMessagesVisible{QueueName=${DEAD.QueueName}} Maximum/60s >= 1 in 1 of 1, missing notBreaching")
	add("UploadsLate [ticket]: AWS/SQS ApproximateAgeOfOldestMessage{QueueName=${QUEUE.QueueName}} Maximum/60s > 3600 in 5 of 5, missing notBreaching")

	for _, resource := range []struct{ name, dimensions string }{
		{"User", "TableName=${UserTable}"},
		{"UserManagedGSI", "GlobalSecondaryIndexName=managed,TableName=${UserTable}"},
		{"UserManagedIndex", "TableName=${UserManagedIndexTable}"},
		{"UserTeamStatusIndex", "TableName=${UserTeamStatusIndexTable}"},
		{"Claim", "TableName=${ClaimTable}"},
		{"Event", "TableName=${EventTable}"},
		{"EventRequest", "TableName=${EventRequestTable}"},
		{"EventPendingIndexGSI", "GlobalSecondaryIndexName=pending-index,TableName=${EventTable}"},
		{"EventFailedPendingIndexGSI", "GlobalSecondaryIndexName=failed-pending-index,TableName=${EventTable}"},
	} {
		line := func(reason, severity, metric, points string) {
			add("%sThrottled%s [%s]: AWS/DynamoDB %s{%s} Sum/60s >= 1 in %s, missing notBreaching", resource.name, reason, severity, metric, resource.dimensions, points)
		}
		line("KeyRange", "ticket", "WriteKeyRangeThroughputThrottleEvents", "3 of 5")
		line("ProvisionedThroughput", "page", "WriteProvisionedThroughputThrottleEvents", "1 of 1")
		line("MaxOnDemandThroughput", "page", "WriteMaxOnDemandThroughputThrottleEvents", "1 of 1")
		if !strings.HasSuffix(resource.name, "GSI") { // AWS documents it for tables alone
			line("AccountLimit", "page", "WriteAccountLimitThrottleEvents", "1 of 1")
		}
	}

	for table, operations := range map[string][]string{
		"User":                {"GetItem", "Query", "PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems"},
		"UserManagedIndex":    {"PutItem", "Query"},
		"UserTeamStatusIndex": {"PutItem", "Query"},
		"Claim":               {"GetItem", "TransactWriteItems"},
		"EventRequest":        {"GetItem", "PutItem", "UpdateItem"},
		"Event":               {"GetItem", "BatchGetItem", "Query", "PutItem", "UpdateItem", "BatchWriteItem", "TransactWriteItems"},
	} {
		for _, operation := range operations {
			add("%sSystemErrors%s [page]: AWS/DynamoDB SystemErrors{Operation=%s,TableName=${%sTable}} Sum/60s > 5 in 1 of 1, missing notBreaching",
				table, operation, operation, table)
		}
	}
	add("EventQuerySlow [ticket]: AWS/DynamoDB SuccessfulRequestLatency{Operation=Query,TableName=${EventTable}} p99/300s > 50 in 3 of 3, missing notBreaching")
	for name, index := range map[string]string{"EventPendingIndexGSI": "pending-index", "EventFailedPendingIndexGSI": "failed-pending-index"} {
		add("%sReadUnits [ticket]: AWS/DynamoDB ConsumedReadCapacityUnits{GlobalSecondaryIndexName=%s,TableName=${EventTable}} Sum/300s > 1200000 in 3 of 3, missing notBreaching",
			name, index)
	}

	api := "{ApiId=${API},Stage=$default}"
	add("HttpApiServerErrors [page]: AWS/ApiGateway 5xx%s Sum/60s >= 1 in 3 of 5, missing notBreaching", api)
	add("HttpApiSlow [ticket]: AWS/ApiGateway Latency%s p99/300s > 3000 in 3 of 3, missing notBreaching", api)
	slices.Sort(want)
	return want
}

// madeUp maps the logical ids that CDK makes up to our names for them.
func madeUp(a *assembly) *strings.Replacer {
	var pairs []string
	for id := range a.templates[apiStack].resources("AWS::ApiGatewayV2::Api") {
		pairs = append(pairs, "${"+id+"}", "${API}")
	}
	for id, queue := range a.templates[ingestStack].resources("AWS::SQS::Queue") {
		name := "${DEAD."
		if _, source := at(queue, "Properties.RedrivePolicy"); source {
			name = "${QUEUE."
		}
		pairs = append(pairs, "${"+id+".", name)
	}
	return strings.NewReplacer(pairs...)
}

// Every alarm, with the metric's exact name and dimensions, its threshold, what missing data means, and where it goes. Each is missed when it goes, when its
// actions go, and when one of its dimensions goes.
func TestAlarms(t *testing.T) {
	t.Parallel()
	for _, v := range []*variant{dev, prod, local} {
		a := v.get(t)
		names := madeUp(a)
		clean := a.stack(t, watchStack)
		spoil := map[string]func(template){}
		for id := range clean.resources("AWS::CloudWatch::Alarm") {
			for _, path := range []string{
				"", ".Properties.AlarmActions", ".Properties.OKActions", ".Properties.TreatMissingData", ".Properties.Dimensions.0", ".Properties.Threshold",
				".Properties.AlarmDescription", ".Properties.MetricName", ".Properties.DatapointsToAlarm",
			} {
				spoil[id+path+" removed"] = func(t template) { remove(t, "Resources."+id+path) }
			}
		}
		claim{
			variant: v, stack: watchStack, name: "alarms", spoil: spoil,
			check: func(t template) error {
				var got []string
				for _, line := range alarmLines(t) {
					got = append(got, names.Replace(line))
				}
				if diff := cmp.Diff(wantedAlarms("Parked"), got); diff != "" {
					return fmt.Errorf("(-want +got):\n%s", diff)
				}
				return nil
			},
		}.test(t)
	}
}

// documented lists, for each metric that we use, the sets of dimensions that AWS publishes it with. Any other set is a metric without data: an alarm that is
// silent for ever.
// https://docs.aws.amazon.com/lambda/latest/dg/monitoring-metrics-types.html
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/metrics-dimensions.html
// https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-metrics.html
// https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-monitoring.html
var documented = map[string][]string{
	"AWS/Lambda IteratorAge": {"FunctionName"}, "AWS/Lambda Errors": {"FunctionName"}, "AWS/Lambda Throttles": {"FunctionName"},
	"AWS/Lambda Duration": {"FunctionName"}, "AWS/Lambda Invocations": {"FunctionName"}, "AWS/Lambda DestinationDeliveryFailures": {"FunctionName"},
	"AWS/Lambda PolledEventCount": {"EventSourceMappingUUID"}, "AWS/Lambda InvokedEventCount": {"EventSourceMappingUUID"},
	"AWS/Lambda FailedInvokeEventCount": {"EventSourceMappingUUID"}, "AWS/Lambda DroppedEventCount": {"EventSourceMappingUUID"},
	"AWS/Lambda OnFailureDestinationDeliveredEventCount": {"EventSourceMappingUUID"},

	"AWS/DynamoDB WriteKeyRangeThroughputThrottleEvents":    {"TableName", "GlobalSecondaryIndexName,TableName"},
	"AWS/DynamoDB WriteProvisionedThroughputThrottleEvents": {"TableName", "GlobalSecondaryIndexName,TableName"},
	"AWS/DynamoDB WriteMaxOnDemandThroughputThrottleEvents": {"TableName", "GlobalSecondaryIndexName,TableName"},
	"AWS/DynamoDB WriteAccountLimitThrottleEvents":          {"TableName"},
	"AWS/DynamoDB ReadKeyRangeThroughputThrottleEvents":     {"TableName", "GlobalSecondaryIndexName,TableName"},
	"AWS/DynamoDB ReadProvisionedThroughputThrottleEvents":  {"TableName", "GlobalSecondaryIndexName,TableName"},
	"AWS/DynamoDB ReadMaxOnDemandThroughputThrottleEvents":  {"TableName", "GlobalSecondaryIndexName,TableName"},
	"AWS/DynamoDB ReadAccountLimitThrottleEvents":           {"TableName"},
	"AWS/DynamoDB SystemErrors":                             {"Operation,TableName"},
	"AWS/DynamoDB SuccessfulRequestLatency":                 {"Operation,TableName"},
	"AWS/DynamoDB ConsumedReadCapacityUnits":                {"TableName", "GlobalSecondaryIndexName,TableName"},
	"AWS/DynamoDB ConsumedWriteCapacityUnits":               {"TableName", "GlobalSecondaryIndexName,TableName"},
	"AWS/DynamoDB ConditionalCheckFailedRequests":           {"TableName"},
	"AWS/DynamoDB TransactionConflict":                      {"TableName"},

	"AWS/ApiGateway 5xx": {"ApiId,Stage"}, "AWS/ApiGateway 4xx": {"ApiId,Stage"}, "AWS/ApiGateway Count": {"ApiId,Stage"},
	"AWS/ApiGateway Latency": {"ApiId,Stage"}, "AWS/ApiGateway IntegrationLatency": {"ApiId,Stage"},

	"AWS/Events TriggeredRules": {"RuleName"}, "AWS/Events FailedInvocations": {"RuleName"},
	"AWS/SQS ApproximateNumberOfMessagesVisible": {"QueueName"}, "AWS/SQS ApproximateAgeOfOldestMessage": {"QueueName"},

	// Our own: what the functions write.
	"Heatsink RowsEvaluated": {"Function,Index"}, "Heatsink ItemsReturned": {"Function,Index"}, "Heatsink ReadUnits": {"Function,Index"},
	"Heatsink NotIndexed": {"Function,Index"},
}

func TestEveryMetricExistsWithItsDimensions(t *testing.T) {
	t.Parallel()
	known := func(metric string, dimensions []string) bool {
		slices.Sort(dimensions)
		return slices.Contains(documented[metric], strings.Join(dimensions, ","))
	}
	if known("AWS/DynamoDB SystemErrors", []string{"TableName"}) || known("AWS/DynamoDB ThrottledRequests", []string{"TableName"}) {
		t.Fatal("the check takes the metrics that the story's alarms were silent on")
	}
	for _, v := range variants {
		stack := v.get(t).stack(t, watchStack)
		for id, alarm := range stack.resources("AWS::CloudWatch::Alarm") {
			p := alarm["Properties"].(map[string]any)
			var names []string
			for _, one := range p["Dimensions"].([]any) {
				names = append(names, one.(map[string]any)["Name"].(string))
			}
			if metric := fmt.Sprintf("%v %v", p["Namespace"], p["MetricName"]); !known(metric, names) {
				t.Errorf("%s: alarm %s is on %s by %v", v.name, id, metric, names)
			}
		}
		for _, widget := range dashboard(t, stack) {
			for _, line := range widget.metrics {
				if line.name == "" {
					continue // an expression
				}
				if metric := line.namespace + " " + line.name; !known(metric, slices.Sorted(maps.Keys(line.dimensions))) {
					t.Errorf("%s: widget %q shows %s by %v", v.name, widget.title, metric, line.dimensions)
				}
			}
		}
	}
}

type widget struct {
	title   string
	metrics []line
}

type line struct {
	namespace, name, expression string
	dimensions                  map[string]string
}

// dashboard reads the body, a JSON text with references in it.
func dashboard(t *testing.T, stack template) []widget {
	t.Helper()
	var widgets []widget
	for _, resource := range stack.resources("AWS::CloudWatch::Dashboard") {
		body, _ := at(resource, "Properties.DashboardBody")
		var parsed struct {
			Widgets []struct {
				Properties struct {
					Title   string
					Metrics [][]any
				}
			}
		}
		if err := json.Unmarshal([]byte(body.(string)), &parsed); err != nil {
			t.Fatal(err)
		}
		for _, w := range parsed.Widgets {
			one := widget{title: w.Properties.Title}
			for _, row := range w.Properties.Metrics {
				l := line{dimensions: map[string]string{}}
				var words []string
				for _, cell := range row {
					switch cell := cell.(type) {
					case string:
						words = append(words, cell)
					case map[string]any:
						l.expression, _ = cell["expression"].(string)
					}
				}
				if len(words) >= 2 {
					l.namespace, l.name = words[0], words[1]
					for n := 2; n+1 < len(words); n += 2 {
						l.dimensions[words[n]] = words[n+1]
					}
				}
				one.metrics = append(one.metrics, l)
			}
			widgets = append(widgets, one)
		}
	}
	return widgets
}

// What an operator looks for, by the text that must stand in some line of the widget.
func TestDashboardShowsWhatIsAskedFor(t *testing.T) {
	t.Parallel()
	wanted := map[string][]string{
		"Index tables behind, ms":            {"IteratorAge"},
		"Stream records":                     {"PolledEventCount", "InvokedEventCount", "FailedInvokeEventCount", "DroppedEventCount", "OnFailureDestinationDeliveredEventCount"},
		"Indexer":                            {"Invocations", "Errors", "Throttles", "Duration"},
		"Index writes":                       {`MetricName="Upserts"`, `MetricName="Tombstones"`, `MetricName="StaleSkips"`, `MetricName="KeyMoves"`},
		"Left out":                           {`MetricName="NotIndexed"`, `MetricName="ReservedDropped"`},
		"Batches":                            {`MetricName="BatchRecords"`, `MetricName="FailedBatches"`, `MetricName="Parked"`, `MetricName="Throttled"`},
		"Throttled writes by reason: tables": {"WriteKeyRangeThroughputThrottleEvents", "WriteMaxOnDemandThroughputThrottleEvents", "WriteProvisionedThroughputThrottleEvents", "WriteAccountLimitThrottleEvents"},
		"Throttled writes by reason: GSIs":   {"WriteKeyRangeThroughputThrottleEvents", "WriteMaxOnDemandThroughputThrottleEvents", "WriteProvisionedThroughputThrottleEvents"},
		"Throttled reads by reason":          {"ReadKeyRangeThroughputThrottleEvents"},
		"Read amplification: RowsEvaluated / ItemsReturned": {"RowsEvaluated", "ItemsReturned", " / "},
		"Read units of index reads":                         {"ReadUnits"},
		"Items answered":                                    {"ItemsReturned"},
		"API latency, ms":                                   {"Latency", "IntegrationLatency"},
		"API answers":                                       {"Count", "4xx", "5xx"},
		"API functions":                                     {"Duration", "Errors"},
		"Events: capacity units":                            {"ConsumedWriteCapacityUnits", "ConsumedReadCapacityUnits"},
		"Events: latency p99, ms":                           {"SuccessfulRequestLatency"},
		"Accounts: refused claims and conflicts":            {"ConditionalCheckFailedRequests", "TransactionConflict"},
	}
	shown := map[string]string{}
	for _, w := range dashboard(t, dev.get(t).stack(t, watchStack)) {
		shown[w.title] = fmt.Sprint(w.metrics)
	}
	for title, parts := range wanted {
		for _, part := range parts {
			if !strings.Contains(shown[title], part) {
				t.Errorf("widget %q does not show %s: %s", title, part, shown[title])
			}
		}
	}
	if len(shown) != len(wanted) {
		t.Errorf("%d widgets, %d described here", len(shown), len(wanted))
	}
}

func TestEveryParkedRecordIsTold(t *testing.T) {
	t.Parallel()
	says(prod, watchStack, "Parked", "Properties.EventPattern", object{
		"source": list{"aws.s3"}, "detail-type": list{"Object Created"}, "detail": object{"bucket": object{"name": list{"${FailureBucket}"}}},
	}).test(t)
	for id := range prod.get(t).stack(t, watchStack).resources("AWS::SNS::Topic") {
		says(prod, watchStack, "Parked", "Properties.Targets.0.Arn", "${"+id+"}").test(t)
	}
}

// CloudWatch and EventBridge can publish only with a key of ours: AWS's own key for SNS lets nobody else use it.
func TestTheTopicIsEncryptedAndReachableForAlarms(t *testing.T) {
	t.Parallel()
	stack := prod.get(t).stack(t, watchStack)
	var topic, key, policy string
	for id := range stack.resources("AWS::SNS::Topic") {
		topic = id
	}
	for id := range stack.resources("AWS::KMS::Key") {
		key = id
	}
	for id := range stack.resources("AWS::SNS::TopicPolicy") {
		policy = id
	}
	ownAccount := object{"StringEquals": object{"aws:SourceAccount": "${AWS::AccountId}"}}
	for _, c := range []claim{
		says(prod, watchStack, topic, "Properties.KmsMasterKeyId", "${"+key+".Arn}"),
		says(prod, watchStack, key, "Properties.EnableKeyRotation", true),
		outputs(prod, watchStack, "AlarmTopicArn", "${"+topic+"}"),
		says(prod, watchStack, policy, "Properties.PolicyDocument.Statement", list{
			object{
				"Sid": "AllowPublishThroughSSLOnly", "Effect": "Deny", "Action": "sns:Publish", "Principal": "*", "Resource": "${" + topic + "}",
				"Condition": object{"Bool": object{"aws:SecureTransport": "false"}},
			},
			object{
				"Sid": "1", "Effect": "Allow", "Action": "sns:Publish", "Principal": object{"Service": "cloudwatch.amazonaws.com"}, "Resource": "${" + topic + "}",
				"Condition": ownAccount,
			},
			object{
				"Sid": "2", "Effect": "Allow", "Action": "sns:Publish", "Principal": object{"Service": "events.amazonaws.com"}, "Resource": "${" + topic + "}",
			},
		}),
		says(prod, watchStack, key, "Properties.KeyPolicy.Statement.1", object{
			"Effect": "Allow", "Action": list{"kms:Decrypt", "kms:GenerateDataKey"}, "Principal": object{"Service": "cloudwatch.amazonaws.com"}, "Resource": "*",
			"Condition": ownAccount,
		}),
		says(prod, watchStack, key, "Properties.KeyPolicy.Statement.2", object{
			"Effect": "Allow", "Action": list{"kms:Decrypt", "kms:GenerateDataKey"}, "Principal": object{"Service": "events.amazonaws.com"}, "Resource": "*",
		}),
	} {
		c.test(t)
	}
}

// A catalog with two streams has a set of alarms for each.
func TestEveryStreamAndTableOfACatalogIsWatched(t *testing.T) {
	t.Parallel()
	alarms := other.get(t).stack(t, watchStack).resources("AWS::CloudWatch::Alarm")
	for _, id := range []string{
		"UserStreamDropped", "OrderStreamDropped", "OrderStreamNotPolled", "OrderThrottledKeyRange", "OrderOrdersIndexThrottledKeyRange",
		"UserByTeamGSIThrottledKeyRange", "UserByTeamIndexThrottledKeyRange", "UserByPhotoGSIThrottledMaxOnDemandThroughput", "OrderOrdersIndexSystemErrorsPutItem",
	} {
		if alarms[id] == nil {
			t.Errorf("no alarm %s among %s", id, strings.Join(slices.Sorted(maps.Keys(alarms)), ", "))
		}
	}
}
