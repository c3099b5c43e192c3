package account

import (
	"context"
	"fmt"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/unique"
)

// Get reads a user, strongly consistent: 1 request, 1 RRU for each 4 KB begun. A user that is being withdrawn is still there. Errors: *[FieldError],
// [ErrUserNotFound].
func (s *Service) Get(ctx context.Context, userID string) (*User, error) {
	if err := CheckUserID(userID); err != nil {
		return nil, err
	}
	u, err := s.read(ctx, userID)
	if err != nil {
		return nil, err
	}
	if u == nil {
		return nil, ErrUserNotFound
	}
	return u, nil
}

// NicknameOwner finds who has a nickname, in any spelling of it: two strongly consistent reads, of the claim and of its user. A claim whose user does not have
// the name any more is no answer: both change together, so the name was free in between. Errors: *[FieldError], [ErrNicknameNotFound], the SDK's where the policy's
// attempts are used up.
func (s *Service) NicknameOwner(ctx context.Context, nickname string) (*User, error) {
	n, err := ParseNickname(nickname)
	if err != nil {
		return nil, err
	}
	var claim unique.Claim
	var found bool
	err = ddb.RetryRead(ctx, s.config.Retry, func(ctx context.Context) (err error) {
		claim, found, err = s.claims.Read(ctx, s.reader, NicknameConstraint, n.Form)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find the owner of a nickname: %w", err)
	}
	if !found {
		return nil, ErrNicknameNotFound
	}
	u, err := s.read(ctx, claim.Owner)
	if err != nil {
		return nil, fmt.Errorf("find the owner of a nickname: %w", err)
	}
	if u == nil {
		return nil, ErrNicknameNotFound
	}
	if held := u.nicknameClaim(); held == nil || held.Value != n.Form || !held.OwnedBy(claim) {
		return nil, ErrNicknameNotFound
	}
	return u, nil
}
