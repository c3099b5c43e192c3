// Package ingest brings uploads into the event buffer: a batch of events too large for one HTTP request is put into a bucket, as newline-delimited JSON, by a
// presigned URL, and stored from there, each line as one event of package buffer.
//
// # What it guarantees
//
//   - A batch is ingested once, whatever is delivered how often: the first upload that is read claims the batch by its object's ETag and version; every other
//     upload to the same URL is left alone. The object is read with If-Match, and by its version, so that a later upload cannot slip in.
//   - Each line is stored once. An event's key derives from the batch and the number of its line, and it is put on condition that it is not there, so that
//     a repeat after a crash meets what was stored before. The numbers of accepted and rejected lines are exact, also after crashes: they are written together
//     with the number of lines that are done.
//   - Of several workers at one batch one works: it holds a lease in the batch's record and renews it. A worker that lost its lease, because it stood still for
//     longer, can store no more than what the next one stores too, and can change no number.
//   - A line that cannot be an event is reported with its number and a reason that holds nothing of it; the rest goes on.
//   - Memory is bounded, whatever the upload holds: long lines are passed over as they come in. The bytes of the object, those after decompression and
//     the lines are bounded too; an upload past them, or one that is damaged, fails the batch, with a reason. What came before is stored and counted.
//
// # What it does not
//
//   - A batch is no transaction: its events appear one after another, and those of a batch that failed in the middle stay.
//   - Nothing bounds what is uploaded before it is there: a presigned PUT can fix its object, its time and its method, not its length. The bucket's objects expire.
//   - A batch that nobody uploads stays waiting until its record expires, [RecordLife] after it was made.
package ingest
