package stacks

import (
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/jsii-runtime-go"

	"github.com/heatsink-dev/heatsink/pkg/catalog"
	"github.com/heatsink-dev/heatsink/pkg/edge/routes"
)

func (w *WatchStack) addDashboard() {
	board := awscloudwatch.NewDashboard(w.Stack, jsii.String("Dashboard"), &awscloudwatch.DashboardProps{
		DashboardName:   jsii.String("heatsink-" + string(w.b.options.Stage)),
		DefaultInterval: awscdk.Duration_Hours(jsii.Number(3)),
		PeriodOverride:  awscloudwatch.PeriodOverride_INHERIT,
	})
	for _, row := range [][]awscloudwatch.IWidget{w.lagRow(), w.syncRow(), w.throttleRow(), w.readRow(), w.apiRow(), w.eventRow()} {
		board.AddWidgets(row...)
	}
}

// graph is a third of a row.
func graph(title string, left ...awscloudwatch.IMetric) awscloudwatch.IWidget {
	return awscloudwatch.NewGraphWidget(&awscloudwatch.GraphWidgetProps{
		Title: jsii.String(title), Width: jsii.Number(8), Height: jsii.Number(6), Left: &left,
		LeftYAxis: &awscloudwatch.YAxisProps{Min: jsii.Number(0), ShowUnits: jsii.Bool(false)},
	})
}

func labelled(m awscloudwatch.Metric, label string) awscloudwatch.IMetric {
	return m.With(&awscloudwatch.MetricOptions{Label: jsii.String(label)})
}

// own is a metric that the functions write themselves, over all values of its dimensions beside Function: the search finds every index.
func own(function, name, dimensions string) awscloudwatch.IMetric {
	return awscloudwatch.NewMathExpression(&awscloudwatch.MathExpressionProps{
		Expression: jsii.String("SUM(SEARCH('{" + metricsNamespace + ",Function" + dimensions + "} Function=\"" + function +
			"\" MetricName=\"" + name + "\"', 'Sum'))"),
		UsingMetrics: &map[string]awscloudwatch.IMetric{}, Label: jsii.String(name), Period: awscdk.Duration_Minutes(jsii.Number(1)),
	})
}

func (w *WatchStack) lagRow() []awscloudwatch.IWidget {
	indexer := byFunction(w.d.Sync.Indexer)
	var events []awscloudwatch.IMetric
	for _, table := range slices.Sorted(maps.Keys(w.d.Sync.Mappings)) {
		mapping := map[string]*string{"EventSourceMappingUUID": w.d.Sync.Mappings[table].EventSourceMappingId()}
		for _, name := range []string{"Polled", "Invoked", "FailedInvoke", "Dropped", "OnFailureDestinationDelivered"} {
			events = append(events, labelled(metric("AWS/Lambda", name+"EventCount", mapping, "Sum", 60), table+" "+name))
		}
	}
	return []awscloudwatch.IWidget{
		graph("Index tables behind, ms", labelled(metric("AWS/Lambda", "IteratorAge", indexer, "Maximum", 60), "slowest shard")),
		graph("Stream records", events...),
		graph("Indexer", labelled(metric("AWS/Lambda", "Invocations", indexer, "Sum", 60), "batches"),
			labelled(metric("AWS/Lambda", "Errors", indexer, "Sum", 60), "errors"), labelled(metric("AWS/Lambda", "Throttles", indexer, "Sum", 60), "throttles"),
			labelled(metric("AWS/Lambda", "Duration", indexer, "p99", 60), "p99 ms")),
	}
}

func (w *WatchStack) syncRow() []awscloudwatch.IWidget {
	of := func(dimensions string, names ...string) []awscloudwatch.IMetric {
		var list []awscloudwatch.IMetric
		for _, name := range names {
			list = append(list, own(routes.Indexer, name, dimensions))
		}
		return list
	}
	return []awscloudwatch.IWidget{
		graph("Index writes", of(",Index", "Upserts", "Tombstones", "StaleSkips", "KeyMoves")...),
		graph("Left out", of(",Index", "NotIndexed", "ReservedDropped")...),
		graph("Batches", append(of("", "BatchRecords", "FailedBatches", "Parked"), own(routes.Indexer, "Throttled", ",LimitType,ResourceType"))...),
	}
}

// throttleRow shows throttled writes by reason, tables and GSIs apart, and reads beside them.
func (w *WatchStack) throttleRow() []awscloudwatch.IWidget {
	var tables, indexes, reads []awscloudwatch.IMetric
	for _, t := range w.watchedTables() {
		for _, reason := range throttleReasons {
			if t.isGSI() && reason.tableOnly {
				continue
			}
			label := t.id + " " + reason.name
			m := labelled(metric("AWS/DynamoDB", throttleMetric("Write", reason.name), t.dimensions, "Sum", 60), label)
			if t.isGSI() {
				indexes = append(indexes, m)
			} else {
				tables = append(tables, m)
			}
			reads = append(reads, labelled(metric("AWS/DynamoDB", throttleMetric("Read", reason.name), t.dimensions, "Sum", 60), label))
		}
	}
	return []awscloudwatch.IWidget{
		graph("Throttled writes by reason: tables", tables...), graph("Throttled writes by reason: GSIs", indexes...), graph("Throttled reads by reason", reads...),
	}
}

// readRow shows what the index reads cost: read amplification is rows read for a row answered.
func (w *WatchStack) readRow() []awscloudwatch.IWidget {
	var amplification, units, answered []awscloudwatch.IMetric
	for n, index := range servedIndexes(w.b.catalog) {
		name := index.Name
		of := func(metricName string) awscloudwatch.Metric {
			dimensions := map[string]*string{"Function": jsii.String(routes.API), "Index": jsii.String(name)}
			return metric(metricsNamespace, metricName, dimensions, "Sum", 60)
		}
		suffix := string(rune('a' + n))
		amplification = append(amplification, awscloudwatch.NewMathExpression(&awscloudwatch.MathExpressionProps{
			Expression:   jsii.String("evaluated_" + suffix + " / returned_" + suffix),
			UsingMetrics: &map[string]awscloudwatch.IMetric{"evaluated_" + suffix: of("RowsEvaluated"), "returned_" + suffix: of("ItemsReturned")},
			Label:        jsii.String(name), Period: awscdk.Duration_Minutes(jsii.Number(1)),
		}))
		units = append(units, labelled(of("ReadUnits"), name))
		answered = append(answered, labelled(of("ItemsReturned"), name))
	}
	return []awscloudwatch.IWidget{
		graph("Read amplification: RowsEvaluated / ItemsReturned", amplification...), graph("Read units of index reads", units...), graph("Items answered", answered...),
	}
}

func (w *WatchStack) apiRow() []awscloudwatch.IWidget {
	byStage := map[string]*string{"ApiId": w.d.API.API.HttpApiId(), "Stage": jsii.String("$default")}
	of := func(name, statistic string) awscloudwatch.IMetric {
		return labelled(metric("AWS/ApiGateway", name, byStage, statistic, 60), name+" "+statistic)
	}
	var functions []awscloudwatch.IMetric
	for _, name := range slices.Sorted(maps.Keys(w.d.API.Functions)) {
		f := w.d.API.Functions[name]
		functions = append(functions, labelled(metric("AWS/Lambda", "Duration", byFunction(f), "p99", 60), name+" p99 ms"),
			labelled(metric("AWS/Lambda", "Errors", byFunction(f), "Sum", 60), name+" errors"))
	}
	return []awscloudwatch.IWidget{
		graph("API latency, ms", of("Latency", "p50"), of("Latency", "p99"), of("IntegrationLatency", "p99")),
		graph("API answers", of("Count", "Sum"), of("4xx", "Sum"), of("5xx", "Sum")),
		graph("API functions", functions...),
	}
}

// eventRow shows the event buffer and the accounts.
func (w *WatchStack) eventRow() []awscloudwatch.IWidget {
	var units, latency, accounts []awscloudwatch.IMetric
	for _, t := range w.watchedTables() {
		if !strings.HasPrefix(t.id, catalog.EventTable) {
			continue
		}
		for _, kind := range []string{"Write", "Read"} {
			units = append(units, labelled(metric("AWS/DynamoDB", "Consumed"+kind+"CapacityUnits", t.dimensions, "Sum", 60), t.id+" "+kind))
		}
	}
	with := func(table, name, operation, statistic string) awscloudwatch.IMetric {
		dimensions := map[string]*string{"TableName": w.d.Data.Tables[table].TableName()}
		if operation != "" {
			dimensions["Operation"] = jsii.String(operation)
		}
		return labelled(metric("AWS/DynamoDB", name, dimensions, statistic, 60), strings.TrimSpace(table+" "+operation+" "+name))
	}
	if _, known := w.d.Data.Tables[catalog.EventTable]; known {
		for _, operation := range []string{"Query", "BatchWriteItem", "PutItem", "UpdateItem", "TransactWriteItems"} {
			latency = append(latency, with(catalog.EventTable, "SuccessfulRequestLatency", operation, "p99"))
		}
	}
	for _, table := range []string{catalog.UserTable, catalog.ClaimTable} {
		if _, known := w.d.Data.Tables[table]; known {
			accounts = append(accounts, with(table, "ConditionalCheckFailedRequests", "", "Sum"), with(table, "TransactionConflict", "", "Sum"),
				with(table, "ConsumedWriteCapacityUnits", "", "Sum"))
		}
	}
	return []awscloudwatch.IWidget{
		graph("Events: capacity units", units...), graph("Events: latency p99, ms", latency...), graph("Accounts: refused claims and conflicts", accounts...),
	}
}
