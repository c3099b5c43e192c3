// Package indexjobs is the surface of the functions that keep indexes: the indexer, which Lambda gives batches of change records, and redrive, which an operator
// invokes. It chooses the table's [indexsync.Syncer], answers as Lambda expects, and reports each invocation in one log line and as metrics.
//
// Guarantees: a start with anything missing or wrong (a variable, a stream without old images, an index table that is its own source) fails with an error that names
// all of it, before the first record; a log line holds counts, sequence numbers and reasons, never a key or an item.
//
// Not guaranteed: anything about the writes themselves; that is packages indexsync and redrive.
//
// In the map of packages it is the layer above edge: it knows both Lambda and indexsync.
package indexjobs
