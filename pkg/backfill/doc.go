// Package backfill brings a user table that was there first under the claims of package account: it finds names that several users have, writes the claims that are
// missing while live traffic goes on, and proves that claims and users point at each other.
//
// # Problem
//
// Claims protect those who claim. In a table that is older than they are, nobody has: two users may have one name already, and a live user may take a name whose
// holder has not been reached yet. And a tool that is killed half-way, or that reads a user while it is being renamed, must not make things worse.
//
// # Guarantees
//
//   - Scan writes to no table. What it calls a duplicate was read again, strongly consistent, and was still one.
//   - Backfill writes a claim in one transaction that holds only while the user is as it was read, and stands: who was renamed, withdrawn or re-created meanwhile is read
//     again. A claim that somebody else has is kept and reported. Nobody is chosen among several who have one name: none of them gets it.
//   - Backfill may be killed at any point and goes on from its checkpoint; a user that it had reached is recognised, and is counted once.
//   - Every user read is written, skipped or rejected: where the sum is not right the run fails with [ErrUnbalanced].
//   - Verify calls a fault only what a read of claim and users at one moment (TransactGetItems) shows, so that live traffic raises no false alarm. Its repairs
//     hold only while that is still so.
//   - Memory does not grow with the table: what must be compared lies in files, by the hash of the name, and is compared a file at a time.
//
// # Non-guarantees
//
//   - Who writes users past package account can undo all of it the moment after.
//   - A user that comes during a Scan may be missed by it. Backfill's conditions and a Verify afterwards do not depend on that.
//   - Two runs with one checkpoint file at the same time do no harm to tables, but their counts are not to be trusted.
package backfill
