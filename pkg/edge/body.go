package edge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"unicode/utf8"
)

// MaxBodyBytes bounds the body of a request. Lambda takes 6 MB, in which the body stands escaped or in base64.
const MaxBodyBytes = 2_500_000

// DecodeBody reads a body of one JSON object into a T, a struct whose json tags are its fields. It is strict where encoding/json is not: a field that is unknown, in another
// case, given twice, null or of another type is refused, as is text after the object, and text that encoding/json would change (bytes that are not UTF-8, half a
// surrogate pair). The error is [InvalidParameter] naming the field, such as events[3].data, or [TooLarge] past [MaxBodyBytes]. What a json.RawMessage takes is any valid JSON.
func DecodeBody[T any](r *http.Request) (T, error) {
	var value T
	body, err := ReadBody(r)
	if err != nil {
		return value, err
	}
	if err := decode(body, &value); err != nil {
		var none T
		return none, err
	}
	return value, nil
}

// ReadBody reads the whole body, or fails with [TooLarge] past [MaxBodyBytes].
func ReadBody(r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, MaxBodyBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read body: %w", err)
	}
	if len(body) > MaxBodyBytes {
		return nil, &Problem{Code: TooLarge, Detail: "body: at most 2,500,000 bytes"}
	}
	return body, nil
}

// maxBodyDepth is encoding/json's own limit of arrays and objects in each other, which it tells from a syntax error by words alone.
const maxBodyDepth = 10_000

// deep reports whether a text, of JSON up to its last byte, goes deeper than that.
func deep(text []byte) bool {
	depth, quoted := 0, false
	for n := 0; n < len(text); n++ {
		switch c := text[n]; {
		case quoted && c == '\\':
			n++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			if depth++; depth > maxBodyDepth {
				return true
			}
		case c == ']' || c == '}':
			depth--
		}
	}
	return false
}

func decode(body []byte, value any) error {
	if len(bytes.TrimSpace(body)) == 0 {
		return Invalid("body", "must be a JSON object, is empty")
	}
	if !utf8.Valid(body) {
		return Invalid("body", "must be UTF-8")
	}
	// Also bounds the depth, which the walk below recurses into.
	var whole json.RawMessage
	if err := json.Unmarshal(body, &whole); err != nil {
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			if deep(body[:min(syntax.Offset, int64(len(body)))]) {
				return Invalid("body", "is nested too deep: at most 10,000 levels")
			}
			return Invalid("body", "is not one JSON object: error at byte %d", syntax.Offset)
		}
		return Invalid("body", "is not one JSON object")
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	walk := walker{decoder: decoder, body: body}
	if err := walk.value("body", reflect.TypeOf(value).Elem()); err != nil {
		return err
	}
	if err := json.Unmarshal(body, value); err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
			return Invalid(wrong.Field, "must be a whole number, not too large")
		}
		return Invalid("body", "does not fit")
	}
	return nil
}
