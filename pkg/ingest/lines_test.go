package ingest_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/pkg/buffer"
	"github.com/heatsink-dev/heatsink/pkg/ingest"
)

// read collects what a text's lines are: data, or "!" and the fault.
func read(r io.Reader, limits ingest.LineLimits) (lines map[int]string, err error) {
	lines = map[int]string{}
	for line, failure := range ingest.ReadLines(r, limits) {
		if failure != nil {
			return lines, failure
		}
		lines[line.Number] = string(line.Data)
		if line.Fault != "" {
			lines[line.Number] = "!" + line.Fault
		}
	}
	return lines, nil
}

func TestLines(t *testing.T) {
	t.Parallel()
	longest := `"` + strings.Repeat("x", buffer.MaxDataBytes-2) + `"`
	deepest := strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000)
	for name, test := range map[string]struct {
		text string
		want map[int]string
	}{
		"an empty upload":                        {"", map[int]string{}},
		"every kind of value":                    {"{\"a\":1}\n[1]\n\"x\"\n1.50\ntrue\nnull\n", map[int]string{1: `{"a":1}`, 2: "[1]", 3: `"x"`, 4: "1.50", 5: "true", 6: "null"}},
		"a last line without an end":             {"1\n2", map[int]string{1: "1", 2: "2"}},
		"Windows line ends":                      {"1\r\n2\r\n", map[int]string{1: "1", 2: "2"}},
		"blank lines count and are no events":    {"\n1\n \t\r\n\n2\n\n", map[int]string{2: "1", 5: "2"}},
		"space around a value":                   {"  1 \t\n", map[int]string{1: "1"}},
		"space inside stays":                     {"{ \"a\" : 1 }\n", map[int]string{1: `{ "a" : 1 }`}},
		"no JSON":                                {"1\nhello\n2\n", map[int]string{1: "1", 2: "!is not JSON: error at byte 1", 3: "2"}},
		"two values on a line":                   {"1 2\n", map[int]string{1: "!is not JSON: error at byte 3"}},
		"a value over two lines":                 {"{\"a\":\n1}\n", map[int]string{1: "!is not JSON: error at byte 5", 2: "!is not JSON: error at byte 2"}},
		"no UTF-8":                               {"\"\xff\"\n", map[int]string{1: "!is not UTF-8"}},
		"half a surrogate as bytes":              {"\"\xed\xa0\x80\"\n", map[int]string{1: "!is not UTF-8"}},
		"a byte order mark":                      {"\ufeff1\n2\n", map[int]string{1: "!begins with a byte order mark", 2: "2"}},
		"a NUL":                                  {"\x00\n", map[int]string{1: "!is not JSON: error at byte 1"}},
		"old Mac line ends are white space":      {"1\r2\n", map[int]string{1: "!is not JSON: error at byte 3"}},
		"the longest":                            {longest + "\r\n" + longest, map[int]string{1: longest, 2: longest}},
		"a byte too long":                        {longest + " \n1\n", map[int]string{1: "!is longer than 400000 bytes", 2: "1"}},
		"a byte too long, without an end":        {"1\n" + longest + "x", map[int]string{1: "1", 2: "!is longer than 400000 bytes"}},
		"two bytes too long":                     {longest + "xx\n1\n", map[int]string{1: "!is longer than 400000 bytes", 2: "1"}},
		"much too long":                          {strings.Repeat("x", 3_000_000) + "\n1\n", map[int]string{1: "!is longer than 400000 bytes", 2: "1"}},
		"the deepest":                            {deepest + "\n", map[int]string{1: deepest}},
		"too deep":                               {"[" + deepest + "]\n1\n", map[int]string{1: "!is nested deeper than 10000", 2: "1"}},
		"brackets in a text are not deep":        {`"` + strings.Repeat("[", 20_000) + "\"\n", map[int]string{1: `"` + strings.Repeat("[", 20_000) + `"`}},
		"brackets behind an escape are not deep": {`"\"` + strings.Repeat("[", 20_000) + "\" x\n", map[int]string{1: "!is not JSON: error at byte 20006"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := read(strings.NewReader(test.text), ingest.LineLimits{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			// Also where the bytes come one by one, and where the last of them come with the end.
			if len(test.text) < 10_000 {
				again, err := read(iotest.OneByteReader(strings.NewReader(test.text)), ingest.LineLimits{})
				if diff := cmp.Diff(test.want, again); diff != "" || err != nil {
					t.Error(err, diff)
				}
				again, err = read(iotest.DataErrReader(strings.NewReader(test.text)), ingest.LineLimits{})
				if diff := cmp.Diff(test.want, again); diff != "" || err != nil {
					t.Error(err, diff)
				}
			}
		})
	}
}

func TestSkippedLinesAreCountedAndNotLookedAt(t *testing.T) {
	t.Parallel()
	got, err := read(strings.NewReader("bad\n\n3\nworse\n5"), ingest.LineLimits{Skip: 3})
	if diff := cmp.Diff(map[int]string{4: "!is not JSON: error at byte 1", 5: "5"}, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

func TestTooManyLinesEndTheReading(t *testing.T) {
	t.Parallel()
	for text, ends := range map[string]bool{"1\n2\n3": false, "1\n2\n3\n": false, "1\n2\n3\n4": true, "1\n2\n3\n\n": true} {
		got, err := read(strings.NewReader(text), ingest.LineLimits{Lines: 3})
		_, bad := errors.AsType[*ingest.ContentError](err)
		if bad != ends || len(got) != 3 {
			t.Errorf("%q: %v, %d lines", text, err, len(got))
		}
	}
}

// endless is one line without an end.
type endless struct{ given int }

func (e *endless) Read(p []byte) (int, error) {
	e.given += len(p)
	return len(p), nil
}

func TestALineWithoutEndIsNotReadForEver(t *testing.T) {
	t.Parallel()
	source := &endless{}
	_, err := read(source, ingest.LineLimits{})
	if content, ok := errors.AsType[*ingest.ContentError](err); !ok || !strings.Contains(content.Reason, "line 1 has more than 67108864 bytes") || source.given > 70<<20 {
		t.Errorf("%v after %d bytes", err, source.given)
	}
}

func TestALineThatAnErrorCutsOffIsNone(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	got, err := read(io.MultiReader(strings.NewReader("1\n23"), iotest.ErrReader(broken)), ingest.LineLimits{})
	if diff := cmp.Diff(map[int]string{1: "1"}, got); diff != "" || !errors.Is(err, broken) {
		t.Error(err, diff)
	}
}

func TestAReasonHoldsNothingOfTheLine(t *testing.T) {
	t.Parallel()
	got, err := read(strings.NewReader("{\"secret\": geheim}\n"), ingest.LineLimits{})
	if err != nil || got[1] != "!is not JSON: error at byte 12" {
		t.Errorf("%q %v", got[1], err)
	}
}

// What a line is accepted with, the event buffer accepts, and what it refuses, the line is rejected for.
func FuzzLines(f *testing.F) {
	for _, seed := range []string{"", "1", "1\n2\r\n\n{\"a\":[]}", "\xff\n", "\ufeff1", "{\n}", " \t1\r", "\"\\ud800\"", "[[[[", strings.Repeat("[", 40) + "\n1"} {
		f.Add([]byte(seed), uint8(1), uint8(0))
	}
	f.Fuzz(func(t *testing.T, text []byte, chunk, skip uint8) {
		want := map[int]string{}
		rows := bytes.Split(text, []byte("\n"))
		for n, row := range rows {
			trimmed := bytes.Trim(row, " \t\r")
			if len(trimmed) == 0 || n < int(skip) {
				continue
			}
			want[n+1] = "!"
			if buffer.CheckData(0, trimmed) == nil {
				want[n+1] = string(trimmed)
			}
		}
		got, err := read(&pieces{text, int(chunk) + 1}, ingest.LineLimits{Skip: int(skip)})
		if err != nil {
			t.Fatal(err)
		}
		for number, line := range got {
			if strings.HasPrefix(line, "!") {
				if !utf8.ValidString(line) || len(line) > 60 {
					t.Errorf("the reason %q", line)
				}
				got[number] = "!"
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

// pieces gives at most so many bytes at a time.
type pieces struct {
	left []byte
	size int
}

func (p *pieces) Read(into []byte) (int, error) {
	if len(p.left) == 0 {
		return 0, io.EOF
	}
	n := copy(into, p.left[:min(p.size, len(p.left))])
	p.left = p.left[n:]
	return n, nil
}

func ExampleReadLines() {
	upload := strings.NewReader("{\"to\":\"a\"}\n\nnonsense\n[1,2]\n")
	for line, err := range ingest.ReadLines(upload, ingest.LineLimits{}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if line.Fault != "" {
			fmt.Printf("line %d %s\n", line.Number, line.Fault)
			continue
		}
		fmt.Printf("event %d: %s\n", line.Number, line.Data)
	}
	// Output:
	// event 1: {"to":"a"}
	// line 3 is not JSON: error at byte 2
	// event 4: [1,2]
}
