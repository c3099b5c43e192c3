package backfill

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/heatsink-dev/heatsink/pkg/account"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/unique"
)

// judge looks at one name whose rows did not match: first at claims, since a repaired orphan is a name that its user can have, and then at users.
func (v *verification) judge(ctx context.Context, g group) error {
	for _, r := range g.rows {
		if r.side == sideClaim {
			if err := v.judgeClaim(ctx, r.id); err != nil {
				return err
			}
		}
	}
	// By form, since several names can have one fingerprint.
	byForm := map[string][]fault{}
	for _, r := range g.rows {
		if r.side != sideUser {
			continue
		}
		f, err := v.judgeUser(ctx, r.id, g.hash)
		if err != nil {
			return err
		}
		if f != nil {
			byForm[f.key] = append(byForm[f.key], *f)
		}
	}
	for _, faults := range byForm {
		if err := v.settle(ctx, faults, g.more); err != nil {
			return err
		}
	}
	return nil
}

// fault is a user that holds a name whose claim is not its own.
type fault struct {
	key     string
	user    string
	holding account.Holding
	kind    string // KindMissing, KindStale, KindTaken
	owner   string
}

// judgeUser finds, at one moment, whether a user holds a name of this hash whose claim is not its own. Nil: it does not, or not any more.
func (v *verification) judgeUser(ctx context.Context, id string, hash uint64) (*fault, error) {
	s, err := v.state(ctx, id)
	if err != nil || s.user == nil || account.IsWithdrawing(s.user) {
		return nil, err
	}
	for _, h := range account.Holdings(s.user) {
		if h.Err != nil || fingerprint(h.Constraint, h.Value) != hash {
			continue
		}
		need := h.Claim(id, account.IncarnationOf(s.user))
		have, claimed := s.claims[need.Key()]
		f := &fault{key: need.Key(), user: id, holding: h}
		_, broken := s.broken[need.Key()]
		switch {
		case broken:
			return nil, nil //nolint:nilnil // the claim is a fault already, as unreadable
		case !claimed:
			f.kind = KindMissing
		case have.OwnedBy(need):
			return nil, nil //nolint:nilnil // nil is the answer
		case have.Owner == id:
			f.kind = KindStale
		default:
			f.kind, f.owner = KindTaken, have.Owner
		}
		return f, nil
	}
	return nil, nil //nolint:nilnil // nil is the answer
}

// settle tells what is wrong with one name's users, and repairs what has one answer: a single user without its claim. Of several nobody is chosen.
func (v *verification) settle(ctx context.Context, faults []fault, more int) error {
	open := slices.DeleteFunc(slices.Clone(faults), func(f fault) bool { return f.kind == KindTaken })
	if len(open) > 1 {
		f := Finding{Kind: KindDuplicate, Constraint: open[0].holding.Constraint, Form: open[0].holding.Value, More: more, Reason: "nobody has the claim, and nobody is chosen"}
		for _, o := range open {
			f.UserIDs, f.Spellings, f.Claimed = append(f.UserIDs, o.user), append(f.Spellings, o.holding.Spelling), append(f.Claimed, o.holding.Stored)
		}
		if err := v.tell(f); err != nil {
			return err
		}
		open = nil
	}
	for _, f := range faults {
		if f.kind != KindTaken {
			continue
		}
		err := v.tell(Finding{
			Kind: KindTaken, Constraint: f.holding.Constraint, Form: f.holding.Value, UserIDs: []string{f.user}, Spellings: []string{f.holding.Spelling},
			Owner: f.owner, Reason: "the claim belongs to another user",
		})
		if err != nil {
			return err
		}
	}
	for _, f := range open {
		if err := v.claimFor(ctx, f, len(faults) > 1 || more > 0); err != nil {
			return err
		}
	}
	return nil
}

// claimFor writes a missing claim, or one that is of an earlier life.
func (v *verification) claimFor(ctx context.Context, f fault, shared bool) error {
	finding := Finding{
		Kind: f.kind, Constraint: f.holding.Constraint, Form: f.holding.Value, UserIDs: []string{f.user}, Spellings: []string{f.holding.Spelling},
	}
	if f.kind == KindStale {
		finding.Reason = "the claim is of an earlier life of the user id"
	}
	switch {
	case !v.options.Repair:
	case shared:
		finding.Reason = "others hold the name too, and nobody is chosen"
	default:
		repair := *v.adopt
		repair.refuse = func(_ string, h account.Holding) *Finding {
			if h.Claim("", "").Key() == f.key {
				return nil
			}
			return &Finding{Kind: KindMissing} // is judged on its own
		}
		s, err := v.state(ctx, f.user)
		if err != nil {
			return err
		}
		done, err := repair.user(ctx, s)
		if err != nil {
			return err
		}
		now, err := v.judgeUser(ctx, f.user, fingerprint(f.holding.Constraint, f.holding.Value))
		if err != nil {
			return err
		}
		if s, err = v.state(ctx, f.user); err != nil {
			return err
		}
		if now == nil && (!done.changed || !slices.Contains(claimKeys(s.user), f.key)) {
			return nil // the user has got it, or has given the name up, by itself
		}
		if finding.Repaired = now == nil; !finding.Repaired {
			finding.Reason = "could not be repaired: the user is being changed"
			for _, why := range done.findings {
				if why.Kind != KindMissing {
					finding.Reason = why.Reason
				}
			}
		}
	}
	return v.tell(finding)
}

// orphan says, at one moment, whether a claim's owner does not hold it.
func (v *verification) orphan(ctx context.Context, key string) (claim unique.Claim, owner ddb.Item, is bool, err error) {
	var users []string
	for range maxTries {
		s, err := v.snapshot(ctx, users, []string{key})
		if err != nil {
			return claim, nil, false, err
		}
		claim, claimed := s.claims[key]
		if !claimed {
			return claim, nil, false, nil
		}
		if !slices.Equal(users, []string{claim.Owner}) {
			users = []string{claim.Owner}
			continue
		}
		owner := s.users[claim.Owner]
		for _, h := range account.Holdings(owner) {
			if h.Err == nil && h.Constraint == claim.Constraint && h.Value == claim.Value {
				return claim, owner, false, nil // where its incarnation is another, it is judged as the user's
			}
		}
		return claim, owner, true, nil
	}
	return claim, nil, false, fmt.Errorf("read claim %s: %w", key, ErrRestless)
}

// judgeClaim tells an orphan, and deletes it if its owner still does not hold it.
func (v *verification) judgeClaim(ctx context.Context, key string) error {
	for range maxTries {
		claim, owner, is, err := v.orphan(ctx, key)
		if err != nil || !is {
			return err
		}
		finding := Finding{Kind: KindOrphan, Constraint: claim.Constraint, Form: claim.Value, Owner: claim.Owner, Key: key}
		if owner == nil {
			finding.Reason = "there is no such user"
		} else {
			finding.Reason = "the user does not hold it"
		}
		if !v.options.Repair {
			return v.tell(finding)
		}
		err = v.send(ctx, unique.Transaction{Name: "delete an orphan claim", Operations: []unique.Operation{
			account.Unchanged(labelUser, v.config.UserTable, claim.Owner, owner), v.claims.Release(claim.Constraint, claim),
		}})
		switch _, refused := errors.AsType[*unique.ConditionError](err); {
		case err == nil:
			finding.Repaired = true
			return v.tell(finding)
		case refused, errors.Is(err, unique.ErrUnknown) && ctx.Err() == nil:
			// Somebody was quicker, or the answer was lost: look again. A release that took effect is then no orphan, though uncounted.
		default:
			return fmt.Errorf("claim %s: %w", key, err)
		}
	}
	return fmt.Errorf("claim %s: %w", key, ErrRestless)
}
