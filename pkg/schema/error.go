package schema

// Error is one fault in a definition.
type Error struct {
	Table, Index string // Index is empty for a fault of the table itself
	Field        string // the Go field to change, with its position in a list
	Reason       string // what is wrong, with the limit
}

// Error names the place and the reason: "table User, index managed: TombstoneRetention: must be more than 24h0m0s, is 1h0m0s".
func (e *Error) Error() string {
	place := "table " + e.Table
	if e.Index != "" {
		place += ", index " + e.Index
	}
	return place + ": " + e.Field + ": " + e.Reason
}
