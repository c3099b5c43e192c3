package sortkey

// MaxWidth is the largest width of a number part, in digits: an integer of more
// digits could not be a DynamoDB number.
const MaxWidth = MaxNumberDigits

// Part describes one part of a key.
type Part struct {
	// Name is the attribute's name; errors carry it. Two parts may have one name
	// (an index sorted by the base table's own key).
	Name string
	// Kind is the attribute's type.
	Kind Kind
	// Width, from 1 to [MaxWidth], makes a number part hold non-negative integers
	// of at most so many digits, zero-padded. 0 is the general encoding, which
	// holds every DynamoDB number. It must be 0 on other kinds.
	Width int
}

// check tells whether the part can stand in a codec.
func (p *Part) check() error {
	switch {
	case p.Name == "", p.Kind < KindText, p.Kind > KindBinary:
		return fault{reason: ReasonDefinition}.in(p.Name)
	case p.Width < 0, p.Width > MaxWidth, p.Width > 0 && p.Kind != KindNumber:
		return fault{reason: ReasonDefinition, limit: MaxWidth, got: p.Width}.in(p.Name)
	}
	return nil
}

// append appends the value's encoding without a separator. On a fault, dst holds
// nothing of use. It stops early, with ReasonTooLong, at a value that alone is past the limit.
func (p *Part) append(dst []byte, v Value) ([]byte, fault) {
	if v.kind != p.Kind {
		return dst, fault{reason: ReasonKind, limit: int(p.Kind), got: int(v.kind)}
	}
	switch p.Kind {
	case KindText:
		return appendText(dst, v.text)
	case KindBinary:
		return appendHex(dst, v.text)
	default:
		if p.Width > 0 {
			return appendInteger(dst, v.text, p.Width)
		}
		return appendNumber(dst, v.text)
	}
}

// encodedLen returns how long the value's encoding is, in bytes, without making it.
func (p *Part) encodedLen(v Value) int {
	switch {
	case p.Kind == KindText:
		return textLen(v.text)
	case p.Kind == KindBinary:
		return 2 * len(v.text)
	case p.Width > 0:
		return p.Width
	default:
		var scratch [maxNumberText]byte
		b, _ := appendNumber(scratch[:0], v.text)
		return len(b)
	}
}

// decode is the inverse of append; ok is false for a text that append does not write.
func (p *Part) decode(text string) (v Value, ok bool) {
	v.kind = p.Kind
	switch {
	case p.Kind == KindText:
		v.text, ok = decodeText(text)
	case p.Kind == KindBinary:
		v.text, ok = decodeHex(text)
	case p.Width > 0:
		v.text, ok = decodeInteger(text, p.Width)
	default:
		v.text, ok = decodeNumber(text)
	}
	return v, ok
}
