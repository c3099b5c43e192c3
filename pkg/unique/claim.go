package unique

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
)

// Attributes of a claim, all of type S.
const (
	KeyAttribute         = "pk"          // <constraint>#<value>: the key
	OwnerAttribute       = "owner"       // who holds the value
	IncarnationAttribute = "incarnation" // the owner's incarnation; absent where the owner has none
	RequestAttribute     = "request"     // the request that took it; absent where it has no id
)

// maxKeyBytes of a partition key (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html).
const maxKeyBytes = 2048

// Claim says that a value of a constraint belongs to an owner.
type Claim struct {
	// Constraint names what is unique, such as NICKNAME. It holds no '#'.
	Constraint string
	// Value in its mapped form: what is the same must be the same text.
	Value string
	// Owner is the id of the item that the value belongs to.
	Owner string
	// Incarnation tells one life of the owner's id from the next. Empty: an owner that never had one.
	Incarnation string
	// Request is the id of the request that takes the claim.
	Request string
}

// Key is the claim's partition key.
func (c Claim) Key() string { return c.Constraint + "#" + c.Value }

// Same reports whether two claims are on one value.
func (c Claim) Same(other Claim) bool {
	return c.Constraint == other.Constraint && c.Value == other.Value
}

// OwnedBy reports whether both have one owner, in one incarnation.
func (c Claim) OwnedBy(other Claim) bool {
	return c.Owner == other.Owner && c.Incarnation == other.Incarnation
}

// Item is the claim as it is stored.
func (c Claim) Item() ddb.Item {
	item := ddb.Item{KeyAttribute: text(c.Key()), OwnerAttribute: text(c.Owner)}
	if c.Incarnation != "" {
		item[IncarnationAttribute] = text(c.Incarnation)
	}
	if c.Request != "" {
		item[RequestAttribute] = text(c.Request)
	}
	return item
}

// ParseClaim is the inverse of Item. Its error names the attribute that is missing or of another type.
func ParseClaim(item ddb.Item) (Claim, error) {
	var c Claim
	for name, to := range map[string]*string{OwnerAttribute: &c.Owner, IncarnationAttribute: &c.Incarnation, RequestAttribute: &c.Request} {
		switch value := item[name].(type) {
		case nil:
		case *types.AttributeValueMemberS:
			*to = value.Value
		default:
			return Claim{}, fmt.Errorf("read claim: attribute %s is not of type S", name)
		}
	}
	key, ok := item[KeyAttribute].(*types.AttributeValueMemberS)
	if !ok {
		return Claim{}, fmt.Errorf("read claim: attribute %s is not of type S", KeyAttribute)
	}
	if c.Constraint, c.Value, ok = strings.Cut(key.Value, "#"); !ok || c.Owner == "" {
		return Claim{}, fmt.Errorf("read claim: attribute %s or %s is not a claim's", KeyAttribute, OwnerAttribute)
	}
	return c, nil
}

func text(value string) types.AttributeValue { return &types.AttributeValueMemberS{Value: value} }

// Claims makes operations on one claim table.
type Claims struct {
	// Table is its deployed name.
	Table string
}

// Take claims a value that nobody holds. It costs 2 WRU (4 past 1 KB). A refusal carries the holder's claim, without a read.
func (t Claims) Take(label string, c Claim) Operation {
	return Operation{
		Label: label, KeyNames: []string{KeyAttribute}, err: c.check(label),
		Write: types.TransactWriteItem{Put: &types.Put{
			TableName: &t.Table, Item: c.Item(),
			ConditionExpression:      aws.String("attribute_not_exists(#key)"),
			ExpressionAttributeNames: map[string]string{"#key": KeyAttribute},
		}},
		Mine: func(stands ddb.Item) bool {
			got, err := ParseClaim(stands)
			return err == nil && c.Request != "" && got == c
		},
	}
}

// Release frees a value if this owner, in this incarnation, holds it. A value that nobody holds is free already: that is success. It is refused where
// somebody else holds it.
func (t Claims) Release(label string, c Claim) Operation {
	names := map[string]string{"#key": KeyAttribute, "#owner": OwnerAttribute, "#incarnation": IncarnationAttribute}
	values := ddb.Item{":owner": text(c.Owner)}
	incarnation := "attribute_not_exists(#incarnation)"
	if c.Incarnation != "" {
		incarnation, values[":incarnation"] = "#incarnation = :incarnation", text(c.Incarnation)
	}
	return Operation{
		Label: label, err: c.check(label),
		Write: types.TransactWriteItem{Delete: &types.Delete{
			TableName: &t.Table, Key: ddb.Item{KeyAttribute: text(c.Key())},
			ConditionExpression:      aws.String("attribute_not_exists(#key) OR (#owner = :owner AND " + incarnation + ")"),
			ExpressionAttributeNames: names, ExpressionAttributeValues: values,
		}},
	}
}

// Move releases one value and takes another, for one transaction. Where both are the same there is nothing to write. Nil stands for no value.
func (t Claims) Move(take, release string, from, to *Claim) []Operation {
	if from != nil && to != nil && from.Same(*to) {
		return nil
	}
	var list []Operation
	if to != nil {
		list = append(list, t.Take(take, *to))
	}
	if from != nil {
		list = append(list, t.Release(release, *from))
	}
	return list
}

// Read reads, strongly consistent, who holds a value. False: nobody. It costs 1 RRU.
func (t Claims) Read(ctx context.Context, client ddb.Getter, constraint, value string) (Claim, bool, error) {
	c := Claim{Constraint: constraint, Value: value}
	out, err := client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &t.Table, Key: ddb.Item{KeyAttribute: text(c.Key())}, ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return Claim{}, false, fmt.Errorf("read claim of %s: %w", constraint, err)
	}
	if len(out.Item) == 0 {
		return Claim{}, false, nil
	}
	found, err := ParseClaim(out.Item)
	return found, err == nil, err
}

func (c Claim) check(label string) *RequestError {
	switch {
	case c.Constraint == "" || strings.Contains(c.Constraint, "#"):
		return &RequestError{Label: label, Reason: "its constraint must be a name without '#'"}
	case c.Value == "":
		return &RequestError{Label: label, Reason: "its value is empty"}
	case c.Owner == "":
		return &RequestError{Label: label, Reason: "its owner is empty"}
	case len(c.Key()) > maxKeyBytes:
		return &RequestError{Label: label, Reason: "bytes of constraint and value", Limit: maxKeyBytes, Got: len(c.Key())}
	}
	return nil
}
