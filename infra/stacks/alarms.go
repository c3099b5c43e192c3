package stacks

import (
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/jsii-runtime-go"

	"github.com/heatsink-dev/heatsink/pkg/catalog"
	"github.com/heatsink-dev/heatsink/pkg/edge/routes"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

// functions lists every deployed function, in a fixed order.
func (w *WatchStack) functions() []*function {
	all := []*function{w.d.Sync.Indexer}
	if w.d.Sync.Redrive != nil {
		all = append(all, w.d.Sync.Redrive)
	}
	if w.d.Ingest != nil {
		all = append(all, w.d.Ingest.Ingest)
	}
	for _, name := range slices.Sorted(maps.Keys(w.d.API.Functions)) {
		all = append(all, w.d.API.Functions[name])
	}
	return all
}

func byFunction(f *function) map[string]*string {
	return map[string]*string{"FunctionName": f.lambda.FunctionName()}
}

func (w *WatchStack) watchFunctions() {
	for _, f := range w.functions() {
		id := schema.FunctionOutput(f.name)[:len(schema.FunctionOutput(f.name))-len("FunctionName")]
		w.alarm(alarm{
			id: id + "Errors", severity: page, text: "Function " + f.name + " fails: see its log.",
			metric: metric("AWS/Lambda", "Errors", byFunction(f), "Sum", 60), atLeast: 1, of: 5, points: 3,
		})
		w.alarm(alarm{
			id: id + "Throttles", severity: page, text: "Function " + f.name + " has no concurrency left: raise its reservation, or the account's limit.",
			metric: metric("AWS/Lambda", "Throttles", byFunction(f), "Sum", 60), atLeast: 1, of: 5, points: 3,
		})
		w.alarm(alarm{
			id: id + "Slow", severity: ticket, text: "Function " + f.name + " comes near its timeout: one call in a hundred takes over 80 % of it.",
			metric: metric("AWS/Lambda", "Duration", byFunction(f), "p99", 300), over: 0.8 * 1000 * f.timeoutSeconds, of: 3, points: 2,
		})
	}
}

// watchStreams watches how far the index tables are behind. IteratorAge belongs to the function, the counts to each mapping.
func (w *WatchStack) watchStreams() {
	age := func() awscloudwatch.Metric {
		return metric("AWS/Lambda", "IteratorAge", byFunction(w.d.Sync.Indexer), "Maximum", 60)
	}
	const behind = "Index tables are behind their base tables by more than "
	w.alarm(alarm{
		id: "IndexLagWarn", severity: warn, metric: age(), over: 60_000, of: 5,
		text: behind + "a minute, for five: throttles of an index table or errors of the indexer say why.",
	})
	w.alarm(alarm{
		id: "IndexLagPage", severity: page, metric: age(), over: 3_600_000, of: 1,
		text: behind + "an hour (the alarm IndexLagWarn, gone on). Readers miss an hour of changes.",
	})
	w.alarm(alarm{
		id: "IndexLagCritical", severity: critical, metric: age(), over: 43_200_000, of: 1,
		text: behind + "twelve hours, half of what a stream keeps: after 23 h records go to the failure bucket unread, after 24 h they are gone.",
	})
	w.alarm(alarm{
		id: "FailureDeliveryFailed", severity: critical, atLeast: 1, of: 1,
		text:   "Lambda gave records up and could not put them into the failure bucket: they are lost. Compare base and index table.",
		metric: metric("AWS/Lambda", "DestinationDeliveryFailures", byFunction(w.d.Sync.Indexer), "Sum", 60),
	})
	for _, table := range sourcesOf(w.b.catalog) {
		for _, index := range table.StreamIndexes() {
			w.alarm(alarm{
				id: index.TableName() + "NotIndexed", severity: warn, atLeast: 1, of: 1,
				text: "Items of " + table.Name + " are left out of index " + index.Name + ": a key attribute has the wrong type, is empty, or does not fit.",
				metric: metric(metricsNamespace, "NotIndexed",
					map[string]*string{"Function": jsii.String(routes.Indexer), "Index": jsii.String(index.Name)}, "Sum", 300),
			})
		}
	}
	for _, table := range slices.Sorted(maps.Keys(w.d.Sync.Mappings)) {
		w.watchMapping(table, map[string]*string{"EventSourceMappingUUID": w.d.Sync.Mappings[table].EventSourceMappingId()})
	}
}

func (w *WatchStack) watchMapping(table string, mapping map[string]*string) {
	count := func(name, statistic string, seconds float64) awscloudwatch.Metric {
		return metric("AWS/Lambda", name, mapping, statistic, seconds)
	}
	w.alarm(alarm{
		id: table + "StreamDropped", severity: critical, metric: count("DroppedEventCount", "Sum", 60), atLeast: 1, of: 1,
		text: "Change records of " + table + " were dropped without a trace. Compare base and index table.",
	})
	w.alarm(alarm{
		id: table + "StreamGivenUp", severity: page, metric: count("OnFailureDestinationDeliveredEventCount", "Sum", 60), atLeast: 1, of: 1,
		text: "Change records of " + table + " were given up after 23 h and are in the failure bucket: mend the reason, then heatsink redrive.",
	})
	w.alarm(alarm{
		id: table + "StreamFailing", severity: ticket, metric: count("FailedInvokeEventCount", "Sum", 60), atLeast: 1, of: 10,
		text: "Change records of " + table + " have been given back for ten minutes: the indexer's summary line says which class of error.",
	})
	w.alarm(alarm{
		id: table + "StreamNotPolled", severity: page, metric: count("PolledEventCount", "SampleCount", 300), below: 1, of: 3, missingIsBad: true,
		text: "Nobody reads the stream of " + table + ": is the mapping disabled? Each poll counts here, empty ones too.",
	})
}

// watchUploads watches the way of an upload into the event buffer.
func (w *WatchStack) watchUploads() {
	if w.d.Ingest == nil {
		return
	}
	of := func(queue awssqs.Queue, name string) awscloudwatch.Metric {
		return metric("AWS/SQS", name, map[string]*string{"QueueName": queue.QueueName()}, "Maximum", 60)
	}
	w.alarm(alarm{
		id: "UploadsFailed", severity: page, metric: of(w.d.Ingest.Dead, "ApproximateNumberOfMessagesVisible"), atLeast: 1, of: 1,
		text: "An upload failed five times: its message is in the dead-letter queue, its object in the bucket for a week.",
	})
	w.alarm(alarm{
		id: "UploadsLate", severity: ticket, metric: of(w.d.Ingest.Queue, "ApproximateAgeOfOldestMessage"), over: 3600, of: 5,
		text: "An upload has waited for more than an hour.",
	})
}

// throttleReasons of writes. KeyRange is a hot key, and the only one that today's settings can raise beside the account's limit; the other two come with a
// maximum or provisioned capacity that somebody set in the console
// (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/metrics-dimensions.html).
var throttleReasons = []struct {
	name      string
	severity  severity
	tableOnly bool // has no GlobalSecondaryIndexName
	points    float64
	of        float64
	text      string
}{
	{"KeyRange", ticket, false, 3, 5, "one key takes more writes than a partition serves"},
	{"ProvisionedThroughput", page, false, 1, 1, "its provisioned capacity is used up"},
	{"MaxOnDemandThroughput", page, false, 1, 1, "its maximum on-demand throughput is reached"},
	{"AccountLimit", page, true, 1, 1, "the account's limit per table is reached: ask AWS to raise it"},
}

// throttleMetric is the metric of one reason: WriteKeyRangeThroughputThrottleEvents, but WriteAccountLimitThrottleEvents.
func throttleMetric(operation, reason string) string {
	switch reason {
	case "KeyRange":
		reason = "KeyRangeThroughput"
	}
	return operation + reason + "ThrottleEvents"
}

// watched is a table, an index table or a GSI, with the dimensions of its metrics.
type watched struct {
	id, title  string
	kind       string // table, index table or GSI
	dimensions map[string]*string
}

func (t watched) isGSI() bool { return t.kind == "GSI" }

// watchedTables lists every table, index table and GSI.
func (w *WatchStack) watchedTables() []watched {
	var list []watched
	for _, table := range w.b.catalog.Tables() {
		name := w.d.Data.Tables[table.Name].TableName()
		list = append(list, watched{
			id: table.Name, kind: "table", title: "table " + table.Name, dimensions: map[string]*string{"TableName": name},
		})
		for _, index := range table.Indexes {
			if index.Build.Has(schema.GSI) {
				list = append(list, watched{
					id: gsiID(index), kind: "GSI", title: "GSI " + index.Name + " of " + table.Name,
					dimensions: map[string]*string{"TableName": name, "GlobalSecondaryIndexName": jsii.String(index.Name)},
				})
			}
			if index.Build.Has(schema.Table) {
				list = append(list, watched{
					id: index.TableName(), kind: "index table", title: "index table " + index.TableName(),
					dimensions: map[string]*string{"TableName": w.d.Data.Tables[index.TableName()].TableName()},
				})
			}
		}
	}
	return list
}

// gsiID tells the GSI of an index apart from its index table: UserManagedGSI and UserManagedIndex.
func gsiID(index *schema.Index) string { return strings.TrimSuffix(index.TableName(), "Index") + "GSI" }

func (w *WatchStack) watchTables() {
	for _, t := range w.watchedTables() {
		for _, reason := range throttleReasons {
			if t.isGSI() && reason.tableOnly {
				continue
			}
			text := "Writes to " + t.title + " are throttled: " + reason.text + "."
			if t.isGSI() {
				text += " A throttled GSI refuses writes of its whole table."
			}
			w.alarm(alarm{
				id: t.id + "Throttled" + reason.name, severity: reason.severity, text: text,
				metric:  metric("AWS/DynamoDB", throttleMetric("Write", reason.name), t.dimensions, "Sum", 60),
				atLeast: 1, of: reason.of, points: reason.points,
			})
		}
		if !t.isGSI() {
			w.watchSystemErrors(t)
		}
	}
	w.watchEventReads()
}

// operationsOf lists what heatsink calls on a table. SystemErrors, like latency, exists per table and operation and in no other form.
func operationsOf(t watched) []string {
	switch {
	case t.kind == "index table":
		return []string{"PutItem", "Query"}
	case t.id == catalog.ClaimTable:
		return []string{"GetItem", "TransactWriteItems"}
	case strings.HasPrefix(t.id, catalog.EventTable):
		return []string{"GetItem", "BatchGetItem", "Query", "PutItem", "UpdateItem", "BatchWriteItem", "TransactWriteItems"}
	default:
		return []string{"GetItem", "Query", "PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems"}
	}
}

// watchSystemErrors makes one alarm for each operation; one alarm on their sum would cost the same, and tell less.
func (w *WatchStack) watchSystemErrors(t watched) {
	for _, operation := range operationsOf(t) {
		dimensions := maps.Clone(t.dimensions)
		dimensions["Operation"] = jsii.String(operation)
		w.alarm(alarm{
			id: t.id + "SystemErrors" + operation, severity: page, over: 5, of: 1,
			text:   "DynamoDB itself fails " + operation + " on " + t.title + ", more than five times in a minute: see the AWS Health Dashboard. heatsink retries.",
			metric: metric("AWS/DynamoDB", "SystemErrors", dimensions, "Sum", 60),
		})
	}
}

// watchEventReads watches what the event buffer's reads cost and how long they take: 20 shards are asked at once, so the slowest answers last.
func (w *WatchStack) watchEventReads() {
	table, known := w.b.catalog.Table(catalog.EventTable)
	if !known {
		return
	}
	name := w.d.Data.Tables[table.Name].TableName()
	w.alarm(alarm{
		id: "EventQuerySlow", severity: ticket, over: 50, of: 3,
		text:   "Queries of the event table take over 50 ms, one in a hundred: pages of events are late.",
		metric: metric("AWS/DynamoDB", "SuccessfulRequestLatency", map[string]*string{"TableName": name, "Operation": jsii.String("Query")}, "p99", 300),
	})
	for _, index := range table.Indexes {
		if !index.Build.Has(schema.GSI) {
			continue
		}
		w.alarm(alarm{
			id: gsiID(index) + "ReadUnits", severity: ticket, over: 300 * eventReadUnits, of: 3,
			text: "Reads of " + index.Name + " take ten times the read units of a busy day: does someone poll in a loop, or has the backlog grown?",
			metric: metric("AWS/DynamoDB", "ConsumedReadCapacityUnits",
				map[string]*string{"TableName": name, "GlobalSecondaryIndexName": jsii.String(index.Name)}, "Sum", 300),
		})
	}
}

// eventReadUnits a second is ten times the 400 that 10 pages of 200 rows a second take from 20 shards.
const eventReadUnits = 4000

func (w *WatchStack) watchAPI() {
	byStage := map[string]*string{"ApiId": w.d.API.API.HttpApiId(), "Stage": jsii.String("$default")}
	w.alarm(alarm{
		id: "HttpApiServerErrors", severity: page, metric: metric("AWS/ApiGateway", "5xx", byStage, "Sum", 60), atLeast: 1, of: 5, points: 3,
		text: "The HTTP API answers 5xx: the functions' summary lines carry the class of the error.",
	})
	w.alarm(alarm{
		id: "HttpApiSlow", severity: ticket, metric: metric("AWS/ApiGateway", "Latency", byStage, "p99", 300), over: 3000, of: 3,
		text: "One answer of the HTTP API in a hundred takes over 3 s.",
	})
}
