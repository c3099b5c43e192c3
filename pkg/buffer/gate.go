package buffer

import (
	"context"
	"sync"
)

// gate bounds how many writes go on at a time, and learns from throttles how many the table bears: additive increase, multiplicative decrease, as TCP does
// (RFC 5681). It begins at its most, for a quiet table takes that at once.
type gate struct {
	mu      sync.Mutex
	change  *sync.Cond
	most    int
	limit   float64
	running int
	epoch   int // counts decreases: writes that began before one say nothing new
}

func newGate(most int) *gate {
	g := &gate{most: most, limit: float64(most)}
	g.change = sync.NewCond(&g.mu)
	return g
}

// enter waits for a place. The epoch goes back to leave.
func (g *gate) enter(ctx context.Context) (epoch int, err error) {
	stop := context.AfterFunc(ctx, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.change.Broadcast()
	})
	defer stop()
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.running >= int(g.limit) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		g.change.Wait()
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	g.running++
	return g.epoch, nil
}

// leave gives the place back. throttled: the write was, wholly or in part.
func (g *gate) leave(epoch int, throttled bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running--
	switch {
	case throttled && epoch == g.epoch:
		g.limit = max(1, g.limit/2)
		g.epoch++
	case !throttled:
		g.limit = min(float64(g.most), g.limit+1/g.limit)
	}
	g.change.Broadcast()
}
