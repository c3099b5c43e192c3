package account_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/heatsink-dev/heatsink/pkg/account"
)

func ExampleParseNickname() {
	for _, spelling := range []string{"Bücher", "ＡＬＩＣＥ", "日本のカナ", "раураl", "a_b", "-a"} {
		n, err := account.ParseNickname(spelling)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(n.Form, n.ASCII)
	}
	// Output:
	// bücher xn--bcher-kva
	// alice alice
	// 日本のカナ xn--u9jugsdp58vzlb
	// nickname: mixes scripts: the character at position 6 is not of the script of those before it
	// nickname: has a character that is not allowed, at position 2
	// nickname: has a hyphen where none may be, at position 1: hyphens stand inside, and not third and fourth together
}

func TestSpellingsOfOneNameHaveOneForm(t *testing.T) {
	t.Parallel()
	for form, spellings := range map[string][]string{
		"alice":      {"alice", "ALICE", "Alice", "ａｌｉｃｅ", "ALI\u00ADCE", "\u200Balice", "ⓐlice"},
		"bücher":     {"bücher", "BÜCHER", "bu\u0308cher", "xn--bcher-kva", "XN--BCHER-KVA"},
		"straße":     {"straße", "Straße", "xn--strae-oqa"},
		"strasse":    {"strasse", "STRASSE"},
		"fi":         {"fi", "ﬁ", "FI"},
		"が":          {"が", "か\u3099"},
		"ガ":          {"ガ", "ｶﾞ"},
		"한글":         {"한글", "\u1112\u1161\u11ab\u1100\u1173\u11af"},
		"a-b":        {"a-b", "A－B"},
		"l·l":        {"l·l", "L·L"},
		"σας":        {"σας", "ΣΑς"},
		"שלום":       {"שלום"},
		"क्\u200dष":  {"क्\u200dष"},
		"123":        {"123", "１２３", "①②③"},
		"東京タワー":      {"東京タワー"},
		"ひらがなカタカナ漢字": {"ひらがなカタカナ漢字"},
		"한글漢字":       {"한글漢字"},
		"ㄅ漢":         {"ㄅ漢"},
	} {
		for _, spelling := range spellings {
			n, err := account.ParseNickname(spelling)
			if err != nil || n.Form != form || n.Spelling != spelling {
				t.Errorf("%q (%+q): %v %+v, want %q", spelling, spelling, err, n, form)
			}
		}
	}
}

// various gives Han characters far from each other, whose ASCII form is long.
func various(n int) string {
	var text strings.Builder
	for k := range n {
		text.WriteRune(rune(0x4E00 + k*k*17))
	}
	return text.String()
}

func TestEachBadNicknameHasOneReason(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		spelling string
		want     account.FieldError
	}{
		{"", account.FieldError{Reason: account.ReasonEmpty}},
		{"\u00AD\u200B", account.FieldError{Reason: account.ReasonEmpty}},
		{strings.Repeat("a", 64), account.FieldError{Reason: account.ReasonTooLong, Limit: 63, Got: 64}},
		{strings.Repeat("a", 300), account.FieldError{Reason: account.ReasonTooLong, Limit: 63, Got: 300}},
		{various(30), account.FieldError{Reason: account.ReasonTooLong, Limit: 63}},
		{strings.Repeat("ü", 62), account.FieldError{Reason: account.ReasonTooLong, Limit: 63}},
		{"a" + strings.Repeat("\u00AD", 200), account.FieldError{Reason: account.ReasonTooLong, Limit: 252, Got: 401}},
		{"al ice", account.FieldError{Reason: account.ReasonCharacter, Position: 3}},
		{" alice", account.FieldError{Reason: account.ReasonCharacter, Position: 1}},
		{"alice\n", account.FieldError{Reason: account.ReasonCharacter, Position: 6}},
		{"a.b", account.FieldError{Reason: account.ReasonCharacter, Position: 2}},
		{"日本。", account.FieldError{Reason: account.ReasonCharacter, Position: 3}},
		{"a_b", account.FieldError{Reason: account.ReasonCharacter, Position: 2}},
		{"a#b", account.FieldError{Reason: account.ReasonCharacter, Position: 2}},
		{"a/b", account.FieldError{Reason: account.ReasonCharacter, Position: 2}},
		{"a@b", account.FieldError{Reason: account.ReasonCharacter, Position: 2}},
		{"a℀b", account.FieldError{Reason: account.ReasonCharacter, Position: 2}}, // a/c
		{"smile👍", account.FieldError{Reason: account.ReasonCharacter, Position: 6}},
		{"☃", account.FieldError{Reason: account.ReasonCharacter, Position: 1}},
		{"a\u202Eb", account.FieldError{Reason: account.ReasonCharacter, Position: 2}},
		{"ab\xff", account.FieldError{Reason: account.ReasonCharacter, Position: 3}},
		{"a\uFFFD", account.FieldError{Reason: account.ReasonCharacter, Position: 2}},
		{"\u0301a", account.FieldError{Reason: account.ReasonCharacter, Position: 1}},
		{"a·b", account.FieldError{Reason: account.ReasonCharacter, Position: 2}},
		{"\u00ADa·b", account.FieldError{Reason: account.ReasonCharacter, Position: 3}}, // in the user's own text
		{"a\u200Db", account.FieldError{Reason: account.ReasonCharacter, Position: 2}},
		{"a・b", account.FieldError{Reason: account.ReasonCharacter, Position: 2}},
		{"\u0660\u06F1", account.FieldError{Reason: account.ReasonCharacter, Position: 1}},
		{"س\u0640س", account.FieldError{Reason: account.ReasonCharacter, Position: 2}},
		{"한\u302E", account.FieldError{Reason: account.ReasonCharacter, Position: 2}},
		{"a\u20D0", account.FieldError{Reason: account.ReasonCharacter, Position: 2}},
		{"\u1100", account.FieldError{Reason: account.ReasonCharacter, Position: 1}},
		{"xn--", account.FieldError{Reason: account.ReasonCharacter, Position: 1}},
		{"xn--abc", account.FieldError{Reason: account.ReasonCharacter, Position: 1}},
		{"xn--a-ecp", account.FieldError{Reason: account.ReasonCharacter, Position: 1}},
		{"-a", account.FieldError{Reason: account.ReasonHyphen, Position: 1}},
		{"a-", account.FieldError{Reason: account.ReasonHyphen, Position: 2}},
		{"-", account.FieldError{Reason: account.ReasonHyphen, Position: 1}},
		{"ab--cd", account.FieldError{Reason: account.ReasonHyphen, Position: 3}},
		{"xnー-a", account.FieldError{Reason: account.ReasonMixedScripts, Position: 3}},
		{"аdmin", account.FieldError{Reason: account.ReasonMixedScripts, Position: 2}},
		{"paypаl", account.FieldError{Reason: account.ReasonMixedScripts, Position: 5}},
		{"aλ", account.FieldError{Reason: account.ReasonMixedScripts, Position: 2}},
		{"aー", account.FieldError{Reason: account.ReasonMixedScripts, Position: 2}},
		{"a日", account.FieldError{Reason: account.ReasonMixedScripts, Position: 2}},
		{"한ひ", account.FieldError{Reason: account.ReasonMixedScripts, Position: 2}},
		{"ㄅひ", account.FieldError{Reason: account.ReasonMixedScripts, Position: 2}},
		{"אa", account.FieldError{Reason: account.ReasonMixedScripts, Position: 2}},
		{"1א", account.FieldError{Reason: account.ReasonDirection}},
	} {
		n, err := account.ParseNickname(test.spelling)
		got, ok := errors.AsType[*account.FieldError](err)
		if !ok {
			t.Errorf("%q: %v %+v, want a refusal", test.spelling, err, n)
			continue
		}
		if got.Field != "nickname" || got.Reason != test.want.Reason || got.Position != test.want.Position || got.Limit != test.want.Limit ||
			test.want.Got != 0 && got.Got != test.want.Got || got.Reason == account.ReasonTooLong && got.Got <= got.Limit {
			t.Errorf("%q: %+v, want %+v", test.spelling, got, test.want)
		}
		if strings.Contains(err.Error(), test.spelling) && len(test.spelling) > 4 {
			t.Errorf("%q: the error quotes the value: %v", test.spelling, err)
		}
	}
	if _, err := account.ParseNickname(strings.Repeat("a", 63)); err != nil {
		t.Errorf("63 octets: %v", err)
	}
}

func TestReservedNamesAreRefusedInEverySpelling(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.signUp("u1", "alice", "")
	for _, spelling := range []string{"www", "WWW", "ａｄｍｉｎ", "Post\u00ADmaster"} {
		for what, err := range map[string]error{
			"sign up": second(k.service.SignUp(t.Context(), application("u2", spelling, ""))),
			"rename":  second(k.service.Rename(t.Context(), "u1", spelling)),
		} {
			if bad, ok := errors.AsType[*account.FieldError](err); !ok || bad.Reason != account.ReasonReserved {
				t.Errorf("%s %q: %v", what, spelling, err)
			}
		}
	}
	if n := k.faults.Count(""); n != 0 {
		t.Errorf("%d requests for names that are refused", n)
	}
}

func second[T any](_ T, err error) error { return err }

func checkNickname(t interface{ Errorf(string, ...any) }, spelling string) {
	n, err := account.ParseNickname(spelling)
	if err != nil {
		bad, ok := errors.AsType[*account.FieldError](err)
		if !ok || bad.Reason == 0 || bad.Text() == "" {
			t.Errorf("%q: %v is no reason", spelling, err)
		}
		if ok && (bad.Position < 0 || bad.Position > utf8.RuneCountInString(spelling)) {
			t.Errorf("%q: position %d is outside", spelling, bad.Position)
		}
		return
	}
	for what, text := range map[string]string{"form": n.Form, "ASCII form": n.ASCII} {
		again, err := account.ParseNickname(text)
		if err != nil || again.Form != n.Form || again.ASCII != n.ASCII {
			t.Errorf("%q: its %s %q maps to %q: %v", spelling, what, text, again.Form, err)
		}
	}
	if len(n.ASCII) > account.MaxNicknameOctets || len(n.ASCII) == 0 || strings.ContainsAny(n.Form, "#. \x00") {
		t.Errorf("%q: %+v", spelling, n)
	}
	for _, r := range n.ASCII {
		if !('a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '-') {
			t.Errorf("%q: %q is no DNS label", spelling, n.ASCII)
		}
	}
	if upper, err := account.ParseNickname(strings.ToUpper(n.ASCII)); err != nil || upper.Form != n.Form {
		t.Errorf("%q: %q in upper case is another name: %q %v", spelling, n.ASCII, upper.Form, err)
	}
}

// nicknames draws texts that come near to being names: from a script or two, with what is wrong mixed in.
func nicknames() *rapid.Generator[string] {
	alphabets := [][]rune{
		[]rune("abcdefghijklmnopqrstuvwxyz"), []rune("ABCXYZ019-"), []rune("äöüßÄÖÜéñçıİſ"), []rune("абвгдеёжз"), []rune("αβγδσςΩ"), []rune("אבגדה"),
		[]rune("ابتث٠١۰۱"), []rune("ひらがなー々"), []rune("カタカナガ・"), []rune("漢字日本語"), []rune("한글"), []rune("कखग्\u200d\u200c"), []rune("ㄅㄆ"),
		[]rune("\u0301\u0308\u3099\u00AD\u200B"), []rune("ﬁⅧ①ａＢ㎏"), []rune("_ .@#·☃👍\uFFFD"),
	}
	return rapid.Custom(func(t *rapid.T) string {
		main, other := rapid.SampledFrom(alphabets).Draw(t, "main"), rapid.SampledFrom(alphabets).Draw(t, "other")
		var text strings.Builder
		for range rapid.IntRange(0, 12).Draw(t, "length") {
			from := main
			if rapid.IntRange(0, 5).Draw(t, "which") == 0 {
				from = other
			}
			text.WriteRune(rapid.SampledFrom(from).Draw(t, "rune"))
		}
		return text.String()
	})
}

func TestMappingIsIdempotent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) { checkNickname(t, nicknames().Draw(t, "nickname")) })
	rapid.Check(t, func(t *rapid.T) { checkNickname(t, rapid.String().Draw(t, "any text")) })
}

// Every single character: what is let through maps to itself. Of the large planes one in 17.
func TestEveryCharacter(t *testing.T) {
	t.Parallel()
	taken := 0
	for r := rune(0); r <= utf8.MaxRune; r++ {
		if r >= 0x3100 {
			r += 16
		}
		n, err := account.ParseNickname(string(r))
		if err != nil {
			continue
		}
		taken++
		if again, err := account.ParseNickname(n.Form); err != nil || again.Form != n.Form {
			t.Fatalf("%U: %q maps to %q: %v", r, n.Form, again.Form, err)
		}
	}
	if taken < 10_000 {
		t.Errorf("%d characters are taken: the tables are not what they were", taken)
	}
}

func FuzzNickname(f *testing.F) {
	for _, seed := range []string{"", "Alice", "BÜCHER", "xn--bcher-kva", "ab--c", "日本のカナ", "שלום", "क्\u200dष", "a·b", "\xff", "xn--a-ecp", "١۱", "ⓐ㎏ﬁ"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, spelling string) { checkNickname(t, spelling) })
}

func TestHyphensAreCountedInCharacters(t *testing.T) {
	t.Parallel()
	for _, spelling := range []string{"ü--b", "é--é", "я--ыч", "א--ב", "۸--۳۹", "Ü－－b", "क--ख", "ب--ب\u200cب"} {
		n, err := account.ParseNickname(spelling)
		if err != nil {
			t.Errorf("%q: %v", spelling, err)
			continue
		}
		if again, err := account.ParseNickname(n.ASCII); err != nil || again.Form != n.Form {
			t.Errorf("%q: its ASCII form %q is %q, %v", spelling, n.ASCII, again.Form, err)
		}
	}
	for spelling, want := range map[string]account.FieldError{
		"aü--b": {Reason: account.ReasonHyphen, Position: 3}, "日----本": {Reason: account.ReasonHyphen, Position: 3}, "--ü": {Reason: account.ReasonHyphen, Position: 1}, "ü--": {Reason: account.ReasonHyphen, Position: 3},
		"1--א": {Reason: account.ReasonDirection},
		// A joiner where none may be is told as such, hyphens or not.
		"ü--\u200db": {Reason: account.ReasonCharacter, Position: 4},
	} {
		_, err := account.ParseNickname(spelling)
		if bad, ok := errors.AsType[*account.FieldError](err); !ok || bad.Reason != want.Reason || bad.Position != want.Position {
			t.Errorf("%q: %v, want %+v", spelling, err, want)
		}
	}
}

// Letters by their category, and refused by UTS 46: never for their direction.
func TestWhatUTS46DisallowsIsACharacterThatIsNotAllowed(t *testing.T) {
	t.Parallel()
	for _, r := range []rune{0x037A, 0xFC5E, 0xFDFA, 0xFDFB, 0xFE70, 0x10A0, 0x04C0, 0x2132, 0x2183} {
		for position, text := range []string{string(r), "ab" + string(r)} {
			_, err := account.ParseNickname(text)
			if bad, ok := errors.AsType[*account.FieldError](err); !ok || bad.Reason != account.ReasonCharacter || bad.Position != 2*position+1 {
				t.Errorf("%U in %q: %v", r, text, err)
			}
		}
	}
}

// RFC 5892, appendix B.1: 13A0..13F5 are PVALID. The small letters fold to them (and 13F8..13FD are small letters of 13F0..13F5).
func TestCherokeeNamesAreNames(t *testing.T) {
	t.Parallel()
	for r := rune(0x13A0); r <= 0x13F5; r++ {
		small := r - 0x13A0 + 0xAB70
		if r >= 0x13F0 {
			small = r + 8
		}
		for _, spelling := range []string{string(r), string(small)} {
			if n, err := account.ParseNickname(spelling); err != nil || n.Form != string(r) {
				t.Errorf("%+q: %v %+q, want %+q", spelling, err, n.Form, string(r))
			}
			checkNickname(t, spelling)
		}
	}
	if _, err := account.ParseNickname("Ꭰa"); err == nil {
		t.Error("Cherokee and Latin are two scripts")
	}
}
