package buffer

import (
	"slices"
	"sync"
)

// queue hands positions to writers, takes back what is to be sent again, and ends when nothing is left or someone stops it.
type queue struct {
	mu      sync.Mutex
	change  *sync.Cond
	again   []int // first, so that what is done grows from the front
	waiting []int
	running int
	err     error
}

func newQueue(positions []int) *queue {
	q := &queue{waiting: positions}
	q.change = sync.NewCond(&q.mu)
	return q
}

// take gives up to most positions; none when the work has ended. Whoever took some must call done.
func (q *queue) take(most int) []int {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.again)+len(q.waiting) == 0 && q.running > 0 && q.err == nil {
		q.change.Wait()
	}
	if len(q.again)+len(q.waiting) == 0 || q.err != nil {
		return nil
	}
	old := min(most, len(q.again))
	young := min(most-old, len(q.waiting))
	taken := slices.Concat(q.again[:old], q.waiting[:young])
	q.again, q.waiting = q.again[old:], q.waiting[young:]
	q.running++
	return taken
}

// done ends a take, with what is to be sent again.
func (q *queue) done(again []int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.running--
	q.again = append(q.again, again...)
	q.change.Broadcast()
}

// stop ends the work for all. The first reason counts.
func (q *queue) stop(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err == nil {
		q.err = err
	}
	q.change.Broadcast()
}

// rest is what was not done and why, once all writers have ended.
func (q *queue) rest() ([]int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Concat(q.again, q.waiting), q.err
}
