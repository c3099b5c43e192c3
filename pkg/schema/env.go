package schema

import "strings"

// EnvPrefix begins every environment variable of heatsink.
const EnvPrefix = "HEATSINK_"

// Environment variables of the functions: infra sets them, edge reads them, and nothing else does.
const (
	EnvFailureBucket    = EnvPrefix + "FAILURE_BUCKET"    // name of the bucket for records that cannot be written
	EnvCursorSecret     = EnvPrefix + "CURSOR_SECRET"     // ARN of the secret that cursors are sealed with
	EnvUploadBucket     = EnvPrefix + "UPLOAD_BUCKET"     // name of the bucket for event batches past one HTTP request
	EnvUploadQueue      = EnvPrefix + "UPLOAD_QUEUE"      // URL of the queue that tells of uploads
	EnvPartialBatch     = EnvPrefix + "PARTIAL_BATCH"     // "true" where the event source mapping reports batch item failures
	EnvMetricsNamespace = EnvPrefix + "METRICS_NAMESPACE" // CloudWatch namespace of the embedded metrics
	EnvStage            = EnvPrefix + "STAGE"             // "dev" or "prod"
)

// TableEnv is the environment variable that tells a function the deployed name of a table or index table: UserManagedIndex gives
// HEATSINK_TABLE_USER_MANAGED_INDEX. infra sets it and functions read it, both through here.
func TableEnv(logicalName string) string { return EnvPrefix + "TABLE_" + screamingSnake(logicalName) }

func screamingSnake(name string) string {
	var out strings.Builder
	for i, r := range name {
		if i > 0 && r >= 'A' && r <= 'Z' && !(name[i-1] >= 'A' && name[i-1] <= 'Z') {
			out.WriteByte('_')
		}
		out.WriteRune(r)
	}
	return strings.ToUpper(out.String())
}
