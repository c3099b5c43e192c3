package shard

import (
	"cmp"
	"context"
	"fmt"
	"strings"
)

// Position is a row's place in the order of all shards: by key, and of equal keys by shard.
type Position struct {
	Key   string
	Shard int
}

// Compare orders positions, ascending.
func (p Position) Compare(other Position) int {
	return cmp.Or(strings.Compare(p.Key, other.Key), cmp.Compare(p.Shard, other.Shard))
}

// Row is a row with its key within its shard.
type Row[T any] struct {
	Position
	Value T
}

// Ask is one read of one shard.
type Ask struct {
	Shard int
	// From is the key behind which the read begins, in the direction of reading. Empty: it begins at the end of the shard that comes first.
	From string
	// Inclusive: a row with the key From itself counts too.
	Inclusive bool
	// Limit is the most rows that are of use.
	Limit int
	// Descending direction of reading.
	Descending bool
}

// Batch is the answer to an [Ask].
type Batch[T any] struct {
	// Rows in the direction of reading, at most Limit; fewer where the source has a limit of its own. Their Shard may stay zero.
	Rows []Row[T]
	// Next is the key that the next read begins behind. Empty: the shard has no more rows.
	Next string
}

// Source reads shards. It must be safe for concurrent use, on different shards. Keys within a shard are unique.
type Source[T any] interface {
	Read(ctx context.Context, ask Ask) (Batch[T], error)
}

// SourceFunc is a function as a [Source].
type SourceFunc[T any] func(context.Context, Ask) (Batch[T], error)

// Read calls the function.
func (f SourceFunc[T]) Read(ctx context.Context, ask Ask) (Batch[T], error) { return f(ctx, ask) }

// Error says which shard could not be read.
type Error struct {
	Shard int
	Err   error
}

// Error names the shard.
func (e *Error) Error() string { return fmt.Sprintf("shard %d: %v", e.Shard, e.Err) }

// Unwrap gives the reason.
func (e *Error) Unwrap() error { return e.Err }
