package sortkey

import "unicode/utf8"

// DynamoDB's limits of key values, in bytes of UTF-8 or binary.
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
// ("Partition key length", "Sort key length"; both have a minimum of 1).
const (
	// MaxSortKeyBytes limits a sort key, and so the encoded text of all parts together.
	MaxSortKeyBytes = 1024
	// MaxPartitionKeyBytes limits a partition key.
	MaxPartitionKeyBytes = 2048
)

// CheckPartitionKey tells whether DynamoDB accepts the value as the partition
// key named name: not empty, at most [MaxPartitionKeyBytes], valid UTF-8 or a
// valid number. It returns an [*Error] with ReasonEmpty, ReasonTooLong,
// ReasonUTF8, ReasonKind (no kind) or a number's reasons.
func CheckPartitionKey(name string, v Value) error {
	switch v.kind {
	case KindNumber:
		var d decimal
		if f := d.parse(v.text); f.reason != 0 {
			return f.in(name)
		}
		return nil
	case KindText, KindBinary:
	default:
		return fault{reason: ReasonKind}.in(name)
	}
	switch {
	case v.text == "":
		return fault{reason: ReasonEmpty}.in(name)
	case len(v.text) > MaxPartitionKeyBytes:
		return fault{reason: ReasonTooLong, limit: MaxPartitionKeyBytes, got: len(v.text)}.in(name)
	case v.kind == KindText && !utf8.ValidString(v.text):
		return fault{reason: ReasonUTF8}.in(name)
	}
	return nil
}

// The functions below move a bound that is too long to be a key value to one that
// is not, without changing which keys it admits. "Keys" are the valid UTF-8 texts
// (or binaries) of at most MaxSortKeyBytes.

// lowestFrom returns the lowest key that is >= text; ok is false if there is none.
func lowestFrom(text string) (key string, ok bool) {
	if len(text) <= MaxSortKeyBytes {
		return text, true
	}
	// A key that begins with all of text's runes that fit is below text: what text
	// has next does not fit, and a rune that does is shorter, so its first byte is
	// lower. The lowest key above text is therefore above that whole beginning.
	text = fittingRunes(text)
	for text != "" {
		r, size := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-size]
		if r == utf8.MaxRune {
			continue
		}
		if r++; r == 0xD800 { // surrogates are not valid UTF-8
			r = 0xE000
		}
		if len(text)+utf8.RuneLen(r) <= MaxSortKeyBytes {
			return text + string(r), true
		}
	}
	return "", false
}

// highestTo returns the highest key that is <= text.
func highestTo(text string) string {
	if len(text) <= MaxSortKeyBytes {
		return text
	}
	return fillUp(fittingRunes(text)) // see lowestFrom: every such key is below text
}

// highestBelow returns the highest key that is < text, which must be an encoded
// one: not empty, and so with no zero byte at its end.
func highestBelow(text string) string {
	if len(text) > MaxSortKeyBytes {
		return highestTo(text)
	}
	r, size := utf8.DecodeLastRuneInString(text)
	text = text[:len(text)-size]
	if r--; r == 0xDFFF { // surrogates again
		r = 0xD7FF
	}
	return fillUp(text + string(r))
}

// fittingRunes cuts text to the whole runes within MaxSortKeyBytes.
func fittingRunes(text string) string {
	end := MaxSortKeyBytes
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// fillUp appends the highest runes that fit, which makes the highest key that begins with text.
func fillUp(text string) string {
	room := MaxSortKeyBytes - len(text)
	return text + highestKey[:room/utf8.UTFMax*utf8.UTFMax] + [utf8.UTFMax]string{"", "\x7f", "\u07ff", "\uffff"}[room%utf8.UTFMax]
}

// highestKey is the highest key of all: no valid UTF-8 of at most MaxSortKeyBytes
// sorts above it, and no shorter text would do.
const (
	highest4   = string(utf8.MaxRune) + string(utf8.MaxRune) + string(utf8.MaxRune) + string(utf8.MaxRune)
	highest16  = highest4 + highest4 + highest4 + highest4
	highest64  = highest16 + highest16 + highest16 + highest16
	highestKey = highest64 + highest64 + highest64 + highest64
)

// lowestBinaryFrom is lowestFrom for binaries: the lowest of at most
// MaxSortKeyBytes bytes that is >= b.
func lowestBinaryFrom(b string) (key string, ok bool) {
	if len(b) <= MaxSortKeyBytes {
		return b, true
	}
	b = b[:MaxSortKeyBytes]
	for b != "" && b[len(b)-1] == 0xff { // strings.TrimRight takes "\xff" for any byte that is no UTF-8
		b = b[:len(b)-1]
	}
	if b == "" {
		return "", false
	}
	return b[:len(b)-1] + string([]byte{b[len(b)-1] + 1}), true
}

// highestBinaryTo is highestTo for binaries.
func highestBinaryTo(b string) string { return b[:min(len(b), MaxSortKeyBytes)] }
