package account

import (
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/unique"
)

// AdoptedPrefix begins the incarnation of a user that was not signed up here and was given one later. Nothing else does: a step that read the user before, without
// one, knows by it that this is still the same life of the user id.
const AdoptedPrefix = "adopted."

// OwnedAttributes are the attributes of a user that this package reads and writes: what tools need of it.
func OwnedAttributes() []string {
	return append([]string{UserIDAttribute, NicknameAttribute, EmailAttribute}, privateAttributes()...)
}

// Holding is a value that a user says is its own, and that must be claimed for it.
type Holding struct {
	// Constraint is [NicknameConstraint] or [EmailConstraint].
	Constraint string
	// Value in its mapped form. Empty where Err is set.
	Value string
	// Spelling is the user's own.
	Spelling string
	// Stored: the mapped form stands in the user, so that it was claimed with it.
	Stored bool
	// Err says why the spelling cannot be mapped: a *[FieldError]. Nothing can be claimed then, and where a form is Stored, it is of another spelling.
	Err error
}

// Claim is the claim that a holding needs.
func (h Holding) Claim(userID, incarnation string) unique.Claim {
	return unique.Claim{Constraint: h.Constraint, Value: h.Value, Owner: userID, Incarnation: incarnation}
}

// Mismatch reports that the stored form is not what the spelling maps to: somebody wrote the user past this package.
func (h Holding) Mismatch() bool {
	if !h.Stored {
		return false
	}
	form, err := mapped(h.Constraint, h.Spelling)
	return err != nil || form != h.Value
}

// Holdings lists what the item of a user holds, by the rule of every step here: the stored form, or else what the spelling maps to. An attribute that is absent or
// NULL is no name; any other that is not a text cannot be mapped.
func Holdings(user ddb.Item) []Holding {
	var list []Holding
	for _, name := range []struct{ constraint, attribute, key string }{
		{NicknameConstraint, NicknameAttribute, NicknameKeyAttribute}, {EmailConstraint, EmailAttribute, EmailKeyAttribute},
	} {
		h := Holding{Constraint: name.constraint}
		spelling, isText := textOf(user, name.attribute)
		h.Spelling = spelling
		if h.Value, h.Stored = textOf(user, name.key); h.Stored {
			list = append(list, h)
			continue
		}
		switch user[name.attribute].(type) {
		case nil, *types.AttributeValueMemberNULL:
			continue
		}
		if !isText {
			h.Err = &FieldError{Field: name.attribute, Reason: ReasonType, Detail: "must be a string"}
		} else {
			h.Value, h.Err = mapped(h.Constraint, spelling)
		}
		list = append(list, h)
	}
	return list
}

func mapped(constraint, spelling string) (string, error) {
	if constraint == EmailConstraint {
		return ParseEmail(spelling)
	}
	n, err := ParseNickname(spelling)
	return n.Form, err
}

// IncarnationOf is the incarnation in the item of a user. Empty: none.
func IncarnationOf(user ddb.Item) string {
	incarnation, _ := textOf(user, IncarnationAttribute)
	return incarnation
}

// IsWithdrawing reports whether a withdrawal of the user has begun.
func IsWithdrawing(user ddb.Item) bool {
	_, marked := user[WithdrawingAttribute]
	return marked
}

// Adopt is the user's part in a transaction that claims what the user holds: it writes the incarnation and the mapped forms into the user where they are missing, and
// changes nothing else. It holds where the user is as it was read, in incarnation and names, and is not being withdrawn. It costs 2 WRU for a user up to 1 KB.
func Adopt(label, table string, user ddb.Item, incarnation string, claimed []Holding) unique.Operation {
	e := asRead(user)
	e.absent(WithdrawingAttribute)
	if IncarnationOf(user) == "" {
		e.change(IncarnationAttribute, text(incarnation))
	}
	for _, h := range claimed {
		if key := map[string]string{NicknameConstraint: NicknameKeyAttribute, EmailConstraint: EmailKeyAttribute}[h.Constraint]; !h.Stored && key != "" {
			e.change(key, text(h.Value))
		}
	}
	if len(e.set) == 0 {
		return check(label, table, user[UserIDAttribute], e)
	}
	return unique.Operation{Label: label, Write: types.TransactWriteItem{Update: &types.Update{
		TableName: &table, Key: ddb.Item{UserIDAttribute: user[UserIDAttribute]},
		ConditionExpression: e.condition(), UpdateExpression: e.update(), ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.values,
	}}}
}

// Unchanged is an operation for the transactions of others: it holds where the user is as it was read, in incarnation and names, or is still absent where user is
// nil. It costs 2 WRU for a user up to 1 KB.
func Unchanged(label, table, userID string, user ddb.Item) unique.Operation {
	e := &expression{}
	if user == nil {
		e.absent(UserIDAttribute)
	} else {
		e = asRead(user)
	}
	return check(label, table, text(userID), e)
}

func check(label, table string, userID types.AttributeValue, e *expression) unique.Operation {
	return unique.Operation{Label: label, Write: types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
		TableName: &table, Key: ddb.Item{UserIDAttribute: userID},
		ConditionExpression: e.condition(), ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.values,
	}}}
}

// asRead is [User.unchanged] and the address itself, which who writes past this package may change alone.
func asRead(user ddb.Item) *expression {
	e := (&User{item: user}).unchanged()
	e.as(user, EmailAttribute)
	return e
}

// sameLife reports whether a user that was read in one incarnation and then in another is the same: it was adopted in between.
func sameLife(before, now string) bool {
	return before == now || before == "" && strings.HasPrefix(now, AdoptedPrefix)
}

// NewAdopted makes an incarnation for a user that has none from a random id.
func NewAdopted(id string) string { return fmt.Sprint(AdoptedPrefix, id) }
