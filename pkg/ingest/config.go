package ingest

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/heatsink-dev/heatsink/pkg/buffer"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

// Claimer is what an [Ingester] calls. *dynamodb.Client implements it.
type Claimer interface {
	ddb.Getter
	ddb.Updater
}

var _ Claimer = (*dynamodb.Client)(nil)

// Events stores events. *buffer.Store implements it. WriteBatch must be safe to repeat, and side by side.
type Events interface {
	Batcher
	WriteBatch(ctx context.Context, batch buffer.Batch, first int, events []json.RawMessage) error
}

var _ Events = (*buffer.Store)(nil)

// Config of an [Ingester].
type Config struct {
	// Client keeps the batches' records, in RequestTable, a deployed name. Required.
	Client       Claimer
	RequestTable string
	// Objects are read from Bucket. Required.
	Objects ObjectGetter
	Bucket  string
	// Events stores them. Required.
	Events Events
	// Now is the clock of leases. Nil: time.Now. Deadlines of contexts are by the real clock.
	Now func() time.Time
	// Rand names a worker. Nil: crypto/rand.
	Rand io.Reader
	// Lease is how long a worker that tells nothing more keeps its batch; it renews it three times as often. Zero: a minute.
	Lease time.Duration
	// Margin before the context's deadline is for saving how far the batch is; a quarter of the time at most. Zero: 10 s.
	Margin time.Duration
	// CheckpointLines is after how many lines at the latest the batch's record is written anew. Zero: 5,000.
	CheckpointLines int
	// WindowEvents are stored as one piece, at most. Zero: 512.
	WindowEvents int
	// MaxObjectBytes and MaxContentBytes bound an upload before and after decompression, MaxLines its lines. Zero: the constants of these names.
	MaxObjectBytes, MaxContentBytes int64
	MaxLines                        int
	// Retry says how long to wait where S3 or the request table answers nothing definite. Its Attempts stay unused: the time bounds a call.
	Retry ddb.Policy
}

func (c Config) withDefaults() (Config, error) {
	switch {
	case c.Client == nil || c.RequestTable == "":
		return c, errors.New("ingest: Config.Client or Config.RequestTable is missing")
	case c.Objects == nil || c.Bucket == "":
		return c, errors.New("ingest: Config.Objects or Config.Bucket is missing")
	case c.Events == nil:
		return c, errors.New("ingest: Config.Events is missing")
	case c.MaxLines > MaxLines:
		return c, errors.New("ingest: Config.MaxLines is more than the keys of events have room for")
	}
	const (
		lease           = time.Minute
		margin          = 10 * time.Second
		checkpointLines = 5_000
	)
	setDefault(&c.Lease, lease)
	setDefault(&c.Margin, margin)
	setDefault(&c.CheckpointLines, checkpointLines)
	setDefault(&c.WindowEvents, windowEvents)
	setDefault(&c.MaxObjectBytes, MaxObjectBytes)
	setDefault(&c.MaxContentBytes, MaxContentBytes)
	setDefault(&c.MaxLines, MaxLines)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Rand == nil {
		c.Rand = rand.Reader
	}
	return c, nil
}

func setDefault[T int | int64 | time.Duration](field *T, value T) {
	if *field <= 0 {
		*field = value
	}
}

// BatchOf is the batch that an object of the upload bucket belongs to; false for an object of another kind.
func BatchOf(key string) (batchID string, ok bool) {
	batchID, ok = strings.CutPrefix(key, schema.UploadPrefix)
	return batchID, ok && buffer.IsBatchID(batchID)
}
