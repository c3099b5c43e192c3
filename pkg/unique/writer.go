package unique

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
)

// TokenLife is how long one token is sent at most. DynamoDB forgets it 10 minutes after the first request with it has ended; sent later it would be a new
// transaction (https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html#DDB-TransactWriteItems-request-ClientRequestToken).
const TokenLife = 9 * time.Minute

// Client is what a [Writer] calls: transactions, and strongly consistent reads to settle what was not answered. *dynamodb.Client implements it.
type Client interface {
	ddb.Transactor
	ddb.Getter
}

var _ Client = (*dynamodb.Client)(nil)

// Config of [New]. Only Client is needed.
type Config struct {
	Client Client
	// Retry says how to wait between tries. Its Attempts, zero for as many as the time allows, bound the tries in all.
	Retry ddb.Policy
	// Patience bounds a transaction whose context has no deadline, or a later one. Zero: 30 s. At most TokenLife.
	Patience time.Duration
	// AttemptTimeout is when a try without an answer is given up and sent again. Zero: 3 s.
	AttemptTimeout time.Duration
	// SettleTime of the time is kept for the reads that settle an unknown outcome, a quarter of it at most. Zero: 1 s.
	SettleTime time.Duration
	// ID makes client request tokens: random, 1 to 36 bytes. Nil: 128 bits of crypto/rand in base 32.
	ID func() string
}

// Writer sends transactions. It is safe for concurrent use.
type Writer struct{ config Config }

// New checks the configuration.
func New(config Config) (*Writer, error) {
	if config.Client == nil {
		return nil, errors.New("unique: no client")
	}
	const (
		patience = 30 * time.Second
		attempt  = 3 * time.Second
		settle   = time.Second
	)
	if config.Patience <= 0 {
		config.Patience = patience
	}
	config.Patience = min(config.Patience, TokenLife)
	if config.AttemptTimeout <= 0 {
		config.AttemptTimeout = attempt
	}
	if config.SettleTime <= 0 {
		config.SettleTime = settle
	}
	if config.ID == nil {
		config.ID = rand.Text
	}
	if config.Retry.Now == nil {
		config.Retry.Now = time.Now
	}
	return &Writer{config}, nil
}

// Outcome says how a transaction came about.
type Outcome struct {
	// Attempts is how often it was sent.
	Attempts int
	// Settled: the answer was lost, and its success was found by reading.
	Settled bool
	// Met are the items, by label, in which Mine recognised the transaction's own work. Nil where DynamoDB answered with success.
	Met map[string]ddb.Item
}

// Write sends a transaction until its outcome is definite. Requests: one, and one more for each conflict, throttle or lost answer, by the policy. A nil error
// means that it has taken effect. Otherwise the error is or wraps
//   - *[RequestError]: it cannot be sent; no request was made
//   - *[ConditionError]: a condition does not hold; it outranks everything below
//   - *[InvalidError], [ErrTokenReused]: DynamoDB refuses it
//   - [ErrTryAgain]: conflicts or throttles until the time ended
//   - [ErrUnknown]: it may have taken effect, and reading could not settle it
//   - anything else that the SDK returns, such as a missing permission.
//
// After each but ErrUnknown nothing of it was written.
func (w *Writer) Write(ctx context.Context, tx Transaction) (Outcome, error) {
	targets, err := tx.check()
	if err != nil {
		return Outcome{}, tx.wrap(err)
	}
	if err := ctx.Err(); err != nil {
		return Outcome{}, tx.wrap(err)
	}
	if tx.Token == "" {
		tx.Token = w.config.ID()
	}
	ctx, cancel := context.WithTimeout(ctx, w.config.Patience)
	defer cancel()
	s := sending{Writer: w, tx: tx, targets: targets}
	s.input = &dynamodb.TransactWriteItemsInput{ClientRequestToken: &s.tx.Token, TransactItems: tx.items()}
	err = s.run(ctx)
	return s.outcome, tx.wrap(err)
}

func (t Transaction) wrap(err error) error {
	if err == nil || t.Name == "" {
		return err
	}
	return fmt.Errorf("%s: %w", t.Name, err)
}

// sending is one transaction on its way.
type sending struct {
	*Writer
	tx      Transaction
	targets []target
	input   *dynamodb.TransactWriteItemsInput
	outcome Outcome
	// unknown: a try was sent whose outcome nobody told.
	unknown bool
}

func (s *sending) run(ctx context.Context) error {
	deadline, _ := ctx.Deadline() // there is one, of Patience
	reserve := min(s.config.SettleTime, deadline.Sub(s.config.Retry.Now())/4)
	sending, cancel := context.WithDeadline(ctx, deadline.Add(-reserve))
	defer cancel()
	for {
		err := s.attempt(sending)
		if err == nil {
			return nil
		}
		failure := ddb.Classify(err)
		switch failure.Class {
		case ddb.ConditionFailed:
			return s.refused(failure)
		case ddb.Conflict, ddb.Throttled:
		case ddb.UnknownOutcome:
			s.unknown = true
		default:
			return s.definite(ctx, failure, err)
		}
		if s.config.Retry.Attempts > 0 && s.outcome.Attempts >= s.config.Retry.Attempts || !s.config.Retry.Wait(sending, s.outcome.Attempts) {
			if s.unknown {
				return s.settle(ctx, err)
			}
			return fmt.Errorf("%w: %w", ErrTryAgain, err)
		}
	}
}

// attempt sends once. The SDK's own retries are off: they would hide which try a refusal answers, and none of them retries a conflict.
func (s *sending) attempt(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.config.AttemptTimeout)
	defer cancel()
	s.outcome.Attempts++
	_, err := s.config.Client.TransactWriteItems(ctx, s.input, func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} })
	return err
}

// refused turns positions into labels. An own item among what stands in the way proves that the transaction took effect before.
func (s *sending) refused(failure ddb.Failure) error {
	var first *Operation
	var failed []*Operation
	items := map[string]ddb.Item{}
	for position := range s.tx.Operations {
		operation := &s.tx.Operations[position]
		if position >= len(failure.Positions) || failure.Positions[position].Class != ddb.ConditionFailed {
			continue
		}
		stands := failure.Positions[position].Item
		items[operation.Label] = stands
		if len(stands) > 0 && operation.Mine != nil && operation.Mine(stands) {
			s.met(operation.Label, stands)
		}
		if failed = append(failed, operation); first == nil || operation.Rank < first.Rank {
			first = operation
		}
	}
	if s.outcome.Met != nil {
		return nil
	}
	if first == nil {
		return &InvalidError{Code: failure.Code, Err: errors.New("a condition failed that no operation has")}
	}
	return s.conditionError(first, failed, items)
}

func (s *sending) met(label string, item ddb.Item) {
	if s.outcome.Met == nil {
		s.outcome.Met = map[string]ddb.Item{}
	}
	s.outcome.Met[label] = item
}
