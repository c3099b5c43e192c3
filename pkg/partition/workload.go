package partition

import (
	"fmt"
	"math"
)

// InputError is an input out of its range.
type InputError struct {
	// Field of [Workload], [Prices] or [KeyDesign].
	Field string
	// Reason says what it must be and what it is.
	Reason string
}

// Error names the field and the limit.
func (e *InputError) Error() string { return e.Field + ": " + e.Reason }

// Projection of an index. Zero is unspecified: no index at all.
type Projection uint8

// The three projections, in the order of what they copy.
const (
	KeysOnly Projection = iota + 1
	Include
	All
)

// Projections lists them.
func Projections() []Projection { return []Projection{KeysOnly, Include, All} }

// String gives the story's word.
func (p Projection) String() string {
	switch p {
	case KeysOnly:
		return "KeysOnly"
	case Include:
		return "Include"
	case All:
		return "All"
	default:
		return "none"
	}
}

// MarshalText is [Projection.String].
func (p Projection) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// PPM is a share in parts per million: 10,000 is 1 %.
type PPM int64

// Of is the share of n, rounded down.
func (p PPM) Of(n int64) int64 {
	// Split, so that n * p can't overflow.
	return n/1_000_000*int64(p) + n%1_000_000*int64(p)/1_000_000
}

// ReadPattern is how one index is read.
type ReadPattern struct {
	QueriesPerDay int64 `json:"queriesPerDay"`
	// Rows that one query returns.
	Rows int64 `json:"rows"`
	// PeakPerSecond is queries a second at peak.
	PeakPerSecond int64 `json:"peakPerSecond"`
	// Millis is the time of a query in milliseconds with KeysOnly, Include and All, as measured; TargetMillis what is promised.
	Millis       [3]int64 `json:"millis"`
	TargetMillis int64    `json:"targetMillis"`
}

// Workload is everything that is known of an event buffer.
type Workload struct {
	EventsPerDay  int64 `json:"eventsPerDay"`
	DaysPerMonth  int64 `json:"daysPerMonth"`
	RetentionDays int64 `json:"retentionDays"`
	// Item is the size of an event; KeysOnlyEntry and IncludeEntry what an index carries of it. An All entry is as large as the item. In bytes.
	Item          Bytes `json:"itemBytes"`
	KeysOnlyEntry Bytes `json:"keysOnlyBytes"`
	IncludeEntry  Bytes `json:"includeBytes"`
	// Shares of a day's events: still pending at its end, failed and pending at its end, and failed once, so retried.
	PendingShare PPM         `json:"pendingPPM"`
	FailedShare  PPM         `json:"failedPPM"`
	RetryShare   PPM         `json:"retryPPM"`
	Pending      ReadPattern `json:"pendingReads"`
	Failed       ReadPattern `json:"failedReads"`
	// IncludeFetchShare is the share of an Include index's rows whose other attributes are then fetched from the table.
	IncludeFetchShare PPM `json:"includeFetchPPM"`
	// StrongGets fetches them by strong reads; otherwise by eventual ones, at half the units.
	StrongGets bool `json:"strongGets"`
	// PlainRetry closes and reopens by two separate writes instead of one transaction at twice the units.
	PlainRetry bool `json:"plainRetry"`
	// PeakWrites is events a second at peak in write units of the table. SpikeFactor multiplies it, and reads.
	PeakWrites  WriteUnits `json:"peakWriteUnitsPerSecond"`
	SpikeFactor int64      `json:"spikeFactor"`
	// UsableWrites is what may be used of a partition's 1,000 write units a second; HeadroomPercent multiplies the shards that this needs.
	UsableWrites    WriteUnits `json:"usableWriteUnitsPerSecond"`
	HeadroomPercent int64      `json:"headroomPercent"`
	// Shards chosen; 0 chooses twice what peak and headroom need.
	Shards int64 `json:"shards"`
	// Partitions that the table has; 0 takes what size and throughput need, but a new on-demand table's 4 at least.
	Partitions int64 `json:"partitions"`
}

// StoryWorkload is what the story states. Its pages of Include fetch every fifth row (its load model) and failed reads peak in proportion to pending ones.
func StoryWorkload() Workload {
	return Workload{
		EventsPerDay: 100_000, DaysPerMonth: 30, RetentionDays: 90,
		Item: 800, KeysOnlyEntry: 170, IncludeEntry: 400,
		PendingShare: 10_000, FailedShare: 100, RetryShare: 10_000,
		Pending:           ReadPattern{QueriesPerDay: 100, Rows: 200, PeakPerSecond: 10, Millis: [3]int64{150, 80, 50}, TargetMillis: 50},
		Failed:            ReadPattern{QueriesPerDay: 50, Rows: 10, PeakPerSecond: 5, Millis: [3]int64{30, 25, 20}, TargetMillis: 100},
		IncludeFetchShare: 200_000,
		PeakWrites:        3000, SpikeFactor: 10, UsableWrites: 800, HeadroomPercent: 250,
	}
}

// Validate names the first field that is out of its range. The ranges keep every number of a plan within 64 bits.
func (w Workload) Validate() error {
	for _, check := range []struct {
		field             string
		value, least, top int64
	}{
		{"EventsPerDay", w.EventsPerDay, 1, 500_000_000},
		{"DaysPerMonth", w.DaysPerMonth, 1, 31},
		{"RetentionDays", w.RetentionDays, 1, 3650},
		{"Item", int64(w.Item), 1, int64(MaxItemBytes)},
		{"KeysOnlyEntry", int64(w.KeysOnlyEntry), 1, int64(w.Item)},
		{"IncludeEntry", int64(w.IncludeEntry), int64(w.KeysOnlyEntry), int64(w.Item)},
		{"PendingShare", int64(w.PendingShare), 0, 1_000_000},
		{"RetryShare", int64(w.RetryShare), 0, 1_000_000},
		{"FailedShare", int64(w.FailedShare), 0, int64(min(w.RetryShare, w.PendingShare))},
		{"Pending.QueriesPerDay", w.Pending.QueriesPerDay, 0, 2_000_000},
		{"Pending.Rows", w.Pending.Rows, 0, 10_000},
		{"Pending.PeakPerSecond", w.Pending.PeakPerSecond, 0, 1_000_000},
		{"Pending.TargetMillis", w.Pending.TargetMillis, 1, 60_000},
		{"Failed.QueriesPerDay", w.Failed.QueriesPerDay, 0, 2_000_000},
		{"Failed.Rows", w.Failed.Rows, 0, 10_000},
		{"Failed.PeakPerSecond", w.Failed.PeakPerSecond, 0, 1_000_000},
		{"Failed.TargetMillis", w.Failed.TargetMillis, 1, 60_000},
		{"IncludeFetchShare", int64(w.IncludeFetchShare), 0, 1_000_000},
		{"PeakWrites", int64(w.PeakWrites), 1, 100_000_000},
		{"SpikeFactor", w.SpikeFactor, 1, 1000},
		{"UsableWrites", int64(w.UsableWrites), 1, int64(PartitionWrites)},
		{"HeadroomPercent", w.HeadroomPercent, 100, 10_000},
		{"Shards", w.Shards, 0, MaxShards},
		{"Partitions", w.Partitions, 0, MaxPartitions},
	} {
		if err := within(check.field, check.value, check.least, check.top); err != nil {
			return err
		}
	}
	for i, projection := range Projections() {
		for _, pattern := range []struct {
			name   string
			millis int64
		}{{"Pending.Millis", w.Pending.Millis[i]}, {"Failed.Millis", w.Failed.Millis[i]}} {
			if err := within(pattern.name, pattern.millis, 1, 60_000); err != nil {
				return &InputError{pattern.name, "for " + projection.String() + " " + err.Reason}
			}
		}
	}
	if chosen := w.chosenShards(); chosen > MaxShards {
		return &InputError{"PeakWrites", fmt.Sprintf("would need %d shards, more than the %d that a page can read from; write to several tables, or set Shards", chosen, MaxShards)}
	}
	return nil
}

func within(field string, value, least, top int64) *InputError {
	if value >= least && value <= top {
		return nil
	}
	if top == math.MaxInt64 {
		return &InputError{field, fmt.Sprintf("must be at least %d, is %d", least, value)}
	}
	return &InputError{field, fmt.Sprintf("must be from %d to %d, is %d", least, top, value)}
}

// Flow is what happens to a day's events until its end.
type Flow struct {
	// Puts of new events.
	Puts int64 `json:"puts"`
	// Completes: all but those that are still pending. A retried event's successor is among them.
	Completes int64 `json:"completes"`
	// Retries: each closes one event and opens its successor, which is pending and failed.
	Retries int64 `json:"retries"`
	// FailedCompletes are the completes of such successors.
	FailedCompletes int64 `json:"failedCompletes"`
	// PendingRows and FailedRows stand in the indexes at the end of the day.
	PendingRows int64 `json:"pendingRows"`
	FailedRows  int64 `json:"failedRows"`
}

// Flow of a day: what is opened, puts and retries, is closed by a retry or a completion, or pending at the end.
func (w Workload) Flow() Flow {
	f := Flow{Puts: w.EventsPerDay, Retries: w.RetryShare.Of(w.EventsPerDay), PendingRows: w.PendingShare.Of(w.EventsPerDay), FailedRows: w.FailedShare.Of(w.EventsPerDay)}
	f.Completes = f.Puts - f.PendingRows
	f.FailedCompletes = f.Retries - f.FailedRows
	return f
}

// Entry is the size of an index's entry.
func (w Workload) Entry(projection Projection) Bytes {
	switch projection {
	case KeysOnly:
		return w.KeysOnlyEntry
	case Include:
		return w.IncludeEntry
	case All:
		return w.Item
	default:
		return 0
	}
}

// Fetched is how many of the rows that a query returned are then fetched from the table.
func (w Workload) Fetched(projection Projection, rows int64) int64 {
	switch projection {
	case KeysOnly:
		return rows
	case Include:
		return w.IncludeFetchShare.Of(rows)
	case All:
		return 0
	default:
		return 0
	}
}

func (w Workload) getConsistency() Consistency {
	if w.StrongGets {
		return Strong
	}
	return Eventual
}
