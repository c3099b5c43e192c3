package sortkey

import "unicode/utf8"

// Bound is one end of an interval.
type Bound struct {
	Value     Value
	Inclusive bool
}

// Condition is a condition on one part: an equality, a prefix (text only), or an
// interval with one or two bounds. The zero Condition admits everything.
type Condition struct {
	Equal        *Value
	Prefix       *string
	Lower, Upper *Bound
}

func (c *Condition) isZero() bool {
	return c.Equal == nil && c.Prefix == nil && c.Lower == nil && c.Upper == nil
}

// interval is a checked Condition by value; at most one of its forms is set.
type interval struct {
	empty              bool
	hasEqual           bool
	hasPrefix          bool
	hasLower, hasUpper bool
	equal              Value
	prefix             string
	lower, upper       Bound
}

// Normalise turns a condition on this part into what it means for the attribute
// itself, for readers of a GSI that holds it raw: the same rows, with operands
// that DynamoDB accepts there. The bool is true for an empty interval, which needs no call;
// the Condition is then zero. Equal operands and bounds are rewritten thus:
//
//   - with a width, bounds become the nearest integer inside, from 0 to 10^width-1,
//     and inclusive; an equality with a number that the part cannot hold is empty;
//   - numbers become canonical;
//   - a key attribute is never empty, so an empty lower bound or prefix is none,
//     and an empty upper bound or equality admits nothing;
//   - a text or binary bound past [MaxSortKeyBytes] becomes the nearest
//     inclusive one that is not, an equality or prefix past it admits nothing;
//   - a lower bound above the upper, or equal bounds of which one is open, admit nothing.
//
// Errors are an [*Error] that names the part: ReasonContradiction,
// ReasonPrefix, ReasonKind, ReasonUTF8, and a number's ReasonNotANumber,
// ReasonDigits and ReasonMagnitude.
func (p Part) Normalise(cond Condition) (Condition, bool, error) {
	if err := p.check(); err != nil {
		return Condition{}, false, err
	}
	iv, err := p.interval(&cond)
	if err != nil {
		return Condition{}, false, err
	}
	if p.Kind == KindNumber {
		iv.canonical()
	} else {
		iv.fitAttribute(p.Kind)
	}
	if iv.empty {
		return Condition{}, true, nil
	}
	return iv.condition(), false, nil
}

// condition converts back, with nothing shared with the caller's condition.
func (iv *interval) condition() Condition {
	var c Condition
	if iv.hasEqual {
		v := iv.equal
		c.Equal = &v
	}
	if iv.hasPrefix {
		s := iv.prefix
		c.Prefix = &s
	}
	if iv.hasLower {
		b := iv.lower
		c.Lower = &b
	}
	if iv.hasUpper {
		b := iv.upper
		c.Upper = &b
	}
	return c
}

// interval checks the condition and, for a part with a width, clamps it.
func (p *Part) interval(c *Condition) (interval, error) {
	var iv interval
	bounds := c.Lower != nil || c.Upper != nil
	if c.Equal != nil && (c.Prefix != nil || bounds) || c.Prefix != nil && bounds {
		return iv, fault{reason: ReasonContradiction}.in(p.Name)
	}
	if c.Prefix != nil {
		if p.Kind != KindText {
			return iv, fault{reason: ReasonPrefix}.in(p.Name)
		}
		if !utf8.ValidString(*c.Prefix) {
			return iv, fault{reason: ReasonUTF8}.in(p.Name)
		}
		iv.hasPrefix, iv.prefix = true, *c.Prefix
		return iv, nil
	}
	var number [2]decimal // of Equal or Lower, and of Upper
	if c.Equal != nil {
		iv.hasEqual, iv.equal = true, *c.Equal
		if f := p.operand(&number[0], *c.Equal); f.reason != 0 {
			return iv, f.in(p.Name)
		}
	}
	if c.Lower != nil {
		iv.hasLower, iv.lower = true, *c.Lower
		if f := p.operand(&number[0], c.Lower.Value); f.reason != 0 {
			return iv, f.in(p.Name)
		}
	}
	if c.Upper != nil {
		iv.hasUpper, iv.upper = true, *c.Upper
		if f := p.operand(&number[1], c.Upper.Value); f.reason != 0 {
			return iv, f.in(p.Name)
		}
	}
	if p.Width > 0 {
		iv.clamp(&number[0], &number[1], p.Width)
	}
	iv.checkOrder()
	return iv, nil
}

// operand checks a condition's value; d receives a number.
func (p *Part) operand(d *decimal, v Value) fault {
	switch {
	case v.kind != p.Kind:
		return fault{reason: ReasonKind, limit: int(p.Kind), got: int(v.kind)}
	case p.Kind == KindNumber:
		return d.parse(v.text)
	case p.Kind == KindText && !utf8.ValidString(v.text):
		return fault{reason: ReasonUTF8}
	}
	return fault{}
}

// checkOrder makes an interval empty whose bounds admit nothing between them.
func (iv *interval) checkOrder() {
	if !iv.hasLower || !iv.hasUpper {
		return
	}
	c := Compare(iv.lower.Value, iv.upper.Value)
	if c > 0 || c == 0 && !(iv.lower.Inclusive && iv.upper.Inclusive) {
		iv.empty = true
	}
}

// canonical rewrites the numbers of a checked interval to their one text.
func (iv *interval) canonical() {
	for _, v := range []*Value{&iv.equal, &iv.lower.Value, &iv.upper.Value} {
		if text, err := CanonicalNumber(v.text); err == nil { // unset ones are no numbers
			v.text = text
		}
	}
}

// fitAttribute moves text or binary operands to what a raw key attribute can
// hold: 1 to MaxSortKeyBytes bytes.
func (iv *interval) fitAttribute(kind Kind) {
	if iv.hasEqual && (iv.equal.text == "" || len(iv.equal.text) > MaxSortKeyBytes) {
		iv.empty = true
	}
	if iv.hasPrefix {
		iv.hasPrefix = iv.prefix != ""
		iv.empty = iv.empty || len(iv.prefix) > MaxSortKeyBytes
	}
	from, to := lowestFrom, highestTo
	if kind == KindBinary {
		from, to = lowestBinaryFrom, highestBinaryTo
	}
	if iv.hasLower {
		if n := len(iv.lower.Value.text); n == 0 {
			iv.hasLower = false
		} else if n > MaxSortKeyBytes {
			text, ok := from(iv.lower.Value.text)
			iv.lower = Bound{Value: Value{kind: kind, text: text}, Inclusive: true}
			iv.empty = iv.empty || !ok
		}
	}
	if iv.hasUpper {
		if n := len(iv.upper.Value.text); n == 0 {
			iv.empty = true
		} else if n > MaxSortKeyBytes {
			iv.upper = Bound{Value: Value{kind: kind, text: to(iv.upper.Value.text)}, Inclusive: true}
		}
	}
	iv.checkOrder()
}
