package stacks

import (
	"maps"
	"strings"

	"github.com/aws/jsii-runtime-go"

	"github.com/heatsink-dev/heatsink/pkg/catalog"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

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
	if reason == "KeyRange" {
		reason += "Throughput"
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
	case t.id == catalog.EventRequestTable:
		return []string{"GetItem", "PutItem", "UpdateItem"}
	case t.id == catalog.EventTable:
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
