package ddbtest

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// Rule says which attempts a fault hits. An attempt is one request on the wire: what the SDK retries matches again.
type Rule struct {
	// Operation is the API's name, such as "PutItem". Empty: every one.
	Operation string
	// Table and Index are deployed names. Empty: every one. A batch or transaction is on each of its tables.
	Table, Index string
	// When looks at the input, such as *dynamodb.PutItemInput. Nil: every one.
	When func(input any) bool
	// Nth hits that match alone, counted from 1. Zero: every one.
	Nth int
	// From hits that match and all after it. Zero: every one.
	From int
	// Times is how often the rule hits at most. Zero: without end.
	Times int
	// Probability of a hit, drawn from the seed. Zero: 1.
	Probability float64
	// Do is what happens.
	Do Fault
}

// Call is one attempt as it left the SDK.
type Call struct {
	Operation string
	Tables    []string
	Index     string
	// Fault is the name of what hit it, or empty.
	Fault string
}

// Faults injects faults into a client below the SDK's retry loop, so that the SDK itself meets them, and keeps a log of the attempts. Rules are
// looked at in the order of their adding; the first that hits acts alone. It is safe for concurrent use.
type Faults struct {
	t    testing.TB
	seed uint64

	mu     sync.Mutex
	random *rand.Rand
	rules  []*rule
	calls  []Call
	lags   []*Lag
}

type rule struct {
	Rule
	matches, hits int
}

// NewFaults makes an injector without rules. The seed rules all chance; zero draws one. A failing test prints it.
func NewFaults(t testing.TB, seed uint64) *Faults {
	t.Helper()
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("ddbtest: faults were drawn from seed %d", seed)
		}
	})
	return &Faults{t: t, seed: seed, random: rand.New(rand.NewPCG(seed, seed))}
}

// Seed is what all chance is drawn from.
func (f *Faults) Seed() uint64 { return f.seed }

// Add adds a rule, and returns the injector so that calls chain.
func (f *Faults) Add(r Rule) *Faults {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules = append(f.rules, &rule{Rule: r})
	return f
}

// Clear drops all rules and the log. Lags stay.
func (f *Faults) Clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules, f.calls = nil, nil
}

// Calls are the attempts so far, in the order in which they left.
func (f *Faults) Calls() []Call {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.calls)
}

// Count is the number of attempts of an operation so far; of every operation for "".
func (f *Faults) Count(operation string) int {
	n := 0
	for _, call := range f.Calls() {
		if operation == "" || call.Operation == operation {
			n++
		}
	}
	return n
}

// Install is an option for [Client] and dynamodb.NewFromConfig.
func (f *Faults) Install(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		if err := stack.Initialize.Add(middleware.InitializeMiddlewareFunc("ddbtest:Input", keepInput), middleware.After); err != nil {
			return err
		}
		// Innermost of all, next to the wire: what it answers is decoded by the SDK as an engine's answer is.
		return stack.Deserialize.Add(middleware.DeserializeMiddlewareFunc("ddbtest:Faults", f.handle), middleware.After)
	})
}

type inputKey struct{}

// keepInput carries the typed input down to the wire.
func keepInput(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
	return next.HandleInitialize(middleware.WithStackValue(ctx, inputKey{}, in.Parameters), in)
}

func (f *Faults) handle(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (middleware.DeserializeOutput, middleware.Metadata, error) {
	var (
		out      middleware.DeserializeOutput
		metadata middleware.Metadata
	)
	request, ok := in.Request.(*smithyhttp.Request)
	if !ok {
		return next.HandleDeserialize(ctx, in)
	}
	a := &attempt{
		operation: middleware.GetOperationName(ctx),
		input:     middleware.GetStackValue(ctx, inputKey{}),
		request:   request,
	}
	wire := func(ctx context.Context, request *smithyhttp.Request) (*smithyhttp.Response, error) {
		var err error
		out, metadata, err = next.HandleDeserialize(ctx, middleware.DeserializeInput{Request: request})
		response, _ := out.RawResponse.(*smithyhttp.Response)
		return response, err
	}
	a.send = func(ctx context.Context, request *smithyhttp.Request) (*smithyhttp.Response, error) {
		return f.throughLags(ctx, a, request, wire)
	}
	fault := f.pick(a)
	if fault.run == nil {
		fault.run = passThrough
	}
	response, err := fault.run(ctx, a)
	out.RawResponse = nil
	if response != nil {
		out.RawResponse = response
	}
	return out, metadata, err
}

// pick logs the attempt and finds the fault that hits it.
func (f *Faults) pick(a *attempt) Fault {
	tables, index := target(a.input)
	f.mu.Lock()
	defer f.mu.Unlock()
	call := Call{Operation: a.operation, Tables: tables, Index: index}
	var picked Fault
	for _, r := range f.rules {
		if !r.matchesCall(call, a.input) {
			continue
		}
		if r.matches++; !f.hits(r) {
			continue
		}
		r.hits++
		picked = r.Do
		break
	}
	call.Fault = picked.name
	f.calls = append(f.calls, call)
	return picked
}

func (r *rule) matchesCall(call Call, input any) bool {
	return (r.Operation == "" || r.Operation == call.Operation) &&
		(r.Table == "" || slices.Contains(call.Tables, r.Table)) &&
		(r.Index == "" || r.Index == call.Index) &&
		(r.When == nil || r.When(input))
}

// hits decides about a match. Chance is drawn only where everything else agrees, so that rules do not shift each other's draws.
func (f *Faults) hits(r *rule) bool {
	switch {
	case r.Nth > 0 && r.matches != r.Nth, r.From > 0 && r.matches < r.From, r.Times > 0 && r.hits >= r.Times:
		return false
	case r.Probability > 0:
		return f.random.Float64() < r.Probability
	default:
		return true
	}
}
