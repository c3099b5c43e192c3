package backfill

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/heatsink-dev/heatsink/pkg/account"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/unique"
)

// Files beside a checkpoint.
const (
	// FindingsSuffix: what the scan before the first write found, a [Finding] a line.
	FindingsSuffix = ".findings.jsonl"
	// RejectedSuffix: what could not be claimed, a [Finding] a line.
	RejectedSuffix = ".rejected.jsonl"
)

// MaxSkipped is how many duplicate names a run can leave out: they are kept in memory.
const MaxSkipped = 100_000

var (
	// ErrUnbalanced says that not every user that was read is accounted for.
	ErrUnbalanced = errors.New("the users that were read are not the sum of written, skipped and rejected")
	// ErrFindings says that names are not fit to be claimed, so nothing was written.
	ErrFindings = errors.New("some names cannot be claimed: nothing was written")
)

// Options of [Tool.Backfill].
type Options struct {
	// Checkpoint is the file that the run goes on from. It is made where there is none.
	Checkpoint string
	// SkipFindings writes the claims of all others where the scan finds duplicates or names that cannot be mapped. Whoever is in its findings is rejected: nobody is chosen
	// among those who have one name. Without it such findings end the run before the first write.
	SkipFindings bool
}

// Result of a backfill, over all runs with its checkpoint.
type Result struct {
	Counts
	// Scan is what the scan before the first write found.
	Scan ScanResult `json:"scan"`
	// Finished: all segments are at their ends.
	Finished bool `json:"finished"`
	// Resumed: the checkpoint was there.
	Resumed bool `json:"resumed"`
}

// Backfill writes the claims of all users, while they live on. It first scans for names that cannot be claimed, and stops on them with [ErrFindings]. Then each user that has a
// name without its claim gets it, in one transaction with the user: 2 WRU for a user up to 1 KB and 2 for each claim, and what the user table's indexes take. Users without
// incarnation get one in it. Users that have all of their claims cost a read of each (1 RRU).
//
// An error leaves the checkpoint; the next call with it goes on. The result is valid beside an error. Throttles and conflicts are tried again for as long as the
// Patience of [Config]; then the run ends with unique.ErrTryAgain.
func (t *Tool) Backfill(ctx context.Context, options Options) (result Result, err error) {
	users, err := t.users(ctx)
	if err != nil {
		return result, err
	}
	claims, err := t.claimTable(ctx)
	if err != nil {
		return result, err
	}
	run := &backfill{Tool: t, options: options, users: users}
	if err := run.open(claims); err != nil {
		return result, err
	}
	result.Resumed = run.resumed
	defer func() {
		result.Counts, result.Scan = run.at.Counts, run.at.Scan
		result.Finished = run.at.Checked && run.finished()
	}()
	if !run.at.Checked {
		if err := run.check(ctx); err != nil {
			return result, err
		}
	}
	if err := run.exclude(); err != nil {
		return result, err
	}
	if err := run.write(ctx); err != nil {
		return result, err
	}
	if !run.at.Counts.Balanced() {
		return result, ErrUnbalanced
	}
	return result, nil
}

// backfill is one run.
type backfill struct {
	*Tool
	options  Options
	users    table
	resumed  bool
	excluded map[string]bool

	mu       sync.Mutex
	at       *checkpoint
	rejected *os.File
}

func (b *backfill) open(claims table) error {
	at, err := loadCheckpoint(b.options.Checkpoint)
	if err != nil {
		return err
	}
	if b.resumed = at != nil; b.resumed {
		b.at = at
		return at.fits(b.options.Checkpoint, b.users, claims, b.config.Segments, b.options.SkipFindings)
	}
	b.at = &checkpoint{
		Version: checkpointVersion, UserTable: b.users.arn, UserTableID: b.users.id, ClaimTable: claims.arn, ClaimTableID: claims.id,
		Segments: b.config.Segments, Run: "backfill." + b.config.ID(), Started: b.config.Now().UTC(), SkipFindings: b.options.SkipFindings,
		Progress: make([]position, b.config.Segments),
	}
	return b.at.save(b.options.Checkpoint)
}

// check scans for names that cannot be claimed. Where it found none, or they are to be skipped, it is not done again: what live users do to names meanwhile is for
// the conditions of the transactions to see.
func (b *backfill) check(ctx context.Context) (err error) {
	path := b.options.Checkpoint + FindingsSuffix
	report, err := CreateReport(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, report.Discard()) }()
	b.at.Scan, err = b.Scan(ctx, report.Add)
	if err != nil {
		return err
	}
	if err := report.Commit(); err != nil {
		return err
	}
	if !b.at.Scan.Clean() && !b.options.SkipFindings {
		return fmt.Errorf("%w: %d duplicates, %d unmappable, listed in %s", ErrFindings, b.at.Scan.Duplicates, b.at.Scan.Unmappable, path)
	}
	if b.at.FindingsSHA256, err = digest(path); err != nil {
		return fmt.Errorf("read findings: %w", err)
	}
	b.at.Checked, b.at.SkipFindings = true, b.options.SkipFindings
	return b.at.save(b.options.Checkpoint)
}

// exclude reads from the findings which names nobody may get.
func (b *backfill) exclude() error {
	path := b.options.Checkpoint + FindingsSuffix
	sum, err := digest(path)
	if err != nil {
		return fmt.Errorf("read findings: %w", err)
	}
	if sum != b.at.FindingsSHA256 {
		return &CheckpointError{b.options.Checkpoint, "goes with another " + path}
	}
	if b.at.Scan.Duplicates > MaxSkipped {
		return fmt.Errorf("%d duplicates are too many to skip, at most %d: resolve them first", b.at.Scan.Duplicates, MaxSkipped)
	}
	b.excluded = map[string]bool{}
	file, err := os.Open(path) //nolint:gosec // beside the operator's file
	if err != nil {
		return fmt.Errorf("read findings: %w", err)
	}
	decoder := json.NewDecoder(bufio.NewReader(file))
	for decoder.More() {
		var f Finding
		if err := decoder.Decode(&f); err != nil {
			return errors.Join(fmt.Errorf("read findings: %w", err), file.Close())
		}
		if f.Kind == KindDuplicate {
			b.excluded[f.Constraint+"#"+f.Form] = true
		}
	}
	return file.Close()
}

func (b *backfill) finished() bool {
	for _, p := range b.at.Progress {
		if !p.Done {
			return false
		}
	}
	return true
}

// write reads the users from where the checkpoint stands.
func (b *backfill) write(ctx context.Context) (err error) {
	if b.finished() {
		return nil
	}
	b.rejected, err = os.OpenFile(b.options.Checkpoint+RejectedSuffix, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("open rejections: %w", err)
	}
	defer func() { err = errors.Join(err, b.rejected.Close()) }()
	if info, err := b.rejected.Stat(); err != nil || info.Size() < b.at.RejectedBytes {
		return errors.Join(err, &CheckpointError{b.options.Checkpoint, "goes with another " + b.rejected.Name()})
	}
	segments := b.userSegments(b.users, PhaseWrite)
	segments.limit, segments.page = b.config.PageSize, b.page
	for _, p := range b.at.Progress {
		key, err := p.key()
		if err != nil {
			return err
		}
		segments.start, segments.done = append(segments.start, key), append(segments.done, p.Done)
	}
	return segments.run(ctx)
}

// page writes the claims of one page and then moves the checkpoint past it.
func (b *backfill) page(ctx context.Context, segment int, items []ddb.Item, next ddb.Item) error {
	states, err := b.states(ctx, items)
	if err != nil {
		return err
	}
	a := &adoption{Tool: b.Tool, request: b.at.Run, refuse: b.refuse}
	verdicts := make([]verdict, len(states))
	workers, workCtx := errgroup.WithContext(ctx)
	workers.SetLimit(max(1, b.config.Concurrency/b.config.Segments))
	for n, s := range states {
		workers.Go(func() (err error) {
			verdicts[n], err = a.user(workCtx, s)
			return err
		})
	}
	if err := workers.Wait(); err != nil {
		return err
	}
	return b.advance(segment, next, verdicts)
}

// states are the users of a page with the claims that are there, by one strongly consistent read of a hundred. It only saves transactions; their conditions decide.
func (b *backfill) states(ctx context.Context, items []ddb.Item) ([]state, error) {
	var keys []ddb.Item
	for _, item := range items {
		for _, key := range claimKeys(item) {
			keys = append(keys, ddb.Item{unique.KeyAttribute: text(key)})
		}
	}
	found, err := b.getBatch(ctx, b.config.ClaimTable, keys, b.claimSegments(table{}).attributes)
	if err != nil {
		return nil, err
	}
	claims, broken := map[string]unique.Claim{}, map[string]error{}
	for _, item := range found {
		key, _ := textOf(item, unique.KeyAttribute)
		claim, err := unique.ParseClaim(item)
		if err != nil {
			broken[key] = err
			continue
		}
		claims[key] = claim
	}
	states := make([]state, 0, len(items))
	for _, item := range items {
		states = append(states, state{user: item, claims: claims, broken: broken})
	}
	return states, nil
}

func (b *backfill) refuse(id string, h account.Holding) *Finding {
	if !b.excluded[h.Constraint+"#"+h.Value] {
		return nil
	}
	return &Finding{
		Kind: KindDuplicate, Constraint: h.Constraint, Form: h.Value, UserIDs: []string{id}, Spellings: []string{h.Spelling}, Claimed: []bool{h.Stored},
		Reason: "several users had this name when the run began",
	}
}

// advance writes the page's rejections and then the checkpoint. A crash between the two leaves lines that the next run cuts off.
func (b *backfill) advance(segment int, next ddb.Item, verdicts []verdict) error {
	var lines []byte
	var counts Counts
	for _, v := range verdicts {
		counts.add(v)
		for _, f := range v.findings {
			line, err := json.Marshal(f)
			if err != nil {
				return fmt.Errorf("write rejections: %w", err)
			}
			lines = append(append(lines, line...), '\n')
		}
	}
	p := position{Done: next == nil}
	if next != nil {
		raw, err := ddb.EncodeItem(next)
		if err != nil {
			return fmt.Errorf("write checkpoint: %w", err)
		}
		p.Next = raw
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	err := b.rejected.Truncate(b.at.RejectedBytes)
	if err == nil && len(lines) > 0 {
		_, err = b.rejected.WriteAt(lines, b.at.RejectedBytes)
		err = errors.Join(err, b.rejected.Sync())
	}
	if err != nil {
		return fmt.Errorf("write rejections: %w", err)
	}
	b.at.RejectedBytes += int64(len(lines))
	b.at.Counts.sum(counts)
	b.at.Progress[segment] = p
	return b.at.save(b.options.Checkpoint)
}
