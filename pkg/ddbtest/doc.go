// Package ddbtest is for tests alone: a real engine with a table per test, faults that no engine shows on demand, and a runner of an event
// source mapping by AWS's rules.
//
// [Client], [Table] and [IndexTable] work on the DynamoDB at HEATSINK_TEST_ENDPOINT; a test whose engine is missing fails, it never skips.
// [Faults] sits in the SDK's middleware below its retry loop, so that the SDK meets a throttle, a lost answer or a small page as it would meet the
// service's. [Lag] lets an index answer from the past. [Mapping] delivers stream records, such as those of a [Stream], to a handler as Lambda does.
//
// Guarantees: a table is active when its test gets it and deleted when the test ends; every fault is drawn from a seed that is printed where a
// test fails; nothing waits on a wall clock, except for the engine to create a table.
//
// Non-guarantees: no isolation between tests that share a table, no timing of the real service. Chance is drawn in the order of attempts, so a
// seed repeats a run only as far as the test's own calls come in one order.
//
// # The engine
//
// make test runs MiniStack 1.5.33. It does these otherwise than DynamoDB, so do not assert them on it:
//
//   - A GSI is never behind its table, nothing is throttled, no transaction conflicts, UnprocessedItems is always empty: hence Faults and Lag.
//   - Reads cost a flat 0.5 RRU a request, 1 where consistent, whatever their size, and BatchGetItem reports no capacity at all. Writes cost
//     by size, in transactions twice.
//   - Inside a transaction an item that is invalid or too large is a ValidationException of the whole, not a cancellation reason ValidationError.
//   - A GSI's partition key past 2,048 bytes is accepted.
//   - Expired items go within 60 s, without a stream record. Tables made here have no time to live.
//   - Its sequence numbers have 28 digits with leading zeros, its records SizeBytes 0, and a stream has one shard. A label may end in Z.
//   - Its own event source mapping takes any answer as success and repeats a failed batch whole until the records are too old; no bisecting,
//     no limit of attempts, no parallelization factor, no S3 destination: hence Mapping.
//   - It closes each connection after 1,000 requests; the SDK sends again and logs a warning at most.
//
// It agrees with DynamoDB, as far as tests asked, on: conditions and what they return, cancellation reasons by position, client request tokens, limits of
// keys, items, numbers and nesting, numbers written back in plain digits, multi-attribute GSI keys, pages of 1 MB, Limit before a filter.
package ddbtest
