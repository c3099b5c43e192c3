package ddbtest

import (
	"sync"
	"time"
)

// Clock is a clock that moves when it is told to. It is safe for concurrent use.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock starts a clock; the zero time starts it at 2026-11-14T00:00:00Z.
func NewClock(start time.Time) *Clock {
	if start.IsZero() {
		start = time.Date(2026, time.November, 14, 0, 0, 0, 0, time.UTC)
	}
	return &Clock{now: start}
}

// Now is the clock's time: give the method as an injected func() time.Time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
