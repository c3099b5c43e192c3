package backfill

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// Kinds of a [Finding].
const (
	// KindDuplicate: several users hold one name.
	KindDuplicate = "duplicate"
	// KindUnmappable: a name that cannot be claimed.
	KindUnmappable = "unmappable"
	// KindTaken: a name whose claim belongs to another user.
	KindTaken = "taken"
	// KindOrphan: a claim whose owner does not hold it.
	KindOrphan = "orphan"
	// KindMissing: a name without its claim.
	KindMissing = "missing"
	// KindStale: a name whose claim is of an earlier life of its user.
	KindStale = "stale"
	// KindMismatch: the claimed form in a user is not what its spelling maps to.
	KindMismatch = "mismatch"
	// KindRefused: DynamoDB refuses to write the user or its claims as they stand.
	KindRefused = "refused"
	// KindUnreadable: an item of the claim table that is no claim.
	KindUnreadable = "unreadable"
)

// Finding is one line of a report.
type Finding struct {
	Kind       string `json:"kind"`
	Constraint string `json:"constraint,omitempty"`
	// Form is the mapped form.
	Form string `json:"form,omitempty"`
	// UserIDs, with the Spelling of each beside it. Claimed: the form stands in the user.
	UserIDs   []string `json:"userIds,omitempty"`
	Spellings []string `json:"spellings,omitempty"`
	Claimed   []bool   `json:"claimed,omitempty"`
	// More users have the name than are listed.
	More int `json:"more,omitempty"`
	// Owner of the claim.
	Owner string `json:"owner,omitempty"`
	// Key of an item of the claim table.
	Key string `json:"key,omitempty"`
	// Reason in words.
	Reason string `json:"reason,omitempty"`
	// Repaired: it was, and is no fault any more.
	Repaired bool `json:"repaired,omitempty"`
}

// Sink takes findings, one at a time.
type Sink func(Finding) error

// Report is a file with a finding in JSON on each line. It holds user ids and names, so only its owner may read it. It appears under its name, complete, when it is
// committed.
type Report struct {
	path string
	mu   sync.Mutex
	file *os.File
	to   *bufio.Writer
	ends bool
}

// CreateReport begins a report. What was under that name before stays until Commit.
func CreateReport(path string) (*Report, error) {
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.part")
	if err != nil {
		return nil, fmt.Errorf("create report: %w", err)
	}
	return &Report{path: path, file: file, to: bufio.NewWriter(file)}, nil
}

// Add writes a line. It is a [Sink], and safe for concurrent use.
func (r *Report) Add(f Finding) error {
	line, err := json.Marshal(f)
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, err := r.to.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// Commit puts the report under its name.
func (r *Report) Commit() error {
	err := errors.Join(r.to.Flush(), r.file.Sync())
	if err == nil {
		r.ends = true
		err = errors.Join(r.file.Close(), os.Rename(r.file.Name(), r.path))
	}
	if err != nil {
		return fmt.Errorf("write report %s: %w", r.path, err)
	}
	return nil
}

// Discard removes what was not committed.
func (r *Report) Discard() error {
	if r.ends {
		return nil
	}
	r.ends = true
	return errors.Join(r.file.Close(), os.Remove(r.file.Name()))
}
