package account

import (
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
)

// expression collects the conditions and the update of one write, with placeholders for every name and value.
type expression struct {
	names      map[string]string
	values     ddb.Item
	conditions []string
	set        []string
	remove     []string
}

func (e *expression) name(attribute string) string {
	if e.names == nil {
		e.names = map[string]string{}
	}
	placeholder := "#" + strconv.Itoa(len(e.names))
	e.names[placeholder] = attribute
	return placeholder
}

func (e *expression) value(value types.AttributeValue) string {
	if e.values == nil {
		e.values = ddb.Item{}
	}
	placeholder := ":" + strconv.Itoa(len(e.values))
	e.values[placeholder] = value
	return placeholder
}

// as demands that an attribute is as it was read: of this value, or absent.
func (e *expression) as(item ddb.Item, attribute string) {
	if value, has := item[attribute]; has {
		e.conditions = append(e.conditions, e.name(attribute)+" = "+e.value(value))
	} else {
		e.absent(attribute)
	}
}

func (e *expression) absent(attribute string) {
	e.conditions = append(e.conditions, "attribute_not_exists("+e.name(attribute)+")")
}

func (e *expression) exists(attribute string) {
	e.conditions = append(e.conditions, "attribute_exists("+e.name(attribute)+")")
}

// change sets an attribute, or removes it where the value is nil.
func (e *expression) change(attribute string, value types.AttributeValue) {
	if value == nil {
		e.remove = append(e.remove, e.name(attribute))
		return
	}
	e.set = append(e.set, e.name(attribute)+" = "+e.value(value))
}

func (e *expression) condition() *string {
	text := strings.Join(e.conditions, " AND ")
	return &text
}

func (e *expression) update() *string {
	var clauses []string
	if len(e.set) > 0 {
		clauses = append(clauses, "SET "+strings.Join(e.set, ", "))
	}
	if len(e.remove) > 0 {
		clauses = append(clauses, "REMOVE "+strings.Join(e.remove, ", "))
	}
	text := strings.Join(clauses, " ")
	return &text
}

// unchanged is the condition that a user is the one that was read: still there, in the same incarnation, with the same names.
func (u *User) unchanged() *expression {
	e := &expression{}
	e.exists(UserIDAttribute)
	for _, attribute := range []string{IncarnationAttribute, NicknameAttribute, NicknameKeyAttribute, EmailKeyAttribute} {
		e.as(u.item, attribute)
	}
	return e
}
