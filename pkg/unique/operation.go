package unique

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
)

// Limits of one transaction (https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html).
const (
	// MaxOperations of one transaction.
	MaxOperations = 100
	// MaxBytes of the items of one transaction. Of an update only what travels can be counted here.
	MaxBytes = 4 << 20
	// MaxTokenBytes of a client request token.
	MaxTokenBytes = 36
)

// Operation is one write or check of a transaction, under a label that its failure is reported by.
type Operation struct {
	// Label is unique in its transaction.
	Label string
	// Rank decides which of several failed conditions is reported: the lowest, and of equals the first.
	Rank int
	// Write has exactly one member set. What it says of ReturnValuesOnConditionCheckFailure is overruled: the item that stands in the way is always asked for.
	Write types.TransactWriteItem
	// KeyNames are the names of the table's key attributes. A Put needs them, since nothing else in it tells its key.
	KeyNames []string
	// Mine recognises, in the item that stands in the way, the work of this very transaction (owner, incarnation and request id are this one's). Since all
	// or nothing is written, one such item proves success. Nil: it cannot tell.
	Mine func(stands ddb.Item) bool

	err *RequestError // from a constructor
}

// Transaction is an ordered list of operations that are all done or none.
type Transaction struct {
	// Name says in errors what was tried, such as "sign up".
	Name string
	// Operations in the order in which they are sent.
	Operations []Operation
	// Token is the client request token: 1 to 36 bytes, the same for each try of one logical step, and never for another. Empty: a random one.
	Token string
	// Landed reads, strongly consistent, whether the transaction has taken effect, when no answer tells. Nil: what Mine says of the items that it knows.
	Landed func(context.Context) (bool, error)
}

// target is what an operation is on.
type target struct {
	table string
	key   ddb.Item
	bytes int
}

func (o Operation) target() (target, *RequestError) {
	if o.err != nil {
		return target{}, o.err
	}
	var found []target
	if w := o.Write.Put; w != nil {
		key := ddb.Item{}
		for _, name := range o.KeyNames {
			key[name] = w.Item[name]
		}
		size := ddb.Size(w.Item)
		if size > ddb.MaxItemSize {
			return target{}, &RequestError{Label: o.Label, Reason: "bytes of the item", Limit: ddb.MaxItemSize, Got: size}
		}
		found = append(found, target{aws.ToString(w.TableName), key, size})
	}
	if w := o.Write.Update; w != nil {
		found = append(found, target{aws.ToString(w.TableName), w.Key, ddb.Size(w.Key) + ddb.Size(w.ExpressionAttributeValues)})
	}
	if w := o.Write.Delete; w != nil {
		found = append(found, target{aws.ToString(w.TableName), w.Key, ddb.Size(w.Key)})
	}
	if w := o.Write.ConditionCheck; w != nil {
		found = append(found, target{aws.ToString(w.TableName), w.Key, ddb.Size(w.Key)})
	}
	switch {
	case o.Label == "":
		return target{}, &RequestError{Reason: "an operation without a label"}
	case len(found) != 1:
		return target{}, &RequestError{Label: o.Label, Reason: "must be exactly one of Put, Update, Delete and ConditionCheck"}
	case found[0].table == "":
		return target{}, &RequestError{Label: o.Label, Reason: "names no table"}
	case len(found[0].key) == 0:
		return target{}, &RequestError{Label: o.Label, Reason: "names no key: a Put needs KeyNames"}
	}
	for _, value := range found[0].key {
		if _, ok := ddb.KeyValue(value); !ok {
			return target{}, &RequestError{Label: o.Label, Reason: "its key is missing or of a type that no key has"}
		}
	}
	return found[0], nil
}

// id is one text for each item.
func (t target) id() string {
	var text strings.Builder
	text.WriteString(strconv.Quote(t.table))
	names := make([]string, 0, len(t.key))
	for name := range t.key {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		value, _ := ddb.KeyValue(t.key[name])
		text.WriteString(" " + strconv.Quote(name) + " " + strconv.Itoa(int(value.Kind())) + " " + strconv.Quote(value.String()))
	}
	return text.String()
}

// check refuses what DynamoDB would refuse as a whole, before a request is spent on it.
func (t Transaction) check() ([]target, error) {
	switch {
	case len(t.Operations) == 0:
		return nil, &RequestError{Reason: "has no operation"}
	case len(t.Operations) > MaxOperations:
		return nil, &RequestError{Reason: "operations", Limit: MaxOperations, Got: len(t.Operations)}
	case len(t.Token) > MaxTokenBytes:
		return nil, &RequestError{Reason: "bytes of the token", Limit: MaxTokenBytes, Got: len(t.Token)}
	}
	targets := make([]target, 0, len(t.Operations))
	labels, items, bytes := map[string]bool{}, map[string]string{}, 0
	for _, operation := range t.Operations {
		on, bad := operation.target()
		if bad != nil {
			return nil, bad
		}
		if labels[operation.Label] {
			return nil, &RequestError{Label: operation.Label, Reason: "two operations have this label"}
		}
		labels[operation.Label] = true
		id := on.id()
		if other, taken := items[id]; taken {
			return nil, &RequestError{Label: operation.Label, Reason: "is on the same item as " + other}
		}
		items[id] = operation.Label
		bytes += on.bytes
		targets = append(targets, on)
	}
	if bytes > MaxBytes {
		return nil, &RequestError{Reason: "bytes of all items", Limit: MaxBytes, Got: bytes}
	}
	return targets, nil
}

// items are the operations as the SDK takes them, in their order, each asking for what stands in its way. The caller's own are not changed.
func (t Transaction) items() []types.TransactWriteItem {
	const old = types.ReturnValuesOnConditionCheckFailureAllOld
	list := make([]types.TransactWriteItem, 0, len(t.Operations))
	for _, operation := range t.Operations {
		var item types.TransactWriteItem
		switch w := operation.Write; {
		case w.Put != nil:
			put := *w.Put
			put.ReturnValuesOnConditionCheckFailure = old
			item.Put = &put
		case w.Update != nil:
			update := *w.Update
			update.ReturnValuesOnConditionCheckFailure = old
			item.Update = &update
		case w.Delete != nil:
			remove := *w.Delete
			remove.ReturnValuesOnConditionCheckFailure = old
			item.Delete = &remove
		case w.ConditionCheck != nil:
			check := *w.ConditionCheck
			check.ReturnValuesOnConditionCheckFailure = old
			item.ConditionCheck = &check
		}
		list = append(list, item)
	}
	return list
}
