package ddb

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"
)

// Policy says how to try again. The zero value is useful.
type Policy struct {
	// Attempts is how often a thing is tried in all. Zero: 8.
	Attempts int
	// Base is the upper end of the first wait, doubled for each next one up to Max. Zero: 25 ms and 2 s.
	Base, Max time.Duration
	// Sleep waits, and returns the context's error if that ends first. Nil: a timer.
	Sleep func(context.Context, time.Duration) error
	// Random gives 0 <= x < n. Nil: math/rand's own source.
	Random func(n int64) int64
	// Now is the clock that a context's deadline is compared with. Nil: time.Now.
	Now func() time.Time
}

func (p Policy) withDefaults() Policy {
	const (
		attempts = 8
		base     = 25 * time.Millisecond
		most     = 2 * time.Second
	)
	if p.Attempts <= 0 {
		p.Attempts = attempts
	}
	if p.Base <= 0 {
		p.Base = base
	}
	if p.Max <= 0 {
		p.Max = most
	}
	if p.Sleep == nil {
		p.Sleep = sleep
	}
	if p.Random == nil {
		p.Random = rand.Int64N
	}
	if p.Now == nil {
		p.Now = time.Now
	}
	return p
}

// Wait is the wait of [Retry] before attempt n+1, n from 1, for a loop of another shape. False: the context ends before, so waiting is in vain.
func (p Policy) Wait(ctx context.Context, n int) bool { return p.withDefaults().wait(ctx, n) }

// wait sleeps before attempt n+1, n from 1: anything from nothing to Base*2^(n-1), so that callers that failed together do not come back together
// (https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/). False: the context ends before, so waiting is in vain.
func (p Policy) wait(ctx context.Context, n int) bool {
	limit := p.Base
	for range n - 1 {
		if limit >= p.Max {
			break
		}
		limit *= 2
	}
	delay := time.Duration(p.Random(int64(min(limit, p.Max)) + 1))
	if deadline, has := ctx.Deadline(); has && !p.Now().Add(delay).Before(deadline) {
		return false
	}
	return p.Sleep(ctx, delay) == nil
}

func sleep(ctx context.Context, delay time.Duration) error {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Retry calls fn until it succeeds, fails for another reason than [Conflict] or [Throttled], has had its attempts, or the context's deadline
// leaves no room for the next wait. It returns fn's last error as it is. An unknown outcome is never tried again here: only the caller knows whether
// that is safe. fn must be safe to repeat; a transaction must carry the same client request token each time.
func Retry(ctx context.Context, policy Policy, fn func(context.Context) error) error {
	return retry(ctx, policy, fn, Conflict, Throttled)
}

// RetryRead is [Retry] for what only reads, so that it tries again after an unknown outcome too. The SDK's own retries should be off in fn: throttled, they take
// up to 20 s a wait, and each of the policy's attempts would begin them anew.
func RetryRead(ctx context.Context, policy Policy, fn func(context.Context) error) error {
	return retry(ctx, policy, fn, Conflict, Throttled, UnknownOutcome)
}

func retry(ctx context.Context, policy Policy, fn func(context.Context) error, passing ...Class) error {
	policy = policy.withDefaults()
	for attempt := 1; ; attempt++ {
		err := fn(ctx)
		if err == nil {
			return nil
		}
		if !slices.Contains(passing, Classify(err).Class) {
			return err
		}
		if attempt >= policy.Attempts || !policy.wait(ctx, attempt) {
			return err
		}
	}
}
