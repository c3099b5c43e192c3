package partition

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// kind is what a placeholder of a key pattern stands for.
type kind uint8

const (
	kindTime   kind = iota + 1 // dates and times: one value now
	kindSerial                 // numbers that grow
	kindSpread                 // shard numbers and random text
	kindFew                    // a fixed, small set
	kindMany                   // ids: as many values as there are things
	kindOther
)

// wordKind is what a word means as a placeholder; 0 for words that it doesn't know.
func wordKind(word string) kind {
	switch strings.ToLower(word) {
	case "date", "day", "today", "week", "month", "year", "hour", "minute", "time", "timestamp", "ts", "ms", "millis", "seconds", "epoch", "now", "ulid", "ksuid":
		return kindTime
	case "seq", "sequence", "serial", "counter", "offset", "version":
		return kindSerial
	case "shard", "random", "bucket", "suffix", "hash":
		return kindSpread
	case "status", "state", "type", "kind", "flag", "bool", "country", "region", "gender", "tier", "plan", "category", "level", "env", "stage", "topic":
		return kindFew
	case "id", "uuid", "user", "device", "session", "email", "order", "event", "account", "team", "tenant":
		return kindMany
	default:
		return 0
	}
}

// oneTime is how many values a placeholder has at one time, if the pattern doesn't say.
func (k kind) oneTime() int64 {
	switch k {
	case kindTime:
		return 1
	case kindFew:
		return fewValues
	case kindSerial, kindSpread, kindMany, kindOther:
		return unbounded
	default:
		return unbounded
	}
}

const (
	// unbounded stands for more values than matter.
	unbounded = math.MaxInt64
	// fewValues is assumed of a small set whose size isn't given.
	fewValues = 5
)

// placeholder of a pattern.
type placeholder struct {
	name   string
	kind   kind
	values int64 // at one time
	given  bool  // the pattern says how many
}

// Pattern is how a key attribute's values are made: text with placeholders, such as {date}#{shard:20} or ORDERS. A number behind a
// placeholder's name is how many values it has.
type Pattern struct {
	text  string
	parts []placeholder
}

var placeholders = regexp.MustCompile(`\{([^{}]*)\}`)

// ParsePattern reads a pattern. A placeholder's name is a word like date, ms, shard, status or userId, whose last word counts; others are taken as unknown.
func ParsePattern(text string) (Pattern, error) {
	p := Pattern{text: text}
	if text == "" {
		return p, fmt.Errorf("the pattern is empty")
	}
	if rest := placeholders.ReplaceAllString(text, ""); strings.ContainsAny(rest, "{}") {
		return p, fmt.Errorf("pattern %q: a brace has no partner", text)
	}
	for _, match := range placeholders.FindAllStringSubmatch(text, -1) {
		name, count, given := strings.Cut(match[1], ":")
		if name == "" {
			return p, fmt.Errorf("pattern %q: a placeholder has no name", text)
		}
		part := placeholder{name: name, kind: meaning(name), given: given}
		if given {
			values, err := strconv.ParseInt(count, 10, 64)
			if err != nil || values < 1 || values > 1_000_000_000 {
				return p, fmt.Errorf("pattern %q: how many values {%s} has must be a number from 1 to 1000000000", text, name)
			}
			part.values = values
		} else {
			part.values = part.kind.oneTime()
		}
		p.parts = append(p.parts, part)
	}
	return p, nil
}

// String is the text that was read.
func (p Pattern) String() string { return p.text }

// meaning takes the last word of a name: userId, order_status, created-time.
func meaning(name string) kind {
	if known := wordKind(name); known != 0 {
		return known
	}
	start := strings.LastIndexFunc(name, func(r rune) bool { return r >= 'A' && r <= 'Z' || r == '_' || r == '-' || r == '.' })
	if start >= 0 {
		last := strings.ToLower(strings.TrimLeft(name[start:], "_-."))
		if known := wordKind(last); known != 0 {
			return known
		}
		if last == "on" || last == "at" { // joinedOn, created_at
			return kindTime
		}
	}
	if strings.HasSuffix(strings.ToLower(name), "id") {
		return kindMany
	}
	return kindOther
}

// GuessPattern makes a pattern of an attribute's name; false where the name tells nothing.
func GuessPattern(attribute string) (string, bool) {
	if attribute == "" || meaning(attribute) == kindOther {
		return "", false
	}
	return "{" + attribute + "}", true
}

// has finds the first placeholder of a kind.
func (p Pattern) has(wanted ...kind) (placeholder, bool) {
	for _, part := range p.parts {
		if slices.Contains(wanted, part.kind) {
			return part, true
		}
	}
	return placeholder{}, false
}

// concurrent is how many values there are at one time.
func (p Pattern) concurrent() int64 {
	values := int64(1)
	for _, part := range p.parts {
		if part.values > unbounded/values {
			return unbounded
		}
		values *= part.values
	}
	return values
}

// increasing reports whether the values only grow: the pattern begins, behind fixed text, with a time or a serial number.
func (p Pattern) increasing() bool {
	return len(p.parts) > 0 && (p.parts[0].kind == kindTime || p.parts[0].kind == kindSerial)
}
