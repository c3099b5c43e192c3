package backfill

// Counts of users: Read is the sum of Written, Skipped and Rejected.
type Counts struct {
	Read int64 `json:"read"`
	// Written: at least one claim was written, none rejected.
	Written int64 `json:"written"`
	// Skipped: without names (NoName), with all of its claims already (Held), or gone or going by the time (Gone).
	Skipped  int64 `json:"skipped"`
	NoName   int64 `json:"noName"`
	Held     int64 `json:"held"`
	Gone     int64 `json:"gone"`
	Rejected int64 `json:"rejected"`
	// Claims that were written, that were there already, and that could not be written.
	ClaimsWritten  int64 `json:"claimsWritten"`
	ClaimsHeld     int64 `json:"claimsHeld"`
	ClaimsRejected int64 `json:"claimsRejected"`
}

// Balanced reports whether every user is accounted for.
func (c Counts) Balanced() bool {
	return c.Read == c.Written+c.Skipped+c.Rejected && c.Skipped == c.NoName+c.Held+c.Gone
}

func (c *Counts) add(v verdict) {
	c.Read++
	c.ClaimsWritten += int64(v.written)
	c.ClaimsHeld += int64(v.held)
	c.ClaimsRejected += int64(len(v.findings))
	switch {
	case len(v.findings) > 0:
		c.Rejected++
	case v.changed:
		c.Written++
	case v.gone:
		c.Skipped, c.Gone = c.Skipped+1, c.Gone+1
	case v.held > 0:
		c.Skipped, c.Held = c.Skipped+1, c.Held+1
	default:
		c.Skipped, c.NoName = c.Skipped+1, c.NoName+1
	}
}

func (c *Counts) sum(o Counts) {
	for _, pair := range []struct {
		to   *int64
		more int64
	}{
		{&c.Read, o.Read},
		{&c.Written, o.Written},
		{&c.Skipped, o.Skipped},
		{&c.NoName, o.NoName},
		{&c.Held, o.Held},
		{&c.Gone, o.Gone},
		{&c.Rejected, o.Rejected},
		{&c.ClaimsWritten, o.ClaimsWritten},
		{&c.ClaimsHeld, o.ClaimsHeld},
		{&c.ClaimsRejected, o.ClaimsRejected},
	} {
		*pair.to += pair.more
	}
}
