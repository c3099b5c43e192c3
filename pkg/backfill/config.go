package backfill

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/account"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/unique"
)

// Describer tells what a table is.
type Describer interface {
	DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error)
}

// SnapshotGetter reads up to 100 items as they are at one moment.
type SnapshotGetter interface {
	TransactGetItems(context.Context, *dynamodb.TransactGetItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactGetItemsOutput, error)
}

// Client is what a [Tool] calls. *dynamodb.Client implements it; with ddb.Metered the write rate is what DynamoDB reports, without it is estimated.
type Client interface {
	Describer
	SnapshotGetter
	ddb.Scanner
	ddb.BatchGetter
	unique.Client
}

var _ Client = (*dynamodb.Client)(nil)

// Limits of [Config].
const (
	// MaxSegments of a parallel scan. DynamoDB takes a million; each one here is a page in memory.
	MaxSegments = 256
	// MaxConcurrency of transactions and of re-reads.
	MaxConcurrency = 256
)

// Config of [New]. Client and the tables are needed.
type Config struct {
	Client Client
	// UserTable and ClaimTable are deployed names. Scan needs no claim table.
	UserTable, ClaimTable string
	// Segments that a table is scanned in at once. Zero: 8. At most [MaxSegments].
	Segments int
	// Concurrency is how many users or faults are worked on at once. Zero: 16. At most [MaxConcurrency].
	Concurrency int
	// PageSize is how many users a page of Backfill has: what a crash makes it read again, for each segment. Zero: 200.
	PageSize int
	// WriteUnits is how many WRU a second Backfill and repairs take at most, indexes of the user table included. Zero: as many as there are.
	WriteUnits float64
	// TempDir is where names are compared: about 50 bytes for each. Empty: the system's.
	TempDir string
	// Retry says how to wait after conflicts and throttles. Its Attempts do not count: Patience does.
	Retry ddb.Policy
	// Patience is how long one request or transaction is tried again. Zero: 5 minutes. At most unique.TokenLife.
	Patience time.Duration
	// Progress is told after each page, never twice at once. May be nil.
	Progress func(Progress)
	// ID makes incarnations and run ids: random, at least 100 bits. Nil: 128 bits of crypto/rand.
	ID func() string
	// Now is the clock. Nil: the system's.
	Now func() time.Time
}

// Phases of a [Progress].
const (
	PhaseUsers   = "read users"
	PhaseClaims  = "read claims"
	PhaseCompare = "compare"
	PhaseWrite   = "write claims"
)

// Progress is how far a run is.
type Progress struct {
	Phase string
	// Done is the number of items read so far in this phase; for PhaseCompare of files of names.
	Done int64
	// About is how many items there are. DynamoDB counts them every six hours or so, so it is off by as much as the table has changed. Exact for PhaseCompare.
	About int64
	// Segments that are finished, of all: exact. Both zero for PhaseCompare.
	SegmentsDone, Segments int
}

// Tool does the work. It is safe for concurrent use, but for one run at a time with one checkpoint.
type Tool struct {
	config Config
	claims unique.Claims
	writer *unique.Writer
	pace   *pacer
}

// ConfigError says which field of a [Config] is out of its limits.
type ConfigError struct {
	Field      string
	Limit, Got int
}

// Error names field and limit.
func (e *ConfigError) Error() string {
	return fmt.Sprintf("%s must be 1 to %d, is %d", e.Field, e.Limit, e.Got)
}

// New checks the configuration.
func New(config Config) (*Tool, error) {
	if config.Client == nil || config.UserTable == "" {
		return nil, errors.New("backfill: needs a client and the user table's deployed name")
	}
	for _, field := range []struct {
		name      string
		value     *int
		zero, max int
	}{
		{"Segments", &config.Segments, 8, MaxSegments},
		{"Concurrency", &config.Concurrency, 16, MaxConcurrency},
		{"PageSize", &config.PageSize, 200, 1000},
	} {
		if *field.value == 0 {
			*field.value = field.zero
		}
		if *field.value < 1 || *field.value > field.max {
			return nil, &ConfigError{field.name, field.max, *field.value}
		}
	}
	if config.Patience <= 0 {
		config.Patience = 5 * time.Minute
	}
	config.Patience = min(config.Patience, unique.TokenLife)
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.ID == nil {
		config.ID = rand.Text
	}
	if config.Retry.Now == nil {
		config.Retry.Now = config.Now
	}
	// The writer takes zero for as often as the time allows; ddb.Retry takes it for 8.
	config.Retry.Attempts = 0
	writer, err := unique.New(unique.Config{Client: config.Client, Retry: config.Retry, Patience: config.Patience})
	if err != nil {
		return nil, err
	}
	config.Retry.Attempts = math.MaxInt
	return &Tool{
		config: config, claims: unique.Claims{Table: config.ClaimTable}, writer: writer,
		pace: newPacer(config.WriteUnits, config.Now, config.Retry),
	}, nil
}

// table is what a run is bound to.
type table struct {
	name, arn, id string
	about         int64
}

// describe checks that a table has one key of type S, of that name.
func (t *Tool) describe(ctx context.Context, name, key string) (table, error) {
	if name == "" {
		return table{}, errors.New("backfill: needs the claim table's deployed name")
	}
	var out *dynamodb.DescribeTableOutput
	err := t.read(ctx, func(ctx context.Context) (err error) {
		out, err = t.config.Client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
		return err
	})
	if err != nil {
		return table{}, fmt.Errorf("describe table %s: %w", name, err)
	}
	d := out.Table
	fits := len(d.KeySchema) == 1 && aws.ToString(d.KeySchema[0].AttributeName) == key
	for _, a := range d.AttributeDefinitions {
		fits = fits && (aws.ToString(a.AttributeName) != key || a.AttributeType == types.ScalarAttributeTypeS)
	}
	if !fits {
		return table{}, fmt.Errorf("table %s is not of this kind: its key must be %s (S) alone", name, key)
	}
	return table{name: name, arn: aws.ToString(d.TableArn), id: aws.ToString(d.TableId), about: aws.ToInt64(d.ItemCount)}, nil
}

func (t *Tool) users(ctx context.Context) (table, error) {
	return t.describe(ctx, t.config.UserTable, account.UserIDAttribute)
}

func (t *Tool) claimTable(ctx context.Context) (table, error) {
	return t.describe(ctx, t.config.ClaimTable, unique.KeyAttribute)
}

// read repeats a read through throttles, conflicts and lost answers until it is answered or the patience ends: reading twice does no harm.
func (t *Tool) read(ctx context.Context, fn func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, t.config.Patience)
	defer cancel()
	for attempt := 1; ; attempt++ {
		err := fn(limited)
		switch ddb.Classify(err).Class {
		case ddb.Conflict, ddb.Throttled, ddb.UnknownOutcome:
		default:
			return err
		}
		if limited.Err() != nil || !t.config.Retry.Wait(limited, attempt) {
			return errors.Join(ctx.Err(), err)
		}
	}
}
