package redrive

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/indexsync"
)

// Lister lists a page of a bucket.
type Lister interface {
	ListObjectsV2(context.Context, *s3.ListObjectsV2Input, ...func(*s3.Options)) (*s3.ListObjectsV2Output, error)
}

// Getter reads an object.
type Getter interface {
	GetObject(context.Context, *s3.GetObjectInput, ...func(*s3.Options)) (*s3.GetObjectOutput, error)
}

// Deleter deletes an object.
type Deleter interface {
	DeleteObject(context.Context, *s3.DeleteObjectInput, ...func(*s3.Options)) (*s3.DeleteObjectOutput, error)
}

// Store is what is done with the failure bucket. *s3.Client implements it.
type Store interface {
	Lister
	Getter
	Deleter
}

// IteratorGetter begins to read a shard.
type IteratorGetter interface {
	GetShardIterator(context.Context, *dynamodbstreams.GetShardIteratorInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetShardIteratorOutput, error)
}

// RecordsGetter reads a page of a shard.
type RecordsGetter interface {
	GetRecords(context.Context, *dynamodbstreams.GetRecordsInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetRecordsOutput, error)
}

// Stream is what is read of the change stream, for objects without a payload. *dynamodbstreams.Client implements it.
type Stream interface {
	IteratorGetter
	RecordsGetter
}

var (
	_ Store  = (*s3.Client)(nil)
	_ Stream = (*dynamodbstreams.Client)(nil)
)

// The defaults of a [Config], and what is fixed.
const (
	DefaultMargin = 3 * time.Second
	// AgeMargin is how much sooner than its tombstones expire a record is refused.
	AgeMargin = time.Hour
	// MaxObjectBytes is the largest object that is read. AWS's hold at most 6 MB of records, escaped.
	MaxObjectBytes = 32 << 20
)

// Config describes a [Redriver]. All but Now and Margin is required.
type Config struct {
	// Bucket is the failure bucket.
	Bucket string
	// Store reads the bucket: one ListObjectsV2 for each 1,000 objects (twice with progress), one GetObject and at most one DeleteObject for each.
	Store Store
	// Stream reads what objects without a payload name: GetShardIterator and GetRecords.
	Stream Stream
	// Rows reads the index tables: one strongly consistent GetItem for each row that DynamoDB refuses, to see whether something newer has superseded its record.
	Rows ddb.Getter
	// Syncer finds the syncer of a stream; the ARN is empty where an object or a record names none. A stream of any other table is a [*ForeignError]: it is asked about the
	// stream of every record. With one table, [Only] does.
	Syncer func(streamARN string) (*indexsync.Syncer, error)
	// Margin is the time before the context's deadline in which no object is begun. Defaults to [DefaultMargin].
	Margin time.Duration
	// Now is the clock for the age of records. Defaults to [time.Now].
	Now func() time.Time
}

// ForeignError refuses a stream of a table that is not one of the sources.
type ForeignError struct {
	// Table is the deployed name that the stream's ARN has. Empty: it has none.
	Table string
}

// Error names the table and what to do.
func (e *ForeignError) Error() string {
	if e.Table == "" {
		return "the object or record names no stream, and there are several sources that it may be of"
	}
	return fmt.Sprintf("of table %q, which is not a source of the index tables here: redrive it in the deployment of that table", e.Table)
}

// Only is for a deployment with one table that has index tables; table is its deployed name. Records that name no stream are taken for its own.
func Only(table string, syncer *indexsync.Syncer) func(string) (*indexsync.Syncer, error) {
	return func(streamARN string) (*indexsync.Syncer, error) {
		if of := indexsync.StreamTable(streamARN); of != "" && of != table {
			return nil, &ForeignError{Table: of}
		}
		return syncer, nil
	}
}

// Redriver replays failure objects. It is immutable and safe for concurrent use.
type Redriver struct{ config Config }

// New checks the configuration. Its error names the field. It makes no request.
func New(config Config) (*Redriver, error) {
	switch {
	case config.Bucket == "":
		return nil, errors.New("redrive: Config.Bucket: is missing")
	case config.Store == nil:
		return nil, errors.New("redrive: Config.Store: is missing")
	case config.Stream == nil:
		return nil, errors.New("redrive: Config.Stream: is missing")
	case config.Rows == nil:
		return nil, errors.New("redrive: Config.Rows: is missing")
	case config.Syncer == nil:
		return nil, errors.New("redrive: Config.Syncer: is missing")
	case config.Margin < 0:
		return nil, fmt.Errorf("redrive: Config.Margin: must not be negative, is %s", config.Margin)
	}
	if config.Margin == 0 {
		config.Margin = DefaultMargin
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	return &Redriver{config: config}, nil
}
