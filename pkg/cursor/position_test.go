package cursor_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/heatsink-dev/heatsink/pkg/cursor"
	"github.com/heatsink-dev/heatsink/pkg/schema"
	"github.com/heatsink-dev/heatsink/pkg/sortkey"
)

var position = cursor.Position{
	Form:  schema.Table,
	Parts: []sortkey.Value{sortkey.Number("1699900000000"), sortkey.Text("")},
	Base:  []sortkey.Value{sortkey.Text("user-aaa"), sortkey.Binary([]byte{0, 0xff})},
}

var compareValues = cmp.AllowUnexported(sortkey.Value{})

func TestPositionRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := cursor.Position{Form: rapid.SampledFrom([]schema.Form{schema.GSI, schema.Table}).Draw(t, "form")}
		for range rapid.IntRange(0, 5).Draw(t, "parts") {
			want.Parts = append(want.Parts, drawValue(t, "part"))
		}
		for range rapid.IntRange(1, 2).Draw(t, "base") {
			want.Base = append(want.Base, drawValue(t, "base"))
		}
		data, err := want.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		var got cursor.Position
		if err := got.UnmarshalBinary(data); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, compareValues); diff != "" {
			t.Fatalf("position (-want +got):\n%s", diff)
		}
	})
}

func TestPositionFormat(t *testing.T) {
	t.Parallel()
	data, err := position.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	want := "\x02" + "\x02" + "\x02\x0d1699900000000" + "\x01\x00" + "\x02" + "\x01\x08user-aaa" + "\x03\x02\x00\xff"
	if string(data) != want {
		t.Errorf("MarshalBinary = %q, want %q", data, want)
	}
}

func TestNumbersOfAPositionKeepAllDigits(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"9007199254740993":                       "9007199254740993", // not a float64
		"12345678901234567890123456789012345678": "12345678901234567890123456789012345678",
		"1.50":                                   "1.5", "-0": "0", "1E3": "1000",
	} {
		data, err := cursor.Position{Form: schema.GSI, Base: []sortkey.Value{sortkey.Number(given)}}.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		var got cursor.Position
		if err := got.UnmarshalBinary(data); err != nil {
			t.Fatal(err)
		}
		if got.Base[0] != sortkey.Number(want) {
			t.Errorf("number %s comes back as %s, want %s", given, got.Base[0], want)
		}
	}
}

func TestMarshalPositionNamesTheField(t *testing.T) {
	t.Parallel()
	text := []sortkey.Value{sortkey.Text("a")}
	for name, test := range map[string]struct {
		position cursor.Position
		want     string
	}{
		"no form":        {cursor.Position{Base: text}, "Form must be GSI or TABLE, is unspecified"},
		"both forms":     {cursor.Position{Form: schema.GSI | schema.Table, Base: text}, "Form must be GSI or TABLE, is GSI|TABLE"},
		"no base key":    {cursor.Position{Form: schema.GSI, Parts: text}, "Base must hold 1 or 2 values, holds 0"},
		"three of them":  {cursor.Position{Form: schema.GSI, Base: []sortkey.Value{text[0], text[0], text[0]}}, "Base must hold 1 or 2 values, holds 3"},
		"too many parts": {cursor.Position{Form: schema.GSI, Parts: make([]sortkey.Value, 256), Base: text}, "Parts must hold at most 255 values, holds 256"},
		"no kind":        {cursor.Position{Form: schema.GSI, Parts: make([]sortkey.Value, 1), Base: text}, "Parts[0]: the value has no kind"},
		"bad UTF-8":      {cursor.Position{Form: schema.GSI, Base: []sortkey.Value{text[0], sortkey.Text("\xff")}}, "Base[1]: the text is not valid UTF-8"},
		"no number":      {cursor.Position{Form: schema.GSI, Base: []sortkey.Value{sortkey.Number("x")}}, "Base[0]: "},
		"too long":       {cursor.Position{Form: schema.GSI, Base: []sortkey.Value{sortkey.Text(strings.Repeat("x", 2049))}}, "Base[0]: the value has 2049 bytes, the limit of a key value is 2048"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := test.position.MarshalBinary(); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("MarshalBinary: %v, want %q", err, test.want)
			}
		})
	}
}

func TestUnmarshalPositionIsStrict(t *testing.T) {
	t.Parallel()
	for name, data := range map[string]string{
		"empty":                      "",
		"form alone":                 "\x01",
		"no form":                    "\x00\x00\x01\x01\x01a",
		"both forms":                 "\x03\x00\x01\x01\x01a",
		"no base list":               "\x01\x00",
		"empty base":                 "\x01\x00\x00",
		"three base values":          "\x01\x00\x03\x01\x01a\x01\x01a\x01\x01a",
		"value cut":                  "\x01\x00\x01\x01\x02a",
		"length missing":             "\x01\x00\x01\x01",
		"kind missing":               "\x01\x00\x01",
		"unknown kind":               "\x01\x00\x01\x04\x01a",
		"kind 0":                     "\x01\x00\x01\x00\x01a",
		"bytes behind":               "\x01\x00\x01\x01\x01a\x00",
		"length in a longer varint":  "\x01\x00\x01\x01\x81\x00a",
		"endless varint":             "\x01\x00\x01\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
		"length past the limit":      "\x01\x00\x01\x01\x81\x10" + strings.Repeat("a", 2049),
		"text that is not UTF-8":     "\x01\x00\x01\x01\x01\xff",
		"number that is none":        "\x01\x00\x01\x02\x01x",
		"number in another spelling": "\x01\x00\x01\x02\x031.0",
		"more values than there are": "\x01\xff\x01\x01a",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := position
			if err := got.UnmarshalBinary([]byte(data)); err == nil {
				t.Errorf("accepted as %+v", got)
			}
			if diff := cmp.Diff(position, got, compareValues); diff != "" {
				t.Errorf("changed in spite of the error:\n%s", diff)
			}
		})
	}
}

// FuzzPosition: whatever is accepted is exactly what its position marshals to.
func FuzzPosition(f *testing.F) {
	data, err := position.MarshalBinary()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte("\x01\x00\x01\x01\x01a"))
	f.Add([]byte("\x01\x00\x01\x01\x81\x00a"))
	f.Add([]byte("\x02\xff\x02\x031.0"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var p cursor.Position
		if p.UnmarshalBinary(data) != nil {
			return
		}
		again, err := p.MarshalBinary()
		if err != nil || !bytes.Equal(again, data) {
			t.Errorf("%q is accepted, but marshals to %q, %v", data, again, err)
		}
	})
}
