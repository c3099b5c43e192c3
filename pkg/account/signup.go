package account

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"maps"
	"regexp"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/unique"
)

// Application is what somebody signs up with.
type Application struct {
	// UserID is 1 to 128 of A-Z a-z 0-9 - _ . ~ and not . or ..
	UserID string
	// Nickname and Email may be left out.
	Nickname, Email *string
	// Attributes become the user's own.
	Attributes ddb.Item
	// IdempotencyKey is 1 to 64 of the same characters as UserID, or empty for none. A repeat with the same key and contents is the same sign-up.
	IdempotencyKey string
}

// Labels of a sign-up's operations, in their order of precedence.
const (
	labelUser     = "user"
	labelNickname = "nickname"
	labelEmail    = "email"
	labelReleased = "released nickname"
)

var (
	userIDForm         = regexp.MustCompile(`^[A-Za-z0-9\-_.~]{1,128}$`)
	idempotencyKeyForm = regexp.MustCompile(`^[A-Za-z0-9\-_.~]{1,64}$`)
)

// SignUp makes a user together with the claims of its names: one transaction, and nothing else where it succeeds at once (4 to 6 WRU for a user up to 1 KB). A
// repeat with the same IdempotencyKey and contents gives the user that the first one made, as it is now. Errors: *[FieldError] before any request,
// [ErrUserExists], [ErrNicknameTaken], [ErrEmailTaken] in this precedence, unique.ErrTryAgain, unique.ErrUnknown.
func (s *Service) SignUp(ctx context.Context, a Application) (*User, error) {
	item, err := s.newItem(a)
	if err != nil {
		return nil, err
	}
	u := s.user(item)
	request, _ := textOf(item, RequestAttribute)
	operations := []unique.Operation{{
		Label: labelUser, Rank: 0, KeyNames: []string{UserIDAttribute},
		Write: types.TransactWriteItem{Put: &types.Put{
			TableName: &s.config.UserTable, Item: item,
			ConditionExpression: aws.String("attribute_not_exists(#id)"), ExpressionAttributeNames: map[string]string{"#id": UserIDAttribute},
		}},
		Mine: func(stands ddb.Item) bool {
			got, _ := textOf(stands, RequestAttribute)
			return got == request
		},
	}}
	if claim := u.nicknameClaim(); claim != nil {
		operations = append(operations, s.take(labelNickname, 1, *claim, request))
	}
	if claim := u.emailClaim(); claim != nil {
		operations = append(operations, s.take(labelEmail, 2, *claim, request))
	}
	outcome, err := s.writer.Write(ctx, unique.Transaction{Name: "sign up", Operations: operations})
	if err != nil {
		return nil, signUpError(err)
	}
	return s.signedUp(ctx, u, outcome)
}

// take claims a value for a request. Its own is also what an earlier call of the same request took: with an idempotency key that has another incarnation.
func (s *Service) take(label string, rank int, claim unique.Claim, request string) unique.Operation {
	claim.Request = request
	operation := s.claims.Take(label, claim)
	operation.Rank = rank
	operation.Mine = func(stands ddb.Item) bool {
		got, err := unique.ParseClaim(stands)
		return err == nil && got.Owner == claim.Owner && got.Request == request
	}
	return operation
}

// signedUp is the user that a successful sign-up is answered with.
func (s *Service) signedUp(ctx context.Context, u *User, outcome unique.Outcome) (*User, error) {
	stands, met := outcome.Met[labelUser]
	switch {
	case met:
		u = s.user(stands)
	case outcome.Met != nil: // by a claim alone
		read, err := s.read(ctx, u.ID)
		if err != nil {
			return nil, fmt.Errorf("sign up: %w: %w", unique.ErrUnknown, err)
		}
		if read == nil {
			return nil, fmt.Errorf("sign up: %w: the user is gone already", unique.ErrUnknown)
		}
		u = read
	}
	if u.Withdrawing {
		return nil, fmt.Errorf("sign up: %w", ErrUserExists)
	}
	return u, nil
}

func signUpError(err error) error {
	if refused, ok := errors.AsType[*unique.ConditionError](err); ok {
		switch refused.Label {
		case labelUser:
			return fmt.Errorf("sign up: %w", ErrUserExists)
		case labelNickname:
			return fmt.Errorf("sign up: %w", ErrNicknameTaken)
		default:
			return fmt.Errorf("sign up: %w", ErrEmailTaken)
		}
	}
	return err
}

// newItem checks an application and makes the item of its user.
func (s *Service) newItem(a Application) (ddb.Item, error) {
	if err := CheckUserID(a.UserID); err != nil {
		return nil, err
	}
	if a.IdempotencyKey != "" {
		if err := CheckIdempotencyKey(a.IdempotencyKey); err != nil {
			return nil, err
		}
	}
	item := ddb.Item{UserIDAttribute: text(a.UserID), IncarnationAttribute: text(s.config.ID())}
	if a.Nickname != nil {
		n, err := s.nickname(*a.Nickname)
		if err != nil {
			return nil, err
		}
		item[NicknameAttribute], item[NicknameKeyAttribute] = text(n.Spelling), text(n.Form)
	}
	if a.Email != nil {
		address, err := ParseEmail(*a.Email)
		if err != nil {
			return nil, err
		}
		item[EmailAttribute], item[EmailKeyAttribute] = text(address), text(address)
	}
	if err := s.checkAttributes(a.UserID, a.Attributes); err != nil {
		return nil, err
	}
	a.Attributes = ddb.Storable(a.Attributes)
	maps.Copy(item, a.Attributes)
	request, err := s.requestID(a)
	if err != nil {
		return nil, err
	}
	item[RequestAttribute] = text(request)
	if size := ddb.Size(item); size > MaxUserBytes {
		bad := tooLong(MaxUserBytes, size, "bytes with the user's other attributes")
		bad.Field = "attributes"
		return nil, bad
	}
	return item, nil
}

// requestID is random, or with a key a digest of the key and everything that was sent: what one digest stands for is one sign-up.
func (s *Service) requestID(a Application) (string, error) {
	if a.IdempotencyKey == "" {
		return s.config.ID(), nil
	}
	sent := ddb.Item{"key": text(a.IdempotencyKey), "user": text(a.UserID), "attributes": &types.AttributeValueMemberM{Value: a.Attributes}}
	if a.Nickname != nil {
		sent["nickname"] = text(*a.Nickname)
	}
	if a.Email != nil {
		sent["email"] = text(*a.Email)
	}
	encoded, err := ddb.EncodeItem(sent)
	if err != nil {
		return "", unstorable("attributes", err)
	}
	digest := sha256.Sum256(encoded)
	return "k-" + base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(digest[:20]), nil
}

// CheckUserID checks the form of a user id. The error is a *[FieldError] of the field userId.
func CheckUserID(userID string) error {
	return checkForm("userId", userID, userIDForm, 128, userID == "." || userID == "..")
}

// CheckIdempotencyKey checks the form of an idempotency key. The error is a *[FieldError] of the field Idempotency-Key.
func CheckIdempotencyKey(key string) error {
	return checkForm("Idempotency-Key", key, idempotencyKeyForm, 64, false)
}

func checkForm(field, value string, form *regexp.Regexp, limit int, dots bool) error {
	switch {
	case value == "":
		return &FieldError{Field: field, Reason: ReasonEmpty}
	case len(value) > limit:
		bad := tooLong(limit, len(value), "bytes")
		bad.Field = field
		return bad
	case dots:
		return &FieldError{Field: field, Reason: ReasonSyntax, Detail: "must not be . or .."}
	case form.MatchString(value):
		return nil
	}
	position := 0
	for _, r := range value {
		if position++; !form.MatchString(string(r)) {
			break
		}
	}
	return &FieldError{Field: field, Reason: ReasonCharacter, Position: position, Detail: "allowed: A-Z a-z 0-9 - _ . ~"}
}
