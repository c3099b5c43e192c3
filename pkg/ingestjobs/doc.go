// Package ingestjobs is package ingest behind a queue: messages of EventBridge that tell of objects in the upload bucket.
//
// # Guarantees
//
// A message stays in the queue until its batch is settled: done, failed, another upload's, or unknown. Until then the answer names it as failed
// (https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html#services-sqs-batchfailurereporting), and its visibility says when it comes again:
// at once where the time ended first, when the lease ends where another worker is at the batch, and later each time where something failed. While a batch is
// ingested its message stays hidden by the lease, renewed with it: after a crash it is back within minutes, and not after the queue's own visibility timeout.
// A message that cannot be read stays too: the queue gives it to its dead-letter queue. No log line holds anything of an upload.
//
// # Not here
//
// What becomes of an upload (package ingest), and the wiring (functions/ingest). The receive count of a message, which a mapping's queue bounds, counts
// deliveries, not failures: give the queue a generous maxReceiveCount.
package ingestjobs
