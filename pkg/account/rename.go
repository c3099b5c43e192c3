package account

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/unique"
)

// revision is a step on a user that is read first: what it has learnt from one try to the next.
type revision struct {
	service *Service
	userID  string
	// incarnation of the first reading: the step is about that life of the user id, and no later one.
	incarnation *string
	// foreign are claims that the user's attributes name and others hold. They are not the user's to release.
	foreign map[string]bool
}

func (s *Service) revise(userID string) *revision {
	return &revision{service: s, userID: userID, foreign: map[string]bool{}}
}

// read reads the user. Nil: it is gone, or the user id has begun another life.
func (r *revision) read(ctx context.Context) (*User, error) {
	u, err := r.service.read(ctx, r.userID)
	if err != nil || u == nil {
		return nil, err
	}
	if r.incarnation == nil {
		r.incarnation = &u.Incarnation
	}
	if !sameLife(*r.incarnation, u.Incarnation) {
		return nil, nil //nolint:nilnil // nil is the answer
	}
	r.incarnation = &u.Incarnation
	return u, nil
}

// release frees a claim, unless it has been found to be another's.
func (r *revision) release(label string, claim *unique.Claim) []unique.Operation {
	if claim == nil || r.foreign[claim.Key()] {
		return nil
	}
	operation := r.service.claims.Release(label, *claim)
	operation.Rank = 2
	return []unique.Operation{operation}
}

// write sends the step. What was read and is no longer so is errLostRace. released maps the labels of releases to their claims.
func (r *revision) write(ctx context.Context, operations []unique.Operation, released map[string]*unique.Claim, landed func(context.Context) (bool, error)) error {
	_, err := r.service.writer.Write(ctx, unique.Transaction{Operations: operations, Landed: landed})
	refused, ok := errors.AsType[*unique.ConditionError](err)
	if !ok {
		return err
	}
	if refused.Label == labelUser {
		return errLostRace
	}
	if refused.Label == labelNickname {
		return ErrNicknameTaken
	}
	// The user is as it was read, and a claim that it names belongs to somebody else: leave that and go on.
	for label, claim := range released {
		if refused.Failed(label) {
			r.foreign[claim.Key()] = true
		}
	}
	return errLostRace
}

// userOperation updates the user in a transaction.
func (s *Service) userOperation(u *User, e *expression) unique.Operation {
	return unique.Operation{Label: labelUser, Write: types.TransactWriteItem{Update: &types.Update{
		TableName: &s.config.UserTable, Key: ddb.Item{UserIDAttribute: text(u.ID)},
		ConditionExpression: e.condition(), UpdateExpression: e.update(),
		ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.values,
	}}}
}

// Rename gives a user another nickname and frees the one before, in one transaction: 1 read and 1 write request (6 WRU for a user up to 1 KB, 4 without a
// nickname before). Another spelling of the same name writes the user alone (1 WRU); the same spelling writes nothing. The user in the answer is the one that was read, with the
// new name. Errors: *[FieldError], [ErrNicknameTaken], [ErrWithdrawing], [ErrUserNotFound], unique.ErrTryAgain, unique.ErrUnknown.
func (s *Service) Rename(ctx context.Context, userID, nickname string) (*User, error) {
	if err := CheckUserID(userID); err != nil {
		return nil, err
	}
	name, err := s.nickname(nickname)
	if err != nil {
		return nil, err
	}
	var renamed *User
	r, request := s.revise(userID), s.config.ID()
	err = s.race(ctx, "rename", func(ctx context.Context) error {
		u, err := r.read(ctx)
		switch {
		case err != nil:
			return err
		case u == nil:
			return ErrUserNotFound
		case u.Withdrawing:
			return ErrWithdrawing
		}
		key, hasKey := textOf(u.item, NicknameKeyAttribute)
		if hasKey && key == name.Form {
			renamed, err = s.respell(ctx, u, name)
			return err
		}
		renamed = s.with(u, ddb.Item{NicknameAttribute: text(name.Spelling), NicknameKeyAttribute: text(name.Form)})
		return s.move(ctx, r, u, name, request)
	})
	if err != nil {
		return nil, err
	}
	return renamed, nil
}

// respell writes another spelling of the name that the user has.
func (s *Service) respell(ctx context.Context, u *User, name Nickname) (*User, error) {
	if u.Nickname == name.Spelling {
		return u, nil
	}
	e := u.unchanged()
	e.absent(WithdrawingAttribute)
	e.change(NicknameAttribute, text(name.Spelling))
	return s.update(ctx, u, e)
}

// update updates a user alone and gives it as it is then. An unknown outcome counts as a lost race: reading shows what became of it.
func (s *Service) update(ctx context.Context, u *User, e *expression) (*User, error) {
	var out *dynamodb.UpdateItemOutput
	err := ddb.Retry(ctx, s.config.Retry, func(ctx context.Context) (err error) {
		out, err = s.config.Client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName: &s.config.UserTable, Key: ddb.Item{UserIDAttribute: text(u.ID)},
			ConditionExpression: e.condition(), UpdateExpression: e.update(),
			ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.values,
			ReturnValues: types.ReturnValueAllNew,
		}, once)
		return err
	})
	switch ddb.Classify(err).Class {
	case ddb.None:
		return s.user(out.Attributes), nil
	case ddb.ConditionFailed:
		return nil, errLostRace
	case ddb.Conflict, ddb.Throttled:
		return nil, fmt.Errorf("%w: %w", unique.ErrTryAgain, err)
	case ddb.UnknownOutcome:
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%w: %w", unique.ErrUnknown, err)
		}
		return nil, errLostRace
	default:
		return nil, fmt.Errorf("update user: %w", err)
	}
}

// move takes the new name and frees the one before. The name before may be the same value without a key in the user, of one who was not signed up here: then
// its claim is either the user's already, or free.
func (s *Service) move(ctx context.Context, r *revision, u *User, name Nickname, request string) error {
	e := u.unchanged()
	e.absent(WithdrawingAttribute)
	e.change(NicknameAttribute, text(name.Spelling))
	e.change(NicknameKeyAttribute, text(name.Form))
	before, next := u.nicknameClaim(), u.claim(NicknameConstraint, name.Form)
	operations := []unique.Operation{s.userOperation(u, e)}
	if before != nil && before.Same(*next) {
		adopt := s.take(labelNickname, 1, *next, request)
		adopt.Write.Put.ConditionExpression, adopt.Write.Put.ExpressionAttributeNames, adopt.Write.Put.ExpressionAttributeValues = s.mineOrFree(*next)
		operations = append(operations, adopt)
		before = nil
	} else {
		operations = append(operations, s.take(labelNickname, 1, *next, request))
	}
	operations = append(operations, r.release(labelReleased, before)...)
	return r.write(ctx, operations, map[string]*unique.Claim{labelReleased: before}, nil)
}

// mineOrFree is the condition of a release, for a put.
func (s *Service) mineOrFree(claim unique.Claim) (condition *string, names map[string]string, values ddb.Item) {
	release := s.claims.Release(labelReleased, claim).Write.Delete
	return release.ConditionExpression, release.ExpressionAttributeNames, release.ExpressionAttributeValues
}

// ReleaseNickname frees a user's nickname: 1 read and 1 write request (4 WRU for a user up to 1 KB), or the read alone where there is none to free. A user
// without a nickname, or no user, is success. Errors: *[FieldError], unique.ErrTryAgain, unique.ErrUnknown.
func (s *Service) ReleaseNickname(ctx context.Context, userID string) error {
	if err := CheckUserID(userID); err != nil {
		return err
	}
	r := s.revise(userID)
	return s.race(ctx, "release nickname", func(ctx context.Context) error {
		u, err := r.read(ctx)
		if err != nil || u == nil || !u.hasNickname() {
			return err
		}
		e := u.unchanged()
		e.change(NicknameAttribute, nil)
		e.change(NicknameKeyAttribute, nil)
		claim := u.nicknameClaim()
		operations := append([]unique.Operation{s.userOperation(u, e)}, r.release(labelReleased, claim)...)
		return r.write(ctx, operations, map[string]*unique.Claim{labelReleased: claim}, func(ctx context.Context) (bool, error) {
			now, err := r.read(ctx)
			return err == nil && (now == nil || !now.hasNickname()), err
		})
	})
}

func (u *User) hasNickname() bool {
	_, spelled := u.item[NicknameAttribute]
	_, keyed := u.item[NicknameKeyAttribute]
	return spelled || keyed
}
