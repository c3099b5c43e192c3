// Package shard spreads what would be one hot partition key over n of them, and reads the n back as one ordered list.
//
// # Problem
//
// A partition takes 1,000 write units and 3,000 read units a second
// (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html), so a key that all writes share, such as a date, gets a suffix.
// That loses order and makes each read n reads: whoever asks each shard for a whole page reads n times what it returns, whoever keeps a position for each shard
// has cursors that grow with n and end with it.
//
// # Writing
//
// [Random] spreads by chance, [Stable] by a hash of an id that readers know too, [Dealer] by turns: each process deals the shards out one after the other, from a
// random start. By turns no shard of a run of writes gets more than one row more than another, which keeps both the load and the pages below even. [Layout] says
// how many shards a date has when that number changes.
//
// # Reading
//
// [Merger] is a k-way merge. Rows come in the total order (key, shard), or in its exact reverse. Each shard is read only as far as the page may need it:
//
//   - The first round asks every shard for its even part of the page and one row: ceil(limit/n)+1. That one row proves, where rows are spread evenly, that the
//     shard has nothing more within the page. For 200 rows of 20 shards: 11 each, 220 rows, 1.1 times what the page returns, in one round trip.
//   - When a shard runs dry before the page is full, a second round asks the shards that are, or will be, dry, and those alone, all at once. Their density behind
//     what was read is estimated from the shards that reach further: each row there stands for as many in every shard that does not (the Nelson-Aalen estimate of
//     survival analysis). A shard is asked for its estimate m + 1.5 sqrt(m) + 1. Rows that were spread by turns of a few processes need 1.15 to 1.2 times the page in
//     one or two rounds; rows spread by pure chance 1.33 times, with a short third round in a quarter of the pages (TestRoundTripsAndRows).
//
// A cursor needs one [Position] for all shards, not n: the order is total, so what stands behind a position is known in each shard, read or not. That is why it
// also survives a change of n: a shard that is new is read from the position as well, and one that is no longer read has nothing there.
//
// # Guarantees
//
//   - No row twice and none left out, among rows that stay; a row that is written behind the position while a walk goes on is met, one before it is not.
//   - At most Concurrency reads at a time. The first error cancels the others and says which shard failed, as a [*Error].
//   - A shard without new rows is not asked again. Requests are at least n for a first page, also of an empty table.
//
// # Non-guarantees
//
// Nothing here makes a snapshot: rounds are some milliseconds apart. Uniqueness must never depend on n: two layouts would both accept one value; a claim is keyed by
// its own value (package unique).
package shard
