package indexsync

import (
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/schema"
	"github.com/heatsink-dev/heatsink/pkg/sortkey"
)

// The defaults of a [Config].
const (
	// DefaultConcurrency writes a batch of 100 in two rounds, not in four: at 5 ms a write that is the larger part of the batch's time.
	DefaultConcurrency = 50
	DefaultMargin      = 2 * time.Second
	// DefaultCallTimeout is above the 7 s that the SDK's own retries of a throttled write can wait (up to 1, 2 and 4 s), so that a throttle is still seen as one.
	DefaultCallTimeout = 10 * time.Second
)

// Target is one index table that a [Syncer] keeps.
type Target struct {
	// Index describes the rows. It must build a table.
	Index *schema.Index
	// Table is the deployed name or ARN of the index table.
	Table string
}

// Config describes a [Syncer]. Source, Targets, Writer and Park are required.
type Config struct {
	// Source is the table whose stream is read.
	Source *schema.BaseTable
	// Targets are the index tables to keep; every Index must be one of Source's.
	Targets []Target
	// Writer puts rows: one conditional PutItem each, no other call. The SDK's own retries stay on; a call is bounded by CallTimeout.
	// Its HTTP client should keep as many idle connections per host as Concurrency.
	Writer ddb.Putter
	// Park keeps the records that can never be written.
	Park Parker
	// Reader, where there is one, is asked about each row that DynamoDB refuses: one strongly consistent GetItem. A record that a later one has superseded there is done, not
	// poison. Nil: refused rows are poison. An indexer needs none, as it meets records soon after they were written.
	Reader ddb.Getter
	// Concurrency is how many base items are written at the same time. Defaults to [DefaultConcurrency].
	Concurrency int
	// Margin is the time before the context's deadline in which nothing is begun and what runs is cut off. Defaults to [DefaultMargin].
	Margin time.Duration
	// CallTimeout bounds one write or one parking with all of its retries, so that a slow one cannot take the whole time. Defaults to [DefaultCallTimeout].
	CallTimeout time.Duration
	// Patience is how long one call of [Syncer.Process] tries again, with full jitter, what failed for a passing reason, before it reports it. Never beyond
	// the margin before the context's deadline. Zero: not at all.
	Patience time.Duration
	// Retry waits between those tries; its Attempts are not used. The zero value is useful.
	Retry ddb.Policy
	// Now is the clock for tombstones' expiry and for Patience. Defaults to [time.Now].
	Now func() time.Time
	// PartialBatch says that the event source mapping reports batch item failures. Without it [Syncer.Process] returns an error where it would have
	// named a failed record, because the mapping would take any answer as success.
	PartialBatch bool
}

// Syncer keeps the index tables of one base table. It is immutable and safe for concurrent use.
type Syncer struct {
	source       *schema.BaseTable
	targets      []*target
	writer       ddb.Putter
	park         Parker
	reader       ddb.Getter
	concurrency  int
	margin       time.Duration
	callTimeout  time.Duration
	patience     time.Duration
	retry        ddb.Policy
	now          func() time.Time
	partialBatch bool
}

// target is a [Target] with what every write to it shares.
type target struct {
	position  int
	index     *schema.Index
	table     *string
	retention time.Duration
	version   *sortkey.Codec    // of the version attribute; nil where the stream gives the version
	names     map[string]string // the expression's names; read only
}

// The conditions of the two writes. A tombstone wins a tie, because the version of a removal is that of the row that it removes where the version is an
// attribute of the item.
var (
	upsertCondition    = aws.String("attribute_not_exists(#p) OR #v < :v")
	tombstoneCondition = aws.String("attribute_not_exists(#p) OR #v <= :v")
)

// New checks the configuration. Its error names the field. It makes no request: see [CheckStream] for what only the deployed table can tell.
func New(config Config) (*Syncer, error) {
	s := &Syncer{
		source: config.Source, writer: config.Writer, park: config.Park, reader: config.Reader, concurrency: config.Concurrency, margin: config.Margin,
		callTimeout: config.CallTimeout, patience: config.Patience, retry: config.Retry, now: config.Now, partialBatch: config.PartialBatch,
	}
	switch {
	case s.source == nil:
		return nil, errors.New("indexsync: Config.Source: is missing")
	case s.writer == nil:
		return nil, errors.New("indexsync: Config.Writer: is missing")
	case s.park == nil:
		return nil, errors.New("indexsync: Config.Park: is missing: a record that cannot be written would be lost or would block its shard")
	case s.concurrency < 0:
		return nil, fmt.Errorf("indexsync: Config.Concurrency: must not be negative, is %d", s.concurrency)
	case s.margin < 0:
		return nil, fmt.Errorf("indexsync: Config.Margin: must not be negative, is %s", s.margin)
	case s.callTimeout < 0:
		return nil, fmt.Errorf("indexsync: Config.CallTimeout: must not be negative, is %s", s.callTimeout)
	case s.patience < 0:
		return nil, fmt.Errorf("indexsync: Config.Patience: must not be negative, is %s", s.patience)
	case len(config.Targets) == 0:
		return nil, fmt.Errorf("indexsync: Config.Targets: table %s has no index table to keep", s.source.Name)
	}
	if s.concurrency == 0 {
		s.concurrency = DefaultConcurrency
	}
	if s.margin == 0 {
		s.margin = DefaultMargin
	}
	if s.callTimeout == 0 {
		s.callTimeout = DefaultCallTimeout
	}
	if s.now == nil {
		s.now = time.Now
	}
	holders := map[string]string{}
	for n, given := range config.Targets {
		compiled, err := s.target(n, given)
		if err != nil {
			return nil, fmt.Errorf("indexsync: Config.Targets[%d]%w", n, err)
		}
		if holder, taken := holders[given.Table]; taken {
			return nil, fmt.Errorf("indexsync: Config.Targets[%d].Table: index %s would share table %s with index %s", n, given.Index.Name, given.Table, holder)
		}
		holders[given.Table] = given.Index.Name
		s.targets = append(s.targets, compiled)
	}
	return s, nil
}

func (s *Syncer) target(position int, given Target) (*target, error) {
	index := given.Index
	switch {
	case index == nil:
		return nil, errors.New(".Index: is missing")
	case index.Source == nil || index.Source.Name != s.source.Name:
		return nil, fmt.Errorf(".Index: index %s is not of table %s", index.Name, s.source.Name)
	case !index.Build.Has(schema.Table):
		return nil, fmt.Errorf(".Index: index %s builds no table", index.Name)
	case given.Table == "":
		return nil, fmt.Errorf(".Table: the deployed name of index %s's table is missing", index.Name)
	}
	t := &target{
		position: position, index: index, table: aws.String(given.Table), retention: index.TombstoneRetention,
		names: map[string]string{"#p": index.PartitionKey.Name, "#v": schema.VersionAttribute},
	}
	if index.Version.Attribute != "" {
		codec, err := versionCodec(index)
		if err != nil {
			return nil, fmt.Errorf(".Index: index %s: version: %w", index.Name, err)
		}
		t.version = codec
	}
	return t, nil
}

// WithPark returns a Syncer that parks elsewhere and is otherwise the same.
func (s *Syncer) WithPark(park Parker) *Syncer {
	other := *s
	other.park = park
	return &other
}

// WithReader returns a Syncer that asks there about rows that DynamoDB refuses, see [Config], and is otherwise the same.
func (s *Syncer) WithReader(reader ddb.Getter) *Syncer {
	other := *s
	other.reader = reader
	return &other
}

// WithoutWrites returns a Syncer that decodes records and builds rows, and takes each for written that DynamoDB's limit of an item's size admits. Its [Stats] count requests
// that were not made. It still parks and, with a Reader, reads.
func (s *Syncer) WithoutWrites() *Syncer {
	other := *s
	other.writer = weighing{}
	return &other
}

// Retention is how long a deletion is remembered: the shortest tombstone retention of the targets. A record older than that must not be processed.
func (s *Syncer) Retention() time.Duration {
	shortest := s.targets[0].retention
	for _, t := range s.targets[1:] {
		shortest = min(shortest, t.retention)
	}
	return shortest
}
