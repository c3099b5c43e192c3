package racelab

import (
	"context"
	"fmt"
	"strings"

	"github.com/heatsink-dev/heatsink/pkg/account"
	"github.com/heatsink-dev/heatsink/pkg/unique"
)

// naiveFinal counts the owners of each name.
func (e *experiments) naiveFinal(ctx context.Context, row Row, prefix string, err error) (Row, error) {
	if err != nil {
		return row, err
	}
	items, err := e.readAll(ctx, e.tables.naive)
	if err != nil {
		return row, err
	}
	owners := map[string]int{}
	for _, item := range items {
		if strings.HasPrefix(textOf(item, account.UserIDAttribute), prefix) {
			owners[textOf(item, formAttribute)]++
		}
	}
	row.owners(owners)
	return row, nil
}

// owners says how many names have how many owners.
func (r *Row) owners(owners map[string]int) {
	total := 0
	for _, n := range owners {
		total += n
		r.Leaks += max(0, n-1)
	}
	r.Whole = len(owners) == r.Rounds && total == r.Rounds
	r.Final = fmt.Sprintf("%s, %s", count(len(owners), "name"), count(total, "owner"))
}

// claims are those whose owner has the prefix, by key.
func (e *experiments) claims(ctx context.Context, prefix string) (map[string]unique.Claim, error) {
	items, err := e.readAll(ctx, e.tables.claims)
	if err != nil {
		return nil, err
	}
	claims := map[string]unique.Claim{}
	for _, item := range items {
		claim, err := unique.ParseClaim(item)
		if err != nil {
			return nil, err
		}
		if strings.HasPrefix(claim.Owner, prefix) {
			claims[claim.Key()] = claim
		}
	}
	return claims, nil
}

// claimFinal counts the owners of each name, and compares them with the claims, both ways.
func (e *experiments) claimFinal(ctx context.Context, row Row, prefix string, err error) (Row, error) {
	if err != nil {
		return row, err
	}
	items, err := e.readAll(ctx, e.tables.users)
	if err != nil {
		return row, err
	}
	claims, err := e.claims(ctx, prefix)
	if err != nil {
		return row, err
	}
	owners, unclaimed := map[string]int{}, 0
	for _, item := range items {
		id := textOf(item, account.UserIDAttribute)
		if !strings.HasPrefix(id, prefix) {
			continue
		}
		for _, h := range account.Holdings(item) {
			owners[h.Value]++
			need := h.Claim(id, account.IncarnationOf(item))
			if have := claims[need.Key()]; have.OwnedBy(need) {
				delete(claims, need.Key())
			} else {
				unclaimed++
			}
		}
	}
	row.owners(owners)
	row.Whole = row.Whole && unclaimed == 0 && len(claims) == 0
	if unclaimed+len(claims) == 0 {
		row.Final += ", each with its claim"
	} else {
		row.Final += fmt.Sprintf(", %d without claim, %s without owner", unclaimed, count(len(claims), "claim"))
	}
	return row, nil
}

// deletesFinal counts the targets that are still there, and claims without a user.
func (e *experiments) deletesFinal(ctx context.Context, row Row, prefix string) (Row, error) {
	items, err := e.readAll(ctx, e.tables.users)
	if err != nil {
		return row, err
	}
	claims, err := e.claims(ctx, prefix)
	if err != nil {
		return row, err
	}
	left := map[string]bool{}
	users := 0
	for _, item := range items {
		if id := textOf(item, account.UserIDAttribute); strings.HasPrefix(id, prefix) {
			left[id] = true
			users++
		}
	}
	for _, claim := range claims {
		left[claim.Owner] = true
	}
	row.Leaks, row.Whole = len(left), len(left) == 0
	row.Final = fmt.Sprintf("%d of %s left, %s", users, count(row.Rounds, "target"), count(len(claims), "claim"))
	return row, nil
}

func count(n int, word string) string {
	if n == 1 {
		return fmt.Sprint(n, " ", word)
	}
	return fmt.Sprint(n, " ", word, "s")
}
