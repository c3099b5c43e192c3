package account

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/unique"
)

// Withdraw removes a user and everything that hangs on it. It goes through states that are stored, so it may be killed at any point and is finished by
// repeating it:
//
//  1. standing: read. A user that is gone is success.
//  2. marked: no name can be taken any more. What the mark answers with is read after it, so no rename slips between.
//  3. each [Dependent] removed, in order.
//  4. gone: user, nickname and e-mail in one transaction.
//
// Every step conditions on the incarnation that was read first: if the user id signs up again meanwhile, the user that was to go is gone, which is success. Requests: 1
// read and 2 writes (1 WRU, and 6 for a user up to 1 KB with both names), and those of the dependents. Errors: *[FieldError], a dependent's own, wrapped with its
// name, unique.ErrTryAgain, unique.ErrUnknown. After any error from step 2 on the user is marked, and only repeating the withdrawal ends that.
func (s *Service) Withdraw(ctx context.Context, userID string) error {
	if err := CheckUserID(userID); err != nil {
		return err
	}
	r := s.revise(userID)
	removed := false
	return s.race(ctx, "withdraw", func(ctx context.Context) error {
		u, err := r.read(ctx)
		if err != nil || u == nil {
			return err
		}
		if !u.Withdrawing {
			if u, err = s.mark(ctx, u); err != nil {
				return err
			}
			removed = false
		}
		if !removed { // a lost race below doesn't bring anything back: nothing new can hang on a user as long as it is marked
			for _, dependent := range s.config.Dependents {
				if err := dependent.Remove(ctx, u.ID, u.Incarnation); err != nil {
					return fmt.Errorf("remove %s: %w", dependent.Name, err)
				}
			}
			removed = true
		}
		return s.remove(ctx, r, u)
	})
}

// mark says that the user is going, and gives it as it stood then.
func (s *Service) mark(ctx context.Context, u *User) (*User, error) {
	e := &expression{}
	e.exists(UserIDAttribute)
	e.as(u.item, IncarnationAttribute)
	e.absent(WithdrawingAttribute)
	e.change(WithdrawingAttribute, text(s.config.Now().UTC().Format(time.RFC3339)))
	return s.update(ctx, u, e)
}

// remove ends the user and its claims.
func (s *Service) remove(ctx context.Context, r *revision, u *User) error {
	e := u.unchanged()
	e.exists(WithdrawingAttribute)
	nickname, email := u.nicknameClaim(), u.emailClaim()
	operations := []unique.Operation{{Label: labelUser, Write: types.TransactWriteItem{Delete: &types.Delete{
		TableName: &s.config.UserTable, Key: ddb.Item{UserIDAttribute: text(u.ID)},
		ConditionExpression: e.condition(), ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.values,
	}}}}
	operations = append(operations, r.release(labelReleased, nickname)...)
	operations = append(operations, r.release(labelEmail, email)...)
	released := map[string]*unique.Claim{labelReleased: nickname, labelEmail: email}
	return r.write(ctx, operations, released, func(ctx context.Context) (bool, error) {
		now, err := r.read(ctx)
		return err == nil && now == nil, err
	})
}

// Standing is an operation for the transactions of others: it holds where the user stands in this incarnation and is not being withdrawn. What hangs on a user
// must be written together with it, or it could come after the withdrawal has looked. It costs 2 WRU for a user up to 1 KB.
func (s *Service) Standing(label, userID, incarnation string) unique.Operation {
	e := &expression{}
	e.exists(UserIDAttribute)
	item := ddb.Item{}
	if incarnation != "" {
		item[IncarnationAttribute] = text(incarnation)
	}
	e.as(item, IncarnationAttribute)
	e.absent(WithdrawingAttribute)
	return unique.Operation{Label: label, Write: types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
		TableName: &s.config.UserTable, Key: ddb.Item{UserIDAttribute: text(userID)},
		ConditionExpression: e.condition(), ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.values,
	}}}
}
