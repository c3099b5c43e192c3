package backfill

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/heatsink-dev/heatsink/pkg/account"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/unique"
)

// labelUser of the operation on the user; claims have their constraint's name.
const labelUser = "user"

// maxTries is how often one user is read again because it changed under our hands. Each time somebody else has got something done.
const maxTries = 50

// ErrRestless says that a user changed each time it was about to be written.
var ErrRestless = errors.New("the user changed again and again")

// state is one user and the claims on what it holds, as far as they are known.
type state struct {
	user   ddb.Item // nil: gone
	claims map[string]unique.Claim
	// broken are items of the claim table that are no claims.
	broken map[string]error
}

// verdict is what became of a user.
type verdict struct {
	written, held int  // claims
	changed       bool // by this run
	gone          bool
	findings      []Finding
}

// adoption brings one user under claims.
type adoption struct {
	*Tool
	// request is the id that the claims carry.
	request string
	// refuse says why a claim must not be written. Nil: it may be.
	refuse func(user string, h account.Holding) *Finding
}

// plan is one transaction, and what is decided without it.
type plan struct {
	verdict
	operations []unique.Operation
}

// plan decides from what was read. Claims that others have, and names that cannot be claimed, are findings; the rest is taken in one transaction with the user. A
// user without an incarnation is given one, and so are the claims that it has already: a claim and its user always agree.
func (a *adoption) plan(s state) plan {
	var p plan
	id, _ := textOf(s.user, account.UserIDAttribute)
	incarnation := account.IncarnationOf(s.user)
	next := incarnation
	if next == "" {
		next = account.NewAdopted(a.config.ID())
	}
	var held, takes []account.Holding
	mine := 0 // claims that this run wrote before it was killed
	for _, h := range account.Holdings(s.user) {
		if h.Err != nil {
			p.findings = append(p.findings, unmappable(id, h))
			continue
		}
		need := h.Claim(id, incarnation)
		have, claimed := s.claims[need.Key()]
		if broken := s.broken[need.Key()]; broken != nil {
			p.findings = append(p.findings, Finding{Kind: KindUnreadable, Key: need.Key(), Reason: broken.Error()})
			continue
		}
		switch {
		case claimed && have.Owner != id:
			p.findings = append(p.findings, Finding{
				Kind: KindTaken, Constraint: h.Constraint, Form: h.Value, UserIDs: []string{id}, Spellings: []string{h.Spelling}, Owner: have.Owner,
				Reason: "the claim belongs to another user and is kept",
			})
		case claimed && have.Incarnation == incarnation:
			held = append(held, h)
			if have.Request == a.request {
				mine++
			}
		default: // free, or of an earlier life of this very user
			if f := a.refuse(id, h); f != nil {
				p.findings = append(p.findings, *f)
				continue
			}
			takes = append(takes, h)
		}
	}
	settled := incarnation != "" && !slices.ContainsFunc(held, func(h account.Holding) bool { return !h.Stored })
	if len(takes) == 0 && (len(held) == 0 || settled) {
		p.written, p.held, p.changed = mine, len(held)-mine, mine > 0
		return p
	}
	write := takes
	if incarnation == "" {
		write = slices.Concat(held, takes)
	}
	// What will be so once it is sent.
	p.written, p.held, p.changed = len(write), len(held)+len(takes)-len(write), true
	p.operations = append(p.operations, account.Adopt(labelUser, a.config.UserTable, s.user, next, slices.Concat(held, takes)))
	for _, h := range write {
		claim := h.Claim(id, next)
		claim.Request = a.request
		p.operations = append(p.operations, a.take(claim))
	}
	return p
}

// take claims a value that is free or belongs to this user id already. The same transaction makes sure that the user stands, in this incarnation, so a claim of an
// earlier one is a leftover.
func (a *adoption) take(claim unique.Claim) unique.Operation {
	operation := a.claims.Take(claim.Constraint, claim)
	operation.Rank = 1
	put := operation.Write.Put
	put.ConditionExpression = aws.String("attribute_not_exists(#key) OR #owner = :owner")
	put.ExpressionAttributeNames = map[string]string{"#key": unique.KeyAttribute, "#owner": unique.OwnerAttribute}
	put.ExpressionAttributeValues = ddb.Item{":owner": text(claim.Owner)}
	return operation
}

// user brings one user under claims. Beside a transaction it reads only where that was refused, or not answered.
func (a *adoption) user(ctx context.Context, s state) (verdict, error) {
	id, _ := textOf(s.user, account.UserIDAttribute)
	for range maxTries {
		if s.user == nil || account.IsWithdrawing(s.user) {
			return verdict{gone: true}, nil
		}
		p := a.plan(s)
		if len(p.operations) == 0 {
			return p.verdict, nil
		}
		err := a.send(ctx, unique.Transaction{Name: "claim for a user", Operations: p.operations})
		if bad, ok := errors.AsType[*unique.InvalidError](err); ok { // such as an item that would grow past its limit
			return verdict{findings: append(p.findings, Finding{Kind: KindRefused, UserIDs: []string{id}, Reason: bad.Error()})}, nil
		}
		switch _, refused := errors.AsType[*unique.ConditionError](err); {
		case err == nil:
			return p.verdict, nil
		case refused, errors.Is(err, unique.ErrUnknown) && ctx.Err() == nil:
		default:
			return verdict{}, fmt.Errorf("user %s: %w", id, err)
		}
		if s, err = a.state(ctx, id); err != nil {
			return verdict{}, err
		}
	}
	return verdict{}, fmt.Errorf("user %s: %w", id, ErrRestless)
}

// send sends a transaction at the rate.
func (t *Tool) send(ctx context.Context, tx unique.Transaction) error {
	if err := t.pace.wait(ctx); err != nil {
		return err
	}
	metered, meter := ddb.WithMeter(ctx)
	_, err := t.writer.Write(metered, tx)
	// The meter is silent where the client is not metered. An operation takes 2 WRU at least.
	t.pace.spend(max(meter.Usage().WriteUnits, float64(2*len(tx.Operations))))
	return err
}

// state reads a user and the claims on what it holds, at one moment.
func (t *Tool) state(ctx context.Context, id string) (state, error) {
	var keys []string
	for range maxTries {
		s, err := t.snapshot(ctx, []string{id}, keys)
		if err != nil {
			return state{}, err
		}
		user := s.users[id]
		need := claimKeys(user)
		if slices.Equal(need, keys) {
			return state{user: user, claims: s.claims, broken: s.broken}, nil
		}
		keys = need
	}
	return state{}, fmt.Errorf("read user %s: %w", id, ErrRestless)
}

// claimKeys are the keys of the claims on what a user holds.
func claimKeys(user ddb.Item) []string {
	var keys []string
	for _, h := range account.Holdings(user) {
		if h.Err == nil {
			keys = append(keys, h.Claim("", "").Key())
		}
	}
	return keys
}
