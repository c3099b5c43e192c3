package partition_test

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/heatsink-dev/heatsink/pkg/partition"
)

func money(t interface {
	Helper()
	Fatal(args ...any)
}, text string,
) partition.Money {
	t.Helper()
	amount, err := partition.ParseMoney(text)
	if err != nil {
		t.Fatal(err)
	}
	return amount
}

func TestMoneyRoundsHalfToEven(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text   string
		places int
		want   string
	}{
		{"0.0425", 3, "$0.042"},
		{"0.0435", 3, "$0.044"},
		{"7.4625", 2, "$7.46"},
		{"0.074625", 2, "$0.07"},
		{"0.03675", 3, "$0.037"},
		{"13.2804", 2, "$13.28"},
		{"0.005", 2, "$0.00"},
		{"0.015", 2, "$0.02"},
		{"0.0051", 2, "$0.01"},
		{"2", 0, "$2"},
	} {
		if got := money(t, test.text).Text(test.places); got != test.want {
			t.Errorf("%s to %d places: %s, want %s", test.text, test.places, got, test.want)
		}
		negative := partition.Money{}.Minus(money(t, test.text)).Text(test.places)
		if want := "-" + test.want; negative != want && test.want != "$0.00" {
			t.Errorf("-%s to %d places: %s, want %s", test.text, test.places, negative, want)
		}
	}
}

func TestMoneyPrintsWhatMatters(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]string{
		"13.28": {"$13.28", "$13.28"}, "0.2": {"$0.20", "$0.20"}, "0.0012": {"$0.0012", "$0.0012"}, "0.07": {"$0.070", "$0.07"}, "0": {"$0.00", "$0.00"},
		"0.000209548": {"$0.00021", "$0.000209548"}, "0.1": {"$0.10", "$0.10"},
	} {
		amount := money(t, text)
		if got := [2]string{amount.String(), amount.Exact()}; got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

func TestParseMoneyTakesPlainDecimalsOnly(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "-1", "+1", "1e3", "1.", ".5", "1/2", "0x1", "1,5", "$1", " 1", "1234567", "0.1234567890", "NaN", "１"} {
		if _, err := partition.ParseMoney(text); err == nil {
			t.Errorf("took %q", text)
		}
	}
}

func TestMoneyIsExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.StringMatching(`[0-9]{1,6}\.[0-9]{1,9}`).Draw(t, "a"), rapid.StringMatching(`[0-9]{1,6}\.[0-9]{1,9}`).Draw(t, "b")
		x, y := money(t, a), money(t, b)
		if !x.Plus(y).Minus(y).Equal(x) || !x.Times(big.NewRat(1, 3)).Times(big.NewRat(3, 1)).Equal(x) {
			t.Fatal("lost a part")
		}
		text, err := x.MarshalText()
		if err != nil || !money(t, string(text)).Equal(x) {
			t.Fatalf("%s became %s (%v)", a, text, err)
		}
		if off := x.Minus(x.Round(2)).Times(big.NewRat(200, 1)); off.Cmp(money(t, "1")) > 0 || (partition.Money{}).Minus(off).Cmp(money(t, "1")) > 0 {
			t.Fatalf("%s rounds to %s", a, x.Round(2))
		}
	})
}

func FuzzParseMoney(f *testing.F) {
	for _, seed := range []string{"0.625", "1", "", "-1", "1e9", "999999.999999999"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		amount, err := partition.ParseMoney(text)
		if err != nil {
			return
		}
		again, err := partition.ParseMoney(amount.Exact()[1:])
		if err != nil || !again.Equal(amount) {
			t.Errorf("%q: %s, %v", text, amount.Exact(), err)
		}
	})
}
