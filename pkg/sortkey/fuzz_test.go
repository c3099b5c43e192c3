package sortkey_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/heatsink-dev/heatsink/pkg/sortkey"
)

// Each fuzz target takes plain arguments, so that a failing input is readable and
// the seeds can say what they are about. shape picks the parts (see [shape]): 1
// is (text, text), 4 (number, text), 10 (width 1, text), 2 (text, text, text).

var pairSeeds = []struct {
	shape      uint32
	a, b, c, d string
}{
	{1, "a#", "b", "a", "#b"},
	{1, "a", "x", "a#x", ""},
	{1, "a!", "", "a", ""},
	{1, "$", "T", "$T", ""},
	{1, "", "", "\x00", "😀"},
	{1, "\U0010ffff", "", "\uffff", ""},
	{4, "9", "x", "10", "x"},
	{4, "-20", "", "-5", ""},
	{4, "-4.2", "", "-4.21", ""},
	{4, "900", "", "2800", ""},
	{4, "1.0", "", "1", ""},
	{4, "9007199254740993", "", "9007199254740992", ""},
	{4, "1E-130", "", "-1E-130", ""},
	{4, "9.9999999999999999999999999999999999999E125", "", "9.9999999999999999999999999999999999998E125", ""},
	{10, "9", "x", "0", "x"},
	{10 + 12*12, "1699900000000", "user-aaa", "1E3", "user-aaa"},
	{7, "\x00\xff", "b", "\x00", "b"},
}

func fuzzPairs(f *testing.F, check func(tb, *sortkey.Codec, []sortkey.Value, []sortkey.Value)) {
	f.Helper()
	for _, s := range pairSeeds {
		f.Add(s.shape, s.a, s.b, s.c, s.d)
	}
	f.Fuzz(func(t *testing.T, n uint32, a, b, c, d string) {
		parts := shape(n)
		check(t, codec(t, parts...), tupleFrom(parts, a, b, c), tupleFrom(parts, c, d, a))
	})
}

func FuzzOrder(f *testing.F) { fuzzPairs(f, checkOrder) }

func FuzzInjective(f *testing.F) { fuzzPairs(f, checkInjective) }

func FuzzPrefix(f *testing.F) { fuzzPairs(f, checkPrefix) }

func FuzzRoundTrip(f *testing.F) {
	fuzzPairs(f, func(t tb, c *sortkey.Codec, x, y []sortkey.Value) {
		checkRoundTrip(t, c, x)
		checkRoundTrip(t, c, y)
	})
}

// FuzzDecode feeds outside bytes to the decoder.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		"", "#", "##", "a#b", "1699900000000#user-aaa", "p501.42#x", "-498.57~#x", "0#", "p501.420#", "p501.#",
		"p999.1#", "-498.57#", "$", "$$", "$0", "$U", "$/", "$T#$S", "a\x00#", "\xff#", "ff#", "FF#", "f#", strings.Repeat("a", 1025),
	} {
		for _, n := range []uint32{0, 1, 4, 7, 10} {
			f.Add(n, s)
		}
	}
	f.Fuzz(func(t *testing.T, n uint32, text string) {
		checkDecode(t, codec(t, shape(n)...), text)
	})
}

// FuzzNumber feeds outside bytes to the number parser, and pairs of numbers to its order.
func FuzzNumber(f *testing.F) {
	for _, s := range pairSeeds {
		f.Add(s.a, s.c)
	}
	for _, s := range []string{"", "-", ".", "1.", ".5", "1e", "1e+", "--1", "1.2.3", "0x1", "1_0", "Inf", "NaN", "1E999999999999999999999", "٣"} {
		f.Add(s, "1")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if _, err := sortkey.CanonicalNumber(a); err != nil {
			if e, ok := errors.AsType[*sortkey.Error](err); !ok || e.Reason == 0 {
				t.Fatalf("CanonicalNumber(%q): %v is not typed", a, err)
			}
		}
		checkNumbers(t, numberFrom(a), numberFrom(b))
	})
}

func addConditions(f *testing.F) {
	f.Helper()
	for _, s := range pairSeeds {
		for form := range uint8(conditionForms) {
			f.Add(s.shape, form, s.a, s.b, s.c, s.d)
		}
	}
}

// FuzzRange: a and b are the row's values, c and d the condition's operands.
func FuzzRange(f *testing.F) {
	addConditions(f)
	f.Fuzz(func(t *testing.T, n uint32, form uint8, a, b, c, d string) {
		parts := shape(n)
		row := tupleFrom(parts, a, b, c)
		under := int(form/conditionForms) % len(parts)
		kind := parts[under].Kind
		cond := conditionFrom(kind, form, valueFrom(kind, c), valueFrom(kind, d))
		checkRange(t, codec(t, parts...), row, row[:under], cond)
		checkRange(t, codec(t, parts...), row, tupleFrom(parts, c, d, a)[:under], cond)
	})
}

// FuzzNormalise: a is the attribute's value, c and d the condition's operands.
func FuzzNormalise(f *testing.F) {
	addConditions(f)
	f.Fuzz(func(t *testing.T, n uint32, form uint8, a, _, c, d string) {
		p := shape(n)[0]
		checkNormalise(t, p, valueFrom(p.Kind, a), conditionFrom(p.Kind, form, valueFrom(p.Kind, c), valueFrom(p.Kind, d)))
	})
}
