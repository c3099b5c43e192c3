package partition

import (
	"fmt"
	"math/big"
	"regexp"
	"strings"
)

// Money is an exact amount of US dollars. The zero value is $0. It is immutable.
type Money struct{ dollars *big.Rat }

var decimal = regexp.MustCompile(`^[0-9]{1,6}(\.[0-9]{1,9})?$`)

// ParseMoney reads a decimal number of dollars, at most 6 digits before and 9 behind the point.
func ParseMoney(text string) (Money, error) {
	if !decimal.MatchString(text) {
		return Money{}, fmt.Errorf("%q is no amount of dollars such as 0.625 (at most 6 digits before and 9 behind the point)", text)
	}
	value, _ := new(big.Rat).SetString(text)
	return Money{value}, nil
}

func (m Money) rat() *big.Rat {
	if m.dollars == nil {
		return new(big.Rat)
	}
	return m.dollars
}

// Plus adds.
func (m Money) Plus(other Money) Money { return Money{new(big.Rat).Add(m.rat(), other.rat())} }

// Minus subtracts.
func (m Money) Minus(other Money) Money { return Money{new(big.Rat).Sub(m.rat(), other.rat())} }

// Times multiplies by a rational number.
func (m Money) Times(factor *big.Rat) Money { return Money{new(big.Rat).Mul(m.rat(), factor)} }

// Cmp is -1, 0 or 1.
func (m Money) Cmp(other Money) int { return m.rat().Cmp(other.rat()) }

// Equal reports whether both are the same amount.
func (m Money) Equal(other Money) bool { return m.Cmp(other) == 0 }

// Round rounds to so many decimal places, half to even.
func (m Money) Round(places int) Money {
	scale := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(places)), nil))
	scaled := new(big.Rat).Mul(m.rat(), scale)
	whole := new(big.Int).Div(scaled.Num(), scaled.Denom()) // towards minus infinity
	above := new(big.Rat).Sub(scaled, new(big.Rat).SetInt(whole)).Cmp(big.NewRat(1, 2))
	if above > 0 || above == 0 && whole.Bit(0) == 1 {
		whole.Add(whole, big.NewInt(1))
	}
	return Money{new(big.Rat).Quo(new(big.Rat).SetInt(whole), scale)}
}

// Text prints with so many decimal places: "$13.28", "-$0.20".
func (m Money) Text(places int) string {
	text := m.Round(places).rat().FloatString(places)
	if rest, negative := strings.CutPrefix(text, "-"); negative {
		return "-$" + rest
	}
	return "$" + text
}

// String prints cents, or as many places, up to 6, as two significant digits need: "$13.28", "$0.0002".
func (m Money) String() string {
	size := new(big.Rat).Abs(m.rat())
	places := 2
	for limit := big.NewRat(1, 10); places < 6 && size.Sign() > 0 && size.Cmp(limit) < 0; places++ {
		limit.Quo(limit, big.NewRat(10, 1))
	}
	return m.Text(places)
}

// Exact prints all places, up to 9 and at least cents: "$0.20", "$0.0012".
func (m Money) Exact() string {
	text := m.Text(9)
	for strings.HasSuffix(text, "0") && len(text)-strings.IndexByte(text, '.') > 3 {
		text = text[:len(text)-1]
	}
	return text
}

// decimalText is the amount with up to 9 places, without trailing zeros.
func (m Money) decimalText() string {
	text := m.Round(9).rat().FloatString(9)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// MarshalText writes a decimal number of dollars, rounded to 9 places.
func (m Money) MarshalText() ([]byte, error) { return []byte(m.decimalText()), nil }

// UnmarshalText is [ParseMoney].
func (m *Money) UnmarshalText(text []byte) error {
	parsed, err := ParseMoney(string(text))
	if err == nil {
		*m = parsed
	}
	return err
}
