package ddb

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/sortkey"
)

// Item is one item, or a part of one, as the SDK holds it.
type Item = map[string]types.AttributeValue

// DynamoDB's limits of a value
// (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html).
const (
	// MaxDepth is the deepest level of a value: an attribute of the item is at level 1, what stands in it at level 2. So 31 lists around a text are the
	// most (as measured on DynamoDB; its documentation does not say where it begins to count).
	MaxDepth = 32
	// MaxNameBytes is the length of the longest attribute name, in bytes of UTF-8.
	MaxNameBytes = 65535
)

// ValueError says why a value cannot be a DynamoDB value, and where. It holds no value of the item, so that it may be logged.
type ValueError struct {
	// Path leads to the value, such as `address.lines[2]`. Empty: the whole.
	Path string
	// Reason says what is wrong, with the limit where there is one.
	Reason string
	// Err is a cause with data of its own, such as a [*sortkey.Error]. May be nil.
	Err error
}

// Error gives one line: the path, then the reason.
func (e *ValueError) Error() string {
	if e.Path == "" {
		return "value: " + e.Reason
	}
	return "value at " + e.Path + ": " + e.Reason
}

// Unwrap gives the cause.
func (e *ValueError) Unwrap() error { return e.Err }

func invalid(reason string) *ValueError { return &ValueError{Reason: reason} }

// under puts a step before the path: paths are built only once there is an error, so that the way down costs nothing.
func (e *ValueError) under(step string) *ValueError {
	switch {
	case e.Path == "" || e.Path[0] == '[':
		e.Path = step + e.Path
	default:
		e.Path = step + "." + e.Path
	}
	return e
}

func (e *ValueError) underName(name string) *ValueError { return e.under(pathName(name)) }

func (e *ValueError) underIndex(n int) *ValueError { return e.under("[" + strconv.Itoa(n) + "]") }

// pathName quotes a name that would not read as one, and cuts a long one: a path is for people.
func pathName(name string) string {
	const enough = 64
	if len(name) > enough {
		return strconv.Quote(name[:enough]) + "…"
	}
	for _, r := range name {
		if r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') {
			return strconv.Quote(name)
		}
	}
	if name == "" {
		return `""`
	}
	return name
}

var tooDeep = "is nested deeper than " + strconv.Itoa(MaxDepth) + " levels"

// checkNumber says whether DynamoDB could hold the number; its text stays as it is.
func checkNumber(text string) *ValueError {
	_, err := sortkey.CanonicalNumber(text)
	if err == nil {
		return nil
	}
	fault := &ValueError{Reason: "is not a DynamoDB number", Err: err}
	if bad, ok := errors.AsType[*sortkey.Error](err); ok {
		fault.Reason += ": " + bad.Text()
	}
	return fault
}

func checkText(text string) *ValueError {
	if !utf8.ValidString(text) {
		return invalid("is not valid UTF-8")
	}
	return nil
}

func checkName(name string) *ValueError {
	switch {
	case !utf8.ValidString(name):
		return invalid("its name is not valid UTF-8")
	case len(name) > MaxNameBytes:
		return invalid("its name is " + strconv.Itoa(len(name)) + " bytes long, the limit is " + strconv.Itoa(MaxNameBytes))
	default:
		return nil
	}
}

// checkSet refuses an empty set and one with an element twice, as DynamoDB does.
func checkSet[E any](set []E, compare func(a, b E) int) *ValueError {
	if len(set) == 0 {
		return invalid("is an empty set")
	}
	if len(set) == 1 {
		return nil
	}
	sorted := slices.Clone(set)
	slices.SortFunc(sorted, compare)
	for n := range len(sorted) - 1 {
		if compare(sorted[n], sorted[n+1]) == 0 {
			return invalid("is a set with an element twice")
		}
	}
	return nil
}

// Check says whether DynamoDB could hold the value as an attribute, apart from its size: no nil, no unknown union member, valid UTF-8, numbers within
// limits, sets filled and without repeats, at most [MaxDepth] levels. The text of a number is free: see [Storable]. The error is a [*ValueError].
func Check(value types.AttributeValue) error {
	if err := check(value, 0); err != nil {
		return err
	}
	return nil
}

// check takes the number of lists and maps around the value.
func check(value types.AttributeValue, depth int) *ValueError {
	if depth >= MaxDepth {
		return invalid(tooDeep)
	}
	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		return checkText(v.Value)
	case *types.AttributeValueMemberN:
		return checkNumber(v.Value)
	case *types.AttributeValueMemberB, *types.AttributeValueMemberBOOL:
		return nil
	case *types.AttributeValueMemberNULL:
		if !v.Value {
			return invalid("NULL must be true")
		}
		return nil
	case *types.AttributeValueMemberSS:
		for n, text := range v.Value {
			if err := checkText(text); err != nil {
				return err.underIndex(n)
			}
		}
		return checkSet(v.Value, compareStrings)
	case *types.AttributeValueMemberNS:
		for n, text := range v.Value {
			if err := checkNumber(text); err != nil {
				return err.underIndex(n)
			}
		}
		return checkSet(v.Value, sortkey.CompareNumbers)
	case *types.AttributeValueMemberBS:
		return checkSet(v.Value, bytes.Compare)
	case *types.AttributeValueMemberL:
		for n, element := range v.Value {
			if err := check(element, depth+1); err != nil {
				return err.underIndex(n)
			}
		}
		return nil
	case *types.AttributeValueMemberM:
		return checkMap(v.Value, depth+1)
	case nil:
		return invalid("is nil")
	default:
		return invalid("has a type that DynamoDB does not know")
	}
}

func checkMap(item Item, depth int) *ValueError {
	for name, value := range item {
		if err := checkName(name); err != nil {
			return err.underName(name)
		}
		if err := check(value, depth); err != nil {
			return err.underName(name)
		}
	}
	return nil
}

func checkItem(item Item) *ValueError {
	if item == nil {
		return invalid("is nil, not an item")
	}
	if _, has := item[""]; has {
		return invalid("an attribute name is empty").underName("")
	}
	return checkMap(item, 0)
}
