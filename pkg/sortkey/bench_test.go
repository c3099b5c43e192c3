package sortkey_test

import (
	"testing"

	"github.com/heatsink-dev/heatsink/pkg/sortkey"
)

// TestEncodeAllocatesOnlyItsText holds the hot path to its budget.
func TestEncodeAllocatesOnlyItsText(t *testing.T) {
	managed, general := codec(t, managedKey...), codec(t, numberID...)
	buf := make([]byte, 0, 128)
	for name, test := range map[string]struct {
		want float64
		do   func() error
	}{
		"Encode, plain": {1, func() error {
			_, err := managed.Encode(sortkey.Number("1699900000000"), sortkey.Text("user-aaa"))
			return err
		}},
		"Encode, escaped": {1, func() error {
			_, err := managed.Encode(sortkey.Number("1E3"), sortkey.Text("a#b c"))
			return err
		}},
		"Append, plain": {0, func() error {
			_, err := managed.Append(buf, sortkey.Number("1699900000000"), sortkey.Text("user-aaa"))
			return err
		}},
		"Append, general number": {0, func() error {
			_, err := general.Append(buf, sortkey.Number("-1699900000000.25"), sortkey.Text("user-aaa"))
			return err
		}},
	} {
		got := testing.AllocsPerRun(100, func() {
			if err := test.do(); err != nil {
				t.Fatal(err)
			}
		})
		if got > test.want {
			t.Errorf("%s: %v allocations, want at most %v", name, got, test.want)
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	for name, bench := range map[string]struct {
		parts  []sortkey.Part
		values []sortkey.Value
	}{
		"plain":   {managedKey, []sortkey.Value{sortkey.Number("1699900000000"), sortkey.Text("user-aaa")}},
		"escaped": {managedKey, []sortkey.Value{sortkey.Number("1699900000000"), sortkey.Text("user aaa#1")}},
		"unicode": {managedKey, []sortkey.Value{sortkey.Number("1699900000000"), sortkey.Text("ユーザー-😀")}},
		"general": {numberID, []sortkey.Value{sortkey.Number("-1699900000000.25"), sortkey.Text("user-aaa")}},
	} {
		b.Run(name, func(b *testing.B) {
			c := codec(b, bench.parts...)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Encode(bench.values...); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAppend(b *testing.B) {
	c := codec(b, managedKey...)
	buf := make([]byte, 0, sortkey.MaxSortKeyBytes)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Append(buf, sortkey.Number("1699900000000"), sortkey.Text("user-aaa")); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	c := codec(b, managedKey...)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Decode("1699900000000#user-aaa"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRange(b *testing.B) {
	c := codec(b, managedKey...)
	cond := sortkey.Condition{Lower: at(sortkey.Number("1699900000000")), Upper: beyond(sortkey.Number("1699900000999"))}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Range(nil, cond); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCompareNumbers(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if sortkey.CompareNumbers("1699900000000", "1699900000001") != -1 {
			b.Fatal("wrong order")
		}
	}
}
