// Package redrive replays failure objects: the records that a stream mapping gave up, and those that the indexer parked because they could never be written.
//
// # Problem
//
// What is in the failure bucket is missing in the index tables. Once the cause is gone (a quota raised, a bug mended, an item made smaller), the records must be
// applied, although newer ones may have been applied meanwhile, some of them may have been already, and nobody remembers how often the tool was run.
//
// # How
//
// Each object's records go through the same [indexsync.Syncer] as those of the stream. One of which DynamoDB refuses a row is done as well once a later change of its item stands
// in the row's place. An object of AWS's with a payload holds the records; one without says where in the
// stream they are, and they are read from there while the stream still has them (24 hours). An object is deleted once everything in it is done.
//
// # Guarantees
//
//   - Replaying is repeatable, any number of times, at any place of the bucket: rows are written by version.
//   - A record is refused if the tombstone that might have to stop it can be gone: older than the tombstone retention less an hour, or of unknown age. The report
//     says what to do instead.
//   - A record of a table that is not one of the sources is refused by that table's name, whatever the object says.
//   - What is still poison stays where it is, is reported with what to do, and is not parked a second time. Once the base item is made smaller or deleted, it is found superseded
//     and goes.
//   - A dry run finds whatever can be known without writing: what cannot be read, what has no version, rows past DynamoDB's size limit.
//   - An object that is no failure object is reported and left alone. One object is in memory at a time, or one page of a stream.
//
// # Non-guarantees
//
//   - Objects are taken in the order of their keys, which is not that of their records. It does not matter.
//   - An object can be replayed and its deletion fail; the next run replays it once more.
package redrive
