package query

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Filter is a DynamoDB filter expression on attributes of the row, beside the filter for live rows
// (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Query.FilterExpression.html). Attribute names stand in it as #placeholders only and values as :placeholders;
// neither may begin with #h_ or :h_. It may not name keys of the index (Under and Where are for those), nor attributes that the index does not carry.
type Filter struct {
	// Expression such as "#plan = :plan AND attribute_exists(#mail)", at most 4,000 bytes.
	Expression string
	// Names of the # placeholders, all of them used.
	Names map[string]string
	// Values of the : placeholders, all of them used.
	Values map[string]types.AttributeValue
}

// maxFilterBytes leaves room in DynamoDB's 4 KB of an expression for the filter for live rows
// (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html).
const maxFilterBytes = 4000

// ours begins each placeholder of this package, after its # or :.
const ours = "h_"

// check reads the expression's words, so that nothing in it can reach past its own condition: it stands beside others in one expression. Whether it is otherwise
// sound is DynamoDB's business. It returns the expression, in parentheses if it needs them there (DynamoDB refuses those that it does not need).
func (f *Filter) check(r *Reader) (string, error) {
	if len(f.Expression) > maxFilterBytes {
		return "", badRequest("Filter", "the expression has %d bytes, the limit is %d", len(f.Expression), maxFilterBytes)
	}
	words, err := filterWords(f.Expression)
	if err != nil {
		return "", err
	}
	depth, either := 0, false
	names, values := map[string]bool{}, map[string]bool{}
	for n, word := range words {
		switch {
		case word == "(":
			depth++
		case word == ")":
			if depth--; depth < 0 {
				return "", badRequest("Filter", "a parenthesis closes that never opened")
			}
		case word[0] == '#':
			names[word] = true
			nested := n > 0 && words[n-1] == "."
			if err := r.checkFilterName(word, f.Names[word], nested); err != nil {
				return "", err
			}
		case word[0] == ':':
			values[word] = true
		case strings.EqualFold(word, "OR") && depth == 0:
			either = true
		}
	}
	switch {
	case len(words) == 0:
		return "", badRequest("Filter", "the expression is empty")
	case depth != 0:
		return "", badRequest("Filter", "a parenthesis does not close")
	}
	if err := samePlaceholders("Names", names, slices.Collect(maps.Keys(f.Names))); err != nil {
		return "", err
	}
	if err := samePlaceholders("Values", values, slices.Collect(maps.Keys(f.Values))); err != nil {
		return "", err
	}
	if either {
		return "(" + f.Expression + ")", nil
	}
	return f.Expression, nil
}

// checkFilterName refuses what is no attribute of the row. Inside a map (nested) any name may stand.
func (r *Reader) checkFilterName(placeholder, name string, nested bool) error {
	switch {
	case nested || name == "": // a missing one is told by samePlaceholders
		return nil
	case !r.index.Projects(name):
		return badRequest("Filter", "%s is no attribute that index %s carries", placeholder, r.index.Name)
	case r.sortsBy(name):
		return badRequest("Filter", "%s is a key of index %s: use Under or Where", placeholder, r.index.Name)
	default:
		return nil
	}
}

func samePlaceholders(field string, used map[string]bool, given []string) error {
	for _, placeholder := range given {
		switch {
		case !used[placeholder]:
			return badRequest("Filter", "%s has a placeholder that the expression does not use", field)
		case strings.HasPrefix(placeholder[1:], ours):
			return badRequest("Filter", "placeholders that begin with %s%s are reserved", placeholder[:1], ours)
		}
	}
	if len(given) != len(used) {
		return badRequest("Filter", "the expression uses a placeholder that is not in %s", field)
	}
	return nil
}

// filterWords splits an expression into placeholders, keywords, numbers and single signs. Bare attribute names are refused.
func filterWords(expression string) ([]string, error) {
	var words []string
	for at := 0; at < len(expression); {
		c := expression[at]
		end := at + 1
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			at = end
			continue
		case strings.IndexByte("()[].,=<>", c) >= 0:
		case c == '#' || c == ':' || wordByte(c):
			for end < len(expression) && wordByte(expression[end]) {
				end++
			}
			if word := expression[at:end]; len(word) == 1 && !wordByte(c) || wordByte(c) && !filterKeyword(word) {
				return nil, badRequest("Filter", "byte %d: attribute names stand as #placeholders and values as :placeholders", at)
			}
		default:
			return nil, badRequest("Filter", "byte %d is %s, which stands in no expression", at, strconv.QuoteRune(rune(c)))
		}
		words = append(words, expression[at:end])
		at = end
	}
	return words, nil
}

func wordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// filterKeyword knows the words of the grammar, and positions of list elements
// (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.OperatorsAndFunctions.html).
func filterKeyword(word string) bool {
	switch strings.ToUpper(word) {
	case "AND", "OR", "NOT", "BETWEEN", "IN":
		return true
	}
	switch word {
	case "attribute_exists", "attribute_not_exists", "attribute_type", "begins_with", "contains", "size":
		return true
	}
	_, err := strconv.ParseUint(word, 10, 32)
	return err == nil
}
