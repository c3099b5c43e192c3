package sortkey_test

import (
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/pkg/sortkey"
)

// Each test here is a defect that somebody shipped. The first ones are those of a
// published key rule (double the `#`, join with `#`), the others bug reports
// of peer libraries.

var (
	twoTexts   = []sortkey.Part{{Name: "first", Kind: sortkey.KindText}, {Name: "second", Kind: sortkey.KindText}}
	numberID   = []sortkey.Part{{Name: "number", Kind: sortkey.KindNumber}, {Name: "id", Kind: sortkey.KindText}}
	managedKey = []sortkey.Part{{Name: "managedKey", Kind: sortkey.KindNumber, Width: 13}, {Name: "userId", Kind: sortkey.KindText}}
)

func TestStorySeparatorInsideAPartDoesNotMergeKeys(t *testing.T) {
	t.Parallel()
	c := codec(t, twoTexts...)
	// floci-io/floci#3804 is the same defect with capital letters.
	for _, pair := range [][2][]string{{{"a#", "b"}, {"a", "#b"}}, {{"A#", "B"}, {"A", "#B"}}, {{"a", ""}, {"a#", ""}}} {
		x, y := encode(t, c, texts(pair[0]...)...), encode(t, c, texts(pair[1]...)...)
		if x == y {
			t.Errorf("%q and %q both encode as %q", pair[0], pair[1], x)
		}
	}
}

func TestStoryEqualMatchesThatValueAlone(t *testing.T) {
	t.Parallel()
	c := codec(t, twoTexts...)
	a := sortkey.Text("a")
	r, err := c.Range(nil, sortkey.Condition{Equal: &a})
	if err != nil || r.Prefix != "a#" {
		t.Fatalf("Range(= a) = %+v, %v, want begins_with a#", r, err)
	}
	for _, other := range []string{"a#x", "a#", "a!", "a$", "aa", "", "A"} {
		if row := encode(t, c, sortkey.Text(other), sortkey.Text("x")); r.Contains(row) {
			t.Errorf("= a matches the row %q of the value %q", row, other)
		}
	}
	if row := encode(t, c, a, sortkey.Text("x")); !r.Contains(row) {
		t.Errorf("= a does not match its row %q", row)
	}
}

func TestStoryLowBytesSortAfterTheirPrefix(t *testing.T) {
	t.Parallel()
	c := codec(t, twoTexts...)
	ordered := []string{"", "a", "a\x00", "a\x1f", "a ", "a!", "a\"", "a#", "a#x", "a$", "a%", "a0", "aT", "aa", "b"}
	var rows []string
	for _, v := range ordered {
		rows = append(rows, encode(t, c, sortkey.Text(v), sortkey.Text("zzz")))
	}
	if !slices.IsSorted(rows) {
		t.Errorf("rows of ordered values are not in order: %q", rows)
	}
}

func TestStoryNineSortsBeforeTen(t *testing.T) {
	t.Parallel()
	for _, parts := range [][]sortkey.Part{numberID, managedKey} {
		c := codec(t, parts...)
		nine := encode(t, c, sortkey.Number("9"), sortkey.Text("u"))
		ten := encode(t, c, sortkey.Number("10"), sortkey.Text("u"))
		if nine >= ten {
			t.Errorf("%q does not sort before %q", nine, ten)
		}
	}
}

// aws-amplify/amplify-cli#8204: EQ on the leading part of a composite key found nothing.
func TestAmplify8204EqualOnLeadingPart(t *testing.T) {
	t.Parallel()
	c := codec(t, part("category", sortkey.KindNumber, 3), part("id", sortkey.KindText))
	v := sortkey.Number("100")
	r, err := c.Range(nil, sortkey.Condition{Equal: &v})
	if err != nil || r != (sortkey.Range{Prefix: "100#"}) {
		t.Fatalf("Range(= 100) = %+v, %v, want begins_with 100#", r, err)
	}
}

// aws-amplify/amplify-data#719: absent trailing parts added separators, so the prefix matched nothing.
func TestAmplify719AbsentTrailingPartsAddNoSeparators(t *testing.T) {
	t.Parallel()
	c := codec(t, part("a", sortkey.KindText), part("b", sortkey.KindText), part("c", sortkey.KindText), part("id", sortkey.KindText))
	r, err := c.Range(texts("A1"), sortkey.Condition{})
	if err != nil || r != (sortkey.Range{Prefix: "A1#"}) {
		t.Fatalf("Range under A1 = %+v, %v, want begins_with A1#", r, err)
	}
	if row := encode(t, c, texts("A1", "", "", "x")...); row != "A1###x" || !r.Contains(row) {
		t.Errorf("the row %q of empty parts is not found by %q", row, r.Prefix)
	}
}

// tywalch/electrodb#533: a prefix that ends inside a part crossed entity versions.
func TestElectroDB533PrefixEndsAtATerminator(t *testing.T) {
	t.Parallel()
	c := codec(t, part("version", sortkey.KindText), part("id", sortkey.KindText))
	r, err := c.Range(texts("1"), sortkey.Condition{})
	if err != nil || r.Prefix != "1#" {
		t.Fatalf("Range under 1 = %+v, %v", r, err)
	}
	if row := encode(t, c, texts("10", "x")...); r.Contains(row) {
		t.Errorf("version 1 matches the row %q of version 10", row)
	}
}

// tywalch/electrodb#523: lower-casing by default corrupted a case-sensitive id.
func TestElectroDB523KeysKeepTheirCase(t *testing.T) {
	t.Parallel()
	c := codec(t, twoTexts...)
	upper, lower := encode(t, c, texts("AbC", "É")...), encode(t, c, texts("abc", "é")...)
	if upper != "AbC#É" || upper == lower {
		t.Errorf("(AbC, É) encodes as %q, (abc, é) as %q", upper, lower)
	}
}

// aws-amplify/amplify-cli#3807: a number inside a string key sorted 900 above 2800.
func TestAmplify3807NumbersSortByValue(t *testing.T) {
	t.Parallel()
	ordered := []string{
		"-9.9999999999999999999999999999999999999E125", "-2800", "-900", "-20", "-5.5", "-5.05", "-5", "-0.5", "-1E-130", "0",
		"1E-130", "0.00001", "0.5", "3", "9", "10", "99.9", "900", "2800", "1E20", "9.9999999999999999999999999999999999999E125",
	}
	c := codec(t, numberID...)
	var rows []string
	for _, n := range ordered {
		rows = append(rows, encode(t, c, sortkey.Number(n), sortkey.Text("z")))
	}
	if !slices.IsSorted(rows) || len(slices.Compact(slices.Clone(rows))) != len(rows) {
		t.Errorf("rows of ordered numbers are not in order: %q", rows)
	}
}

// boto/boto#873: a numeric sort key became a float, so that its item could not be deleted.
func TestBoto873NumbersNeverBecomeFloats(t *testing.T) {
	t.Parallel()
	for _, n := range []string{"9007199254740993", "12345678901234567890123456789012345678", "0.1", "-0.30000000000000000000000000000000000001"} {
		c := codec(t, numberID...)
		row := encode(t, c, sortkey.Number(n), sortkey.Text("x"))
		values, err := c.Decode(row)
		if err != nil || values[0].String() != n {
			t.Errorf("Decode(%q) = %q, %v, want %s", row, values, err, n)
		}
	}
	if sortkey.CompareNumbers("9007199254740993", "9007199254740992") != 1 {
		t.Error("two integers that are one float compare as equal")
	}
}

// awslabs/aws-athena-query-federation#1089: two conditions on one sort key were refused.
func TestAthena1089TwoBoundsAreOneBetween(t *testing.T) {
	t.Parallel()
	c := codec(t, twoTexts...)
	r, err := c.Range(nil, sortkey.Condition{
		Lower: &sortkey.Bound{Value: sortkey.Text("a"), Inclusive: true},
		Upper: &sortkey.Bound{Value: sortkey.Text("b")},
	})
	if diff := cmp.Diff(sortkey.Range{Low: "a", High: "b"}, r); err != nil || diff != "" {
		t.Fatalf("Range(>= a, < b): %v\n%s", err, diff)
	}
	// No row of b is exactly "b", so BETWEEN needs no row dropped afterwards.
	for value, want := range map[string]bool{"": false, "a": true, "a#": true, "az": true, "b": false, "b ": false} {
		if row := encode(t, c, sortkey.Text(value), sortkey.Text("x")); r.Contains(row) != want {
			t.Errorf(">= a, < b selects %q: %t, want %t", row, !want, want)
		}
	}
}

// architect/dynalite#55: BETWEEN 2 AND 1 fails on AWS and passed in an emulator.
//
// The choice here: conditions are intervals, and an interval with its lower bound
// above its upper is empty, so the answer is empty and needs no call. It is not
// an error, because a client may well compute both bounds. What is an error
// is a condition that says two things at once (two forms).
func TestDynalite55LowerAboveUpperIsAnEmptyAnswer(t *testing.T) {
	t.Parallel()
	bound := func(n string, inclusive bool) *sortkey.Bound {
		return &sortkey.Bound{Value: sortkey.Number(n), Inclusive: inclusive}
	}
	tests := map[string]struct {
		cond  sortkey.Condition
		empty bool
	}{
		"2 to 1":               {sortkey.Condition{Lower: bound("2", true), Upper: bound("1", true)}, true},
		"1 to 1":               {sortkey.Condition{Lower: bound("1", true), Upper: bound("1.0", true)}, false},
		"1 to 1, lower open":   {sortkey.Condition{Lower: bound("1", false), Upper: bound("1", true)}, true},
		"1 to 1, upper open":   {sortkey.Condition{Lower: bound("1", true), Upper: bound("1", false)}, true},
		"1 to 2, both open":    {sortkey.Condition{Lower: bound("1", false), Upper: bound("2", false)}, false},
		"10 to 9, not as text": {sortkey.Condition{Lower: bound("9", true), Upper: bound("10", true)}, false},
	}
	for name, test := range tests {
		r, err := codec(t, numberID...).Range(nil, test.cond)
		if err != nil || r.Empty != test.empty {
			t.Errorf("%s: Range = %+v, %v, want empty %t", name, r, err, test.empty)
		}
		_, empty, err := numberID[0].Normalise(test.cond)
		if err != nil || empty != test.empty {
			t.Errorf("%s: Normalise = %t, %v, want empty %t", name, empty, err, test.empty)
		}
	}
	// Between two neighbouring integers there is none.
	if r, err := codec(t, managedKey...).Range(nil, tests["1 to 2, both open"].cond); err != nil || !r.Empty {
		t.Errorf("integers between 1 and 2, both open: %+v, %v, want empty", r, err)
	}
}

// tywalch/electrodb#408: lte on a part of a composite key meant something else than lt.
func TestElectroDB408LowerAndUpperBoundsMeanOneThing(t *testing.T) {
	t.Parallel()
	c := codec(t, part("year", sortkey.KindText), part("month", sortkey.KindText), part("id", sortkey.KindText))
	december := encode(t, c, texts("2024", "12", "x")...)
	january := encode(t, c, texts("2025", "01", "x")...)
	last := encode(t, c, texts("2023", "12", "x")...)
	bound := func(inclusive bool) *sortkey.Bound {
		return &sortkey.Bound{Value: sortkey.Text("2024"), Inclusive: inclusive}
	}
	tests := map[string]struct {
		cond sortkey.Condition
		want []string
	}{
		"<= 2024": {sortkey.Condition{Upper: bound(true)}, []string{last, december}},
		"< 2024":  {sortkey.Condition{Upper: bound(false)}, []string{last}},
		">= 2024": {sortkey.Condition{Lower: bound(true)}, []string{december, january}},
		"> 2024":  {sortkey.Condition{Lower: bound(false)}, []string{january}},
	}
	for name, test := range tests {
		r, err := c.Range(nil, test.cond)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, row := range []string{last, december, january} {
			if r.Contains(row) {
				got = append(got, row)
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (%+v):\n%s", name, r, diff)
		}
	}
}

// One text per value: two spellings of a number are one row, never two.
func TestSpellingsOfANumberAreOneText(t *testing.T) {
	t.Parallel()
	for canonical, spellings := range map[string][]string{
		"1000": {"1000", "1E3", "1e+3", "1000.0", "+1000", "0001000", ".1E4", "10.00E2", "1000."},
		"0":    {"0", "-0", "0.0", "0E5", "-0.000E-3", "+0", "000"},
	} {
		for _, parts := range [][]sortkey.Part{numberID, managedKey} {
			want := encode(t, codec(t, parts...), sortkey.Number(canonical), sortkey.Text("x"))
			for _, s := range spellings {
				if got := encode(t, codec(t, parts...), sortkey.Number(s), sortkey.Text("x")); got != want {
					t.Errorf("%s encodes as %q, %s as %q", s, got, canonical, want)
				}
			}
		}
	}
}

// Every width, and every border of it, against integers in math/big.
func TestEveryWidthAtItsBorders(t *testing.T) {
	t.Parallel()
	for width := 1; width <= 13; width++ {
		p := part("n", sortkey.KindNumber, width)
		c := codec(t, p, part("id", sortkey.KindText))
		top := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(width)), nil) // first one that does not fit
		highest := new(big.Int).Sub(top, big.NewInt(1)).String()
		second := new(big.Int).Sub(top, big.NewInt(2)).String()
		rows := []string{"0", "1", "2", "8", second, highest}
		operands := []string{"-1E20", "-1", "-0.5", "-0", "0", "0.5", "1", "1.5", "2", second, second + ".5", highest, highest + ".5", top.String(), top.String() + ".5", "1E125"}
		for _, row := range rows {
			for _, a := range operands {
				for _, b := range operands {
					for form := range uint8(conditionForms) {
						if two := form >= 6 && form <= 9; !two && a != b {
							continue // forms of one operand need no pairs
						}
						cond := conditionFrom(p.Kind, form, sortkey.Number(a), sortkey.Number(b))
						checkRange(t, c, []sortkey.Value{sortkey.Number(row), sortkey.Text("x")}, nil, cond)
						checkNormalise(t, p, sortkey.Number(row), cond)
					}
				}
			}
		}
		if got := encode(t, c, sortkey.Number(highest), sortkey.Text("x")); got != strings.Repeat("9", width)+"#x" {
			t.Errorf("width %d: %s encodes as %q", width, highest, got)
		}
	}
}

// Found by staticcheck (SA1011): the trailing 0xff bytes of a bound past the key limit were trimmed by strings.TrimRight, which
// takes "\xff" for any byte that is no UTF-8, so the bound fell below keys that lie below the value asked for.
func TestLongBinaryBoundKeepsItsBytes(t *testing.T) {
	t.Parallel()
	p := sortkey.Part{Name: "b", Kind: sortkey.KindBinary}
	for name, end := range map[string][2]string{
		"a byte that is no UTF-8": {"a\x80", "a\x81"},
		"the highest byte":        {"a\xff", "b"},
		"both":                    {"\x80\xff", "\x81"},
	} {
		fill := strings.Repeat("k", sortkey.MaxSortKeyBytes-len(end[0]))
		lower := sortkey.Binary([]byte(fill + end[0] + "x"))
		got, empty, err := p.Normalise(sortkey.Condition{Lower: &sortkey.Bound{Value: lower, Inclusive: true}})
		if err != nil || empty {
			t.Fatalf("%s: Normalise = %v, %v", name, empty, err)
		}
		if want := fill + end[1]; got.Lower == nil || got.Lower.Value.String() != want {
			t.Errorf("%s: the lower bound ends in %q, want %q", name, got.Lower.Value.String()[len(fill)-1:], end[1])
		}
	}
}
