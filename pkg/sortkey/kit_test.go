package sortkey_test

import (
	"bytes"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/heatsink-dev/heatsink/pkg/sortkey"
)

// tb is what the checks need of *testing.T and *rapid.T, so that one check
// serves a table, a property and a fuzz target.
type tb interface {
	Helper()
	Fatalf(format string, args ...any)
}

func part(name string, kind sortkey.Kind, width ...int) sortkey.Part {
	p := sortkey.Part{Name: name, Kind: kind}
	if len(width) > 0 {
		p.Width = width[0]
	}
	return p
}

func codec(t tb, parts ...sortkey.Part) *sortkey.Codec {
	t.Helper()
	c, err := sortkey.New(parts...)
	if err != nil {
		t.Fatalf("New(%+v): %v", parts, err)
	}
	return c
}

func texts(values ...string) []sortkey.Value {
	out := make([]sortkey.Value, len(values))
	for i, v := range values {
		out[i] = sortkey.Text(v)
	}
	return out
}

func encode(t tb, c *sortkey.Codec, values ...sortkey.Value) string {
	t.Helper()
	text, err := c.Encode(values...)
	if err != nil {
		t.Fatalf("Encode(%q): %v", values, err)
	}
	return text
}

// shape makes a codec's parts out of one number: 1 to 3 parts, every kind, and
// widths 1 to 13 (and 38).
func shape(n uint32) []sortkey.Part {
	parts := make([]sortkey.Part, 1+n%3)
	n /= 3
	for i := range parts {
		parts[i].Name = "part" + strconv.Itoa(i)
		switch n % 4 {
		case 0:
			parts[i].Kind = sortkey.KindText
		case 1:
			parts[i].Kind = sortkey.KindNumber
		case 2:
			parts[i].Kind = sortkey.KindBinary
		case 3:
			parts[i].Kind = sortkey.KindNumber
			parts[i].Width = 1 + int(n/4%14)
			if parts[i].Width == 14 {
				parts[i].Width = sortkey.MaxWidth
			}
			n /= 14
		}
		n /= 4
	}
	return parts
}

// valueFrom makes a value of a kind out of any bytes; number texts stay as they are.
func valueFrom(kind sortkey.Kind, s string) sortkey.Value {
	switch kind {
	case sortkey.KindText:
		return sortkey.Text(strings.ToValidUTF8(s, "?"))
	case sortkey.KindBinary:
		return sortkey.Binary([]byte(s))
	default:
		return sortkey.Number(numberFrom(s))
	}
}

func numberFrom(s string) string {
	if _, err := sortkey.CanonicalNumber(s); err == nil {
		return s
	}
	var b strings.Builder
	if len(s) > 1 && s[1]%2 == 1 {
		b.WriteByte('-')
	}
	for i := 2; i < min(len(s), 2+sortkey.MaxNumberDigits); i++ {
		b.WriteByte('0' + s[i]%10)
	}
	b.WriteByte('0' + byte(len(s)%10))
	text := b.String() + "E" + strconv.Itoa(int(int8(append([]byte(s), 0)[0]))/2)
	if _, err := sortkey.CanonicalNumber(text); err == nil {
		return text
	}
	return strconv.Itoa(len(s))
}

func tupleFrom(parts []sortkey.Part, s ...string) []sortkey.Value {
	values := make([]sortkey.Value, len(parts))
	for i := range parts {
		values[i] = valueFrom(parts[i].Kind, s[i])
	}
	return values
}

// The model: what DynamoDB's own comparison of the plain values says. It shares
// no code with the package.

func rat(t tb, n string) *big.Rat {
	t.Helper()
	// math/big computes the power of ten even of a zero, and gives up on large ones.
	if mantissa, _, _ := strings.Cut(strings.ToLower(n), "e"); strings.Trim(mantissa, "+-.0") == "" {
		return new(big.Rat)
	}
	r, ok := new(big.Rat).SetString(n)
	if !ok {
		t.Fatalf("math/big does not read the number %q", n)
	}
	return r
}

func compare(t tb, a, b sortkey.Value) int {
	t.Helper()
	switch a.Kind() {
	case sortkey.KindNumber:
		return rat(t, a.String()).Cmp(rat(t, b.String()))
	case sortkey.KindBinary:
		return bytes.Compare(a.Bytes(), b.Bytes())
	default:
		return strings.Compare(a.String(), b.String())
	}
}

func compareTuples(t tb, a, b []sortkey.Value) int {
	t.Helper()
	for i := range a {
		if c := compare(t, a[i], b[i]); c != 0 {
			return c
		}
	}
	return 0
}

func satisfies(t tb, v sortkey.Value, c sortkey.Condition) bool {
	t.Helper()
	if c.Equal != nil && compare(t, v, *c.Equal) != 0 {
		return false
	}
	if c.Prefix != nil && !strings.HasPrefix(v.String(), *c.Prefix) {
		return false
	}
	if c.Lower != nil {
		if o := compare(t, v, c.Lower.Value); o < 0 || o == 0 && !c.Lower.Inclusive {
			return false
		}
	}
	if c.Upper != nil {
		if o := compare(t, v, c.Upper.Value); o > 0 || o == 0 && !c.Upper.Inclusive {
			return false
		}
	}
	return true
}

// conditionFrom makes one of every form of condition out of two operands.
const conditionForms = 11

func conditionFrom(kind sortkey.Kind, form uint8, a, b sortkey.Value) sortkey.Condition {
	lower := func(inclusive bool) *sortkey.Bound { return &sortkey.Bound{Value: a, Inclusive: inclusive} }
	upper := func(inclusive bool) *sortkey.Bound { return &sortkey.Bound{Value: b, Inclusive: inclusive} }
	switch form % conditionForms {
	case 0:
		return sortkey.Condition{}
	case 1:
		return sortkey.Condition{Equal: &a}
	case 2:
		return sortkey.Condition{Lower: lower(true)}
	case 3:
		return sortkey.Condition{Lower: lower(false)}
	case 4:
		return sortkey.Condition{Upper: upper(true)}
	case 5:
		return sortkey.Condition{Upper: upper(false)}
	case 6:
		return sortkey.Condition{Lower: lower(true), Upper: upper(true)}
	case 7:
		return sortkey.Condition{Lower: lower(true), Upper: upper(false)}
	case 8:
		return sortkey.Condition{Lower: lower(false), Upper: upper(true)}
	case 9:
		return sortkey.Condition{Lower: lower(false), Upper: upper(false)}
	default:
		if kind != sortkey.KindText {
			return sortkey.Condition{Equal: &b}
		}
		prefix := a.String()
		return sortkey.Condition{Prefix: &prefix}
	}
}

// The properties.

// checkOrder: the order of texts is the order of tuples; equal texts, equal tuples.
func checkOrder(t tb, c *sortkey.Codec, x, y []sortkey.Value) {
	t.Helper()
	ex, errX := c.Encode(x...)
	ey, errY := c.Encode(y...)
	if errX != nil || errY != nil {
		return // not representable: see checkRefusal
	}
	want := compareTuples(t, x, y)
	if got := strings.Compare(ex, ey); got != want {
		t.Fatalf("tuples %q and %q compare as %d, their texts %q and %q as %d", x, y, want, ex, ey, got)
	}
	for i := range x {
		if got, want := sortkey.Compare(x[i], y[i]), compare(t, x[i], y[i]); got != want {
			t.Fatalf("Compare(%q, %q) = %d, want %d", x[i], y[i], got, want)
		}
	}
}

// checkInjective: one text means one tuple.
func checkInjective(t tb, c *sortkey.Codec, x, y []sortkey.Value) {
	t.Helper()
	ex, errX := c.Encode(x...)
	ey, errY := c.Encode(y...)
	if errX != nil || errY != nil {
		return
	}
	if (ex == ey) != (compareTuples(t, x, y) == 0) {
		t.Fatalf("tuples %q and %q have the texts %q and %q", x, y, ex, ey)
	}
}

// checkPrefix: the text of leading values with its `#` begins the rows of these values alone.
func checkPrefix(t tb, c *sortkey.Codec, x, y []sortkey.Value) {
	t.Helper()
	ey, err := c.Encode(y...)
	if err != nil {
		return
	}
	for k := 1; k < len(x); k++ {
		r, err := c.Range(x[:k], sortkey.Condition{})
		if err != nil {
			t.Fatalf("Range(%q): %v", x[:k], err)
		}
		if !r.Empty && !strings.HasSuffix(r.Prefix, "#") {
			t.Fatalf("Range(%q) = %+v, want a prefix that ends in #", x[:k], r)
		}
		if got, want := r.Contains(ey), compareTuples(t, x[:k], y[:k]) == 0; got != want {
			t.Fatalf("prefix %q of %q matches %q: %t, want %t", r.Prefix, x[:k], y, got, want)
		}
	}
}

// checkRoundTrip: decode(encode(x)) = x, and Append is Encode.
func checkRoundTrip(t tb, c *sortkey.Codec, x []sortkey.Value) {
	t.Helper()
	text, err := c.Encode(x...)
	appended, errA := c.Append([]byte("before"), x...)
	if (err == nil) != (errA == nil) || string(appended) != "before"+text {
		t.Fatalf("Append(%q) = %q, %v; Encode = %q, %v", x, appended, errA, text, err)
	}
	if err != nil {
		return
	}
	if text == "" || len(text) > sortkey.MaxSortKeyBytes || !utf8.ValidString(text) {
		t.Fatalf("Encode(%q) = %q is no valid key", x, text)
	}
	if n := strings.Count(text, "#"); n != len(x)-1 {
		t.Fatalf("Encode(%q) = %q has %d separators", x, text, n)
	}
	for i := range len(text) {
		if text[i] < '#' {
			t.Fatalf("Encode(%q) = %q holds the byte %#x", x, text, text[i])
		}
	}
	back, err := c.Decode(text)
	if err != nil {
		t.Fatalf("Decode(%q): %v", text, err)
	}
	for i, v := range x {
		if v.Kind() == sortkey.KindNumber {
			n, err := sortkey.CanonicalNumber(v.String())
			if err != nil {
				t.Fatalf("CanonicalNumber(%q): %v", v, err)
			}
			v = sortkey.Number(n)
		}
		if back[i] != v {
			t.Fatalf("Decode(Encode(%q)) = %q", x, back)
		}
	}
}

// checkDecode: what Decode accepts is what Encode writes.
func checkDecode(t tb, c *sortkey.Codec, text string) {
	t.Helper()
	values, err := c.Decode(text)
	if err != nil {
		return
	}
	if again := encode(t, c, values...); again != text {
		t.Fatalf("Decode(%q) = %q, which encodes as %q", text, values, again)
	}
}

// checkRange: the range selects the row exactly if its values satisfy the
// condition, and its operands are ones that DynamoDB accepts.
func checkRange(t tb, c *sortkey.Codec, row, under []sortkey.Value, cond sortkey.Condition) {
	t.Helper()
	r, err := c.Range(under, cond)
	if err != nil {
		t.Fatalf("Range(%q, %+v): %v", under, cond, err)
	}
	checkOperands(t, r)
	text, err := c.Encode(row...)
	if err != nil {
		return
	}
	want := compareTuples(t, row[:len(under)], under) == 0 &&
		(len(under) == len(row) || satisfies(t, row[len(under)], cond))
	if got := r.Contains(text); got != want {
		t.Fatalf("parts %+v: %s with %s under %+q selects the row %+q (%+q): %t, want %t",
			c.Parts(), showRange(r), show(cond), under, row, text, got, want)
	}
}

func checkOperands(t tb, r sortkey.Range) {
	t.Helper()
	forms := 0
	for _, set := range []bool{r.Empty, r.All, r.Prefix != "", r.Low != "" || r.High != ""} {
		if set {
			forms++
		}
	}
	if forms != 1 {
		t.Fatalf("%s has %d forms, want one", showRange(r), forms)
	}
	operands := []string{r.Prefix}
	if !r.Empty && !r.All && r.Prefix == "" {
		operands = []string{r.Low, r.High}
		if r.Low == "" || r.High == "" || r.Low > r.High {
			t.Fatalf("%s is a BETWEEN that DynamoDB refuses", showRange(r))
		}
	}
	for _, o := range operands {
		if len(o) > sortkey.MaxSortKeyBytes || !utf8.ValidString(o) {
			t.Fatalf("%s has an operand that DynamoDB refuses", showRange(r))
		}
	}
}

// checkNormalise: for a value that the attribute can hold, the normalised
// condition says what the condition says.
func checkNormalise(t tb, p sortkey.Part, v sortkey.Value, cond sortkey.Condition) {
	t.Helper()
	got, empty, err := p.Normalise(cond)
	if err != nil {
		t.Fatalf("%+v.Normalise(%s): %v", p, show(cond), err)
	}
	for _, b := range []*sortkey.Bound{got.Lower, got.Upper} {
		if b != nil {
			checkAttribute(t, p, b.Value)
			if p.Width > 0 && !b.Inclusive {
				t.Fatalf("%+v.Normalise(%s) = %s: an integer bound is not inclusive", p, show(cond), show(got))
			}
		}
	}
	if got.Equal != nil {
		checkAttribute(t, p, *got.Equal)
	}
	if got.Prefix != nil {
		checkAttribute(t, p, sortkey.Text(*got.Prefix))
	}
	if empty && got != (sortkey.Condition{}) {
		t.Fatalf("%+v.Normalise(%s) is empty and yet %s", p, show(cond), show(got))
	}
	if again, emptyAgain, err := p.Normalise(got); err != nil || emptyAgain || show(again) != show(got) {
		t.Fatalf("Normalise of %s = %s, %t, %v: not a fixed point", show(got), show(again), emptyAgain, err)
	}
	if !holds(t, p, v) {
		return
	}
	want := satisfies(t, v, cond)
	if selected := !empty && satisfies(t, v, got); selected != want {
		t.Fatalf("%+v.Normalise(%s) = %s, %t; selects %+q: %t, want %t", p, show(cond), show(got), empty, v, selected, want)
	}
}

// holds tells whether a key attribute of this part can have the value.
func holds(t tb, p sortkey.Part, v sortkey.Value) bool {
	t.Helper()
	if p.Kind != sortkey.KindNumber {
		return v.String() != "" && len(v.String()) <= sortkey.MaxSortKeyBytes
	}
	r := rat(t, v.String())
	return p.Width == 0 || r.Sign() >= 0 && r.IsInt() && len(r.Num().String()) <= p.Width
}

func checkAttribute(t tb, p sortkey.Part, v sortkey.Value) {
	t.Helper()
	if v.Kind() != p.Kind || !holds(t, p, v) || p.Kind == sortkey.KindText && !utf8.ValidString(v.String()) {
		t.Fatalf("%+v: operand %+q is not one that the attribute can have", p, v)
	}
	if p.Kind == sortkey.KindNumber {
		if n, err := sortkey.CanonicalNumber(v.String()); err != nil || n != v.String() {
			t.Fatalf("%+v: operand %q is not canonical", p, v)
		}
	}
}

func show(c sortkey.Condition) string {
	var b strings.Builder
	bound := func(op string, x *sortkey.Bound) {
		if x != nil {
			if x.Inclusive {
				op += "="
			}
			b.WriteString(op + strconv.QuoteToASCII(x.Value.String()) + " ")
		}
	}
	if c.Equal != nil {
		b.WriteString("=" + strconv.QuoteToASCII(c.Equal.String()))
	}
	if c.Prefix != nil {
		b.WriteString("prefix " + strconv.QuoteToASCII(*c.Prefix))
	}
	bound(">", c.Lower)
	bound("<", c.Upper)
	return "[" + b.String() + "]"
}

func showRange(r sortkey.Range) string {
	return fmt.Sprintf("%+q", []any{r.Empty, r.All, r.Prefix, r.Low, r.High})
}
