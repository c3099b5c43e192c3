// Package stub is a small DynamoDB in memory: what a client costs can be told from it, since it answers at once or after a fixed time.
//
// It knows CreateTable, DescribeTable, PutItem (with a condition), GetItem, UpdateItem, TransactWriteItems, BatchWriteItem and Query (key condition in both styles, start key, limit, 1 MB pages, filter,
// projection, order, capacity), with DynamoDB's own semantics in all of that: a test compares it with the engine that all other tests run on. It has no
// limits, no throttling, no streams. Whatever it does not know it refuses, so that no benchmark measures something else than it says.
//
// It runs as a process of its own (see [Start]), so that its work is in no client's bill.
package stub
