package stub

import (
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/sortkey"
)

// condition is a compiled key condition, filter or write condition.
type condition func(item ddb.Item) bool

// expression is an expression being compiled. pinned gathers the values that attributes must equal, for an AND alone: it finds the partition.
type expression struct {
	words  []string
	names  map[string]string
	values ddb.Item
	pinned ddb.Item
}

func compile(text string, names map[string]string, values ddb.Item) (test condition, pinned ddb.Item, err error) {
	e := &expression{words: split(text), names: names, values: values, pinned: ddb.Item{}}
	test, err = e.or()
	if err == nil && len(e.words) > 0 {
		err = fmt.Errorf("unexpected %q", e.words[0])
	}
	if err != nil {
		return nil, nil, fmt.Errorf("stub: expression %q: %w", text, err)
	}
	return test, e.pinned, nil
}

// split cuts the text into names, values, signs and words.
func split(text string) []string {
	for _, sign := range []string{"(", ")", ",", "<=", ">=", "<>"} {
		text = strings.ReplaceAll(text, sign, " "+sign+" ")
	}
	var words []string
	for word := range strings.FieldsSeq(text) {
		// A sign without spaces around it: #a=:b.
		for {
			at := strings.IndexAny(word, "=<>")
			if at < 0 || word == "<=" || word == ">=" || word == "<>" || len(word) == 1 {
				break
			}
			if at > 0 {
				words = append(words, word[:at])
			}
			words, word = append(words, word[at:at+1]), word[at+1:]
		}
		if word != "" {
			words = append(words, word)
		}
	}
	return words
}

func (e *expression) next() string {
	if len(e.words) == 0 {
		return ""
	}
	word := e.words[0]
	e.words = e.words[1:]
	return word
}

func (e *expression) take(word string) bool {
	if len(e.words) > 0 && strings.EqualFold(e.words[0], word) {
		e.words = e.words[1:]
		return true
	}
	return false
}

func (e *expression) or() (condition, error) {
	left, err := e.and()
	for err == nil && e.take("OR") {
		var right condition
		first := left
		if right, err = e.and(); err == nil {
			left = func(item ddb.Item) bool { return first(item) || right(item) }
			e.pinned = ddb.Item{}
		}
	}
	return left, err
}

func (e *expression) and() (condition, error) {
	left, err := e.one()
	for err == nil && e.take("AND") {
		var right condition
		first := left
		if right, err = e.one(); err == nil {
			left = func(item ddb.Item) bool { return first(item) && right(item) }
		}
	}
	return left, err
}

func (e *expression) one() (condition, error) {
	switch word := e.next(); strings.ToLower(word) {
	case "(":
		inner, err := e.or()
		if err == nil && !e.take(")") {
			err = fmt.Errorf("a closing parenthesis is missing")
		}
		return inner, err
	case "not":
		inner, err := e.one()
		if err != nil {
			return nil, err
		}
		e.pinned = ddb.Item{}
		return func(item ddb.Item) bool { return !inner(item) }, nil
	case "attribute_exists", "attribute_not_exists", "begins_with":
		return e.function(strings.ToLower(word))
	default:
		return e.comparison(word)
	}
}

func (e *expression) function(name string) (condition, error) {
	if !e.take("(") {
		return nil, fmt.Errorf("%s needs a parenthesis", name)
	}
	attribute, err := e.name(e.next())
	if err != nil {
		return nil, err
	}
	var prefix types.AttributeValue
	if name == "begins_with" {
		if !e.take(",") {
			return nil, fmt.Errorf("%s needs two operands", name)
		}
		if prefix, err = e.value(e.next()); err != nil {
			return nil, err
		}
	}
	if !e.take(")") {
		return nil, fmt.Errorf("a closing parenthesis is missing")
	}
	switch name {
	case "attribute_exists":
		return func(item ddb.Item) bool { return item[attribute] != nil }, nil
	case "attribute_not_exists":
		return func(item ddb.Item) bool { return item[attribute] == nil }, nil
	default:
		return beginsWith(attribute, prefix), nil
	}
}

func beginsWith(attribute string, prefix types.AttributeValue) condition {
	return func(item ddb.Item) bool {
		value, ok := ddb.KeyValue(item[attribute])
		start, ok2 := ddb.KeyValue(prefix)
		return ok && ok2 && value.Kind() == start.Kind() && strings.HasPrefix(value.String(), start.String())
	}
}

func (e *expression) comparison(word string) (condition, error) {
	attribute, err := e.name(word)
	if err != nil {
		return nil, err
	}
	sign := strings.ToUpper(e.next())
	low, err := e.value(e.next())
	if err != nil {
		return nil, err
	}
	high := low
	switch sign {
	case "BETWEEN":
		if !e.take("AND") {
			return nil, fmt.Errorf("BETWEEN needs AND")
		}
		if high, err = e.value(e.next()); err != nil {
			return nil, err
		}
	case "=":
		e.pinned[attribute] = low
	}
	return compare(attribute, sign, low, high)
}

// compare is a comparison of an attribute with one value, or with two.
func compare(attribute, sign string, low, high types.AttributeValue) (condition, error) {
	between := func(from, to int) condition { // the signs that comparing with low may have
		return func(item ddb.Item) bool {
			c, ok := order(item[attribute], low)
			return ok && c >= from && c <= to
		}
	}
	switch sign {
	case "=", "EQ":
		return between(0, 0), nil
	case "<", "LT":
		return between(-1, -1), nil
	case "<=", "LE":
		return between(-1, 0), nil
	case ">", "GT":
		return between(1, 1), nil
	case ">=", "GE":
		return between(0, 1), nil
	case "BETWEEN":
		return func(item ddb.Item) bool {
			l, ok := order(item[attribute], low)
			h, ok2 := order(item[attribute], high)
			return ok && ok2 && l >= 0 && h <= 0
		}, nil
	default:
		return nil, fmt.Errorf("unknown comparison %q", sign)
	}
}

// order compares two values of one key type; others have none.
func order(a, b types.AttributeValue) (c int, ok bool) {
	left, ok := ddb.KeyValue(a)
	right, ok2 := ddb.KeyValue(b)
	if !ok || !ok2 || left.Kind() != right.Kind() {
		return 0, false
	}
	return sortkey.Compare(left, right), true
}

func (e *expression) name(word string) (string, error) {
	if !strings.HasPrefix(word, "#") {
		if word == "" || strings.ContainsAny(word, ":()<>=,") {
			return "", fmt.Errorf("%q is no attribute", word)
		}
		return word, nil
	}
	name, ok := e.names[word]
	if !ok {
		return "", fmt.Errorf("%s is not in ExpressionAttributeNames", word)
	}
	return name, nil
}

func (e *expression) value(word string) (types.AttributeValue, error) {
	value, ok := e.values[word]
	if !ok {
		return nil, fmt.Errorf("%q is not in ExpressionAttributeValues", word)
	}
	return value, nil
}
