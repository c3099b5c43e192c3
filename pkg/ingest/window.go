package ingest

import (
	"context"
	"encoding/json"
	"io"
	"sync"

	"github.com/heatsink-dev/heatsink/pkg/buffer"
)

// A window is what is stored as one piece. Its limits, and how many are on their way at a time, bound the memory: 4 times 1 MiB and a longest event.
const (
	windowEvents = 512
	windowBytes  = 1 << 20
	windowLines  = 2_000
	windowsAhead = 4
	// runsAtOnce bounds the calls of one window; how many puts go on at a time, the store knows.
	runsAtOnce = 64
)

// window is a piece of an upload: lines that follow one another.
type window struct {
	lines              int // number of its last line
	accepted, rejected int
	faults             []Fault
	runs               []run
	bytes              int

	done chan struct{} // closed when it is stored, or err says why not
	err  error
}

// run are lines without a rejected or blank one between them.
type run struct {
	first  int // position of the first: the number of its line, less one
	events []json.RawMessage
}

// add takes a line.
func (w *window) add(line Line) {
	w.lines = line.Number
	if line.Fault != "" {
		if w.rejected++; len(w.faults) < MaxFaults {
			w.faults = append(w.faults, Fault{Line: line.Number, Reason: line.Fault})
		}
		return
	}
	w.accepted++
	w.bytes += len(line.Data)
	position := line.Number - 1
	if last := len(w.runs) - 1; last >= 0 && w.runs[last].first+len(w.runs[last].events) == position {
		w.runs[last].events = append(w.runs[last].events, line.Data)
		return
	}
	w.runs = append(w.runs, run{first: position, events: []json.RawMessage{line.Data}})
}

func (w *window) full(events int) bool {
	return w.accepted >= events || w.bytes >= windowBytes || w.accepted+w.rejected >= windowLines
}

// store writes all runs, and gives the first error.
func (w *window) store(ctx context.Context, events Events, batch buffer.Batch) {
	defer close(w.done)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var mu sync.Mutex
	var group sync.WaitGroup
	slots := make(chan struct{}, runsAtOnce)
	for _, one := range w.runs {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			if err := events.WriteBatch(ctx, batch, one.first, one.events); err != nil {
				mu.Lock()
				defer mu.Unlock()
				if w.err == nil {
					w.err = err
				}
				cancel()
			}
		})
	}
	group.Wait()
}

// pipeline reads windows and stores several at a time. They come out in their order, done or on their way.
type pipeline struct {
	windows chan *window
	slots   chan struct{}
	err     error // of reading; settled when windows is closed
}

// start reads content behind the lines that are done. Whoever takes a window gives its slot back when it is done, and takes until the channel is closed, also
// after ctx ended.
func start(ctx context.Context, content io.Reader, claimed *record, config Config) *pipeline {
	p := &pipeline{windows: make(chan *window, windowsAhead), slots: make(chan struct{}, windowsAhead)}
	go func() {
		defer close(p.windows)
		send := func(w *window) bool {
			select {
			case p.slots <- struct{}{}:
			case <-ctx.Done():
				p.err = ctx.Err()
				return false
			}
			go w.store(ctx, config.Events, claimed.batch)
			p.windows <- w // has room: there are as many places as slots
			return true
		}
		next := &window{done: make(chan struct{})}
		for line, err := range ReadLines(content, LineLimits{Skip: claimed.lines, Lines: config.MaxLines}) {
			if err != nil {
				p.err = err
				break
			}
			if next.add(line); next.full(config.WindowEvents) {
				if !send(next) {
					return
				}
				next = &window{done: make(chan struct{})}
			}
		}
		if next.lines > 0 { // also what came before an error: it is counted
			send(next)
		}
	}()
	return p
}
