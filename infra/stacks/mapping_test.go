package stacks_test

import "testing"

func TestTheStreamMapping(t *testing.T) {
	t.Parallel()
	for v, mappings := range map[*variant]map[string]string{
		prod:  {"UserStream": "${UserTable.StreamArn}"},
		dev:   {"UserStream": "${UserTable.StreamArn}"},
		local: {"UserStream": "${UserTable.StreamArn}"}, // nothing of it is left out for the local cloud
		other: {"UserStream": "${UserTable.StreamArn}", "OrderStream": "${OrderTable.StreamArn}"},
	} {
		for id, stream := range mappings {
			for _, c := range []claim{
				says(v, syncStack, id, "Type", "AWS::Lambda::EventSourceMapping"),
				says(v, syncStack, id, "Properties.EventSourceArn", stream),
				says(v, syncStack, id, "Properties.FunctionName", "${IndexerFunction}"),
				says(v, syncStack, id, "Properties.StartingPosition", "TRIM_HORIZON"),
				says(v, syncStack, id, "Properties.BatchSize", 100.0),
				says(v, syncStack, id, "Properties.MaximumBatchingWindowInSeconds", 0.0),
				says(v, syncStack, id, "Properties.ParallelizationFactor", 2.0),
				says(v, syncStack, id, "Properties.BisectBatchOnFunctionError", true),
				says(v, syncStack, id, "Properties.FunctionResponseTypes", list{"ReportBatchItemFailures"}),
				says(v, syncStack, id, "Properties.MaximumRetryAttempts", 10_000.0),
				says(v, syncStack, id, "Properties.MaximumRecordAgeInSeconds", 82800.0),
				says(v, syncStack, id, "Properties.DestinationConfig", object{"OnFailure": object{"Destination": "${FailureBucket.Arn}"}}),
				says(v, syncStack, id, "Properties.MetricsConfig", object{"Metrics": list{"EventCount"}}),
				saysNot(v, syncStack, id, "FilterCriteria"),
				saysNot(v, syncStack, id, "TumblingWindowInSeconds"),
			} {
				c.test(t)
			}
		}
	}
}

// unusedSeconds is the most of its time that a failing call of the indexer leaves unused: its margin and its longest wait between two tries.
const unusedSeconds = 2 + 2

// A record of an index table that is merely throttled must not expire by count. The indexer uses its whole time before it reports a failure (tested in
// package indexsync), so that the age ends the tries first, late enough for an outage of most of a day and early
// enough that the record can still be delivered to the failure bucket before the stream drops it, at 24 h.
func TestAThrottledRecordEndsByItsAgeAlone(t *testing.T) {
	t.Parallel()
	resource := prod.get(t).stack(t, syncStack).resources("AWS::Lambda::EventSourceMapping")["UserStream"]
	retries, _ := at(resource, "Properties.MaximumRetryAttempts")
	age, _ := at(resource, "Properties.MaximumRecordAgeInSeconds")
	timeout, _ := at(prod.get(t).stack(t, syncStack).resources("")["IndexerFunction"], "Properties.Timeout")
	seconds, _ := age.(float64)
	if seconds < 12*3600 || seconds > 23*3600 {
		t.Errorf("a record is given up after %v s", age)
	}
	count, _ := retries.(float64)
	each, _ := timeout.(float64)
	if each -= unusedSeconds; count*each < 2*seconds {
		t.Errorf("%v tries of %v s end before the age of %v s does", count, each, seconds)
	}
}

// The permission exists before the mapping does: Lambda checks it when it makes one.
func TestTheMappingWaitsForItsPermissions(t *testing.T) {
	t.Parallel()
	stack := prod.get(t).stack(t, syncStack)
	depends, _ := at(stack.resources("")["IndexerFunction"], "DependsOn")
	for id := range stack.resources("AWS::IAM::Policy") {
		role, _ := at(stack.resources("")[id], "Properties.Roles.0")
		if owner, _ := at(stack.resources("")["IndexerFunction"], "Properties.Role"); text(owner) == text("${"+trim(role)+".Arn}") {
			if !contains(depends, id) {
				t.Errorf("the indexer does not wait for %s", id)
			}
			return
		}
	}
	t.Error("the indexer has no policy")
}

func TestUploadsComeThroughAQueueWithADeadLetterQueue(t *testing.T) {
	t.Parallel()
	stack := dev.get(t).stack(t, ingestStack)
	mappings := stack.resources("AWS::Lambda::EventSourceMapping")
	if len(mappings) != 1 {
		t.Fatalf("%d mappings", len(mappings))
	}
	for id := range mappings {
		says(dev, ingestStack, id, "Properties.FunctionName", "${IngestFunction}").test(t)
		says(dev, ingestStack, id, "Properties.BatchSize", 1.0).test(t)
		says(prod, ingestStack, id, "Properties.ScalingConfig.MaximumConcurrency", 10.0).test(t) // the function's own
		says(dev, ingestStack, id, "Properties.FunctionResponseTypes", list{"ReportBatchItemFailures"}).test(t)
	}
	var queue string
	for id, resource := range stack.resources("AWS::SQS::Queue") {
		says(dev, ingestStack, id, "Properties.SqsManagedSseEnabled", true).test(t)
		if _, redrives := at(resource, "Properties.RedrivePolicy"); redrives {
			queue = id
		}
	}
	says(dev, ingestStack, queue, "Properties.RedrivePolicy.maxReceiveCount", 20.0).test(t)
	says(dev, ingestStack, queue, "Properties.VisibilityTimeout", 5400.0).test(t)
	says(dev, ingestStack, functionID("ingest"), "Properties.Environment.Variables.HEATSINK_UPLOAD_QUEUE", "${"+queue+"}").test(t)
	for id := range stack.resources("AWS::Events::Rule") {
		says(dev, ingestStack, id, "Properties.EventPattern", object{
			"source": list{"aws.s3"}, "detail-type": list{"Object Created"},
			"detail": object{"bucket": object{"name": list{"${UploadBucket}"}}, "object": object{"key": list{object{"prefix": "uploads/"}}}},
		}).test(t)
		says(dev, ingestStack, id, "Properties.Targets.0.Arn", "${"+queue+".Arn}").test(t)
	}
}
