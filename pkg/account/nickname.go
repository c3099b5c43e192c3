package account

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"
)

const (
	// MaxNicknameOctets is the length of a DNS label in ASCII form (RFC 1035, section 2.3.4).
	MaxNicknameOctets = 63
	// MaxSpellingBytes bounds the user's own spelling, in bytes of UTF-8: characters that map to nothing could make it any length.
	MaxSpellingBytes = 4 * MaxNicknameOctets
)

// Nickname is a name in its three forms.
type Nickname struct {
	// Spelling is the user's own.
	Spelling string
	// Form is the mapped form, a U-label: what the claim is on.
	Form string
	// ASCII is the label that DNS carries: an A-label where Form is not ASCII.
	ASCII string
}

// ParseNickname maps a nickname by UTS 46 (https://www.unicode.org/reports/tr46/, non-transitional) and checks it as one label of IDNA2008 (RFC 5891 to 5893) in
// a single script by UTS 39 (https://www.unicode.org/reports/tr39/#Single_Script). An A-label (xn--) is the name that it encodes. Parsing a Form gives the
// same Form. The reserved list is not looked at: a name may be looked up and released when it has become reserved. The error is a *[FieldError] of the field
// nickname.
func ParseNickname(spelling string) (Nickname, error) {
	n, bad := parseNickname(spelling)
	if bad != nil {
		bad.Field = "nickname"
		return Nickname{}, bad
	}
	return n, nil
}

func parseNickname(spelling string) (Nickname, *FieldError) {
	if len(spelling) > MaxSpellingBytes {
		if isASCII(spelling) {
			return Nickname{}, tooLong(MaxNicknameOctets, len(spelling), "octets")
		}
		return Nickname{}, tooLong(MaxSpellingBytes, len(spelling), "bytes")
	}
	form, bad := mapLabel(spelling)
	if bad != nil {
		return Nickname{}, bad
	}
	if strings.HasPrefix(form, acePrefix) {
		return parseALabel(spelling, form)
	}
	for _, check := range []func(spelling, form string) *FieldError{checkHyphens, checkContext, checkScripts, checkDirection} {
		if bad := check(spelling, form); bad != nil {
			return Nickname{}, bad
		}
	}
	ascii, err := idna.Punycode.ToASCII(form)
	if err != nil {
		return Nickname{}, &FieldError{Reason: ReasonCharacter, Detail: "it has no ASCII form"}
	}
	if len(ascii) > MaxNicknameOctets {
		return Nickname{}, tooLong(MaxNicknameOctets, len(ascii), "octets in ASCII form")
	}
	return Nickname{Spelling: spelling, Form: form, ASCII: ascii}, nil
}

func tooLong(limit, got int, unit string) *FieldError {
	return &FieldError{Reason: ReasonTooLong, Limit: limit, Got: got, Unit: unit}
}

const acePrefix = "xn--"

// parseALabel reads the name that an A-label encodes. It must be the A-label of a name in mapped form; anything else would be a second label for one name.
func parseALabel(spelling, label string) (Nickname, *FieldError) {
	invalid := &FieldError{Reason: ReasonCharacter, Position: 1, Detail: "xn-- must begin a valid A-label"}
	decoded, err := idna.Punycode.ToUnicode(label)
	if err != nil || strings.HasPrefix(decoded, acePrefix) {
		return Nickname{}, invalid
	}
	n, bad := parseNickname(decoded)
	if bad != nil || n.Form != decoded || n.ASCII != label {
		return Nickname{}, invalid
	}
	n.Spelling = spelling
	return n, nil
}

// mapLabel does the mapping of UTS 46, character by character as positionOf does. What is wrong with the result shows in the result: the profile's own errors
// differ with the version of Unicode, and some characters are only wrong as long as they are not composed.
func mapLabel(text string) (string, *FieldError) {
	profile := mapping()
	var mapped strings.Builder
	position := 0
	for at, r := range text {
		position++
		if r == utf8.RuneError && !strings.HasPrefix(text[at:], "\uFFFD") {
			return "", &FieldError{Reason: ReasonCharacter, Position: position, Detail: "it is not UTF-8"}
		}
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '-' {
			mapped.WriteRune(r)
			continue
		}
		one, _ := profile.ToUnicode(string(r))
		mapped.WriteString(one)
	}
	form := norm.NFC.String(mapped.String())
	if form == "" {
		return "", &FieldError{Reason: ReasonEmpty}
	}
	for k, r := range []rune(form) {
		if !allowed(r) || disallowed(r) {
			return "", &FieldError{Reason: ReasonCharacter, Position: positionOf(text, k)}
		}
	}
	return form, nil
}

// disallowed reports whether UTS 46 refuses a character that stands in a mapped form: some that are letters by their category have no mapping, or one that no
// label may have. It stands behind a letter here, since a label that begins with a combining mark is another fault.
func disallowed(r rune) bool {
	if r <= unicode.MaxASCII {
		return false
	}
	_, err := idna.New(idna.MapForLookup(), idna.CheckHyphens(false), idna.CheckJoiners(false)).ToUnicode("a" + string(r))
	return err != nil
}

// mapping is the UTS 46 mapping alone: no label checks.
func mapping() *idna.Profile { return idna.New(idna.MapForLookup(), idna.ValidateLabels(false)) }

// positionOf is the position in the user's text of what became character k (from 0) of the mapped form.
func positionOf(text string, k int) int {
	profile := mapping()
	var mapped strings.Builder
	position := 0
	for _, r := range text {
		position++
		one, _ := profile.ToUnicode(string(r))
		mapped.WriteString(one)
		if utf8.RuneCountInString(norm.NFC.String(mapped.String())) > k {
			return position
		}
	}
	return position
}

// checkHyphens is RFC 5891, section 4.2.3.1. The same fault in third and fourth place is what keeps room for A-labels.
func checkHyphens(spelling, form string) *FieldError {
	runes := []rune(form)
	bad := -1
	switch last := len(runes) - 1; {
	case runes[0] == '-':
		bad = 0
	case runes[last] == '-':
		bad = last
	case len(runes) > 3 && runes[2] == '-' && runes[3] == '-':
		bad = 2
	default:
		return nil
	}
	return &FieldError{Reason: ReasonHyphen, Position: positionOf(spelling, bad)}
}

// checkDirection is the Bidi rule of RFC 5893 for a name with right-to-left characters. It comes last: what else the profile checks has been checked, but for
// hyphens, which it looks for by bytes instead of characters.
func checkDirection(_, form string) *FieldError {
	if _, err := idna.New(idna.MapForLookup(), idna.CheckHyphens(false), idna.BidiRule()).ToUnicode(form); err != nil {
		return &FieldError{Reason: ReasonDirection}
	}
	return nil
}

// checkScripts finds the first character that no script of those before it covers.
func checkScripts(spelling, form string) *FieldError {
	var common []string // nil: any script
	for k, r := range []rune(form) {
		scripts := augmented(r)
		if scripts == nil {
			continue
		}
		if common == nil {
			common = scripts
			continue
		}
		common = slices.DeleteFunc(slices.Clone(common), func(script string) bool { return !slices.Contains(scripts, script) })
		if len(common) == 0 {
			return &FieldError{Reason: ReasonMixedScripts, Position: positionOf(spelling, k)}
		}
	}
	return nil
}

func isASCII(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return r > unicode.MaxASCII }) < 0
}
