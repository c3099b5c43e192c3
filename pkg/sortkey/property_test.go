package sortkey_test

import (
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/heatsink-dev/heatsink/pkg/sortkey"
)

// awkward runes: around the separator and the escape, the letters that follow an
// escape, the ends of each UTF-8 length, the gap of the surrogates.
var awkward = []string{
	"a", "b", "#", "$", "!", "%", " ", "\x00", "0", "S", "T", "~", "\x7f", "\u0080",
	"é", "\u07ff", "\u0800", "\ud7ff", "\ue000", "\uffff", "\U00010000", "😀", "\U0010ffff",
}

func drawText() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.Custom(func(t *rapid.T) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom(awkward), 0, 4).Draw(t, "runes"), "")
		}),
		rapid.Map(rapid.String(), func(s string) string { return strings.ToValidUTF8(s, "") }),
	)
}

// drawNumber draws any DynamoDB number, in any spelling.
func drawNumber() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.Map(rapid.IntRange(-12, 120), strconv.Itoa),
		rapid.Custom(func(t *rapid.T) string {
			digits := rapid.StringMatching(`[0-9]{1,38}`).Draw(t, "digits")
			at := rapid.IntRange(0, len(digits)).Draw(t, "point")
			exp := rapid.OneOf(rapid.IntRange(-3, 3), rapid.IntRange(-130, 125)).Draw(t, "exponent")
			text := rapid.SampledFrom([]string{"", "-", "+"}).Draw(t, "sign") + digits[:at]
			if at < len(digits) {
				text += "." + digits[at:]
			}
			text += rapid.SampledFrom([]string{"", "0", "000"}).Draw(t, "zeros")
			text += rapid.SampledFrom([]string{"E", "e"}).Draw(t, "e") + strconv.Itoa(exp)
			if _, err := sortkey.CanonicalNumber(text); err != nil {
				return "0" + digits // out of range: take an integer
			}
			return text
		}),
		rapid.StringMatching(`[0-9]{1,14}(\.[05])?`),
		rapid.SampledFrom([]string{"-0", "0.0", "9.9999999999999999999999999999999999999E125", "-9.9999999999999999999999999999999999999E125", "1E-130", "-1E-130", "9999999999999", "10000000000000", "9999999999999.5"}),
	)
}

func drawValue(kind sortkey.Kind) *rapid.Generator[sortkey.Value] {
	switch kind {
	case sortkey.KindText:
		return rapid.Map(drawText(), sortkey.Text)
	case sortkey.KindBinary:
		return rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 3), sortkey.Binary)
	default:
		return rapid.Map(drawNumber(), sortkey.Number)
	}
}

// neighbour draws a value that is equal to v, close to it, or any other.
func neighbour(t *rapid.T, v sortkey.Value) sortkey.Value {
	s := v.String()
	switch rapid.IntRange(0, 4).Draw(t, "neighbour") {
	case 0:
		return v
	case 1, 2:
		switch v.Kind() {
		case sortkey.KindText:
			return sortkey.Text(s + rapid.SampledFrom(awkward).Draw(t, "more"))
		case sortkey.KindBinary:
			return sortkey.Binary(append(v.Bytes(), rapid.Byte().Draw(t, "more")))
		default:
		}
		if strings.ContainsAny(s, "eE.") {
			return sortkey.Number(numberFrom(s[:1] + "1" + s[1:]))
		}
		return sortkey.Number(numberFrom(s + rapid.SampledFrom([]string{"", ".0", ".5", "0", "E0", "E1"}).Draw(t, "more")))
	case 3:
		if v.Kind() == sortkey.KindText && s != "" {
			_, size := utf8.DecodeLastRuneInString(s)
			return sortkey.Text(s[:len(s)-size])
		}
	}
	return drawValue(v.Kind()).Draw(t, "other")
}

func neighbours(t *rapid.T, x []sortkey.Value) []sortkey.Value {
	y := make([]sortkey.Value, len(x))
	for i := range x {
		y[i] = neighbour(t, x[i])
	}
	return y
}

// drawCodec draws a shape and a tuple that it can hold most of the time.
func drawCodec(t *rapid.T) (*sortkey.Codec, []sortkey.Value) {
	parts := shape(rapid.Uint32().Draw(t, "shape"))
	x := make([]sortkey.Value, len(parts))
	for i, p := range parts {
		x[i] = drawPart(t, p)
	}
	return codec(t, parts...), x
}

func drawPart(t *rapid.T, p sortkey.Part) sortkey.Value {
	if p.Width > 0 && rapid.IntRange(0, 3).Draw(t, "fits") > 0 {
		return sortkey.Number(rapid.StringMatching(`[0-9]{1,`+strconv.Itoa(p.Width)+`}`).Draw(t, "integer"))
	}
	return drawValue(p.Kind).Draw(t, "value")
}

func TestOrderOfTextsIsOrderOfTuples(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c, x := drawCodec(t)
		checkOrder(t, c, x, neighbours(t, x))
	})
}

func TestEncodingIsInjective(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c, x := drawCodec(t)
		checkInjective(t, c, x, neighbours(t, x))
	})
}

func TestPrefixOfAValueMatchesThatValueAlone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c, x := drawCodec(t)
		checkPrefix(t, c, x, neighbours(t, x))
	})
}

func TestDecodeInvertsEncode(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c, x := drawCodec(t)
		checkRoundTrip(t, c, x)
	})
}

// TestDecodeAcceptsOnlyWhatEncodeWrites changes a good text at one place.
func TestDecodeAcceptsOnlyWhatEncodeWrites(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c, x := drawCodec(t)
		text, err := c.Encode(x...)
		if err != nil {
			return
		}
		at := rapid.IntRange(0, len(text)).Draw(t, "at")
		cut := rapid.IntRange(at, min(at+2, len(text))).Draw(t, "cut")
		mutant := text[:at] + rapid.SampledFrom(append([]string{"", "$$", "$0", "A", "9"}, awkward...)).Draw(t, "in") + text[cut:]
		checkDecode(t, c, mutant)
	})
}

func TestNumbersSortAsMathBigSaysAndHaveOneText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a := drawNumber().Draw(t, "a")
		b := neighbour(t, sortkey.Number(a)).String()
		checkNumbers(t, a, b)
	})
}

func checkNumbers(t tb, a, b string) {
	t.Helper()
	want := rat(t, a).Cmp(rat(t, b))
	if got := sortkey.CompareNumbers(a, b); got != want {
		t.Fatalf("CompareNumbers(%q, %q) = %d, want %d", a, b, got, want)
	}
	ca, errA := sortkey.CanonicalNumber(a)
	cb, errB := sortkey.CanonicalNumber(b)
	if errA != nil || errB != nil {
		t.Fatalf("CanonicalNumber: %v, %v", errA, errB)
	}
	if (ca == cb) != (want == 0) {
		t.Fatalf("%q and %q have the canonical texts %q and %q", a, b, ca, cb)
	}
	if rat(t, ca).Cmp(rat(t, a)) != 0 || strings.ContainsAny(ca, "eE+") {
		t.Fatalf("CanonicalNumber(%q) = %q", a, ca)
	}
	if again, err := sortkey.CanonicalNumber(ca); err != nil || again != ca {
		t.Fatalf("CanonicalNumber(%q) = %q, %v: not a fixed point", ca, again, err)
	}
}

func TestRangeSelectsExactlyWhatTheConditionSays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c, x := drawCodec(t)
		row := neighbours(t, x)
		under := rapid.IntRange(0, len(x)-1).Draw(t, "under")
		form := rapid.Uint8Range(0, conditionForms-1).Draw(t, "form")
		for i := range under {
			if rapid.IntRange(0, 3).Draw(t, "pinned to the row") > 0 {
				x[i] = row[i]
			}
		}
		cond := conditionFrom(x[under].Kind(), form, x[under], neighbour(t, x[under]))
		checkRange(t, c, row, x[:under], cond)
		checkRange(t, c, x, x, sortkey.Condition{})
		checkRange(t, c, row, x, sortkey.Condition{})
	})
}

func TestNormaliseSaysWhatTheConditionSays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := shape(rapid.Uint32().Draw(t, "shape"))[0]
		v := drawPart(t, p)
		a := neighbour(t, v)
		form := rapid.Uint8Range(0, conditionForms-1).Draw(t, "form")
		checkNormalise(t, p, v, conditionFrom(p.Kind, form, a, neighbour(t, a)))
	})
}

// drawLong draws a text about as long as a key may be.
func drawLong(t *rapid.T) string {
	fill := rapid.SampledFrom(awkward).Draw(t, "fill")
	n := rapid.IntRange(sortkey.MaxSortKeyBytes-12, sortkey.MaxSortKeyBytes+6).Draw(t, "bytes")
	return strings.Repeat(fill, n/len(fill)) + strings.Join(rapid.SliceOfN(rapid.SampledFrom(awkward), 0, 6).Draw(t, "tail"), "")
}

// nearLong draws a key next to a long bound: cut at a rune, changed or grown at its end.
func nearLong(t *rapid.T, bound string) string {
	end := rapid.IntRange(max(0, len(bound)-14), len(bound)).Draw(t, "end")
	for end > 0 && end < len(bound) && !utf8.RuneStart(bound[end]) {
		end--
	}
	s := bound[:end] + strings.Join(rapid.SliceOfN(rapid.SampledFrom(awkward), 0, 6).Draw(t, "end runes"), "")
	for len(s) > sortkey.MaxSortKeyBytes && rapid.IntRange(0, 5).Draw(t, "shorten") > 0 {
		_, size := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-size]
	}
	return s
}

// TestBoundsPastTheKeyLimitStayExact is about bounds that no key could have: they
// move to the nearest valid operand and select the same rows.
func TestBoundsPastTheKeyLimitStayExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		bound := drawLong(t)
		near := nearLong(t, bound)
		form := rapid.Uint8Range(0, conditionForms-1).Draw(t, "form")
		cond := conditionFrom(sortkey.KindText, form, sortkey.Text(bound), sortkey.Text(nearLong(t, bound)))
		checkNormalise(t, part("text", sortkey.KindText), sortkey.Text(near), cond)
		checkRange(t, codec(t, part("only", sortkey.KindText)), texts(near), nil, cond)
		checkRange(t, codec(t, part("text", sortkey.KindText), part("id", sortkey.KindText)), texts(near, ""), nil, cond)
		pinned := texts("p", near)
		checkRange(t, codec(t, part("first", sortkey.KindText), part("last", sortkey.KindText)), pinned, pinned[:1], cond)

		long := texts(bound, "")
		two := codec(t, part("first", sortkey.KindText), part("last", sortkey.KindText))
		checkRange(t, two, texts(near, ""), long[:1], conditionFrom(sortkey.KindText, form, sortkey.Text(""), sortkey.Text("z")))

		raw, nearRaw := sortkey.Binary([]byte(bound)), sortkey.Binary([]byte(near))
		checkNormalise(t, part("raw", sortkey.KindBinary), nearRaw, conditionFrom(sortkey.KindBinary, form, raw, nearRaw))
	})
}
