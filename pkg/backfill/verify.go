package backfill

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/heatsink-dev/heatsink/pkg/account"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/unique"
)

// VerifyOptions of [Tool.Verify].
type VerifyOptions struct {
	// Repair deletes orphan claims, writes missing ones and renews stale ones. Everything else needs a person.
	Repair bool
}

// VerifyResult is what a verification found.
type VerifyResult struct {
	Users  int64 `json:"users"`
	Claims int64 `json:"claims"`
	// OtherClaims are of constraints that users do not hold, and were not looked at.
	OtherClaims int64 `json:"otherClaims"`
	// Reread are names that did not match at first, and were read again.
	Reread int64 `json:"reread"`
	// Faults by kind, the repaired ones included.
	Faults map[string]int64 `json:"faults"`
	// Found and Repaired faults in all.
	Found    int64 `json:"found"`
	Repaired int64 `json:"repaired"`
}

// Whole reports whether no fault is left.
func (r VerifyResult) Whole() bool { return r.Found == r.Repaired }

// Verify reads all users and all claims, and tells the sink every name without its claim and every claim without its user. What does not match at first may be a step of a live
// user between the two reads; it is read again, claim and users at one moment, before it is called a fault. Requests: the Scans of both tables, and 2 RRU or more for each item that
// is read again; a repair takes 4 WRU or more. Memory as for [Tool.Scan].
//
// Users that are being withdrawn may lack their claims: both are about to go.
func (t *Tool) Verify(ctx context.Context, options VerifyOptions, sink Sink) (VerifyResult, error) {
	return t.verify(ctx, options, sink, 0)
}

func (t *Tool) verify(ctx context.Context, options VerifyOptions, sink Sink, page int) (result VerifyResult, err error) {
	users, err := t.users(ctx)
	if err != nil {
		return result, err
	}
	claims, err := t.claimTable(ctx)
	if err != nil {
		return result, err
	}
	names, err := newSpool(t.config.TempDir, maxNames)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, names.close()) }()
	v := &verification{Tool: t, options: options, sink: sink, names: names, faults: map[string]int64{}}
	v.adopt = &adoption{Tool: t, request: "repair." + t.config.ID()}
	readUsers := t.userSegments(users, PhaseUsers)
	readUsers.page, readUsers.limit = v.usersPage, page
	if err := readUsers.run(ctx); err != nil {
		return v.result(), err
	}
	readClaims := t.claimSegments(claims)
	readClaims.page, readClaims.limit = v.claimsPage, page
	if err := readClaims.run(ctx); err != nil {
		return v.result(), err
	}
	apart := func(t tally) bool { return t.users != 1 || t.claims != 1 || t.user != t.claim }
	err = names.groups(ctx, apart, func(found []group) error { return v.judgeAll(ctx, found) }, t.comparing(len(names.files)))
	return v.result(), err
}

// maxKeyBytes of a partition key (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html).
const maxKeyBytes = 2048

type verification struct {
	*Tool
	options VerifyOptions
	names   *spool
	adopt   *adoption

	mu              sync.Mutex
	sink            Sink
	faults          map[string]int64
	found, repaired int64

	users, claimed, others, reread atomic.Int64
}

func (v *verification) result() VerifyResult {
	v.mu.Lock()
	defer v.mu.Unlock()
	return VerifyResult{
		Users: v.users.Load(), Claims: v.claimed.Load(), OtherClaims: v.others.Load(), Reread: v.reread.Load(),
		Faults: v.faults, Found: v.found, Repaired: v.repaired,
	}
}

func (v *verification) tell(f Finding) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.found++
	v.faults[f.Kind]++
	if f.Repaired {
		v.repaired++
	}
	return v.sink(f)
}

func (v *verification) usersPage(_ context.Context, _ int, items []ddb.Item, _ ddb.Item) error {
	for _, item := range items {
		v.users.Add(1)
		id, _ := textOf(item, account.UserIDAttribute)
		for _, h := range account.Holdings(item) {
			if h.Err != nil { // a page is as strong a read as any
				if err := v.tell(unmappable(id, h)); err != nil {
					return err
				}
				continue
			}
			if h.Mismatch() {
				f := Finding{
					Kind: KindMismatch, Constraint: h.Constraint, Form: h.Value, UserIDs: []string{id}, Spellings: []string{h.Spelling},
					Reason: "the claimed form is not what the spelling maps to",
				}
				if err := v.tell(f); err != nil {
					return err
				}
			}
			r := row{hash: fingerprint(h.Constraint, h.Value), side: sideUser, print: fingerprint(id, account.IncarnationOf(item)), id: id}
			if err := v.names.add(r); err != nil {
				return err
			}
		}
	}
	return nil
}

func (v *verification) claimsPage(_ context.Context, _ int, items []ddb.Item, _ ddb.Item) error {
	for _, item := range items {
		v.claimed.Add(1)
		key, _ := textOf(item, unique.KeyAttribute)
		claim, err := unique.ParseClaim(item)
		if err == nil && (claim.Value == "" || len(claim.Owner) > maxKeyBytes) {
			err = errors.New("read claim: its value is empty, or its owner is too long to be a user")
		}
		if err != nil {
			if err := v.tell(Finding{Kind: KindUnreadable, Key: key, Reason: err.Error()}); err != nil {
				return err
			}
			continue
		}
		if claim.Constraint != account.NicknameConstraint && claim.Constraint != account.EmailConstraint {
			v.others.Add(1)
			continue
		}
		r := row{
			hash: fingerprint(claim.Constraint, claim.Value), side: sideClaim, print: fingerprint(claim.Owner, claim.Incarnation), id: key,
		}
		if err := v.names.add(r); err != nil {
			return err
		}
	}
	return nil
}

func (v *verification) judgeAll(ctx context.Context, found []group) error {
	workers, ctx := errgroup.WithContext(ctx)
	workers.SetLimit(v.config.Concurrency)
	for _, g := range found {
		workers.Go(func() error {
			v.reread.Add(1)
			return v.judge(ctx, g)
		})
	}
	return workers.Wait()
}

// FaultKinds are the kinds that [Tool.Verify] tells.
func FaultKinds() []string {
	return []string{KindOrphan, KindMissing, KindStale, KindTaken, KindDuplicate, KindMismatch, KindUnmappable, KindUnreadable}
}
