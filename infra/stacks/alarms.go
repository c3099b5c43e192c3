package stacks

import (
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/jsii-runtime-go"

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
		id := strings.TrimSuffix(schema.FunctionOutput(f.name), "FunctionName")
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
		text: "An upload was given up: its message is in the dead-letter queue, its object in the bucket for a week. Mend the reason, then start a redrive of that queue.",
	})
	w.alarm(alarm{
		id: "UploadsLate", severity: ticket, metric: of(w.d.Ingest.Queue, "ApproximateAgeOfOldestMessage"), over: 3600, of: 5,
		text: "An upload has waited for more than an hour.",
	})
}

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
