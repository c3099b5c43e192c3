package buffer

import "time"

// Budget bounds one list: where it ends the page is short, with a cursor.
type Budget struct {
	// Rows that are read, of an index or the table.
	Rows int
	// Bytes of the JSON of the events of a page, about.
	Bytes int
	// Margin before the context's deadline, when no read begins any more.
	Margin time.Duration
}

// DefaultBudget fits an answer of 4 MB within an HTTP function's time.
var DefaultBudget = Budget{Rows: 20_000, Bytes: 3_900_000, Margin: 3 * time.Second}

func (b Budget) withDefaults() Budget {
	setDefault(&b.Rows, DefaultBudget.Rows)
	setDefault(&b.Bytes, DefaultBudget.Bytes)
	setDefault(&b.Margin, DefaultBudget.Margin)
	return b
}
