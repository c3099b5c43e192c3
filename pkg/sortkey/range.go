package sortkey

import (
	"errors"
	"strings"
)

// Range is a condition on the encoded sort key. Exactly one form is set: Empty (no
// row can match, make no call), All (no sort key condition), Prefix
// (begins_with), or Low and High (BETWEEN, both inclusive). Operands are valid
// key values: 1 to [MaxSortKeyBytes] bytes of UTF-8, and Low <= High.
type Range struct {
	Empty     bool
	All       bool
	Prefix    string
	Low, High string
}

// Contains tells whether the range selects a row with this sort key, as
// DynamoDB's key condition would.
func (r Range) Contains(text string) bool {
	switch {
	case r.Empty:
		return false
	case r.All:
		return true
	case r.Prefix != "":
		return strings.HasPrefix(text, r.Prefix)
	default:
		return r.Low <= text && text <= r.High
	}
}

// Range returns the key condition for the rows whose leading parts equal under
// and whose next part satisfies cond. It selects exactly those, whatever the
// parts hold. With e for the encoded value, and p for the encoded leading
// parts with their `#`:
//
//	=       begins_with pe#
//	prefix  begins_with pe
//	>= >    BETWEEN pe or pe$  AND  p with its last # as $
//	<= <    BETWEEN p  AND  pe$ or pe
//
// It is exact because a part never holds a byte below `$`: the rows of a value all
// begin with pe#, which is below pe$, and rows of any longer value that begins
// with this one are above pe$. No row is exactly pe or pe$, so that both ends of a BETWEEN may be
// inclusive. On the last part no `#` follows: = is then one text, and < ends
// at the highest text below e.
//
// An equality with a value that the part cannot hold, and a lower bound above the upper, are an empty
// range and no error. Errors are those of [Part.Normalise], and ReasonCount when
// under has more values than parts, or leaves no part for cond.
func (c *Codec) Range(under []Value, cond Condition) (Range, error) {
	k := len(under)
	if k > len(c.parts) || k == len(c.parts) && !cond.isZero() {
		return Range{}, fault{reason: ReasonCount, limit: len(c.parts), got: k}.in("")
	}
	var iv interval
	if k < len(c.parts) {
		var err error
		if iv, err = c.parts[k].interval(&cond); err != nil {
			return Range{}, err
		}
	}
	var stack [256]byte
	pinned, err := c.appendParts(stack[:0], under)
	if err != nil {
		if e, ok := errors.AsType[*Error](err); ok && e.Reason.unfit() {
			return c.unmatched(under)
		}
		return Range{}, err
	}
	if iv.empty {
		return Range{Empty: true}, nil
	}
	if k == len(c.parts) {
		return exactly(pinned), nil
	}
	if k > 0 {
		pinned = append(pinned, separator)
	}
	switch {
	case iv.hasEqual:
		return c.equalRange(pinned, k, iv.equal), nil
	case iv.hasPrefix:
		b, f := appendText(pinned, iv.prefix)
		return beginning(b, f), nil
	case iv.hasLower || iv.hasUpper:
		return c.between(pinned, k, &iv), nil
	default:
		return beginning(pinned, fault{}), nil
	}
}

// unmatched is the answer for leading values of which one cannot be in a row:
// empty, unless a later one is wrong in itself.
func (c *Codec) unmatched(under []Value) (Range, error) {
	var d decimal
	for i, v := range under {
		if f := c.parts[i].operand(&d, v); f.reason != 0 {
			return Range{}, f.in(c.parts[i].Name)
		}
	}
	return Range{Empty: true}, nil
}

// exactly is the range of one text.
func exactly(text []byte) Range {
	if len(text) == 0 || len(text) > MaxSortKeyBytes {
		return Range{Empty: true}
	}
	s := string(text)
	return Range{Low: s, High: s}
}

// beginning is the range of all texts that begin so. A fault means that no row can.
func beginning(text []byte, f fault) Range {
	switch {
	case f.reason != 0 || len(text) > MaxSortKeyBytes:
		return Range{Empty: true}
	case len(text) == 0:
		return Range{All: true}
	default:
		return Range{Prefix: string(text)}
	}
}

func (c *Codec) equalRange(pinned []byte, k int, v Value) Range {
	b, f := c.parts[k].append(pinned, v)
	if f.reason != 0 {
		return Range{Empty: true}
	}
	if k == len(c.parts)-1 {
		return exactly(b)
	}
	return beginning(append(b, separator), f)
}

func (c *Codec) between(pinned []byte, k int, iv *interval) Range {
	var stack [256]byte
	p, buf := &c.parts[k], append(stack[:0], pinned...)
	low, high := lowestText, ""
	switch {
	case iv.hasLower:
		b := p.bound(buf, iv.lower.Value)
		if !iv.lower.Inclusive {
			b = append(b, afterSeparator)
		}
		var ok bool
		if low, ok = lowestFrom(string(b)); !ok {
			return Range{Empty: true}
		}
		low = max(low, lowestText) // for >= "": no operand may be empty
	case len(pinned) > 0:
		low = string(pinned)
	}
	switch {
	case iv.hasUpper && iv.upper.Inclusive:
		high = highestTo(string(append(p.bound(buf, iv.upper.Value), afterSeparator)))
	case iv.hasUpper:
		b := p.bound(buf, iv.upper.Value)
		if len(b) == len(pinned) { // nothing is below the empty value
			return Range{Empty: true}
		}
		if high = string(b); k == len(c.parts)-1 {
			high = highestBelow(high) // here a row may be exactly e
		}
		high = highestTo(high)
	case len(pinned) > 0:
		buf[len(buf)-1] = afterSeparator
		high = highestTo(string(buf))
	default:
		high = p.highestText()
	}
	if low > high { // leading values so long that no row fits
		return Range{Empty: true}
	}
	return Range{Low: low, High: high}
}

// bound appends the encoded value, of any length.
func (p *Part) bound(dst []byte, v Value) []byte {
	switch p.Kind {
	case KindText:
		return appendEscaped(dst, v.text)
	case KindBinary:
		return appendHexDigits(dst, v.text)
	default:
		dst, _ = p.append(dst, v) // numbers are checked, and clamped to the width
		return dst
	}
}

// lowestText is not above any text of any codec, and not empty: the lowest byte
// of a text is the `#` after an empty first part.
const lowestText = string(rune(separator))

// highestText is not below any text whose first part this is. Where the first
// byte is a digit or a mark, the next byte value does. A text part may begin
// with any number of the highest runes, so only the highest key of all covers it.
func (p *Part) highestText() string {
	switch {
	case p.Kind == KindText:
		return highestKey
	case p.Kind == KindBinary:
		return string(rune(hexDigits[len(hexDigits)-1] + 1))
	case p.Width > 0:
		return string(rune('9' + 1))
	default:
		return string(rune(positiveMark + 1))
	}
}
