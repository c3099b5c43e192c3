package buffer_test

import (
	"fmt"

	"github.com/heatsink-dev/heatsink/pkg/buffer"
)

// The keys of a batch's events derive from what its record holds, so that a repeat makes the same ones.
func ExampleBatch_Key() {
	batch := buffer.Batch{ID: "8f3k2m9q7v1txc5d", Time: 1796040000000, Shards: 20, First: 19}
	for position := range 2 {
		key := batch.Key(position)
		fmt.Println(key.Partition(), key.Sort)
		fmt.Println(key.ID())
	}
	// Output:
	// 2026-11-30#19 1796040000000-8f3k2m9q7v1txc5d-0000000
	// 2026-11-30.19.1796040000000-8f3k2m9q7v1txc5d-0000000
	// 2026-11-30#0 1796040000000-8f3k2m9q7v1txc5d-0000001
	// 2026-11-30.0.1796040000000-8f3k2m9q7v1txc5d-0000001
}
