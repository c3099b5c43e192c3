// Package buffer is the event buffer: events are stored as pending, by the ten thousand in one call, read in order from all shards of a date, and completed or
// retried.
//
// # Keys
//
// An event lies under message_pk = date#shard and message_sk = 13 digits of epoch milliseconds, 16 characters of the batch's random id, 7 digits of the event's
// position in its request, such as 1796040000000-8f3k2m9q7v1txc5d-0000042. So the events of a request lie together, in its order, and the k-th goes to the shard
// after that of the one before it: 20 shards take 60,000 events as 3,000 each.
//
// Two events have one key only if two requests of one millisecond draw the same 80 bits: for r requests in a millisecond at most r^2/2^81. For 60,000 requests of
// one event each that is 1.5e-15, for one request of 60,000 events it is none. (The story's suffix of 7 random digits expects 0.45 colliding pairs at 3,000 events in
// a millisecond and shard, and a plain put then overwrites.) TestSixtyThousandEventsInAMillisecondHaveKeysOfTheirOwn computes both.
//
// # Guarantees
//
//   - [Store.Write] stores every event once or names it. BatchWriteItem has no conditions, so the SDK's retries are off for it and only UnprocessedItems go back; a
//     batch whose answer was lost is settled by conditional puts, where a refusal means stored, since sent again it would bring back what was completed meanwhile.
//     Writes begin at full concurrency and halve with each throttle.
//   - With an idempotency key, and in [Store.WriteBatch], keys derive from a record or batch and the position, and each event is put on condition that it is not
//     there: a repeat, also a concurrent one or one after a crash, answers the same ids and changes nothing that was completed or retried.
//   - An event is pending, or completed, or closed by exactly one successor, at any time. [Store.Complete] is one conditional update, [Store.Retry] one transaction;
//     a lost answer is settled, or said to be unknown.
//   - [Store.List] pages are full, in total order (time, then batch, then position), both ways, and exact at the borders of from and to. A cursor is one position for
//     all shards. A retry keeps its original's date, with the time of the retry: without bounds it is listed, also when it came after midnight.
//   - A change of the number of shards loses no event: see shard.Layout.
//
// # Non-guarantees
//
//   - Pending is read from a GSI, which may be behind: an event completed a moment ago may be listed. Failed is checked again, strongly consistent.
//   - A request that times out is held to be over: should DynamoDB apply a batch only after its event was put again and completed, it would be pending once more.
//   - An idempotency key is forgotten after [KeyLife], an event deleted within days after [Retention].
//   - No order between requests of one millisecond. The same data may be stored any number of times: only keys tell repeats.
package buffer
