package backfill

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
)

// CheckpointError says why a checkpoint file is not of this run. Nothing was done.
type CheckpointError struct {
	Path   string
	Reason string
}

// Error names the file, and says what to do.
func (e *CheckpointError) Error() string {
	return fmt.Sprintf("checkpoint %s %s: give another file, or move this one away to begin anew", e.Path, e.Reason)
}

// checkpointVersion of the file's form.
const checkpointVersion = 1

// checkpoint is what a run knows of itself after each page. It is bound to its tables, each by ARN and id, so that neither another table nor one that was made
// again under the same name is taken for it, and to the number of segments, which decides what a segment is.
type checkpoint struct {
	Version      int    `json:"version"`
	UserTable    string `json:"userTable"`
	UserTableID  string `json:"userTableId"`
	ClaimTable   string `json:"claimTable"`
	ClaimTableID string `json:"claimTableId"`
	Segments     int    `json:"segments"`
	// Run is the request id of every claim that this run writes.
	Run     string    `json:"run"`
	Started time.Time `json:"started"`
	// Checked: the scan for duplicates is done, and its findings stand in their file with this digest.
	Checked        bool       `json:"checked"`
	SkipFindings   bool       `json:"skipFindings"`
	Scan           ScanResult `json:"scan"`
	FindingsSHA256 string     `json:"findingsSha256,omitempty"`
	// Progress of each segment.
	Progress []position `json:"progress,omitempty"`
	Counts   Counts     `json:"counts"`
	// RejectedBytes is how long the file of rejections is; what stands after it is of pages that are read again.
	RejectedBytes int64 `json:"rejectedBytes"`
}

type position struct {
	Done bool `json:"done,omitempty"`
	// Next is the key after which the segment goes on, in DynamoDB's JSON.
	Next json.RawMessage `json:"next,omitempty"`
}

// loadCheckpoint reads a checkpoint. Nil: there is none.
func loadCheckpoint(path string) (*checkpoint, error) {
	raw, err := os.ReadFile(path) //nolint:gosec // the operator names the file
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // nil is the answer
	}
	if err != nil {
		return nil, fmt.Errorf("read checkpoint: %w", err)
	}
	return parseCheckpoint(path, raw)
}

func parseCheckpoint(path string, raw []byte) (*checkpoint, error) {
	c := &checkpoint{}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(c); err != nil {
		return nil, &CheckpointError{path, "is no checkpoint (" + err.Error() + ")"}
	}
	if c.Version != checkpointVersion || c.Run == "" || c.Segments < 1 || c.Segments > MaxSegments || len(c.Progress) != c.Segments {
		return nil, &CheckpointError{path, "is no checkpoint of this version"}
	}
	for _, p := range c.Progress {
		if _, err := p.key(); err != nil {
			return nil, &CheckpointError{path, "is no checkpoint (" + err.Error() + ")"}
		}
	}
	return c, nil
}

func (p position) key() (ddb.Item, error) {
	if len(p.Next) == 0 {
		return nil, nil
	}
	return ddb.DecodeItem(p.Next)
}

// fits refuses a checkpoint of something else.
func (c *checkpoint) fits(path string, users, claims table, segments int, skip bool) error {
	switch {
	case c.UserTable != users.arn:
		return &CheckpointError{path, fmt.Sprintf("is of the user table %s, not of %s", c.UserTable, users.arn)}
	case c.UserTableID != users.id:
		return &CheckpointError{path, fmt.Sprintf("is of an earlier table of the name %s", users.name)}
	case c.ClaimTable != claims.arn:
		return &CheckpointError{path, fmt.Sprintf("is of the claim table %s, not of %s", c.ClaimTable, claims.arn)}
	case c.ClaimTableID != claims.id:
		return &CheckpointError{path, fmt.Sprintf("is of an earlier table of the name %s", claims.name)}
	case c.Segments != segments:
		return &CheckpointError{path, fmt.Sprintf("is of %d segments, not of %d", c.Segments, segments)}
	case c.Checked && c.SkipFindings != skip:
		return &CheckpointError{path, fmt.Sprintf("was begun with skipping findings %t", c.SkipFindings)}
	}
	return nil
}

// save replaces the file in one step: a crash leaves the one before or this one.
func (c *checkpoint) save(path string) error {
	raw, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("write checkpoint: %w", err)
	}
	if err := replace(path, raw); err != nil {
		return fmt.Errorf("write checkpoint: %w", err)
	}
	return nil
}

func replace(path string, content []byte) (err error) {
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.part")
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	// The name itself is only sure to outlive a power cut when the folder is written too.
	folder, err := os.Open(filepath.Dir(path)) //nolint:gosec // of the operator's file
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

func digest(path string) (string, error) {
	file, err := os.Open(path) //nolint:gosec // beside the operator's file
	if err != nil {
		return "", err
	}
	h := sha256.New()
	_, err = io.Copy(h, file)
	return hex.EncodeToString(h.Sum(nil)), errors.Join(err, file.Close())
}
