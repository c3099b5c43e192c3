package main

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/heatsink-dev/heatsink/bench/stub"
)

// contestant does one operation a call.
type contestant struct {
	name string
	run  func(ctx context.Context) error
}

// cost of one operation. Times are microseconds; cpu is that of this process, requests and readUnits are what the stub counted.
type cost struct{ cpu, wall, allocations, bytes, requests, readUnits float64 }

func (c *cost) fields() []*float64 {
	return []*float64{&c.cpu, &c.wall, &c.allocations, &c.bytes, &c.requests, &c.readUnits}
}

func (c *cost) add(other cost) {
	for n, field := range other.fields() {
		*c.fields()[n] += *field
	}
}

func (c *cost) divide(by float64) {
	for _, field := range c.fields() {
		*field /= by
	}
}

// What is compared of a cost.
func cpuOf(c cost) float64         { return c.cpu }
func wallOf(c cost) float64        { return c.wall }
func allocationsOf(c cost) float64 { return c.allocations }
func bytesOf(c cost) float64       { return c.bytes }
func requestsOf(c cost) float64    { return c.requests }
func readUnitsOf(c cost) float64   { return c.readUnits }

// turns is how many turns each contestant has in a round. A machine that is busy with something else is so for all of them.
const turns = 10

// rounds are the costs of each contestant in each round.
type rounds [][]cost

// compare lets the contestants alternate, with that many operations a turn. The first round warms up and does not count.
func (w *world) compare(ctx context.Context, operations int, contestants ...contestant) (rounds, error) {
	var all rounds
	for round := range w.rounds + 1 {
		costs := make([]cost, len(contestants))
		runtime.GC() // of what was before
		for range turns {
			// By lot: in a fixed order the garbage collector falls into step, and bills the same contestant each time.
			for _, n := range rand.Perm(len(contestants)) { //nolint:gosec // no secret
				c, err := w.measure(ctx, operations, contestants[n])
				if err != nil {
					return nil, fmt.Errorf("%s: %w", contestants[n].name, err)
				}
				costs[n].add(c)
			}
		}
		for n := range costs {
			costs[n].divide(float64(turns * operations))
		}
		if round > 0 {
			all = append(all, costs)
		}
	}
	return all, nil
}

// pair gives both costs of the round with the median ratio: ratios of one round are less at the mercy of the machine than the costs themselves.
func (r rounds) pair(ours, peer int, of func(cost) float64) (our, peers float64) {
	ratio := func(round []cost) float64 { return of(round[ours]) / of(round[peer]) }
	sorted := slices.SortedFunc(slices.Values(r), func(a, b []cost) int { return cmp.Compare(ratio(a), ratio(b)) })
	middle := sorted[len(sorted)/2]
	return of(middle[ours]), of(middle[peer])
}

func (w *world) measure(ctx context.Context, operations int, c contestant) (cost, error) {
	if _, err := w.stub.Counts(ctx); err != nil {
		return cost{}, err
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu, began := cpuTime(), time.Now()
	for range operations {
		if err := c.run(ctx); err != nil {
			return cost{}, err
		}
	}
	wall, used := time.Since(began), cpuTime()-cpu
	runtime.ReadMemStats(&after)
	counts, err := w.stub.Counts(ctx)
	if err != nil {
		return cost{}, err
	}
	return cost{
		cpu: microseconds(used), wall: microseconds(wall), allocations: float64(after.Mallocs - before.Mallocs), bytes: float64(after.TotalAlloc - before.TotalAlloc),
		requests: float64(counts.Total()), readUnits: counts.ReadUnits,
	}, nil
}

// cpuTime is what this process has used so far, in all of its threads, garbage collection and kernel included. The stub is a process of its own.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err) // it can't fail for oneself
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func median(list []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(list))[len(list)/2]
}

// counted runs something and gives what the stub counted meanwhile.
func (w *world) counted(ctx context.Context, run func() error) (stub.Counts, error) {
	if _, err := w.stub.Counts(ctx); err != nil {
		return stub.Counts{}, err
	}
	if err := run(); err != nil {
		return stub.Counts{}, err
	}
	return w.stub.Counts(ctx)
}

func microseconds(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
