package ddb

import (
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// scanner reads strict JSON (RFC 8259) from front to back. encoding/json would do but for three things that matter to data that is kept: it
// repairs invalid UTF-8 and lone surrogates silently, lets the last of two equal names win, and has no limit of depth of ours.
type scanner struct {
	raw []byte
	pos int
}

func (s *scanner) fail(reason string) *ValueError {
	return invalid(reason + " (byte " + strconv.Itoa(s.pos) + ")")
}

// peek skips white space and gives the next byte, 0 at the end.
func (s *scanner) peek() byte {
	for s.pos < len(s.raw) {
		switch c := s.raw[s.pos]; c {
		case ' ', '\t', '\r', '\n':
			s.pos++
		default:
			return c
		}
	}
	return 0
}

func (s *scanner) expect(c byte) *ValueError {
	if s.peek() != c {
		return s.unexpected("'" + string(rune(c)) + "'")
	}
	s.pos++
	return nil
}

func (s *scanner) unexpected(wanted string) *ValueError {
	if s.peek(); s.pos >= len(s.raw) {
		return s.fail("ends where " + wanted + " should be")
	}
	return s.fail("is not JSON where " + wanted + " should be")
}

// end refuses anything after the value.
func (s *scanner) end() *ValueError {
	if s.peek(); s.pos < len(s.raw) {
		return s.fail("has something after its end")
	}
	return nil
}

// literal reads true, false or null.
func (s *scanner) literal(word string) *ValueError {
	s.peek()
	end := s.pos + len(word)
	if end > len(s.raw) || string(s.raw[s.pos:end]) != word {
		return s.unexpected(word)
	}
	s.pos = end
	return nil
}

// object reads {...} and calls member for each name, with the scanner before its value. Names are told apart as decoded.
func (s *scanner) object(member func(name string) *ValueError) *ValueError {
	if err := s.expect('{'); err != nil {
		return err
	}
	if s.peek() == '}' {
		s.pos++
		return nil
	}
	var names nameSet
	for {
		name, err := s.text()
		if err != nil {
			return err
		}
		if !names.add(name) {
			return s.fail("the name stands twice").underName(name)
		}
		if err := s.expect(':'); err != nil {
			return err
		}
		if err := member(name); err != nil {
			return err
		}
		switch s.peek() {
		case ',':
			s.pos++
		case '}':
			s.pos++
			return nil
		default:
			return s.unexpected("',' or '}'")
		}
	}
}

// array reads [...] and calls element for each place.
func (s *scanner) array(element func(n int) *ValueError) *ValueError {
	if err := s.expect('['); err != nil {
		return err
	}
	if s.peek() == ']' {
		s.pos++
		return nil
	}
	for n := 0; ; n++ {
		if err := element(n); err != nil {
			return err
		}
		switch s.peek() {
		case ',':
			s.pos++
		case ']':
			s.pos++
			return nil
		default:
			return s.unexpected("',' or ']'")
		}
	}
}

// text reads a string and decodes it.
func (s *scanner) text() (string, *ValueError) {
	if err := s.expect('"'); err != nil {
		return "", s.unexpected("a string")
	}
	start := s.pos
	for ; s.pos < len(s.raw); s.pos++ {
		switch c := s.raw[s.pos]; {
		case c == '"':
			text := s.raw[start:s.pos]
			if !utf8.Valid(text) {
				return "", s.fail("has a string that is not valid UTF-8")
			}
			s.pos++
			return string(text), nil
		case c == '\\':
			return s.escaped(start)
		case c < ' ':
			return "", s.fail("has a raw control character in a string")
		}
	}
	return "", s.fail("ends in a string")
}

// escaped goes on with a string that has escapes: start is after its quote, the scanner at the first backslash.
func (s *scanner) escaped(start int) (string, *ValueError) {
	out := slices.Clone(s.raw[start:s.pos])
	for s.pos < len(s.raw) {
		c := s.raw[s.pos]
		switch {
		case c == '"':
			if !utf8.Valid(out) {
				return "", s.fail("has a string that is not valid UTF-8")
			}
			s.pos++
			return string(out), nil
		case c < ' ':
			return "", s.fail("has a raw control character in a string")
		case c != '\\':
			out = append(out, c)
			s.pos++
		default:
			var err *ValueError
			if out, err = s.escape(out); err != nil {
				return "", err
			}
		}
	}
	return "", s.fail("ends in a string")
}

func (s *scanner) escape(out []byte) ([]byte, *ValueError) {
	if s.pos+1 >= len(s.raw) {
		return nil, s.fail("ends in a string")
	}
	c := s.raw[s.pos+1]
	switch c {
	case '"', '\\', '/':
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	case 'n':
		c = '\n'
	case 'r':
		c = '\r'
	case 't':
		c = '\t'
	case 'u':
		first, ok := s.hex4(s.pos + 2)
		if !ok {
			return nil, s.fail(`has a bad \u escape`)
		}
		if !utf16.IsSurrogate(first) {
			s.pos += 6
			return utf8.AppendRune(out, first), nil
		}
		second, ok := s.hex4(s.pos + 8)
		r := utf16.DecodeRune(first, second)
		if !ok || string(s.raw[s.pos+6:s.pos+8]) != `\u` || r == utf8.RuneError {
			return nil, s.fail("has half of a surrogate pair")
		}
		s.pos += 12
		return utf8.AppendRune(out, r), nil
	default:
		return nil, s.fail("has an unknown escape")
	}
	s.pos += 2
	return append(out, c), nil
}

// hex4 reads four hex digits at a place, if they are there.
func (s *scanner) hex4(at int) (rune, bool) {
	if at+4 > len(s.raw) {
		return 0, false
	}
	var r rune
	for _, c := range s.raw[at : at+4] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

// number reads a number's text by JSON's own grammar.
func (s *scanner) number() (string, *ValueError) {
	s.peek()
	length := jsonNumber(s.raw[s.pos:])
	if length == 0 {
		return "", s.unexpected("a value")
	}
	text := string(s.raw[s.pos : s.pos+length])
	s.pos += length
	return text, nil
}

// jsonNumber gives the length of the JSON number that raw begins with, 0 if it begins with none.
func jsonNumber[T []byte | string](raw T) int {
	digits := func(n int) int {
		for n < len(raw) && raw[n] >= '0' && raw[n] <= '9' {
			n++
		}
		return n
	}
	n := 0
	if n < len(raw) && raw[n] == '-' {
		n++
	}
	whole := digits(n)
	if whole == n || raw[n] == '0' && whole > n+1 {
		return 0
	}
	n = whole
	if n < len(raw) && raw[n] == '.' {
		end := digits(n + 1)
		if end == n+1 {
			return 0
		}
		n = end
	}
	if n < len(raw) && (raw[n] == 'e' || raw[n] == 'E') {
		n++
		if n < len(raw) && (raw[n] == '+' || raw[n] == '-') {
			n++
		}
		end := digits(n)
		if end == n {
			return 0
		}
		n = end
	}
	return n
}

// nameSet remembers the names of one object: a slice while they are few, which is nearly always.
type nameSet struct {
	few  []string
	many map[string]struct{}
}

// add reports whether the name is new.
func (n *nameSet) add(name string) bool {
	const few = 16
	if n.many != nil {
		_, old := n.many[name]
		n.many[name] = struct{}{}
		return !old
	}
	if slices.Contains(n.few, name) {
		return false
	}
	n.few = append(n.few, name)
	if len(n.few) > few {
		n.many = make(map[string]struct{}, 2*len(n.few))
		for _, name := range n.few {
			n.many[name] = struct{}{}
		}
	}
	return true
}

// appendText appends a JSON string. Text must be valid UTF-8.
func appendText(dst []byte, text string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0
	for n := range len(text) {
		c := text[n]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, text[start:n]...)
		start = n + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	dst = append(dst, text[start:]...)
	return append(dst, '"')
}
