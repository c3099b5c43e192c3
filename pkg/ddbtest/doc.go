// Package ddbtest is for tests alone: a real engine with a table per test, faults that no engine shows on demand, and a runner of an event
// source mapping by AWS's rules.
//
// [Client], [Table] and [IndexTable] work on the DynamoDB at HEATSINK_TEST_ENDPOINT; a test whose engine is missing fails, it never skips.
// [Faults] sits in the SDK's middleware below its retry loop, so that the SDK meets a throttle, a lost answer or a small page as it would meet the
// service's. [Lag] lets an index answer from the past. [Mapping] delivers stream records to a handler as Lambda does.
//
// # The engine
//
// make test runs MiniStack 1.5.33. What it does otherwise than DynamoDB, as far as tests met it:
//
//   - A GSI is never behind the table, nothing is throttled, no transaction conflicts: hence Faults and Lag.
//   - It closes each connection after 1,000 requests; the SDK sends again and logs a warning at most.
//   - Of a failed batch its event source mapping knows only the retry of the whole until the records are too old: hence Mapping.
//
// Guarantees: a table is deleted at the end of its test; every fault is drawn from a seed that is printed where a test fails; nothing waits on a
// wall clock, except for the engine to create a table.
//
// Non-guarantees: no isolation between tests that share a table, no timing of the real service.
package ddbtest
