package ddbtest

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Conditions of an on-failure object. The first is in AWS's example; that of age is reported by users and not documented.
const (
	retryAttemptsExhausted = "RetryAttemptsExhausted"
	recordAgeExceeded      = "RecordAgeExceeded"
)

// failureObject is what AWS puts into an S3 destination
// (https://docs.aws.amazon.com/lambda/latest/dg/services-dynamodb-errors.html).
type failureObject struct {
	RequestContext requestContext `json:"requestContext"`
	// ResponseContext is absent where the function was never invoked.
	ResponseContext *responseContext `json:"responseContext,omitempty"`
	Version         string           `json:"version"`
	Timestamp       string           `json:"timestamp"`
	Batch           batchInfo        `json:"DDBStreamBatchInfo"`
	// Payload is the whole event, as a text.
	Payload string `json:"payload"`
}

type requestContext struct {
	RequestID   string `json:"requestId"`
	FunctionARN string `json:"functionArn"`
	Condition   string `json:"condition"`
	InvokeCount int    `json:"approximateInvokeCount"`
}

type responseContext struct {
	StatusCode      int    `json:"statusCode"`
	ExecutedVersion string `json:"executedVersion"`
	// FunctionError is absent after a partial response: the invocation itself succeeded.
	FunctionError string `json:"functionError,omitempty"`
}

type batchInfo struct {
	ShardID       string `json:"shardId"`
	StartSequence string `json:"startSequenceNumber"`
	EndSequence   string `json:"endSequenceNumber"`
	FirstArrival  string `json:"approximateArrivalOfFirstRecord"`
	LastArrival   string `json:"approximateArrivalOfLastRecord"`
	Size          int    `json:"batchSize"`
	StreamARN     string `json:"streamArn"`
}

// discard gives records up.
func (m *Mapping) discard(ctx context.Context, l *lane, b *batch, condition string) {
	m.stats.Discarded += len(b.records)
	if m.cfg.OnFailure == nil {
		m.stats.Lost += len(b.records)
		return
	}
	now := m.cfg.Clock.Now().UTC()
	first, last := b.records[0], b.records[len(b.records)-1]
	raw := make([]json.RawMessage, len(b.records))
	for n, record := range b.records {
		raw[n] = record.raw
	}
	object := failureObject{
		RequestContext: requestContext{
			RequestID: m.uuid(), FunctionARN: m.cfg.FunctionARN, Condition: condition, InvokeCount: b.invoked,
		},
		ResponseContext: b.failed,
		Version:         "1.0",
		Timestamp:       now.Format("2006-01-02T15:04:05.000Z"),
		Batch: batchInfo{
			ShardID: l.shard.id, StartSequence: first.sequence, EndSequence: last.sequence,
			FirstArrival: first.at.UTC().Format(time.RFC3339), LastArrival: last.at.UTC().Format(time.RFC3339),
			Size: len(b.records), StreamARN: first.arn,
		},
		Payload: string(Event(raw...)),
	}
	key := fmt.Sprintf("aws/lambda/%s/%s/%s-%s", m.cfg.UUID, l.shard.id, now.Format("2006/01/02/2006-01-02T15.04.05"), m.uuid())
	body, err := json.Marshal(object)
	if err == nil {
		err = m.cfg.OnFailure(ctx, key, body)
	}
	if err != nil { // AWS counts it as a failed delivery and goes on: the records are gone
		m.t.Logf("ddbtest: mapping: the destination did not take %s: %v", key, err)
		m.stats.Lost += len(b.records)
	}
}

// uuid is a random (version 4) UUID from the seed.
func (m *Mapping) uuid() string {
	high, low := m.rand.Uint64(), m.rand.Uint64()
	const version, variant = 4, 2
	return fmt.Sprintf("%08x-%04x-%x%03x-%04x-%012x",
		high>>32, high>>16&0xffff, version, high&0xfff, variant<<14|low>>50, low&0xffffffffffff)
}
