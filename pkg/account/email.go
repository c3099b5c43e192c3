package account

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"
)

// Limits of an address, in octets (RFC 5321, section 4.5.3.1; the whole by its path of 256, RFC 3696 erratum 1690).
const (
	MaxLocalOctets = 64
	MaxEmailOctets = 254
)

// ParseEmail gives the one form of an e-mail address that is stored and claimed: trimmed, lower case, composed letters, the domain in ASCII. Parsing it again
// gives the same. It takes what mail systems do take: a dot-atom before the @ (with letters of any script, RFC 6531; no quoted strings, no comments), and a domain of two
// labels or more, which may be emoji. Two hyphens third and fourth are fine in a domain, and an xn-- label is checked. İ (U+0130) keeps its dot: i with U+0307. The
// error is a *[FieldError] of the field email.
func ParseEmail(text string) (string, error) {
	address, bad := parseEmail(text)
	if bad != nil {
		bad.Field = "email"
		return "", bad
	}
	return address, nil
}

func parseEmail(raw string) (string, *FieldError) {
	text := strings.TrimSpace(raw)
	skipped := utf8.RuneCountInString(raw[:strings.Index(raw, text)]) // of the caller's text, before what is left
	switch {
	case text == "":
		return "", &FieldError{Reason: ReasonEmpty}
	case len(text) > 2*MaxEmailOctets: // mapping shortens; it does not halve
		return "", tooLong(MaxEmailOctets, len(text), "octets")
	case !utf8.ValidString(text):
		return "", &FieldError{Reason: ReasonCharacter, Detail: "it is not UTF-8"}
	}
	local, domain, ok := strings.Cut(text, "@")
	if !ok || strings.Contains(domain, "@") {
		return "", syntax("must have exactly one @")
	}
	local, bad := parseLocal(local, skipped)
	if bad != nil {
		return "", bad
	}
	domain, bad = parseDomain(domain)
	if bad != nil {
		return "", bad
	}
	address := local + "@" + domain
	if len(address) > MaxEmailOctets {
		return "", tooLong(MaxEmailOctets, len(address), "octets")
	}
	return address, nil
}

func syntax(detail string) *FieldError { return &FieldError{Reason: ReasonSyntax, Detail: detail} }

// parseLocal takes a dot-atom (RFC 5322, section 3.2.3).
func parseLocal(local string, skipped int) (string, *FieldError) {
	position := skipped
	for _, r := range local {
		position++
		if !localRune(r) {
			return "", &FieldError{Reason: ReasonCharacter, Position: position, Detail: "before the @"}
		}
	}
	// Composed first: lower case of a decomposed letter is not always the decomposed lower case. Lower case of İ alone is two characters (Unicode's SpecialCasing.txt):
	// unicode.ToLower, which gives one for one, would make it the i of another address.
	local = strings.ReplaceAll(norm.NFC.String(local), "\u0130", "i\u0307")
	local = norm.NFC.String(strings.ToLower(local))
	switch {
	case local == "":
		return "", syntax("has nothing before the @")
	case strings.HasPrefix(local, "."), strings.HasSuffix(local, "."), strings.Contains(local, ".."):
		return "", syntax("has a dot in a wrong place before the @")
	case len(local) > MaxLocalOctets:
		bad := tooLong(MaxLocalOctets, len(local), "octets")
		bad.Detail = "before the @"
		return "", bad
	}
	return local, nil
}

func localRune(r rune) bool {
	if r <= unicode.MaxASCII {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune(".!#$%&'*+/=?^_`{|}~-", r)
	}
	return unicode.In(r, unicode.L, unicode.M, unicode.N)
}

// hyphensInside checks that no label, in its readable form, begins or ends with a hyphen, and that none that an A-label encodes looks like another A-label. Two
// hyphens third and fourth, which a registry must not give out, are in use all the same below it (r3---sn-abc.googlevideo.com).
func hyphensInside(profile *idna.Profile, ascii string) bool {
	readable, err := profile.ToUnicode(ascii)
	if err != nil {
		return false
	}
	for label := range strings.SplitSeq(readable, ".") {
		if strings.HasPrefix(label, "-") || strings.HasSuffix(label, "-") || strings.HasPrefix(label, acePrefix) {
			return false
		}
	}
	return true
}

// parseDomain maps a domain as a name to look up, by UTS 46. That takes symbols and emoji, which registries of some countries give out.
func parseDomain(domain string) (string, *FieldError) {
	if domain == "" {
		return "", syntax("has nothing after the @")
	}
	profile := idna.New(idna.MapForLookup(), idna.CheckHyphens(false), idna.BidiRule(), idna.VerifyDNSLength(true))
	ascii, err := profile.ToASCII(domain)
	if err != nil || !hyphensInside(profile, ascii) {
		return "", syntax("must have a domain name after the @")
	}
	labels := strings.Split(ascii, ".")
	switch last := labels[len(labels)-1]; {
	case len(labels) < 2:
		return "", syntax("must have a domain of two labels or more after the @")
	case last == "":
		return "", syntax("must have no dot at its end")
	case strings.Trim(last, "0123456789") == "":
		return "", syntax("must have a domain name after the @, not an IP address")
	}
	return ascii, nil
}
