package sortkey

import (
	"strings"
	"unicode/utf8"
)

const (
	separator = '#' // 0x23: between parts, and nowhere else
	escape    = '$' // 0x24: begins an escaped byte, so it is the lowest byte inside a part
	// afterSeparator replaces a closing separator to make a text that is above
	// every row of a value and below every row of the next one: no row has it,
	// because an escape is always followed by a byte of 0x30-0x54.
	afterSeparator = escape
	escapeShift    = 0x30
)

// appendText appends s, with every byte 0x00-0x24 as `$` and the byte plus 0x30.
// Escaping is by byte and keeps the byte order: `$` is below all bytes that stay.
func appendText(dst []byte, s string) ([]byte, fault) {
	if len(s) > MaxSortKeyBytes {
		return dst, fault{reason: ReasonTooLong}
	}
	low, high := false, false
	for i := range len(s) {
		low = low || s[i] <= escape
		high = high || s[i] >= utf8.RuneSelf
	}
	if high && !utf8.ValidString(s) {
		return dst, fault{reason: ReasonUTF8}
	}
	if !low {
		return append(dst, s...), fault{}
	}
	return appendEscaped(dst, s), fault{}
}

func appendEscaped(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c <= escape {
			dst = append(dst, escape, c+escapeShift)
		} else {
			dst = append(dst, c)
		}
	}
	return dst
}

// textLen returns the length of appendText's output, in bytes.
func textLen(s string) int {
	n := len(s)
	for i := range len(s) {
		if s[i] <= escape {
			n++
		}
	}
	return n
}

// decodeText is the inverse of appendText for a text that is valid UTF-8 and
// has no separator. A text without escapes is returned as it is, not copied.
func decodeText(text string) (string, bool) {
	plain := true
	for i := 0; i < len(text); i++ {
		if text[i] > escape {
			continue
		}
		plain = false
		i++
		if text[i-1] < escape || i == len(text) || text[i] < escapeShift || text[i] > escape+escapeShift {
			return "", false
		}
	}
	if plain {
		return text, true
	}
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == escape {
			i++
			c = text[i] - escapeShift
		}
		out = append(out, c)
	}
	return string(out), true
}

const hexDigits = "0123456789abcdef"

// appendHex appends b as lower-case hex, which keeps the byte order: the digits
// rise in ASCII, and every byte has two of them.
func appendHex(dst []byte, b string) ([]byte, fault) {
	if 2*len(b) > MaxSortKeyBytes {
		return dst, fault{reason: ReasonTooLong}
	}
	return appendHexDigits(dst, b), fault{}
}

func appendHexDigits(dst []byte, b string) []byte {
	for i := range len(b) {
		dst = append(dst, hexDigits[b[i]>>4], hexDigits[b[i]&0xf])
	}
	return dst
}

// decodeHex is the inverse of appendHex.
func decodeHex(text string) (string, bool) {
	if len(text)%2 != 0 {
		return "", false
	}
	out := make([]byte, 0, len(text)/2)
	for i := 0; i < len(text); i += 2 {
		hi, lo := strings.IndexByte(hexDigits, text[i]), strings.IndexByte(hexDigits, text[i+1])
		if hi < 0 || lo < 0 {
			return "", false
		}
		out = append(out, byte(hi<<4|lo)) //nolint:gosec // G115: both are 0 to 15
	}
	return string(out), true
}
