package ingest_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/heatsink-dev/heatsink/pkg/ingest"
)

func zipped(t testing.TB, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestContent(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("{\"n\":1}\n", 100)
	whole := zipped(t, text)
	damaged := bytes.Clone(whole)
	damaged[len(damaged)-6] ^= 1 // the checksum
	body := bytes.Clone(whole)
	body[len(body)/2] ^= 0xff
	for name, test := range map[string]struct {
		upload []byte
		want   string
		reason string // "" for none, "?" for any
	}{
		"plain":                        {[]byte(text), text, ""},
		"nothing":                      {nil, "", ""},
		"one byte":                     {[]byte("1"), "1", ""},
		"gzip":                         {whole, text, ""},
		"gzip of nothing":              {zipped(t, ""), "", ""},
		"gzip in two members":          {append(bytes.Clone(whole), zipped(t, "2\n")...), text + "2\n", ""},
		"the magic bytes alone":        {[]byte{0x1f, 0x8b}, "", "the gzip stream ends too early"},
		"a truncated header":           {whole[:7], "", "the gzip stream ends too early"},
		"another method":               {[]byte{0x1f, 0x8b, 9, 0, 0, 0, 0, 0, 0, 0, 0}, "", "the gzip stream is damaged"},
		"a truncated stream":           {whole[:len(whole)-9], "", "the gzip stream ends too early"},
		"a truncated trailer":          {whole[:len(whole)-3], text, "the gzip stream ends too early"},
		"a damaged checksum":           {damaged, text, "the gzip stream is damaged"},
		"a damaged body":               {body, "", "?"},
		"text behind gzip":             {append(bytes.Clone(whole), "nonsense"...), text, "?"},
		"exactly the limit":            {[]byte(strings.Repeat("x", 1000)), strings.Repeat("x", 1000), ""},
		"a byte past the limit":        {[]byte(strings.Repeat("x", 1001)), strings.Repeat("x", 1000), "the upload holds more than 1000 bytes"},
		"exactly the limit, zipped":    {zipped(t, strings.Repeat("x", 1000)), strings.Repeat("x", 1000), ""},
		"a bomb":                       {zipped(t, strings.Repeat("\n", 10_000_000)), strings.Repeat("\n", 1000), "the upload holds more than 1000 bytes"},
		"gzip within gzip is no JSON":  {zipped(t, string(whole)), string(whole), ""},
		"a second member past the end": {append(zipped(t, strings.Repeat("x", 1000)), zipped(t, "y")...), strings.Repeat("x", 1000), "the upload holds more than 1000 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, source := range []io.Reader{bytes.NewReader(test.upload), iotest.OneByteReader(bytes.NewReader(test.upload)), iotest.DataErrReader(bytes.NewReader(test.upload))} {
				r, err := ingest.Decoded(source, 1000)
				var got []byte
				if err == nil {
					got, err = io.ReadAll(r)
				}
				content, bad := errors.AsType[*ingest.ContentError](err)
				switch {
				case test.reason == "" && err != nil, test.reason != "" && !bad, test.reason != "" && test.reason != "?" && content.Reason != test.reason:
					t.Errorf("%v, want %q", err, test.reason)
				case !strings.HasPrefix(string(got), test.want) && test.want != "", test.reason == "" && string(got) != test.want:
					t.Errorf("%d bytes, want %d", len(got), len(test.want))
				}
			}
		})
	}
}

// A connection that breaks within gzip must never make the batch fail.
func TestAFailingSourceIsNotTheContentsFault(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	whole := zipped(t, strings.Repeat("{\"n\":1}\n", 100))
	for cut := range whole {
		for _, upload := range [][]byte{whole, []byte(strings.Repeat("1\n", len(whole)))} {
			r, err := ingest.Decoded(io.MultiReader(bytes.NewReader(upload[:cut]), iotest.ErrReader(broken)), 1<<20)
			if err == nil {
				_, err = io.Copy(io.Discard, r)
			}
			if !errors.Is(err, broken) {
				t.Fatalf("cut at %d: %v", cut, err)
			}
		}
	}
}
