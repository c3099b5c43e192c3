package indexsync_test

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/indexsync"
)

// taking answers every write with success after a while.
type taking time.Duration

func (d taking) PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	time.Sleep(time.Duration(d))
	return &dynamodb.PutItemOutput{}, nil
}

func benchmarkBatch(b *testing.B, writer ddb.Putter, payload []byte) {
	b.Helper()
	bench := newBench(b, newMemory(), things(b, onlyManaged), func(c *indexsync.Config) { c.Writer = writer })
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		if result, err := bench.syncer.Process(context.Background(), payload); err != nil || result.FailedSequence != "" {
			b.Fatal(result.Cause, err)
		}
	}
	b.StopTimer()
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/100, "µs/record")
}

// BenchmarkHundredItems is a batch of 100 inserts of distinct items, at no time and at 5 ms a write.
func BenchmarkHundredItems(b *testing.B) {
	payload := event(b, distinct(100)...)
	b.Run("0ms", func(b *testing.B) { benchmarkBatch(b, taking(0), payload) })
	b.Run("5ms", func(b *testing.B) { benchmarkBatch(b, taking(5*time.Millisecond), payload) })
}

// BenchmarkHundredChangesOfOneItem is one write.
func BenchmarkHundredChangesOfOneItem(b *testing.B) {
	var batch []record
	var old ddb.Item
	for n := range 100 {
		item := thing("i", "a", "1", "n", number(seq(n)))
		batch = append(batch, record{old: old, new: item, sequence: seq(n)})
		old = item
	}
	payload := event(b, batch...)
	b.Run("5ms", func(b *testing.B) { benchmarkBatch(b, taking(5*time.Millisecond), payload) })
}
