package account_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/heatsink-dev/heatsink/pkg/account"
)

func TestAnEMailHasOneForm(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"bob@example.com":                          "bob@example.com",
		" \t Bob.Smith+tag@EXAMPLE.Com\r\n":        "bob.smith+tag@example.com",
		"bob@Bücher.example":                       "bob@xn--bcher-kva.example",
		"bob@xn--bcher-kva.example":                "bob@xn--bcher-kva.example",
		"bob@例え。テスト":                               "bob@xn--r8jz45g.xn--zckzah",
		"q@r3---sn-abc.googlevideo.com":            "q@r3---sn-abc.googlevideo.com",
		"q@ab--cd.com":                             "q@ab--cd.com",
		"q@ü--b.de":                                "q@xn----b-goa.de",
		"q@xn----b-goa.de":                         "q@xn----b-goa.de",
		"q@I❤.ws":                                  "q@xn--i-7iq.ws", // emoji domains are domains
		"İ@b.com":                                  "i\u0307@b.com",  // and not i@b.com
		"I\u0307@b.com":                            "i\u0307@b.com",
		"i\u0307@b.com":                            "i\u0307@b.com",
		"ÉLODIE@example.com":                       "élodie@example.com",
		"e\u0301lodie@example.com":                 "élodie@example.com",
		"!#$%&'*+/=?^_`{|}~-@example.com":          "!#$%&'*+/=?^_`{|}~-@example.com",
		strings.Repeat("a", 64) + "@example.com":   strings.Repeat("a", 64) + "@example.com",
		"a@" + strings.Repeat("b.", 100) + "co":    "a@" + strings.Repeat("b.", 100) + "co",
		"a@" + strings.Repeat("b", 63) + ".co":     "a@" + strings.Repeat("b", 63) + ".co",
		"a@" + strings.Repeat("bcd.", 62) + "info": "a@" + strings.Repeat("bcd.", 62) + "info", // 254
	} {
		if got, err := account.ParseEmail(text); err != nil || got != want {
			t.Errorf("%q: %q %v, want %q", text, got, err, want)
		}
	}
}

func TestEachBadEMailHasOneReason(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                       "email: is empty",
		"  ":                                     "email: is empty",
		"bob":                                    "email: must have exactly one @",
		"a@b@example.com":                        "email: must have exactly one @",
		"@example.com":                           "email: has nothing before the @",
		"bob@":                                   "email: has nothing after the @",
		"b ob@example.com":                       "email: has a character that is not allowed, at position 2 (before the @)",
		"  b ob@example.com":                     "email: has a character that is not allowed, at position 4 (before the @)",
		`"bob"@example.com`:                      "email: has a character that is not allowed, at position 1 (before the @)",
		"b\u200Bob@x.example":                    "email: has a character that is not allowed, at position 2 (before the @)",
		".bob@example.com":                       "email: has a dot in a wrong place before the @",
		"bob.@example.com":                       "email: has a dot in a wrong place before the @",
		"b..ob@example.com":                      "email: has a dot in a wrong place before the @",
		"bob@localhost":                          "email: must have a domain of two labels or more after the @",
		"bob@127.0.0.1":                          "email: must have a domain name after the @, not an IP address",
		"bob@[127.0.0.1]":                        "email: must have a domain name after the @",
		"bob@exa_mple.com":                       "email: must have a domain name after the @",
		"bob@-example.com":                       "email: must have a domain name after the @",
		"bob@example-.com":                       "email: must have a domain name after the @",
		"bob@-ü.com":                             "email: must have a domain name after the @",
		"bob@ü-.com":                             "email: must have a domain name after the @",
		"bob@xn----eha.com":                      "email: must have a domain name after the @",
		"bob@xn----dha.com":                      "email: must have a domain name after the @",
		"bob@xn--xn---3ra.com":                   "email: must have a domain name after the @",
		"bob@xn--.com":                           "email: must have a domain name after the @",
		"bob@xn--abc.com":                        "email: must have a domain name after the @",
		"bob@xn--a-ecp.com":                      "email: must have a domain name after the @",
		"bob@example..com":                       "email: must have a domain name after the @",
		"bob@.example.com":                       "email: must have a domain name after the @",
		"bob@xn--zz.example":                     "email: must have a domain name after the @",
		"b\xffob@example.com":                    "email: has a character that is not allowed (it is not UTF-8)",
		"bob@example.com, a@b":                   "email: must have exactly one @",
		"a@" + strings.Repeat("b", 64) + ".co":   "email: must have a domain name after the @",
		strings.Repeat("a", 65) + "@example.com": "email: is too long: at most 64 octets, is 65 (before the @)",
		"a@" + strings.Repeat("bcd.", 62) + "infos": "email: is too long: at most 254 octets, is 255",
		strings.Repeat("a", 600) + "@example.com":   "email: is too long: at most 254 octets, is 612",
	} {
		_, err := account.ParseEmail(text)
		if bad, ok := errors.AsType[*account.FieldError](err); !ok || bad.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if _, err := account.ParseEmail("bob@example.com."); err == nil {
		t.Error("a dot at the end is a second spelling of the domain")
	}
}

func checkEmail(t interface{ Errorf(string, ...any) }, text string) {
	address, err := account.ParseEmail(text)
	if err != nil {
		if bad, ok := errors.AsType[*account.FieldError](err); !ok || bad.Text() == "" || bad.Position > utf8.RuneCountInString(text) {
			t.Errorf("%q: %v is no reason", text, err)
		}
		return
	}
	if again, err := account.ParseEmail(address); err != nil || again != address {
		t.Errorf("%q: its form %q maps to %q: %v", text, address, again, err)
	}
	if len(address) > account.MaxEmailOctets || strings.Count(address, "@") != 1 || strings.ToLower(address) != address {
		t.Errorf("%q: %q", text, address)
	}
}

func TestEMailMappingIsIdempotent(t *testing.T) {
	t.Parallel()
	local := rapid.StringOfN(rapid.RuneFrom([]rune("abzAZ09.+-_éÉİıßſΣσςǅK\u0301\u0308日א")), 1, 12, -1)
	domain := rapid.StringOfN(rapid.RuneFrom([]rune("abzAZ09.-üÜ。ß日本א")), 1, 12, -1)
	rapid.Check(t, func(t *rapid.T) { checkEmail(t, local.Draw(t, "local")+"@"+domain.Draw(t, "domain")+".example") })
}

func FuzzEmail(f *testing.F) {
	for _, seed := range []string{"", "bob@example.com", " B.O+B@Bücher.example ", "a@b@c", "@", "\xff@x.y", "İ@İ.example", "a@例え。テスト"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) { checkEmail(t, text) })
}
