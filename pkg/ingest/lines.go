package ingest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"unicode/utf8"

	"github.com/heatsink-dev/heatsink/pkg/buffer"
)

const (
	// MaxLines of an upload: an event's key has room for so many places.
	MaxLines = buffer.MaxBatchEvents
	// maxStretch without an end of line means that this is no newline-delimited JSON at all, and that it would be in vain to read on.
	maxStretch = 64 << 20
	// maxDepth of arrays and objects is what encoding/json takes.
	maxDepth = 10_000
)

// Line of an upload that is not blank.
type Line struct {
	// Number of the line, from 1. Blank lines count.
	Number int
	// Data is the JSON text, without space around it. Nil where the line is rejected.
	Data json.RawMessage
	// Fault is why the line is rejected: what is wrong, nothing of what stands there.
	Fault string
}

// LineLimits of [ReadLines]. The zero value has the limits of an upload.
type LineLimits struct {
	// Skip lines at the beginning: they are counted, not looked at.
	Skip int
	// Lines at most. Zero: [MaxLines].
	Lines int
}

// ReadLines reads newline-delimited JSON: one value a line, in UTF-8, of at most buffer.MaxDataBytes bytes without the line's end, which is \n or \r\n; the last line may do
// without. Blank lines are passed over. It keeps one line in memory at most, and the lines that it yields are the caller's own.
//
// The error comes last and once: r's own as it is, or a [*ContentError] when there is no sense in reading on. A line that r's error cut off is not yielded.
func ReadLines(r io.Reader, limits LineLimits) iter.Seq2[Line, error] {
	if limits.Lines <= 0 {
		limits.Lines = MaxLines
	}
	return func(yield func(Line, error) bool) {
		s := lineScanner{source: bufio.NewReaderSize(r, 64<<10)}
		for number := 1; ; number++ {
			raw, long, err := s.next(number)
			if err != nil {
				if !errors.Is(err, io.EOF) {
					yield(Line{}, err)
				}
				return
			}
			if number > limits.Lines {
				yield(Line{}, &ContentError{Reason: fmt.Sprintf("the upload has more than %d lines", limits.Lines)})
				return
			}
			if number <= limits.Skip {
				continue
			}
			line := Line{Number: number}
			if long {
				line.Fault = fmt.Sprintf("is longer than %d bytes", buffer.MaxDataBytes)
			} else if line.Data, line.Fault = judge(raw); line.Data == nil && line.Fault == "" {
				continue // blank
			}
			if !yield(line, nil) {
				return
			}
		}
	}
}

// lineScanner cuts a stream at its line ends.
type lineScanner struct {
	source *bufio.Reader
	line   []byte
}

// next gives a line without its end, valid until the next call, or says that it is too long, having passed over it.
func (s *lineScanner) next(number int) (raw []byte, long bool, err error) {
	const room = buffer.MaxDataBytes + 2 // \r\n
	s.line = s.line[:0]
	for length := 0; ; {
		part, err := s.source.ReadSlice('\n')
		if length += len(part); length > maxStretch {
			return nil, false, &ContentError{Reason: fmt.Sprintf("line %d has more than %d bytes: this is no newline-delimited JSON", number, maxStretch)}
		}
		if length <= room {
			s.line = append(s.line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return nil, false, err
		case err != nil && length == 0:
			return nil, false, io.EOF
		case length > room:
			return nil, true, nil
		}
		raw = bytes.TrimSuffix(bytes.TrimSuffix(s.line, []byte("\n")), []byte("\r"))
		return raw, len(raw) > buffer.MaxDataBytes, nil
	}
}

// judge gives the data of a line, or what is wrong with it, or neither for a blank one.
func judge(raw []byte) (data json.RawMessage, fault string) {
	raw = bytes.Trim(raw, " \t\r") // JSON's own white space
	switch {
	case len(raw) == 0:
		return nil, ""
	case bytes.HasPrefix(raw, []byte("\ufeff")):
		return nil, "begins with a byte order mark"
	case !utf8.Valid(raw):
		return nil, "is not UTF-8"
	case !json.Valid(raw):
		return nil, notJSON(raw)
	default:
		return json.RawMessage(bytes.Clone(raw)), ""
	}
}

// notJSON says where it ends to be JSON. The decoder's own text would quote a character.
func notJSON(raw []byte) string {
	if deep(raw) {
		return fmt.Sprintf("is nested deeper than %d", maxDepth)
	}
	var value json.RawMessage
	if syntax, ok := errors.AsType[*json.SyntaxError](json.Unmarshal(raw, &value)); ok {
		return fmt.Sprintf("is not JSON: error at byte %d", syntax.Offset)
	}
	return "is not JSON"
}

// deep reports whether more than maxDepth brackets are open at once, outside of texts.
func deep(raw []byte) bool {
	depth, inText := 0, false
	for n := 0; n < len(raw); n++ {
		switch c := raw[n]; {
		case inText && c == '\\':
			n++
		case c == '"':
			inText = !inText
		case inText:
		case c == '[' || c == '{':
			if depth++; depth > maxDepth {
				return true
			}
		case c == ']' || c == '}':
			depth--
		}
	}
	return false
}
