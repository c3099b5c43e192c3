package main

import (
	"context"
	"fmt"
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

// cost of one operation.
type cost struct {
	cpu                        time.Duration // of this process: user and system
	wall                       time.Duration
	allocations                float64
	bytes                      float64
	requests, readUnits, write float64 // as the stub counted
}

// compare lets the contestants take turns for some rounds, each doing that many operations, and gives the medians of each. The first round warms up and does not count.
func (w *world) compare(ctx context.Context, operations int, contestants ...contestant) ([]cost, error) {
	costs := make([][]cost, len(contestants))
	for round := range w.rounds + 1 {
		for turn := range contestants {
			n := (turn + round) % len(contestants) // nobody is always the first
			c, err := w.measure(ctx, operations, contestants[n])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", contestants[n].name, err)
			}
			if round > 0 {
				costs[n] = append(costs[n], c)
			}
		}
	}
	medians := make([]cost, len(contestants))
	for n := range contestants {
		medians[n] = cost{
			cpu: median(costs[n], func(c cost) time.Duration { return c.cpu }), wall: median(costs[n], func(c cost) time.Duration { return c.wall }),
			allocations: median(costs[n], func(c cost) float64 { return c.allocations }), bytes: median(costs[n], func(c cost) float64 { return c.bytes }),
			requests: median(costs[n], func(c cost) float64 { return c.requests }), readUnits: median(costs[n], func(c cost) float64 { return c.readUnits }),
			write: median(costs[n], func(c cost) float64 { return c.write }),
		}
	}
	return medians, nil
}

func (w *world) measure(ctx context.Context, operations int, c contestant) (cost, error) {
	if _, err := w.stub.Counts(ctx); err != nil {
		return cost{}, err
	}
	runtime.GC() // the garbage of others is not its own
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
	of := float64(operations)
	return cost{
		cpu: used / time.Duration(operations), wall: wall / time.Duration(operations),
		allocations: float64(after.Mallocs-before.Mallocs) / of, bytes: float64(after.TotalAlloc-before.TotalAlloc) / of,
		requests: float64(counts.Total()) / of, readUnits: counts.ReadUnits / of, write: counts.WriteUnits / of,
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

func median[T any, V interface{ ~int64 | ~float64 }](list []T, of func(T) V) V {
	values := make([]V, 0, len(list))
	for _, one := range list {
		values = append(values, of(one))
	}
	slices.Sort(values)
	return values[len(values)/2]
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
