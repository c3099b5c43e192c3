package indexsync

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// Poison is a change record that can never be written.
type Poison struct {
	// Record is the whole record as it was delivered.
	Record json.RawMessage
	// Sequence is its sequence number; empty where it has none that could be read.
	Sequence string
	// StreamARN is the stream that it came from; may be empty.
	StreamARN string
	// Reason says what is wrong without repeating the record's content, so it is fit for a log.
	Reason string
}

// Parker keeps poison records. Park must have stored the record durably when it returns nil, must be safe for concurrent use, and must be repeatable: a
// redelivered record is parked again and should replace itself. An error means that the record is not done; the batch will be given again.
type Parker interface {
	Park(ctx context.Context, poison Poison) error
}

// PoisonPrefix is where [BucketParker] puts its objects. AWS's own failure objects stand below aws/lambda/.
const PoisonPrefix = "heatsink/poison/"

// PoisonCondition begins the condition of the objects of [BucketParker]; a colon and the reason follow.
const PoisonCondition = "HeatsinkPoison"

// ObjectPutter writes an object. *s3.Client implements it.
type ObjectPutter interface {
	PutObject(context.Context, *s3.PutObjectInput, ...func(*s3.Options)) (*s3.PutObjectOutput, error)
}

var (
	_ ObjectPutter = (*s3.Client)(nil)
	_ Parker       = (*BucketParker)(nil)
)

// BucketParker puts each record into a bucket as an object of the shape that AWS gives its own failure objects, so that one tool redrives both.
type BucketParker struct {
	// Bucket is the name of the failure bucket.
	Bucket string
	// Client writes the objects: one PutObject a record.
	Client ObjectPutter
	// FunctionARN is named in the objects; may be empty.
	FunctionARN string
	// Now is the clock for the objects' timestamp. Nil means [time.Now].
	Now func() time.Time
}

// Park writes the record below [PoisonPrefix], under a key that depends on the record alone, so that a redelivery overwrites its object.
func (b *BucketParker) Park(ctx context.Context, poison Poison) error {
	now := time.Now
	if b.Now != nil {
		now = b.Now
	}
	body, err := poisonObject(poison, b.FunctionARN, now().UTC())
	if err != nil {
		return fmt.Errorf("indexsync: encode a failure object: %w", err)
	}
	key := PoisonKey(poison)
	_, err = b.Client.PutObject(ctx, &s3.PutObjectInput{
		Bucket: aws.String(b.Bucket), Key: aws.String(key), Body: bytes.NewReader(body), ContentType: aws.String("application/json"),
	})
	if err != nil {
		return fmt.Errorf("indexsync: put object %s: %w", key, err)
	}
	return nil
}

// PoisonKey is the object key of a poison record: table, stream label and padded sequence number, or a hash of the record where it lacks one of them.
func PoisonKey(poison Poison) string {
	table, label := StreamTable(poison.StreamARN), streamLabel(poison.StreamARN)
	if version, err := StreamVersion(label, poison.Sequence); err == nil && table != "" {
		return PoisonPrefix + table + "/" + version + ".json"
	}
	hash := sha256.Sum256(poison.Record)
	return PoisonPrefix + "unknown/" + hex.EncodeToString(hash[:]) + ".json"
}

// FailureObject is the object that AWS writes for a batch that a stream mapping gave up
// (https://docs.aws.amazon.com/lambda/latest/dg/services-dynamodb-errors.html), and that [BucketParker] writes for one record. Only what redriving reads is
// typed; function errors and the like may be absent, null or anything.
type FailureObject struct {
	RequestContext struct {
		RequestID              string `json:"requestId"`
		FunctionARN            string `json:"functionArn"`
		Condition              string `json:"condition"`
		ApproximateInvokeCount int    `json:"approximateInvokeCount"`
	} `json:"requestContext"`
	ResponseContext json.RawMessage `json:"responseContext,omitempty"`
	Version         string          `json:"version"`
	Timestamp       string          `json:"timestamp"`
	Batch           FailedBatch     `json:"DDBStreamBatchInfo"`
	// Payload is the whole event as a text. AWS writes it to S3 alone.
	Payload string `json:"payload,omitempty"`
}

// FailedBatch says which records of which shard a [FailureObject] is about. The times are RFC 3339.
type FailedBatch struct {
	ShardID                         string `json:"shardId"`
	StartSequenceNumber             string `json:"startSequenceNumber"`
	EndSequenceNumber               string `json:"endSequenceNumber"`
	ApproximateArrivalOfFirstRecord string `json:"approximateArrivalOfFirstRecord"`
	ApproximateArrivalOfLastRecord  string `json:"approximateArrivalOfLastRecord"`
	BatchSize                       int    `json:"batchSize"`
	StreamARN                       string `json:"streamArn"`
}

func poisonObject(poison Poison, function string, now time.Time) ([]byte, error) {
	var object FailureObject
	object.RequestContext.FunctionARN = function
	object.RequestContext.Condition = PoisonCondition + ": " + poison.Reason
	object.RequestContext.ApproximateInvokeCount = 1
	object.ResponseContext = json.RawMessage(`{"statusCode":200,"executedVersion":"$LATEST"}`)
	object.Version = "1.0"
	object.Timestamp = now.Format("2006-01-02T15:04:05.000Z")
	object.Batch = FailedBatch{
		StartSequenceNumber: poison.Sequence, EndSequenceNumber: poison.Sequence, BatchSize: 1, StreamARN: poison.StreamARN,
	}
	if created, ok := RecordTime(poison.Record); ok {
		object.Batch.ApproximateArrivalOfFirstRecord = created.Format(time.RFC3339)
		object.Batch.ApproximateArrivalOfLastRecord = object.Batch.ApproximateArrivalOfFirstRecord
	}
	object.Payload = string(JoinRecords(poison.Record))
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false) // the payload stays readable
	if err := encoder.Encode(object); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
