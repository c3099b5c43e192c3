package redrive

import (
	"github.com/heatsink-dev/heatsink/pkg/indexsync"
)

// Outcome is what became of an object.
type Outcome uint8

// The outcomes, from good to bad; an object has the worst of its records.
const (
	// Done: everything in the object is applied, or superseded by something newer; it is deleted unless it was to be kept.
	Done Outcome = iota + 1
	// ToReplay, in a dry run alone: nothing that can be known without writing keeps the object from being done.
	ToReplay
	// Refused: some records are too old, of unknown age, or of a table that is not one of the sources. The others are applied. The object stays.
	Refused
	// StillPoison: some records can still not be written. The others are applied. The object stays.
	StillPoison
	// Failed: some records are not applied, or the object cannot be read. It stays; run again.
	Failed
)

// String is the outcome in lower case, fit for a report.
func (o Outcome) String() string {
	switch o {
	case Done:
		return "done"
	case ToReplay:
		return "to_replay"
	case Refused:
		return "refused"
	case StillPoison:
		return "still_poison"
	case Failed:
		return "failed"
	default:
		return "unspecified"
	}
}

// ObjectReport is what became of one object.
type ObjectReport struct {
	Key     string
	Outcome Outcome
	// Condition is why the object was written, in the words of AWS or of the indexer.
	Condition string
	// Records is how many records were found in the object or for it; Replayed, Refused and Poison are parts of them. In a dry run, Replayed would be.
	Records, Replayed, Refused, Poison int
	// Deleted says that the object is gone.
	Deleted bool
	// Reason says why the object is not done, and what to do. It repeats nothing of any item.
	Reason string
}

// worsen sets an outcome and its reason unless there is a worse one.
func (o *ObjectReport) worsen(outcome Outcome, reason string) {
	if outcome > o.Outcome {
		o.Outcome, o.Reason = outcome, reason
	}
}

// MaxProblems is how many objects a [Report] lists. [Options].Progress sees all.
const MaxProblems = 1000

// Report is what became of a run.
type Report struct {
	// Objects is how many were handled; Done, ToReplay, Refused, StillPoison and Failed are its parts.
	Objects, Done, ToReplay, Refused, StillPoison, Failed int
	// Deleted is how many objects are gone.
	Deleted int
	// Records is how many were replayed; in a dry run, how many would be.
	Records int
	// Stats counts what the replays did: nothing in a dry run.
	Stats indexsync.Stats
	// Problems are the objects that are not done, or in a dry run would not be, the first [MaxProblems] of them.
	Problems []ObjectReport
	// Stopped says that the time ran out before the end. Last is then where to go on: the next run's [Options].After.
	Stopped bool
	// Last is the key of the last object handled.
	Last string
}

func (r *Report) add(o ObjectReport) {
	r.Objects++
	r.Records += o.Replayed
	r.Last = o.Key
	if o.Deleted {
		r.Deleted++
	}
	switch o.Outcome {
	case Done:
		r.Done++
		return
	case ToReplay:
		r.ToReplay++
		return
	case Refused:
		r.Refused++
	case StillPoison:
		r.StillPoison++
	default:
		r.Failed++
	}
	if len(r.Problems) < MaxProblems {
		r.Problems = append(r.Problems, o)
	}
}
