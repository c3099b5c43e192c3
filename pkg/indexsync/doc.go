// Package indexsync turns the change records of a base table into conditional writes on its index tables.
//
// # Problem
//
// A stream delivers each change at least once, in the order of each item but of nothing else, and starts a batch again from any record. An index
// that is kept by plain puts and deletes then ends wrong: a late event revives what was deleted, a repeated one brings back an old state, a batch
// that failed half-way leaves a moved item in two places or in none, and one record that cannot be read stops its shard for a day.
//
// # How
//
// Every index row carries a version (_v). A write is a PutItem under the condition that the row is absent or older, so writes may be repeated, late
// and out of order, and the last writer by version wins. A deletion is a tombstone: the row's key with _deleted, _v and _ttl, written even where
// there is no row, because what it must stop may arrive later. Within a batch only the last operation of each index key is done. The tombstones of an
// item follow its last live upsert, so that a reader may see a moved item twice but never not at all.
//
// # Guarantees
//
//   - Once every record of an item has been processed or parked, in any order and any number of times, its index rows are the fold of the processed ones.
//   - With records delivered in order, a live item that is in the index is visible in at least one row between any two calls.
//   - [Syncer.Process] names at most one record as failed: the first one that is not done, counting a record as done only when every operation of its item
//     in the batch is. Giving the batch again, from there or from any earlier record, ends right; also after a crash between any two calls.
//   - A record that can never be written (poison) is handed to the [Parker] whole before it counts as done, and holds back no other.
//   - An item that an index leaves out for a fault of its own, such as a key attribute of the wrong type, is counted by reason and named by its record's sequence number.
//   - No work begins after the deadline less the margin, and what was not begun is reported.
//
// # Non-guarantees
//
//   - Items are not ordered against each other, and an index may show one item's change before another's earlier one.
//   - The rows of a poison record stay as the item's earlier records left them until it is redriven or a later change of the item overwrites them.
//   - A record that comes later than the retention of its tombstone can revive what was deleted; package redrive refuses such records.
//   - A reader between two calls may see a moved item under both keys.
package indexsync
