package sortkey

import (
	"bytes"
	"cmp"
	"strings"
)

// DynamoDB's limits of a number.
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html
// ("Number": up to 38 digits of precision, magnitude 1E-130 to
// 9.9999999999999999999999999999999999999E+125, leading and trailing zeros are trimmed).
const (
	// MaxNumberDigits is how many significant digits a number keeps.
	MaxNumberDigits = 38
	// MaxNumberExponent is the power of ten of the first digit of the largest number.
	MaxNumberExponent = 125
	// MinNumberExponent is the power of ten of the first digit of the smallest positive number.
	MinNumberExponent = -130
)

// decimal is a parsed number: 0.d1d2d3... has exp -1, d1.d2d3... has exp 0. It
// holds no leading or trailing zero digits, so one value has one decimal.
type decimal struct {
	neg    bool
	n      int // significant digits; 0 is the number zero, which is never negative
	exp    int // power of ten of the first digit
	digits [MaxNumberDigits]byte
}

// parse reads DynamoDB's number text: an optional sign, digits with an optional
// point, an optional exponent. It enforces DynamoDB's limits on the value, not on its spelling.
func (d *decimal) parse(s string) fault {
	bad := fault{reason: ReasonNotANumber}
	i := 0
	neg := false
	if s != "" && (s[0] == '-' || s[0] == '+') {
		neg = s[0] == '-'
		i = 1
	}
	d.neg, d.n, d.exp = false, 0, 0
	seen := 0   // digits seen
	point := -1 // digits seen before the point
	first := -1 // where the first significant digit stands among them
	last := -1  // where the last one does
scan:
	for ; i < len(s); i++ {
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			if c != '0' && first < 0 {
				first = seen
			}
			if c != '0' {
				last = seen
			}
			if first >= 0 && seen-first < MaxNumberDigits {
				d.digits[seen-first] = c
			}
			seen++
		case c == '.' && point < 0:
			point = seen
		default:
			break scan
		}
	}
	if seen == 0 {
		return bad
	}
	if point < 0 {
		point = seen
	}
	exp, ok := parseExponent(s[i:])
	if !ok {
		return bad
	}
	if first < 0 {
		return fault{}
	}
	if digits := last - first + 1; digits > MaxNumberDigits {
		return fault{reason: ReasonDigits, limit: MaxNumberDigits, got: digits}
	}
	exp += point - 1 - first
	if exp > MaxNumberExponent {
		return fault{reason: ReasonMagnitude, limit: MaxNumberExponent, got: exp}
	}
	if exp < MinNumberExponent {
		return fault{reason: ReasonMagnitude, limit: MinNumberExponent, got: exp}
	}
	d.neg, d.n, d.exp = neg, last-first+1, exp
	return fault{}
}

// parseExponent reads "", "E5", "e+5" or "E-5". It stops growing far outside any
// valid exponent, so that no text of digits can overflow it.
func parseExponent(s string) (int, bool) {
	if s == "" {
		return 0, true
	}
	if s[0] != 'e' && s[0] != 'E' {
		return 0, false
	}
	s = s[1:]
	neg := false
	if s != "" && (s[0] == '-' || s[0] == '+') {
		neg = s[0] == '-'
		s = s[1:]
	}
	if s == "" {
		return 0, false
	}
	// Beyond 1E15 no mantissa that fits into memory could bring the value back into range.
	const enough = 1_000_000_000_000_000
	exp := 0
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		if exp < enough {
			exp = exp*10 + int(s[i]-'0')
		}
	}
	if neg {
		exp = -exp
	}
	return exp, true
}

// sign returns -1, 0 or 1.
func (d *decimal) sign() int {
	switch {
	case d.n == 0:
		return 0
	case d.neg:
		return -1
	default:
		return 1
	}
}

// isInteger tells whether the number has no fraction.
func (d *decimal) isInteger() bool { return d.n == 0 || d.exp >= d.n-1 }

// compare returns -1, 0 or 1.
func (d *decimal) compare(o *decimal) int {
	if c := cmp.Compare(d.sign(), o.sign()); c != 0 || d.n == 0 {
		return c
	}
	c := cmp.Compare(d.exp, o.exp)
	if c == 0 {
		// Without trailing zeros, the longer of two with the same beginning is larger.
		c = bytes.Compare(d.digits[:d.n], o.digits[:o.n])
	}
	if d.neg {
		return -c
	}
	return c
}

// appendPlain appends the number without an exponent, as DynamoDB itself returns it.
func (d *decimal) appendPlain(dst []byte) []byte {
	if d.n == 0 {
		return append(dst, '0')
	}
	if d.neg {
		dst = append(dst, '-')
	}
	if d.exp < 0 {
		dst = append(dst, '0', '.')
		for range -d.exp - 1 {
			dst = append(dst, '0')
		}
		return append(dst, d.digits[:d.n]...)
	}
	whole := min(d.exp+1, d.n)
	dst = append(dst, d.digits[:whole]...)
	for range d.exp + 1 - whole {
		dst = append(dst, '0')
	}
	if whole < d.n {
		dst = append(dst, '.')
		dst = append(dst, d.digits[whole:d.n]...)
	}
	return dst
}

// CompareNumbers compares two DynamoDB number texts by value, exactly and
// without floats: -1, 0 or 1. Both must be valid; texts that are not numbers
// come after all numbers, ordered by bytes, so that the order stays total.
func CompareNumbers(a, b string) int {
	if a == b {
		return 0
	}
	var x, y decimal
	fx, fy := x.parse(a), y.parse(b)
	switch {
	case fx.reason == 0 && fy.reason == 0:
		return x.compare(&y)
	case fx.reason == 0:
		return -1
	case fy.reason == 0:
		return 1
	default:
		return strings.Compare(a, b)
	}
}

// CanonicalNumber returns the one text of a number's value: plain digits without
// an exponent, a plus, needless zeros or a negative zero ("1.0" and "1E0" are
// "1", "1E3" is "1000", "-0" is "0"). It returns an [*Error] with
// ReasonNotANumber, ReasonDigits or ReasonMagnitude for what DynamoDB could not store.
func CanonicalNumber(n string) (string, error) {
	if isCanonicalInteger(n) {
		return n, nil
	}
	var d decimal
	if f := d.parse(n); f.reason != 0 {
		return "", f.in("")
	}
	var buf [64]byte
	return string(d.appendPlain(buf[:0])), nil
}

// isCanonicalInteger is the fast path for the usual ids and timestamps.
func isCanonicalInteger(n string) bool {
	if n == "" || len(n) > MaxNumberDigits || (n[0] == '0' && len(n) > 1) {
		return false
	}
	return allDigits(n)
}

func allDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}
