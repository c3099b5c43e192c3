package backfill

import (
	"context"
	"sync"
	"time"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
)

// pacer keeps a rate of units that are known only after they were spent: who comes next waits until the debt is paid.
type pacer struct {
	rate  float64 // units a second; zero: no limit
	now   func() time.Time
	sleep func(context.Context, time.Duration) error

	mu   sync.Mutex
	paid time.Time // when all that was spent will have been earned
}

func newPacer(rate float64, now func() time.Time, policy ddb.Policy) *pacer {
	p := &pacer{rate: rate, now: now, sleep: policy.Sleep}
	if p.sleep == nil {
		p.sleep = func(ctx context.Context, d time.Duration) error {
			timer := time.NewTimer(d)
			defer timer.Stop()
			select {
			case <-timer.C:
				return ctx.Err()
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return p
}

// wait waits until nothing is owed.
func (p *pacer) wait(ctx context.Context) error {
	if p.rate <= 0 {
		return ctx.Err()
	}
	for {
		p.mu.Lock()
		debt := p.paid.Sub(p.now())
		p.mu.Unlock()
		if debt <= 0 {
			return ctx.Err()
		}
		if err := p.sleep(ctx, debt); err != nil {
			return err
		}
	}
}

// spend notes units. What was not spent in the past is not saved up.
func (p *pacer) spend(units float64) {
	if p.rate <= 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := p.now(); p.paid.Before(now) {
		p.paid = now
	}
	p.paid = p.paid.Add(time.Duration(units / p.rate * float64(time.Second)))
}
