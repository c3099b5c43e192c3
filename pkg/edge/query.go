package edge

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Parameters are the query parameters of a request, each at most once.
type Parameters map[string]string

// ParseQuery reads a query string of which only the allowed names may occur, each once. It refuses, as [InvalidParameter] with the parameter's name, one that is
// unknown, repeated or not UTF-8, and a string that does not parse (a bad escape, a semicolon), of which url.Values would silently lose parts.
func ParseQuery(raw string, allowed ...string) (Parameters, error) {
	parameters := Parameters{}
	for pair := range strings.SplitSeq(raw, "&") {
		if pair == "" {
			continue
		}
		rawName, rawValue, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(rawName)
		if err != nil || strings.Contains(pair, ";") || !utf8.ValidString(name) {
			return nil, Invalid("query string", "does not parse: escape every byte but letters, digits and -_.~ as %%XX")
		}
		if !slices.Contains(allowed, name) {
			return nil, Invalid(quoted(name), "unknown parameter")
		}
		if _, twice := parameters[name]; twice {
			return nil, Invalid(name, "is given more than once")
		}
		value, err := url.QueryUnescape(rawValue)
		if err != nil {
			return nil, Invalid(name, "does not parse: escape every byte but letters, digits and -_.~ as %%XX")
		}
		if !utf8.ValidString(value) {
			return nil, Invalid(name, "must be UTF-8")
		}
		parameters[name] = value
	}
	return parameters, nil
}

// Text is a parameter that may be left out: nil then.
func (p Parameters) Text(name string) *string {
	value, ok := p[name]
	if !ok {
		return nil
	}
	return &value
}

// maxQuotedName bounds how much of a caller's own name for a parameter is said back.
const maxQuotedName = 64

// quoted is a name of a caller's making, safe and short enough for a message.
func quoted(name string) string {
	if len(name) > maxQuotedName {
		name = strings.ToValidUTF8(name[:maxQuotedName], "") + "..."
	}
	return strconv.Quote(name)
}
