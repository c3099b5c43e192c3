package schema

// Names of the stacks. Stateful and stateless resources live in different ones, so that a bad deploy of code never touches data.
const (
	DataStack   = "HeatsinkData"   // tables, buckets, the cursor secret
	SyncStack   = "HeatsinkSync"   // what follows the tables: indexer, redrive
	IngestStack = "HeatsinkIngest" // what follows the upload bucket, where the function is built
	APIStack    = "HeatsinkApi"    // the HTTP API and its functions
	WatchStack  = "HeatsinkWatch"  // alarms, their topic, the dashboard
)

// Names of stack outputs, beside those of tables ([TableOutput]) and functions ([FunctionOutput]).
const (
	OutputFailureBucket = "FailureBucketName"
	OutputUploadBucket  = "UploadBucketName"
	OutputCursorSecret  = "CursorSecretArn" //nolint:gosec // G101: the name of an output, no secret
	OutputURL           = "Url"
	OutputLocalURL      = "LocalUrl" // on the local cloud only: reachable without DNS
	OutputAlarmTopic    = "AlarmTopicArn"
)

// TableOutput is the output of [DataStack] that holds the deployed name of a table or index table: User gives UserTableName.
func TableOutput(logicalName string) string { return logicalName + "TableName" }

// TableResource is the logical id of a table or index table in the template of [DataStack]. It must never change: CloudFormation would
// make a new, empty table for a new id.
func TableResource(logicalName string) string { return logicalName + "Table" }

// FunctionOutput is the output that holds the deployed name of a function: indexer gives IndexerFunctionName.
func FunctionOutput(name string) string { return pascal(name) + "FunctionName" }
