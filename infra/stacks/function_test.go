package stacks_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
)

const (
	syncStack   = "HeatsinkSync"
	ingestStack = "HeatsinkIngest"
	apiStack    = "HeatsinkApi"
	watchStack  = "HeatsinkWatch"
)

// stackOf is where a function lives.
func stackOf(function string) string {
	switch function {
	case "indexer", "redrive":
		return syncStack
	case "ingest":
		return ingestStack
	default:
		return apiStack
	}
}

// functionID is a function's logical id: IndexerFunction.
func functionID(function string) string {
	return strings.ToUpper(function[:1]) + function[1:] + "Function"
}

func TestEveryFunctionIsBuiltAlike(t *testing.T) {
	t.Parallel()
	architecture := map[string]string{"amd64": "x86_64", "arm64": "arm64"}[runtime.GOARCH]
	for _, name := range everything {
		stack, id := stackOf(name), functionID(name)
		for _, c := range []claim{
			says(prod, stack, id, "Properties.Runtime", "provided.al2023"),
			says(prod, stack, id, "Properties.Handler", "bootstrap"),
			says(prod, stack, id, "Properties.Architectures", list{"arm64"}),
			says(dev, stack, id, "Properties.Architectures", list{"arm64"}),
			says(local, stack, id, "Properties.Architectures", list{architecture}),
			says(prod, stack, id, "Properties.LoggingConfig.LogFormat", "JSON"),
			says(prod, stack, id, "Properties.LoggingConfig.ApplicationLogLevel", "INFO"),
			says(prod, stack, id, "Properties.Environment.Variables.HEATSINK_STAGE", "prod"),
			says(dev, stack, id, "Properties.Environment.Variables.HEATSINK_STAGE", "dev"),
			says(dev, stack, id, "Properties.Environment.Variables.HEATSINK_METRICS_NAMESPACE", "Heatsink"),
			saysNot(prod, stack, id, "SnapStart"),
			saysNot(prod, stack, id, "VpcConfig"),
			saysNot(prod, stack, id, "Layers"),
			saysNot(dev, stack, id, "ReservedConcurrentExecutions"), // a new account could not deploy it
			saysNot(local, stack, id, "ReservedConcurrentExecutions"),
			outputs(dev, stack, id+"Name", "${"+id+"}"),
			logGroup(dev, stack, id, 14, "Delete"),
			logGroup(prod, stack, id, 90, "Retain"),
		} {
			c.test(t)
		}
	}
}

func TestReservedConcurrencyTimeoutAndMemory(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct{ reserved, seconds, memory float64 }{
		"indexer": {100, 60, 512}, "redrive": {1, 900, 512}, "api": {200, 29, 1024},
		"nickname": {100, 29, 512}, "events": {100, 29, 1024}, "ingest": {10, 900, 1024},
	} {
		says(prod, stackOf(name), functionID(name), "Properties.ReservedConcurrentExecutions", want.reserved).test(t)
		says(prod, stackOf(name), functionID(name), "Properties.Timeout", want.seconds).test(t)
		says(prod, stackOf(name), functionID(name), "Properties.MemorySize", want.memory).test(t)
	}
}

// logGroup claims the function's own log group, by its retention and what happens to it with its stack.
func logGroup(v *variant, stack, function string, days float64, deletion string) claim {
	group := func(t template) string {
		name, _ := at(map[string]any(t), "Resources."+function+".Properties.LoggingConfig.LogGroup")
		text, _ := name.(string)
		return strings.Trim(text, "${}")
	}
	return claim{
		variant: v, stack: stack, name: function + " log group",
		check: func(t template) error {
			resource, ok := t.resources("AWS::Logs::LogGroup")[group(t)]
			if !ok {
				return fmt.Errorf("no log group %q", group(t))
			}
			if got, _ := at(resource, "Properties.RetentionInDays"); got != days || resource["DeletionPolicy"] != deletion {
				return fmt.Errorf("retention is %v and %v, want %v and %s", got, resource["DeletionPolicy"], days, deletion)
			}
			return nil
		},
		spoil: map[string]func(template){
			"the group removed":       func(t template) { remove(t, "Resources."+group(t)) },
			"the retention removed":   func(t template) { remove(t, "Resources."+group(t)+".Properties.RetentionInDays") },
			"the group not the log's": func(t template) { remove(t, "Resources."+function+".Properties.LoggingConfig") },
		},
	}
}

func TestFunctionsAreToldTheirTables(t *testing.T) {
	t.Parallel()
	variable := func(v *variant, function, name, want string) claim {
		return says(v, stackOf(function), functionID(function), "Properties.Environment.Variables.HEATSINK_"+name, want)
	}
	for _, function := range []string{"indexer", "redrive"} {
		for _, c := range []claim{
			variable(dev, function, "TABLE_USER", "${UserTable}"),
			variable(dev, function, "TABLE_USER_MANAGED_INDEX", "${UserManagedIndexTable}"),
			variable(dev, function, "TABLE_USER_TEAM_STATUS_INDEX", "${UserTeamStatusIndexTable}"),
			variable(dev, function, "FAILURE_BUCKET", "${FailureBucket}"),
		} {
			c.test(t)
		}
	}
	for _, c := range []claim{
		variable(dev, "indexer", "PARTIAL_BATCH", "true"),
		variable(local, "indexer", "PARTIAL_BATCH", "false"), // the local cloud would take a partial failure for success
		variable(dev, "api", "TABLE_USER", "${UserTable}"),   // for the GSI
		variable(dev, "api", "TABLE_USER_MANAGED_INDEX", "${UserManagedIndexTable}"),
		variable(dev, "api", "TABLE_USER_TEAM_STATUS_INDEX", "${UserTeamStatusIndexTable}"),
		variable(dev, "api", "CURSOR_SECRET", "${CursorSecret}"), // its ARN, never its value
		variable(dev, "nickname", "TABLE_USER", "${UserTable}"),
		variable(dev, "nickname", "TABLE_CLAIM", "${ClaimTable}"),
		variable(dev, "events", "TABLE_EVENT", "${EventTable}"),
		variable(dev, "events", "CURSOR_SECRET", "${CursorSecret}"),
		variable(dev, "events", "UPLOAD_BUCKET", "${UploadBucket}"),
		variable(dev, "ingest", "TABLE_EVENT", "${EventTable}"),
		variable(dev, "events", "TABLE_EVENT_REQUEST", "${EventRequestTable}"),
		variable(dev, "ingest", "TABLE_EVENT_REQUEST", "${EventRequestTable}"),
		variable(dev, "ingest", "UPLOAD_BUCKET", "${UploadBucket}"),
		variable(other, "indexer", "TABLE_ORDER", "${OrderTable}"),
		variable(other, "indexer", "TABLE_ORDER_ORDERS_INDEX", "${OrderOrdersIndexTable}"),
	} {
		c.test(t)
	}
}

func TestOnlyFunctionsWithCodeAreDeployed(t *testing.T) {
	t.Parallel()
	for v, want := range map[*variant][]string{dev: everything, token: core} {
		var got []string
		for _, template := range v.get(t).templates {
			for id := range template.resources("AWS::Lambda::Function") {
				got = append(got, id)
			}
		}
		slices.Sort(got)
		var ids []string
		for _, name := range want {
			ids = append(ids, functionID(name))
		}
		slices.Sort(ids)
		if !slices.Equal(got, ids) {
			t.Errorf("%s: functions are %s, want %s", v.name, strings.Join(got, ", "), strings.Join(ids, ", "))
		}
	}
	if _, there := token.get(t).templates[ingestStack]; there {
		t.Error("a stack for uploads without the function")
	}
}
