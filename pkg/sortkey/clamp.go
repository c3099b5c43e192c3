package sortkey

// clamp moves an interval of numbers into the integers from 0 to 10^width-1.
// first is the number of the equality or lower bound, upper that of the upper.
func (iv *interval) clamp(first, upper *decimal, width int) {
	if iv.hasEqual && first.fits(width).reason != 0 {
		iv.empty = true
	}
	if iv.hasLower {
		text, ok := first.ceil(width, iv.lower.Inclusive)
		iv.lower = Bound{Value: Number(text), Inclusive: true}
		iv.empty = iv.empty || !ok
	}
	if iv.hasUpper {
		text, ok := upper.floor(width, iv.upper.Inclusive)
		iv.upper = Bound{Value: Number(text), Inclusive: true}
		iv.empty = iv.empty || !ok
	}
}

// ceil returns the lowest integer from 0 to 10^width-1 that is >= d, or > d if
// not inclusive; ok is false if there is none.
func (d *decimal) ceil(width int, inclusive bool) (text string, ok bool) {
	switch {
	case d.neg:
		return "0", true
	case d.n > 0 && d.exp >= width:
		return "0", false
	}
	var buf [MaxWidth]byte
	digits := d.appendPadded(buf[:0], width)
	if d.isInteger() && inclusive {
		return trimZeros(string(digits)), true
	}
	for i := width - 1; i >= 0; i-- {
		if digits[i] != '9' {
			digits[i]++
			return trimZeros(string(digits)), true
		}
		digits[i] = '0'
	}
	return "0", false
}

// floor returns the highest integer from 0 to 10^width-1 that is <= d, or < d if
// not inclusive; ok is false if there is none.
func (d *decimal) floor(width int, inclusive bool) (text string, ok bool) {
	if d.neg {
		return "0", false
	}
	var buf [MaxWidth]byte
	digits := buf[:width]
	if d.n > 0 && d.exp >= width {
		for i := range digits {
			digits[i] = '9'
		}
		return string(digits), true
	}
	digits = d.appendPadded(buf[:0], width)
	if inclusive || !d.isInteger() {
		return trimZeros(string(digits)), true
	}
	for i := width - 1; i >= 0; i-- {
		if digits[i] != '0' {
			digits[i]--
			return trimZeros(string(digits)), true
		}
		digits[i] = '9'
	}
	return "0", false
}
