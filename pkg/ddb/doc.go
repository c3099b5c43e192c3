// Package ddb is the one place that talks the SDK's dialect: one-method client interfaces, the classes that its errors fall into, the
// conversion of values between stream records, the SDK and plain JSON, batches that hand back what was left over, and a meter for
// requests and capacity. Other packages build SDK requests but leave SDK errors and value conversion to it.
//
// # Problem
//
// The ready-made parts lose or invent data at the edges: decoders of stream records that panic, fail a whole batch or let nonsense through; numbers
// that become floats; three exception types for one throttle, with reasons under two spellings; batches whose leftovers are easily missed; failed
// conditions that are charged and not reported.
//
// # Guarantees
//
//   - [DecodeItem], [FromPlain] and [PlainItem] are total: bytes from outside give a value or a [*ValueError] that names the path, never a panic, and
//     nothing is repaired, rounded or dropped. [EncodeItem] is the exact inverse of DecodeItem. Numbers are text all the way.
//   - [Classify] gives every error one [Class]; where the outcome is not known it says so.
//   - [BatchWrite] and [BatchGet] account for each operation: done, or handed back in [*Leftovers]. BatchWrite never sends again what may have been
//     applied.
//   - A [Meter] counts requests, attempts and capacity without touching the caller's input.
//   - Errors and metrics hold no values of items.
//
// # Non-guarantees
//
//   - Plain JSON has fewer types than DynamoDB: a set comes back as a list, binary as text.
//   - [Classify] sees the last attempt alone; see there.
//   - [Size] is as near as AWS documents and others measured; AWS calls its own rule for numbers approximate.
package ddb
