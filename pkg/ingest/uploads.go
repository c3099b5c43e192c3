package ingest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/heatsink-dev/heatsink/pkg/buffer"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

// UploadTime is how long an upload URL can be used. An upload that began before goes on.
const UploadTime = 15 * time.Minute

// ErrNotFound says that there is no batch of that id, or not any more.
var ErrNotFound = errors.New("there is no such batch")

// Presigner signs a PUT of one object. *s3.PresignClient implements it.
type Presigner interface {
	PresignPutObject(context.Context, *s3.PutObjectInput, ...func(*s3.PresignOptions)) (*v4.PresignedHTTPRequest, error)
}

var _ Presigner = (*s3.PresignClient)(nil)

// Batcher makes batches. *buffer.Store implements it.
type Batcher interface {
	NewBatch(events int) (buffer.Batch, error)
}

var _ Batcher = (*buffer.Store)(nil)

// RecordKeeper is what [Uploads] calls. *dynamodb.Client implements it.
type RecordKeeper interface {
	ddb.Getter
	ddb.Putter
}

// UploadsConfig of [NewUploads]. All but Now are required.
type UploadsConfig struct {
	// Client keeps the batches' records, in RequestTable, a deployed name.
	Client       RecordKeeper
	RequestTable string
	// Presign signs the URLs of objects in Bucket.
	Presign Presigner
	Bucket  string
	// Batches gives ids.
	Batches Batcher
	// Now is the clock. Nil: time.Now.
	Now func() time.Time
}

// Uploads makes batches to be uploaded, and tells how they are. It is safe for concurrent use.
type Uploads struct{ config UploadsConfig }

// NewUploads checks the configuration. It makes no request.
func NewUploads(config UploadsConfig) (*Uploads, error) {
	switch {
	case config.Client == nil || config.RequestTable == "":
		return nil, errors.New("ingest: UploadsConfig.Client or UploadsConfig.RequestTable is missing")
	case config.Presign == nil || config.Bucket == "":
		return nil, errors.New("ingest: UploadsConfig.Presign or UploadsConfig.Bucket is missing")
	case config.Batches == nil:
		return nil, errors.New("ingest: UploadsConfig.Batches is missing")
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	return &Uploads{config}, nil
}

// Created is a batch that waits for its upload.
type Created struct {
	// BatchID cannot be guessed: 80 random bits.
	BatchID string
	// URL takes one PUT of the batch's object, without further headers, within [UploadTime].
	URL string
}

// Create makes a batch: one put. The URL fixes the object, the method and the time. It cannot fix the length: only an exact one could be signed, and the type of
// the content does not matter, so that any client that can PUT will do.
func (u *Uploads) Create(ctx context.Context) (*Created, error) {
	batch, err := u.config.Batches.NewBatch(0)
	if err != nil {
		return nil, fmt.Errorf("create a batch: %w", err)
	}
	signed, err := u.config.Presign.PresignPutObject(ctx, &s3.PutObjectInput{Bucket: &u.config.Bucket, Key: aws.String(schema.UploadPrefix + batch.ID)}, s3.WithPresignExpires(UploadTime))
	if err != nil {
		return nil, fmt.Errorf("sign an upload: %w", err)
	}
	item := recordKey(batch.ID)
	item[attrState] = str(string(Waiting))
	item[attrExpires] = num(u.config.Now().Add(RecordLife).Unix())
	_, err = u.config.Client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &u.config.RequestTable, Item: item,
		// An attempt of the SDK's that arrives late must not put a batch back that is ingested meanwhile. A refusal is our own earlier attempt.
		ConditionExpression: aws.String("attribute_not_exists(id)"),
	})
	if err != nil && ddb.Classify(err).Class != ddb.ConditionFailed {
		return nil, fmt.Errorf("keep the record of a batch: %w", err)
	}
	return &Created{BatchID: batch.ID, URL: signed.URL}, nil
}

// Status of a batch: one strongly consistent read; none for a text that is no batch's id. While a batch is ingested, the numbers are those of its last checkpoint.
// [ErrNotFound] where there is none.
func (u *Uploads) Status(ctx context.Context, batchID string) (*Status, error) {
	if !buffer.IsBatchID(batchID) {
		return nil, ErrNotFound
	}
	found, err := getRecord(ctx, u.config.Client, u.config.RequestTable, batchID, u.config.Now())
	if err != nil {
		return nil, err
	}
	return &found.Status, nil
}

// getRecord reads a record. One whose time is over is gone, for TTL deletes late.
func getRecord(ctx context.Context, client ddb.Getter, table, batchID string, now time.Time) (*record, error) {
	out, err := client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &table, Key: recordKey(batchID), ConsistentRead: aws.Bool(true)})
	if err != nil {
		return nil, fmt.Errorf("read the record of a batch: %w", err)
	}
	if len(out.Item) == 0 {
		return nil, ErrNotFound
	}
	found, err := readRecord(batchID, out.Item)
	if err != nil {
		return nil, err
	}
	if !found.expires.After(now) {
		return nil, ErrNotFound
	}
	return found, nil
}
