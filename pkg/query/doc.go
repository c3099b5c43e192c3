// Package query reads an index, whatever form it has.
//
// # Problem
//
// An index of the catalog is a GSI or an index table, and one line switches readers from one to the other. The two differ in everything that a reader
// notices: the key condition, tombstones that DynamoDB's Limit counts, half-open intervals that a GSI cannot express, rows that only one of them can hold, start keys of different
// shapes. And a page read with a filter may hold few items, or none, and still not be the last one.
//
// # Use
//
// A [Reader] answers one [Request] for either form: [Reader.Query] gives a filled page and a cursor, [Reader.All] every item, [Reader.Exists] and [Reader.Count]
// what their names say. [As] turns items into structs. [Reader.Explain] tells what a request becomes, without making it.
//
// # Guarantees
//
//   - Both forms answer with the same items, and in the same order up to ties of the sort key: conditions are intervals of values (see package sortkey), and what
//     the codec cannot hold, so that the index table has no row for it, is left out of a GSI's answer too.
//   - A page holds Limit live items unless the index ends, the read [Budget] does, or a read fails for a passing reason. No cursor means the end, and nothing else does: a cursor may
//     lead to an empty last page.
//   - Whoever goes on with the cursor of the last answer, and makes a call that failed again, gets to the end of a partition however often its reads are throttled or time out: what a
//     call has read is answered with a cursor, never thrown away. Only the first read of a call can fail it, or what would fail again.
//   - The cursors of one question are good for its pages, counts and existence alike.
//   - Each read is sized by the live ratio seen so far in the call, and never below 1.
//   - A cursor stands behind the last item returned. One made on a form of the index is good on the other: it resumes there at the same sort value,
//     inclusively, so that ties may come twice, once, and never vanish.
//   - A walk whose next position does not advance ends with [ErrNoAdvance]; it never loops.
//   - Reserved and private attributes are in no answer. Attribute names reach DynamoDB as placeholders only, values as operands only.
//   - Numbers stay text: no float, no digit lost.
//
// # Non-guarantees
//
//   - A walk is no snapshot: what is written behind or before its position meanwhile may be missed or seen, and an item that moves may be seen twice.
//   - GSI reads are eventually consistent; so is an index table, which the indexer fills, even where the read itself is consistent.
//   - The order of ties on a GSI is DynamoDB's, which documents none. The index table orders them by the base table's key.
//   - An error answers the whole call: nothing of a page is returned with it. Reads change nothing, so the call can be made again as it was. [Reader.All] alone hands out items
//     before its error, an [*InterruptedError] with a cursor.
//   - An answer does not tell whether the budget or a failure ended it.
//   - The package does not retry: the client's retryer does. Package ddb classifies the errors, which come wrapped.
package query
