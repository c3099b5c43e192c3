package buffer_test

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/heatsink-dev/heatsink/pkg/buffer"
	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
)

func TestThrottlesHalveAndSuccessesAdd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := buffer.NewGate(8)
		fill := func() (epochs []int) {
			for {
				ctx, cancel := context.WithCancel(t.Context())
				entered := make(chan int, 1)
				go func() {
					if epoch, err := gate.Enter(ctx); err == nil {
						entered <- epoch
					}
				}()
				synctest.Wait()
				select {
				case epoch := <-entered:
					cancel()
					epochs = append(epochs, epoch)
				default:
					cancel()
					synctest.Wait()
					return epochs
				}
			}
		}
		first := fill()
		if len(first) != 8 {
			t.Fatalf("%d at first, want 8", len(first))
		}
		for _, epoch := range first { // eight throttles of one time are one sign
			gate.Leave(epoch, true)
		}
		second := fill()
		if len(second) != 4 {
			t.Fatalf("%d after throttles of one time, want 4", len(second))
		}
		for _, epoch := range second {
			gate.Leave(epoch, false)
		}
		third := fill()
		if len(third) != 4 { // 4 successes at 4 make nearly one more: 4 + 1/4 + 1/4.25 + ...
			t.Fatalf("%d after as many successes, want 4", len(third))
		}
		for _, epoch := range third {
			gate.Leave(epoch, false)
		}
		if fourth := fill(); len(fourth) != 5 {
			t.Fatalf("%d after more successes, want 5", len(fourth))
		}
	})
}

func TestAGateNeverShutsNorOpensTooWide(t *testing.T) {
	t.Parallel()
	gate := buffer.NewGate(3)
	for range 50 {
		epoch, err := gate.Enter(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		gate.Leave(epoch, true)
	}
	var running, most atomic.Int32
	var group sync.WaitGroup
	for range 200 {
		group.Go(func() {
			epoch, err := gate.Enter(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			now := running.Add(1)
			for seen := most.Load(); now > seen && !most.CompareAndSwap(seen, now); seen = most.Load() {
			}
			running.Add(-1)
			gate.Leave(epoch, false)
		})
	}
	group.Wait()
	if most.Load() > 3 {
		t.Errorf("%d at a time, want at most 3", most.Load())
	}
}

func TestAWaitAtTheGateEndsWithItsContext(t *testing.T) {
	t.Parallel()
	gate := buffer.NewGate(1)
	if _, err := gate.Enter(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := gate.Enter(ctx)
		done <- err
	}()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// Of a write's batches no more go on at a time than Config says.
func TestAWritesBatchesAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var running, most atomic.Int32
	w.faults.Add(ddbtest.Rule{Operation: "BatchWriteItem", When: func(input any) bool {
		_, is := input.(*dynamodb.BatchWriteItemInput)
		now := running.Add(1)
		for seen := most.Load(); now > seen && !most.CompareAndSwap(seen, now); seen = most.Load() {
		}
		return is
	}, Do: ddbtest.RunAfter(func() { running.Add(-1) })})
	w.write(w.store(func(c *buffer.Config) { c.BatchConcurrency = 3 }), numbered(500)...)
	if n := most.Load(); n < 2 || n > 3 {
		t.Errorf("%d at a time, want 3", n)
	}
}

func FuzzPosition(f *testing.F) {
	f.Add([]byte("\x01\x071796040000000-8f3k2m9q7v1txc5d-0000042"))
	f.Add([]byte{1, 0x80, 0})
	f.Fuzz(func(t *testing.T, payload []byte) {
		position, ok := buffer.ParsePosition(payload)
		if !ok {
			return
		}
		again := append(binary.AppendUvarint([]byte{1}, uint64(position.Shard)), position.Key...)
		if !slices.Equal(again, payload) {
			t.Errorf("%x comes back as %x", payload, again)
		}
	})
}
