package buffer

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/heatsink-dev/heatsink/pkg/cursor"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/shard"
	"github.com/heatsink-dev/heatsink/pkg/unique"
)

// Client is what a [Store] calls. *dynamodb.Client implements it.
type Client interface {
	ddb.BatchWriter
	ddb.Putter
	ddb.Updater
	ddb.Transactor
	ddb.Getter
	ddb.BatchGetter
	ddb.Querier
}

var _ Client = (*dynamodb.Client)(nil)

// Config of a [Store].
type Config struct {
	// Client makes the requests. Required.
	Client Client
	// Table is the deployed name of the event table, RequestTable that of the records of idempotency keys. Required.
	Table, RequestTable string
	// Layout says how many shards a date has. Required.
	Layout *shard.Layout
	// Cursors seals and opens the cursors of lists. Needed to list.
	Cursors *cursor.Sealer
	// Now is the clock. Nil: time.Now.
	Now func() time.Time
	// Rand gives the random part of keys. Nil: crypto/rand.
	Rand io.Reader
	// BatchConcurrency is how many batch writes of 25 go on at a time, at most. Zero: 8.
	BatchConcurrency int
	// PutConcurrency is how many conditional puts go on at a time, at most. Zero: DefaultConcurrency.
	PutConcurrency int
	// ReadConcurrency is how many shards are read at a time. Zero: 32.
	ReadConcurrency int
	// Retry says how long to wait after a throttle. Its Attempts stay unused: the time bounds a call.
	Retry ddb.Policy
	// Patience bounds a call whose context has no deadline. Zero: a minute.
	Patience time.Duration
	// AttemptTimeout is when a write without an answer is given up. Zero: 3 s.
	AttemptTimeout time.Duration
	// Margin of the time is kept for settling what has an unknown outcome, and for the answer; a quarter of the time at most. Zero: 2 s.
	Margin time.Duration
	// Budget of a list. Zero: [DefaultBudget].
	Budget Budget
}

// Store keeps events. It is safe for concurrent use, and should live as long as its process: what it learns of throttles, and whose turn a shard is, serves the next call.
type Store struct {
	config  Config
	dealer  *shard.Dealer
	batches *gate
	puts    *gate
	writer  *unique.Writer
}

// DefaultConcurrency is how many requests a call makes at a time at most, where Config does not say otherwise.
const DefaultConcurrency = 64

// KeyLife is how long a repeat of a request with an idempotency key meets the first one.
const KeyLife = 7 * 24 * time.Hour

// New checks the configuration. It makes no request.
func New(config Config) (*Store, error) {
	switch {
	case config.Client == nil:
		return nil, errors.New("buffer: Config.Client is missing")
	case config.Table == "" || config.RequestTable == "":
		return nil, errors.New("buffer: Config.Table or Config.RequestTable is missing")
	case config.Layout == nil:
		return nil, errors.New("buffer: Config.Layout is missing")
	}
	const (
		batchConcurrency = 8
		attemptTimeout   = 3 * time.Second
		margin           = 2 * time.Second
	)
	setDefault(&config.BatchConcurrency, batchConcurrency)
	setDefault(&config.PutConcurrency, DefaultConcurrency)
	setDefault(&config.ReadConcurrency, shard.DefaultConcurrency)
	setDefault(&config.Patience, time.Minute)
	setDefault(&config.AttemptTimeout, attemptTimeout)
	setDefault(&config.Margin, margin)
	config.Budget = config.Budget.withDefaults()
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.Rand == nil {
		config.Rand = rand.Reader
	}
	if config.Retry.Now == nil {
		config.Retry.Now = time.Now // deadlines are by the real clock
	}
	config.Retry.Attempts = 0
	writer, err := unique.New(unique.Config{Client: config.Client, Retry: config.Retry, Patience: config.Patience, AttemptTimeout: config.AttemptTimeout})
	if err != nil {
		return nil, fmt.Errorf("buffer: %w", err)
	}
	var start [8]byte
	if _, err := io.ReadFull(config.Rand, start[:]); err != nil {
		return nil, fmt.Errorf("buffer: read random bytes: %w", err)
	}
	return &Store{
		config: config, dealer: shard.NewDealer(binary.BigEndian.Uint64(start[:])),
		batches: newGate(config.BatchConcurrency), puts: newGate(config.PutConcurrency), writer: writer,
	}, nil
}

func setDefault[T int | time.Duration](field *T, value T) {
	if *field <= 0 {
		*field = value
	}
}

// NewBatch makes a batch of so many events at the time of now. Of an upload, whose number is not known yet, give 0.
func (s *Store) NewBatch(events int) (Batch, error) {
	id, err := newBatchID(s.config.Rand)
	if err != nil {
		return Batch{}, fmt.Errorf("make a batch: %w", err)
	}
	now := s.config.Now()
	ms := now.UnixMilli()
	if ms < 0 || ms > MaxTime {
		return Batch{}, errors.New("make a batch: the clock is out of the range of keys")
	}
	shards := s.config.Layout.Write(now)
	return Batch{ID: id, Time: ms, Shards: shards, First: s.dealer.Take(events, shards)}, nil
}
