package sortkey

import "strings"

// The general number text, from its first byte: negative numbers begin with `-`,
// zero is `0`, positive ones begin with `p`, and `-` < `0` < `p`.
//
//	p EEE . digits      EEE = 500 + power of ten of the first digit
//	- EEE . digits ~    nines' complement of EEE and of every digit
//
// Digits have no trailing zeros, so that one value has one text. The tilde makes
// a shorter complement sort above a longer one (-4.2 above -4.21), where the end
// of the text would sort it below.
const (
	negativeMark  = '-'
	zeroMark      = '0'
	positiveMark  = 'p'
	negativeEnd   = '~'
	exponentBias  = 500
	exponentDigit = 3
	// maxNumberText is the longest general number text, in bytes.
	maxNumberText = 1 + exponentDigit + 1 + MaxNumberDigits + 1
)

// appendNumber appends the general encoding of a number.
func appendNumber(dst []byte, text string) ([]byte, fault) {
	var d decimal
	if f := d.parse(text); f.reason != 0 {
		return dst, f
	}
	if d.n == 0 {
		return append(dst, zeroMark), fault{}
	}
	e := d.exp + exponentBias
	if !d.neg {
		dst = append(dst, positiveMark, byte('0'+e/100), byte('0'+e/10%10), byte('0'+e%10), '.') //nolint:gosec // G115: e has three digits
		return append(dst, d.digits[:d.n]...), fault{}
	}
	dst = append(dst, negativeMark, byte('9'-e/100), byte('9'-e/10%10), byte('9'-e%10), '.') //nolint:gosec // G115: e has three digits
	for _, c := range d.digits[:d.n] {
		dst = append(dst, '0'+'9'-c)
	}
	return append(dst, negativeEnd), fault{}
}

// decodeNumber is the inverse of appendNumber; it returns the canonical number.
func decodeNumber(text string) (string, bool) {
	const head = 1 + exponentDigit + 1
	if text == string(rune(zeroMark)) {
		return text, true
	}
	if len(text) < head+1 || len(text) > maxNumberText || text[head-1] != '.' {
		return "", false
	}
	var d decimal
	flip := byte(0)
	switch text[0] {
	case positiveMark:
	case negativeMark:
		if text[len(text)-1] != negativeEnd {
			return "", false
		}
		text = text[:len(text)-1]
		d.neg = true
		flip = '0' + '9'
	default:
		return "", false
	}
	digit := func(c byte) byte {
		if flip != 0 && c >= '0' && c <= '9' {
			return flip - c
		}
		return c
	}
	mantissa := text[head:]
	if !allDigits(text[1:head-1]) || !allDigits(mantissa) || mantissa == "" || len(mantissa) > MaxNumberDigits {
		return "", false
	}
	for i := 1; i <= exponentDigit; i++ {
		d.exp = d.exp*10 + int(digit(text[i])-'0')
	}
	d.exp -= exponentBias
	d.n = len(mantissa)
	for i := range d.n {
		d.digits[i] = digit(mantissa[i])
	}
	if d.exp < MinNumberExponent || d.exp > MaxNumberExponent || d.digits[0] == '0' || d.digits[d.n-1] == '0' {
		return "", false
	}
	var buf [64]byte
	return string(d.appendPlain(buf[:0])), true
}

// appendInteger appends a non-negative integer of at most width digits, zero-padded.
func appendInteger(dst []byte, text string, width int) ([]byte, fault) {
	if text != "" && len(text) <= width && allDigits(text) {
		for range width - len(text) {
			dst = append(dst, '0')
		}
		return append(dst, text...), fault{}
	}
	var d decimal
	if f := d.parse(text); f.reason != 0 {
		return dst, f
	}
	if f := d.fits(width); f.reason != 0 {
		return dst, f
	}
	return d.appendPadded(dst, width), fault{}
}

// fits tells whether the number is one that a part of this width holds.
func (d *decimal) fits(width int) fault {
	switch {
	case d.neg:
		return fault{reason: ReasonNegative}
	case !d.isInteger():
		return fault{reason: ReasonFraction}
	case d.exp >= width:
		return fault{reason: ReasonWidth, limit: width, got: d.exp + 1}
	}
	return fault{}
}

// appendPadded appends the integer part of a non-negative number below 10^width, zero-padded.
func (d *decimal) appendPadded(dst []byte, width int) []byte {
	whole := 0
	if d.n > 0 {
		whole = max(0, d.exp+1)
	}
	for range width - whole {
		dst = append(dst, '0')
	}
	for i := range whole {
		if i < d.n {
			dst = append(dst, d.digits[i])
		} else {
			dst = append(dst, '0')
		}
	}
	return dst
}

// decodeInteger is the inverse of appendInteger; it returns the canonical number.
func decodeInteger(text string, width int) (string, bool) {
	if len(text) != width || !allDigits(text) {
		return "", false
	}
	return trimZeros(text), true
}

// trimZeros removes leading zeros from a text of digits, down to "0".
func trimZeros(digits string) string {
	if t := strings.TrimLeft(digits, "0"); t != "" {
		return t
	}
	return "0"
}
