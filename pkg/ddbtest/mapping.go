package ddbtest

import (
	"context"
	"encoding/json"
	"errors"
	"hash/fnv"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// Limits of an event source mapping (https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-params.html).
const (
	// Unlimited retries until the records are too old. It is AWS's default, with which one bad record blocks its shard for a day.
	Unlimited = -1

	maxRetries         = 10_000
	maxBatchSize       = 10_000
	maxFactor          = 10
	minAge             = time.Minute
	maxAge             = 7 * 24 * time.Hour
	defaultBatchSize   = 100
	maxPayload         = 6 << 20 // https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
	retention          = 24 * time.Hour
	defaultRetryDelay  = time.Second
	defaultUUID        = "1d2c3b4a-5e6f-4a70-8b91-a2b3c4d5e6f7"
	defaultFunctionARN = "arn:aws:lambda:" + Region + ":123456789012:function:indexer"
)

// ErrNotInvoked is what a handler returns to say that Lambda could not invoke it (throttled, no concurrency left). That is limited by age alone.
var ErrNotInvoked = errors.New("ddbtest: the function was not invoked")

// MappingConfig has the names and the meanings of AWS's parameters.
type MappingConfig struct {
	// Handler is the function: the payload of an event in, its response out. Its error is a function error.
	Handler func(ctx context.Context, payload []byte) ([]byte, error)
	// BatchSize is 1 to 10,000. Zero: 100.
	BatchSize int
	// MaximumRetryAttempts is 0 to 10,000, or [Unlimited]. The zero value is none.
	MaximumRetryAttempts int
	// MaximumRecordAge is 60 s to 7 days. Zero: none but the stream's 24 hours.
	MaximumRecordAge time.Duration
	// BisectBatchOnFunctionError and ReportBatchItemFailures are as on AWS.
	BisectBatchOnFunctionError, ReportBatchItemFailures bool
	// ParallelizationFactor is 1 to 10: the batches of a shard that may be under way at once, split by key. Zero: 1.
	ParallelizationFactor int
	// OnFailure takes the objects that AWS would put into the bucket of an S3 destination. Nil: no destination, so what is given up is lost.
	OnFailure func(ctx context.Context, key string, object []byte) error
	// Clock is moved by RetryDelay (zero: 1 s) with each retry. Nil: a new one.
	Clock      *Clock
	RetryDelay time.Duration
	// UUID of the mapping and ARN of the function, for the objects. Empty: made up.
	UUID, FunctionARN string
	// Seed rules which shard comes next and the random part of object names.
	Seed uint64
}

// MappingStats counts what a mapping did. Records are counted, not batches, where nothing else is said.
type MappingStats struct {
	// Invocations of the handler; Retries are those of a batch that had failed before.
	Invocations, Retries int
	// Splits of a batch, in halves or at a checkpoint.
	Splits int
	// Done records are past the checkpoint by success.
	Done int
	// Discarded records were given up; Lost are those of them that reached no destination.
	Discarded, Lost int
	// Expired records left the stream after 24 hours unread. Nothing tells of them.
	Expired int
}

// Mapping delivers stream records to a handler by the rules of a Lambda event source mapping
// (https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-batchfailurereporting.html,
// https://docs.aws.amazon.com/lambda/latest/dg/services-dynamodb-errors.html):
//
//   - Records of a shard (with a ParallelizationFactor: of a key in a shard) go in order; a failing batch holds back what is behind it.
//   - Of several failed identifiers the lowest is the checkpoint, and everything from it is delivered again, whether it had succeeded or not.
//   - An empty or null list or response is success. An empty or null identifier or a wrong name is failure of the whole batch. So is, which AWS does not
//     document, an identifier that is not in the batch and an answer that is not JSON.
//   - With bisecting, a function error halves the batch, whatever else is configured; a partial response cuts it at the checkpoint. Neither spends
//     a retry. A checkpoint at the first record leaves nothing to cut: that is a retry, and so is any partial response without bisecting.
//   - What has spent its retries, or is past the maximum age, is discarded: all that is left of its batch, or its records that are too old.
//
// It runs one invocation at a time. It is not for concurrent use.
type Mapping struct {
	t      testing.TB
	cfg    MappingConfig
	rand   *rand.Rand
	shards []*shard
	stats  MappingStats
}

type shard struct {
	id, parent string
	last       *big.Int
	lanes      []*lane
}

// lane is what must stay in order: a shard, or its part by ParallelizationFactor.
type lane struct {
	shard   *shard
	split   []*batch // before records
	records []*delivery
}

type batch struct {
	records []*delivery
	retries int // spent
	invoked int
	failed  *responseContext
}

// delivery is one record in the mapping's hands.
type delivery struct {
	raw      json.RawMessage
	sequence string
	arn      string
	at       time.Time
}

// NewMapping checks the configuration as AWS does; a wrong one fails the test.
func NewMapping(t testing.TB, cfg MappingConfig) *Mapping {
	t.Helper()
	check := func(ok bool, field string, value any) {
		t.Helper()
		if !ok {
			t.Fatalf("ddbtest: mapping: %s is out of its range: %v", field, value)
		}
	}
	orDefault := func(field *string, value string) {
		if *field == "" {
			*field = value
		}
	}
	if cfg.BatchSize == 0 {
		cfg.BatchSize = defaultBatchSize
	}
	if cfg.ParallelizationFactor == 0 {
		cfg.ParallelizationFactor = 1
	}
	if cfg.RetryDelay == 0 {
		cfg.RetryDelay = defaultRetryDelay
	}
	if cfg.Clock == nil {
		cfg.Clock = NewClock(time.Time{})
	}
	orDefault(&cfg.UUID, defaultUUID)
	orDefault(&cfg.FunctionARN, defaultFunctionARN)
	check(cfg.Handler != nil, "Handler", "nil")
	check(cfg.BatchSize >= 1 && cfg.BatchSize <= maxBatchSize, "BatchSize", cfg.BatchSize)
	check(cfg.MaximumRetryAttempts >= Unlimited && cfg.MaximumRetryAttempts <= maxRetries, "MaximumRetryAttempts", cfg.MaximumRetryAttempts)
	check(cfg.MaximumRecordAge == 0 || cfg.MaximumRecordAge >= minAge && cfg.MaximumRecordAge <= maxAge, "MaximumRecordAge", cfg.MaximumRecordAge)
	check(cfg.ParallelizationFactor >= 1 && cfg.ParallelizationFactor <= maxFactor, "ParallelizationFactor", cfg.ParallelizationFactor)
	check(cfg.RetryDelay > 0, "RetryDelay", cfg.RetryDelay) // without time passing, unlimited retries would never end
	return &Mapping{t: t, cfg: cfg, rand: rand.New(rand.NewPCG(cfg.Seed, cfg.Seed))}
}

// Stats counts what was done so far.
func (m *Mapping) Stats() MappingStats { return m.stats }

// Child says that one shard split off another: it is read once its parent is done with.
func (m *Mapping) Child(child, parent string) { m.shard(child).parent = m.shard(parent).id }

func (m *Mapping) shard(id string) *shard {
	if at := slices.IndexFunc(m.shards, func(s *shard) bool { return s.id == id }); at >= 0 {
		return m.shards[at]
	}
	s := &shard{id: id, last: new(big.Int)}
	for range m.cfg.ParallelizationFactor {
		s.lanes = append(s.lanes, &lane{shard: s})
	}
	m.shards = append(m.shards, s)
	return s
}

// Send puts records at the end of a shard. Their sequence numbers must grow, as they do in a stream; a record without one is let through.
func (m *Mapping) Send(shardID string, records ...json.RawMessage) {
	m.t.Helper()
	s := m.shard(shardID)
	for _, raw := range records {
		var fields struct {
			ARN      string `json:"eventSourceARN"`
			DynamoDB struct {
				Keys           json.RawMessage
				SequenceNumber string
				At             json.Number `json:"ApproximateCreationDateTime"`
			} `json:"dynamodb"`
		}
		// What a poller knows of a record beside its bytes. A record that even this cannot read has no sequence number, and arrived now.
		if err := json.Unmarshal(raw, &fields); err != nil {
			m.t.Logf("ddbtest: mapping: a record is not readable: %v", err)
		}
		d := &delivery{raw: raw, sequence: fields.DynamoDB.SequenceNumber, arn: fields.ARN, at: m.cfg.Clock.Now()}
		if seconds, err := fields.DynamoDB.At.Int64(); err == nil {
			d.at = time.Unix(seconds, 0).UTC()
		}
		if number, ok := new(big.Int).SetString(d.sequence, 10); ok {
			if number.Cmp(s.last) <= 0 {
				m.t.Errorf("ddbtest: mapping: sequence number %s does not come after %s in shard %s", number, s.last, s.id)
			}
			s.last = number
		}
		hash := fnv.New32a()
		_, _ = hash.Write(fields.DynamoDB.Keys) // never fails
		l := s.lanes[int(hash.Sum32()%uint32(len(s.lanes)))]
		l.records = append(l.records, d)
	}
}

// Run delivers until nothing is left, or the context ends, with whose error it then returns.
func (m *Mapping) Run(ctx context.Context) error {
	for m.Step(ctx) {
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// Step makes one delivery from a shard that has one, drawn by the seed. False: nothing is left.
func (m *Mapping) Step(ctx context.Context) bool {
	var ready []*lane
	for _, s := range m.shards {
		if m.blocked(s) {
			continue
		}
		for _, l := range s.lanes {
			if !l.empty() {
				ready = append(ready, l)
			}
		}
	}
	if len(ready) == 0 {
		return false
	}
	m.deliver(ctx, ready[m.rand.IntN(len(ready))])
	return true
}

// blocked: an ancestor still has records.
func (m *Mapping) blocked(s *shard) bool {
	for s.parent != "" {
		s = m.shard(s.parent)
		if slices.ContainsFunc(s.lanes, func(l *lane) bool { return !l.empty() }) {
			return true
		}
	}
	return false
}

func (l *lane) empty() bool { return len(l.split) == 0 && len(l.records) == 0 }

// next takes the batch that comes first.
func (l *lane) next(size int) *batch {
	if len(l.split) > 0 {
		b := l.split[0]
		l.split = l.split[1:]
		return b
	}
	n, bytes := 0, 0
	for n < min(size, len(l.records)) {
		bytes += len(l.records[n].raw) + 1
		if n > 0 && bytes > maxPayload {
			break
		}
		n++
	}
	b := &batch{records: l.records[:n:n]}
	l.records = l.records[n:]
	return b
}

// putBack puts batches before everything else, in their order.
func (l *lane) putBack(batches ...*batch) { l.split = append(batches, l.split...) }
