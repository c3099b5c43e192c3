package schema

// ShardEpoch says into how many shards each date of a sharded table is written, from a date on. A list of them is the history of that number, oldest first: the
// old ones stay as long as dates of theirs are kept, so that readers still find what they wrote.
type ShardEpoch struct {
	// From is the first date, YYYY-MM-DD in UTC, on which writers use this number; empty for the first epoch. Give a date that is after the deployment which
	// brings the epoch, so that all functions know of it in time.
	From string
	// Shards is the number: 1 to 1,000.
	Shards int
}
