package account

import (
	"maps"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/schema"
	"github.com/heatsink-dev/heatsink/pkg/unique"
)

// Attributes of a user that this package owns and everybody sees, all of type S.
const (
	UserIDAttribute   = "userId"
	NicknameAttribute = "nickname" // the user's own spelling
	EmailAttribute    = "email"    // as ParseEmail gives it
)

// Private attributes of a user, all of type S: the catalog must list them so.
const (
	IncarnationAttribute = "_incarnation"  // random, one for each sign-up
	NicknameKeyAttribute = "_nickname_key" // the mapped form that is claimed
	EmailKeyAttribute    = "_email_key"    // the address that is claimed
	WithdrawingAttribute = "_withdrawing"  // when the withdrawal began: RFC 3339, UTC
	RequestAttribute     = "_request"      // the id of the sign-up
)

func privateAttributes() []string {
	return []string{IncarnationAttribute, NicknameKeyAttribute, EmailKeyAttribute, WithdrawingAttribute, RequestAttribute}
}

// User is a user as it was read.
type User struct {
	ID string
	// Nickname is the user's own spelling, Email the stored form. Empty: none.
	Nickname, Email string
	// Incarnation tells this life of the user id from others. Empty: a user that was not signed up here.
	Incarnation string
	// Withdrawing: a withdrawal has begun.
	Withdrawing bool

	table *schema.BaseTable
	item  ddb.Item
}

func (s *Service) user(item ddb.Item) *User {
	u := &User{table: s.config.Users, item: item}
	u.ID, _ = textOf(item, UserIDAttribute)
	u.Nickname, _ = textOf(item, NicknameAttribute)
	u.Email, _ = textOf(item, EmailAttribute)
	u.Incarnation, _ = textOf(item, IncarnationAttribute)
	_, u.Withdrawing = item[WithdrawingAttribute]
	return u
}

// Public is the user as others may see it: every attribute but private ones and those that index rows reserve.
func (u *User) Public() ddb.Item {
	public := make(ddb.Item, len(u.item))
	for name, value := range u.item {
		if !schema.Reserved(name) && !u.table.IsPrivate(name) {
			public[name] = value
		}
	}
	return public
}

// nicknameClaim is the claim of the user's nickname. Nil: none. Without a stored key, which is so for users not signed up here, it is what the spelling
// maps to.
func (u *User) nicknameClaim() *unique.Claim {
	form, stored := textOf(u.item, NicknameKeyAttribute)
	if !stored {
		n, err := ParseNickname(u.Nickname)
		if err != nil {
			return nil
		}
		form = n.Form
	}
	return u.claim(NicknameConstraint, form)
}

func (u *User) emailClaim() *unique.Claim {
	address, stored := textOf(u.item, EmailKeyAttribute)
	if !stored {
		var err error
		if address, err = ParseEmail(u.Email); err != nil {
			return nil
		}
	}
	return u.claim(EmailConstraint, address)
}

func (u *User) claim(constraint, value string) *unique.Claim {
	return &unique.Claim{Constraint: constraint, Value: value, Owner: u.ID, Incarnation: u.Incarnation}
}

// with is the user with changed attributes; nil takes one away.
func (s *Service) with(u *User, changes ddb.Item) *User {
	item := maps.Clone(u.item)
	for name, value := range changes {
		if value == nil {
			delete(item, name)
		} else {
			item[name] = value
		}
	}
	return s.user(item)
}

func text(value string) types.AttributeValue { return &types.AttributeValueMemberS{Value: value} }

func textOf(item ddb.Item, name string) (string, bool) {
	value, ok := item[name].(*types.AttributeValueMemberS)
	if !ok {
		return "", false
	}
	return value.Value, true
}
