package account

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/idna"
)

// allowed reports whether a character of the mapped form may stand in a U-label, by the derived property of RFC 5892, section 3: PVALID, or CONTEXTJ and
// CONTEXTO, whose rules checkContext knows. What is unstable under case folding and compatibility (section 2.2) either does not come out of the mapping or is
// disallowed by it, which mapLabel asks. x/net/idna takes symbols and emoji too ("TODO: handle NV8"), which IDNA2008 does not.
func allowed(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', '0' <= r && r <= '9', r == '-':
		return true
	case r <= unicode.MaxASCII:
		return false
	case unicode.Is(exceptionsValid, r), unicode.Is(contextual, r):
		return true
	case unicode.Is(exceptionsDisallowed, r), unicode.Is(ignorable, r), unicode.Is(oldHangulJamo, r), unicode.Is(unicode.Noncharacter_Code_Point, r),
		unicode.Is(unicode.Variation_Selector, r), unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r):
		return false
	default:
		// LetterDigits, section 2.1. The capitals that are stable are those of Cherokee, whose small letters fold to them.
		return unicode.In(r, unicode.Ll, unicode.Lu, unicode.Lo, unicode.Lm, unicode.Mn, unicode.Mc, unicode.Nd)
	}
}

// The lists of RFC 5892. They are constants in all but name.
var (
	// Section 2.6, PVALID.
	exceptionsValid = table(0x00DF, 0x03C2, 0x06FD, 0x06FE, 0x0F0B, 0x3007)
	// Section 2.6, CONTEXTO, and section 2.8, CONTEXTJ.
	contextual = table(0x00B7, 0x0375, 0x05F3, 0x05F4, 0x0660, 0x0661, 0x0662, 0x0663, 0x0664, 0x0665, 0x0666, 0x0667, 0x0668, 0x0669,
		0x06F0, 0x06F1, 0x06F2, 0x06F3, 0x06F4, 0x06F5, 0x06F6, 0x06F7, 0x06F8, 0x06F9, 0x200C, 0x200D, 0x30FB)
	// Section 2.6, DISALLOWED.
	exceptionsDisallowed = table(0x0640, 0x07FA, 0x302E, 0x302F, 0x3031, 0x3032, 0x3033, 0x3034, 0x3035, 0x303B)
	// Section 2.4: combining marks for symbols, musical symbols, ancient Greek musical notation.
	ignorable = &unicode.RangeTable{
		R16: []unicode.Range16{{Lo: 0x20D0, Hi: 0x20FF, Stride: 1}},
		R32: []unicode.Range32{{Lo: 0x1D100, Hi: 0x1D24F, Stride: 1}},
	}
	// Section 2.9.
	oldHangulJamo = &unicode.RangeTable{R16: []unicode.Range16{
		{Lo: 0x1100, Hi: 0x11FF, Stride: 1}, {Lo: 0xA960, Hi: 0xA97C, Stride: 1}, {Lo: 0xD7B0, Hi: 0xD7FB, Stride: 1},
	}}
)

func table(runes ...rune) *unicode.RangeTable {
	t := &unicode.RangeTable{}
	for _, r := range runes {
		t.R16 = append(t.R16, unicode.Range16{Lo: uint16(r), Hi: uint16(r), Stride: 1}) //nolint:gosec // all of them are below 0x10000
	}
	return t
}

// checkContext applies the rules of RFC 5892, appendix A, and RFC 5891, section 4.2.3.2: no combining mark begins a label.
func checkContext(spelling, form string) *FieldError {
	runes := []rune(form)
	if unicode.Is(unicode.M, runes[0]) {
		return &FieldError{Reason: ReasonCharacter, Position: positionOf(spelling, 0), Detail: "a combining mark cannot come first"}
	}
	joins := true
	if strings.ContainsAny(form, "\u200C\u200D") { // A.1 and A.2 need joining types, which x/net has
		_, err := idna.New(idna.MapForLookup(), idna.CheckHyphens(false)).ToUnicode(form)
		joins = err == nil
	}
	for k := range runes {
		if !inContext(runes, k, joins) {
			return &FieldError{Reason: ReasonCharacter, Position: positionOf(spelling, k), Detail: "not in this place"}
		}
	}
	return nil
}

func inContext(runes []rune, k int, joins bool) bool {
	before, after := rune(-1), rune(-1)
	if k > 0 {
		before = runes[k-1]
	}
	if k+1 < len(runes) {
		after = runes[k+1]
	}
	switch r := runes[k]; {
	case r == 0x200C || r == 0x200D:
		return joins
	case r == 0x00B7: // A.3: between two l
		return before == 'l' && after == 'l'
	case r == 0x0375: // A.4: before Greek
		return unicode.Is(unicode.Greek, after)
	case r == 0x05F3 || r == 0x05F4: // A.5, A.6: after Hebrew
		return unicode.Is(unicode.Hebrew, before)
	case r == 0x30FB: // A.7: with a letter of Japanese
		return slices.ContainsFunc(runes, func(r rune) bool {
			return r != 0x30FB && unicode.In(r, unicode.Hiragana, unicode.Katakana, unicode.Han)
		})
	case 0x0660 <= r && r <= 0x0669: // A.8, A.9: the two kinds of Arabic digits do not mix
		return !slices.ContainsFunc(runes, func(r rune) bool { return 0x06F0 <= r && r <= 0x06F9 })
	case 0x06F0 <= r && r <= 0x06F9:
		return !slices.ContainsFunc(runes, func(r rune) bool { return 0x0660 <= r && r <= 0x0669 })
	default:
		return true
	}
}

// augmented is the augmented script set of UTS 39, section 5.1: a script together with the writing systems that use it with others. Nil is every script: the
// character is Common or Inherited, and stands with any.
func augmented(r rune) []string {
	switch {
	case 'a' <= r && r <= 'z':
		return []string{"Latin"}
	case r <= unicode.MaxASCII:
		return nil
	// Script_Extensions of the characters that are Common or Inherited and belong to some scripts all the same
	// (https://www.unicode.org/Public/UCD/latest/ucd/ScriptExtensions.txt), as far as a name needs them.
	case r == 0x30FC: // ー
		return []string{"Hiragana", "Katakana", "Jpan"}
	case r == 0x30FB: // ・
		return []string{"Bopomofo", "Hangul", "Han", "Hiragana", "Katakana", "Yi", "Hanb", "Jpan", "Kore"}
	case r == 0x3006, r == 0x303C: // 〆 〼
		return []string{"Han", "Hiragana", "Katakana", "Hanb", "Jpan", "Kore"}
	case r == 0x3099, r == 0x309A:
		return []string{"Hiragana", "Katakana", "Jpan"}
	case 0x0660 <= r && r <= 0x0669:
		return []string{"Arabic", "Thaana", "Yezidi"}
	case 0x064B <= r && r <= 0x0655, r == 0x0670:
		return []string{"Arabic", "Syriac"}
	case unicode.Is(unicode.Common, r), unicode.Is(unicode.Inherited, r):
		return nil
	case unicode.Is(unicode.Han, r):
		return []string{"Han", "Hanb", "Jpan", "Kore"}
	case unicode.Is(unicode.Hiragana, r):
		return []string{"Hiragana", "Jpan"}
	case unicode.Is(unicode.Katakana, r):
		return []string{"Katakana", "Jpan"}
	case unicode.Is(unicode.Hangul, r):
		return []string{"Hangul", "Kore"}
	case unicode.Is(unicode.Bopomofo, r):
		return []string{"Bopomofo", "Hanb"}
	}
	for name, script := range unicode.Scripts {
		if unicode.Is(script, r) {
			return []string{name}
		}
	}
	return []string{"Unknown"}
}
