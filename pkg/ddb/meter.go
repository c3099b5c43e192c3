package ddb

import (
	"context"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"
)

// Usage is what calls to DynamoDB took.
type Usage struct {
	// Requests are calls of the SDK's client; Attempts are what it sent for them, its own retries included.
	Requests, Attempts int
	// ReadUnits and WriteUnits are RRU and WRU as DynamoDB reported them, of table and indexes together, and for a failed condition as estimated.
	ReadUnits, WriteUnits float64
	// Throttles counts attempts that were refused for want of throughput.
	Throttles int
	// Unknown counts attempts without a definite answer. Where a request has more than one attempt and one of them was such, a failed condition may
	// be its own success.
	Unknown int
}

// Add sums two usages.
func (u Usage) Add(other Usage) Usage {
	u.Requests += other.Requests
	u.Attempts += other.Attempts
	u.ReadUnits += other.ReadUnits
	u.WriteUnits += other.WriteUnits
	u.Throttles += other.Throttles
	u.Unknown += other.Unknown
	return u
}

// Meter counts the calls made with its context. It is safe for concurrent use.
type Meter struct {
	outer *Meter
	mu    sync.Mutex
	usage Usage
}

type meterKey struct{}

// WithMeter gives a context whose calls, by a client with [Metered], are counted. A meter within another counts for both.
func WithMeter(ctx context.Context) (context.Context, *Meter) {
	outer, _ := ctx.Value(meterKey{}).(*Meter)
	meter := &Meter{outer: outer}
	return context.WithValue(ctx, meterKey{}, meter), meter
}

// Usage is what has been counted so far: finished requests, and attempts of running ones.
func (m *Meter) Usage() Usage {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.usage
}

func (m *Meter) add(usage Usage) {
	for ; m != nil; m = m.outer {
		m.mu.Lock()
		m.usage = m.usage.Add(usage)
		m.mu.Unlock()
	}
}

// Metered is an option of dynamodb.NewFromConfig. Calls whose context has a [Meter] ask for ReturnConsumedCapacity=TOTAL, unless the caller asked
// for some form of it, and are counted; calls without one are left as they are. The caller's input is never changed.
//
// DynamoDB omits what a failed condition consumed, though it charges it: the existing item's size, at least 1 WRU, also where none exists. The meter adds
// that: by the size of the item in the error, where the request asked for ALL_OLD, else 1. So it does for each operation of a cancelled
// transaction, twice. Both are the least that it can have been.
func Metered(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		if err := stack.Initialize.Add(meterRequests{}, middleware.Before); err != nil {
			return err
		}
		// Outermost of the step that runs once for each attempt: it sees the answer decoded.
		return stack.Deserialize.Add(meterAttempts{}, middleware.Before)
	})
}

type meterRequests struct{}

func (meterRequests) ID() string { return "heatsink:MeterRequests" }

func (meterRequests) HandleInitialize(
	ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
) (middleware.InitializeOutput, middleware.Metadata, error) {
	meter, _ := ctx.Value(meterKey{}).(*Meter)
	if meter == nil {
		return next.HandleInitialize(ctx, in)
	}
	in.Parameters = askCapacity(in.Parameters)
	out, metadata, err := next.HandleInitialize(ctx, in)
	usage := Usage{Requests: 1}
	if err != nil {
		usage.WriteUnits = failedUnits(in.Parameters, err)
	} else {
		read, write := consumed(out.Result)
		usage.ReadUnits, usage.WriteUnits = read, write
	}
	meter.add(usage)
	return out, metadata, err
}

type meterAttempts struct{}

func (meterAttempts) ID() string { return "heatsink:MeterAttempts" }

func (meterAttempts) HandleDeserialize(
	ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler,
) (middleware.DeserializeOutput, middleware.Metadata, error) {
	out, metadata, err := next.HandleDeserialize(ctx, in)
	if meter, _ := ctx.Value(meterKey{}).(*Meter); meter != nil {
		usage := Usage{Attempts: 1}
		if err != nil {
			switch Classify(err).Class {
			case Throttled:
				usage.Throttles = 1
			case UnknownOutcome:
				usage.Unknown = 1
			default: // a definite answer
			}
		}
		meter.add(usage)
	}
	return out, metadata, err
}
