package ingest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/heatsink-dev/heatsink/pkg/buffer"
	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
	"github.com/heatsink-dev/heatsink/pkg/ingest"
)

// generated is an object of so many lines that is nowhere in memory.
type generated struct{ lines int }

// line has always the same length.
const line = `{"n":%9d,"text":"0123456789012345678901234567890123456789012345678901234567890123456789"}` + "\n"

func (g generated) GetObject(context.Context, *s3.GetObjectInput, ...func(*s3.Options)) (*s3.GetObjectOutput, error) {
	size := int64(g.lines) * int64(len(fmt.Sprintf(line, 0)))
	return &s3.GetObjectOutput{ContentLength: aws.Int64(size), Body: io.NopCloser(&lineSource{lines: g.lines})}, nil
}

type lineSource struct {
	lines, next int
	rest        []byte
}

func (l *lineSource) Read(p []byte) (int, error) {
	if len(l.rest) == 0 {
		if l.next == l.lines {
			return 0, io.EOF
		}
		for n := 0; n < 100 && l.next < l.lines; n++ {
			l.rest = fmt.Appendf(l.rest, line, l.next)
			l.next++
		}
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// sink counts events, and looks at the memory now and then.
type sink struct {
	ingest.Batcher
	events atomic.Int64
	peak   atomic.Uint64
	calls  atomic.Int64
}

func (s *sink) WriteBatch(_ context.Context, _ buffer.Batch, _ int, events []json.RawMessage) error {
	s.events.Add(int64(len(events)))
	if s.calls.Add(1)%50 == 0 {
		var now runtime.MemStats
		runtime.ReadMemStats(&now)
		for {
			peak := s.peak.Load()
			if now.HeapInuse <= peak || s.peak.CompareAndSwap(peak, now.HeapInuse) {
				break
			}
		}
	}
	return nil
}

// A million lines need no more memory than a hundred thousand. Not parallel: the memory is the process's.
func TestMemoryIsFlat(t *testing.T) {
	w := newWorld(t)
	client := w.store(ddbtest.Client(t))
	peak := func(lines int) uint64 {
		id := w.batch()
		runtime.GC()
		sink := &sink{Batcher: client}
		got := w.ingest(w.ingester(func(c *ingest.Config) {
			c.Events, c.Objects, c.CheckpointLines, c.WindowEvents = sink, generated{lines}, 0, 0
		}), ingest.Upload{BatchID: id, ETag: "generated"})
		if got.Outcome != ingest.Finished || got.Accepted != lines || sink.events.Load() != int64(lines) {
			t.Fatalf("%+v, %d events", got, sink.events.Load())
		}
		return sink.peak.Load()
	}
	few, many := peak(100_000), peak(1_000_000)
	t.Logf("heap in use at its peak: %d KiB with 100,000 lines, %d KiB with 1,000,000", few>>10, many>>10)
	if most := uint64(32 << 20); many > most || many > few*3/2+4<<20 {
		t.Errorf("heap in use: %d bytes with 100,000 lines, %d with 1,000,000, want at most %d and about as much", few, many, most)
	}
}

// One line of 60 MB is passed over in the memory of a short one.
func TestALongLineTakesNoMemory(t *testing.T) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	lines, err := read(io.MultiReader(io.LimitReader(&endless{}, 60_000_000), strings.NewReader("\n1\n")), ingest.LineLimits{})
	runtime.ReadMemStats(&after)
	if err != nil || lines[2] != "1" || len(lines) != 2 {
		t.Fatalf("%v %v", lines, err)
	}
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 4<<20 {
		t.Errorf("%d bytes were allocated", allocated)
	}
}
