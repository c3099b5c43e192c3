package sortkey_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/pkg/sortkey"
)

func TestTextsOfPlainValuesStayReadable(t *testing.T) {
	t.Parallel()
	tests := []struct {
		parts  []sortkey.Part
		values []sortkey.Value
		want   string
	}{
		{managedKey, []sortkey.Value{sortkey.Number("1699900000000"), sortkey.Text("user-aaa")}, "1699900000000#user-aaa"},
		{managedKey, []sortkey.Value{sortkey.Number("42"), sortkey.Text("u")}, "0000000000042#u"},
		{managedKey, []sortkey.Value{sortkey.Number("0"), sortkey.Text("u")}, "0000000000000#u"},
		{numberID, []sortkey.Value{sortkey.Number("42"), sortkey.Text("u")}, "p501.42#u"},
		{numberID, []sortkey.Value{sortkey.Number("-42"), sortkey.Text("u")}, "-498.57~#u"},
		{numberID, []sortkey.Value{sortkey.Number("0"), sortkey.Text("u")}, "0#u"},
		{numberID, []sortkey.Value{sortkey.Number("0.05"), sortkey.Text("u")}, "p498.5#u"},
		{twoTexts, texts("a#b$c d", "\x00\x24"), "a$Sb$Tc$Pd#$0$T"},
		{twoTexts, texts("", ""), "#"},
		{twoTexts, texts("日本", "😀"), "日本#😀"},
		{[]sortkey.Part{part("b", sortkey.KindBinary)}, []sortkey.Value{sortkey.Binary([]byte{0, 0x7f, 0xff})}, "007fff"},
	}
	for _, test := range tests {
		if got := encode(t, codec(t, test.parts...), test.values...); got != test.want {
			t.Errorf("Encode(%q) = %q, want %q", test.values, got, test.want)
		}
	}
}

func TestNewRefusesUnsoundParts(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		parts []sortkey.Part
		want  sortkey.Error
	}{
		"no parts":         {nil, sortkey.Error{Reason: sortkey.ReasonDefinition}},
		"no name":          {[]sortkey.Part{part("", sortkey.KindText)}, sortkey.Error{Reason: sortkey.ReasonDefinition}},
		"no kind":          {[]sortkey.Part{{Name: "a"}}, sortkey.Error{Part: "a", Reason: sortkey.ReasonDefinition}},
		"unknown kind":     {[]sortkey.Part{part("a", 9)}, sortkey.Error{Part: "a", Reason: sortkey.ReasonDefinition}},
		"width on a text":  {[]sortkey.Part{part("a", sortkey.KindText, 3)}, sortkey.Error{Part: "a", Reason: sortkey.ReasonDefinition, Limit: 38, Got: 3}},
		"negative width":   {[]sortkey.Part{part("a", sortkey.KindNumber, -1)}, sortkey.Error{Part: "a", Reason: sortkey.ReasonDefinition, Limit: 38, Got: -1}},
		"width past limit": {[]sortkey.Part{part("a", sortkey.KindNumber, 39)}, sortkey.Error{Part: "a", Reason: sortkey.ReasonDefinition, Limit: 38, Got: 39}},
	}
	for name, test := range tests {
		_, err := sortkey.New(test.parts...)
		wantError(t, name, err, test.want)
		if len(test.parts) == 1 {
			_, _, err = test.parts[0].Normalise(sortkey.Condition{})
			wantError(t, name+", Normalise", err, test.want)
		}
	}
}

func TestEncodeRefusesWhatAKeyCannotHold(t *testing.T) {
	t.Parallel()
	id := sortkey.Text("x")
	secret := strings.Repeat("s", 1100)
	tests := map[string]struct {
		parts  []sortkey.Part
		values []sortkey.Value
		want   sortkey.Error
	}{
		"too few values":          {managedKey, []sortkey.Value{id}, sortkey.Error{Reason: sortkey.ReasonCount, Limit: 2, Got: 1}},
		"no values":               {managedKey, nil, sortkey.Error{Reason: sortkey.ReasonCount, Limit: 2}},
		"too many values":         {managedKey, []sortkey.Value{id, id, id}, sortkey.Error{Reason: sortkey.ReasonCount, Limit: 2, Got: 3}},
		"text for a number":       {managedKey, []sortkey.Value{sortkey.Text("1"), id}, sortkey.Error{Part: "managedKey", Reason: sortkey.ReasonKind, Limit: int(sortkey.KindNumber), Got: int(sortkey.KindText)}},
		"number for a text":       {twoTexts, []sortkey.Value{id, sortkey.Number("1")}, sortkey.Error{Part: "second", Reason: sortkey.ReasonKind, Limit: int(sortkey.KindText), Got: int(sortkey.KindNumber)}},
		"zero value":              {twoTexts, []sortkey.Value{{}, id}, sortkey.Error{Part: "first", Reason: sortkey.ReasonKind, Limit: int(sortkey.KindText)}},
		"invalid UTF-8":           {twoTexts, texts("a\xff", "b"), sortkey.Error{Part: "first", Reason: sortkey.ReasonUTF8}},
		"surrogate":               {twoTexts, texts("a", "\xed\xa0\x80"), sortkey.Error{Part: "second", Reason: sortkey.ReasonUTF8}},
		"negative with width":     {managedKey, []sortkey.Value{sortkey.Number("-1"), id}, sortkey.Error{Part: "managedKey", Reason: sortkey.ReasonNegative}},
		"fraction with width":     {managedKey, []sortkey.Value{sortkey.Number("1.5"), id}, sortkey.Error{Part: "managedKey", Reason: sortkey.ReasonFraction}},
		"14 digits for 13":        {managedKey, []sortkey.Value{sortkey.Number("16999000000001"), id}, sortkey.Error{Part: "managedKey", Reason: sortkey.ReasonWidth, Limit: 13, Got: 14}},
		"1E13 for 13":             {managedKey, []sortkey.Value{sortkey.Number("1E13"), id}, sortkey.Error{Part: "managedKey", Reason: sortkey.ReasonWidth, Limit: 13, Got: 14}},
		"not a number, width":     {managedKey, []sortkey.Value{sortkey.Number("12a"), id}, sortkey.Error{Part: "managedKey", Reason: sortkey.ReasonNotANumber}},
		"empty number, width":     {managedKey, []sortkey.Value{sortkey.Number(""), id}, sortkey.Error{Part: "managedKey", Reason: sortkey.ReasonNotANumber}},
		"not a number":            {numberID, []sortkey.Value{sortkey.Number("NaN"), id}, sortkey.Error{Part: "number", Reason: sortkey.ReasonNotANumber}},
		"39 digits":               {numberID, []sortkey.Value{sortkey.Number(strings.Repeat("1", 39)), id}, sortkey.Error{Part: "number", Reason: sortkey.ReasonDigits, Limit: 38, Got: 39}},
		"too large":               {numberID, []sortkey.Value{sortkey.Number("1E126"), id}, sortkey.Error{Part: "number", Reason: sortkey.ReasonMagnitude, Limit: 125, Got: 126}},
		"too small":               {numberID, []sortkey.Value{sortkey.Number("-1E-131"), id}, sortkey.Error{Part: "number", Reason: sortkey.ReasonMagnitude, Limit: -130, Got: -131}},
		"empty key":               {twoTexts[:1], texts(""), sortkey.Error{Part: "first", Reason: sortkey.ReasonEmpty}},
		"key of 1,025 bytes":      {twoTexts, texts("ab", secret[:1022]), sortkey.Error{Part: "second", Reason: sortkey.ReasonTooLong, Limit: 1024, Got: 1025}},
		"1,026 bytes by escapes":  {twoTexts, texts("ab#", secret[:1020]), sortkey.Error{Part: "second", Reason: sortkey.ReasonTooLong, Limit: 1024, Got: 1025}},
		"one value past it":       {twoTexts, texts(secret, "ab"), sortkey.Error{Part: "first", Reason: sortkey.ReasonTooLong, Limit: 1024, Got: 1103}},
		"binary past it":          {[]sortkey.Part{part("b", sortkey.KindBinary), part("n", sortkey.KindNumber)}, []sortkey.Value{sortkey.Binary(make([]byte, 513)), sortkey.Number("-42")}, sortkey.Error{Part: "b", Reason: sortkey.ReasonTooLong, Limit: 1024, Got: 1035}},
		"too long, with a number": {managedKey, []sortkey.Value{sortkey.Number("1"), sortkey.Text(secret[:1011])}, sortkey.Error{Part: "userId", Reason: sortkey.ReasonTooLong, Limit: 1024, Got: 1025}},
	}
	for name, test := range tests {
		text, err := codec(t, test.parts...).Encode(test.values...)
		if text != "" {
			t.Errorf("%s: the text is %q beside an error", name, text)
		}
		wantError(t, name, err, test.want)
	}
	if text := encode(t, codec(t, twoTexts...), texts("ab", secret[:1021])...); len(text) != sortkey.MaxSortKeyBytes {
		t.Errorf("a key of exactly the limit has %d bytes", len(text))
	}
}

func wantError(t *testing.T, name string, err error, want sortkey.Error) {
	t.Helper()
	got, ok := errors.AsType[*sortkey.Error](err)
	if !ok {
		t.Errorf("%s: error is %v, want %+v", name, err, want)
		return
	}
	if diff := cmp.Diff(want, *got); diff != "" {
		t.Errorf("%s:\n%s", name, diff)
	}
}

func TestErrorsNameThePartAndTheLimitButNeverTheValue(t *testing.T) {
	t.Parallel()
	secret := "s3cret"
	c := codec(t, part("status", sortkey.KindText), part("n", sortkey.KindNumber, 3), part("id", sortkey.KindText))
	tests := []struct {
		values []sortkey.Value
		want   string
	}{
		{[]sortkey.Value{sortkey.Number(secret), sortkey.Number("1"), sortkey.Text("")}, `sortkey: part "status": the value is number, the part is text`},
		{[]sortkey.Value{sortkey.Text(secret), sortkey.Number(secret), sortkey.Text("")}, `sortkey: part "n": the value is not a number`},
		{[]sortkey.Value{sortkey.Text(secret), sortkey.Number("4711"), sortkey.Text("")}, `sortkey: part "n": the integer has 4 digits, the part's width is 3`},
		{[]sortkey.Value{sortkey.Text(secret + "\xff"), sortkey.Number("1"), sortkey.Text("")}, `sortkey: part "status": the text is not valid UTF-8`},
		{[]sortkey.Value{sortkey.Text(secret), sortkey.Number("1"), sortkey.Text(strings.Repeat(secret, 200))}, `sortkey: part "id": the key is 1211 bytes long, the limit is 1024 (this is its longest part)`},
		{[]sortkey.Value{sortkey.Text(secret)}, `sortkey: 1 values for a key of 3 parts`},
	}
	for _, test := range tests {
		_, err := c.Encode(test.values...)
		if err == nil || err.Error() != test.want {
			t.Errorf("error is %v, want %s", err, test.want)
		}
	}
	seen := map[string]sortkey.Reason{}
	for r := sortkey.ReasonDefinition; r <= sortkey.ReasonContradiction; r++ {
		text := (&sortkey.Error{Part: "p", Reason: r}).Error()
		if other, dup := seen[text]; dup || strings.Contains(text, "unspecified error") {
			t.Errorf("reasons %d and %d both say %q", r, other, text)
		}
		seen[text] = r
	}
}

func TestDecodeRefusesWhatEncodeDoesNotWrite(t *testing.T) {
	t.Parallel()
	general := []sortkey.Part{part("n", sortkey.KindNumber)}
	binary := []sortkey.Part{part("b", sortkey.KindBinary)}
	tests := []struct {
		parts  []sortkey.Part
		text   string
		reason sortkey.Reason
	}{
		{twoTexts, "", sortkey.ReasonEmpty},
		{twoTexts, strings.Repeat("a", 1023) + "#b", sortkey.ReasonTooLong},
		{twoTexts, "a", sortkey.ReasonMalformed},
		{twoTexts, "a#b#c", sortkey.ReasonMalformed},
		{twoTexts, "a\xff#b", sortkey.ReasonUTF8},
		{twoTexts, "a b#c", sortkey.ReasonMalformed}, // not escaped
		{twoTexts, "a$#c", sortkey.ReasonMalformed},  // cut escape
		{twoTexts, "a#c$", sortkey.ReasonMalformed},  // cut escape
		{twoTexts, "a$/#c", sortkey.ReasonMalformed}, // below the escapes
		{twoTexts, "a$U#c", sortkey.ReasonMalformed}, // `%` needs none
		{twoTexts, "a$é#c", sortkey.ReasonMalformed}, // no escape
		{managedKey, "1#u", sortkey.ReasonMalformed}, // not padded
		{managedKey, "169990000000a#u", sortkey.ReasonMalformed},
		{managedKey, "01699900000000#u", sortkey.ReasonMalformed},
		{general, "42", sortkey.ReasonMalformed},
		{general, "00", sortkey.ReasonMalformed},
		{general, "p501.", sortkey.ReasonMalformed},
		{general, "p501.0", sortkey.ReasonMalformed},
		{general, "p501.420", sortkey.ReasonMalformed},
		{general, "p501.042", sortkey.ReasonMalformed},
		{general, "p501:42", sortkey.ReasonMalformed},
		{general, "p5a1.42", sortkey.ReasonMalformed},
		{general, "p501.4~", sortkey.ReasonMalformed},
		{general, "p626.1", sortkey.ReasonMalformed},
		{general, "p369.1", sortkey.ReasonMalformed},
		{general, "p500." + strings.Repeat("1", 39), sortkey.ReasonMalformed},
		{general, "-498.57", sortkey.ReasonMalformed},
		{general, "-498.~", sortkey.ReasonMalformed},
		{general, "-498.579~", sortkey.ReasonMalformed}, // complement of a trailing zero
		{general, "-498.957~", sortkey.ReasonMalformed}, // complement of a leading zero
		{general, "-498.57~~", sortkey.ReasonMalformed},
		{general, "-373.8~", sortkey.ReasonMalformed},
		{general, "-630.8~", sortkey.ReasonMalformed},
		{general, "q501.42", sortkey.ReasonMalformed},
		{binary, "0", sortkey.ReasonMalformed},
		{binary, "0G", sortkey.ReasonMalformed},
		{binary, "FF", sortkey.ReasonMalformed},
	}
	for _, test := range tests {
		values, err := codec(t, test.parts...).Decode(test.text)
		if e, ok := errors.AsType[*sortkey.Error](err); !ok || e.Reason != test.reason || values != nil {
			t.Errorf("Decode(%q) = %q, %v, want reason %d", test.text, values, err, test.reason)
		}
	}
}

func TestNumberTextsThatAreNoNumbers(t *testing.T) {
	t.Parallel()
	for _, n := range []string{"", "+", "-", ".", "-.", "e5", "1e", "1e+", "1e5.0", "1E5E5", "--1", "1-", " 1", "1 ", "1,5", "1_000", "0x10", "1/2", "Inf", "NaN", "٣", "1.2.3", "1e٣"} {
		if got, err := sortkey.CanonicalNumber(n); err == nil {
			t.Errorf("CanonicalNumber(%q) = %q, want an error", n, got)
		}
	}
	// Digits and exponents are counted on the value, not on its spelling, however long it is.
	zeros := strings.Repeat("0", 100_000)
	for n, want := range map[string]string{
		"1" + zeros + "E-100000":             "1",
		"0." + zeros + "1E100001":            "1",
		zeros + "1." + zeros:                 "1",
		"0E999999999999999999999999999":      "0",
		"1E100":                              "1" + zeros[:100],
		strings.Repeat("9", 38) + zeros[:88]: strings.Repeat("9", 38) + zeros[:88],
		"1.5E-130":                           "0." + zeros[:129] + "15",
	} {
		if got, err := sortkey.CanonicalNumber(n); err != nil || got != want {
			t.Errorf("CanonicalNumber of a text of %d bytes = %.60q, %v, want %.60q", len(n), got, err, want)
		}
	}
	for n, want := range map[string]sortkey.Error{
		"1E999999999999999999999999999":            {Reason: sortkey.ReasonMagnitude, Limit: 125},
		"1E-999999999999999999999999999":           {Reason: sortkey.ReasonMagnitude, Limit: -130},
		"1" + zeros:                                {Reason: sortkey.ReasonMagnitude, Limit: 125, Got: 100_000},
		"1." + zeros[:37] + "1":                    {Reason: sortkey.ReasonDigits, Limit: 38, Got: 39},
		"9.99999999999999999999999999999999999999": {Reason: sortkey.ReasonDigits, Limit: 38, Got: 39},
	} {
		_, err := sortkey.CanonicalNumber(n)
		if e, ok := errors.AsType[*sortkey.Error](err); !ok || e.Reason != want.Reason || e.Limit != want.Limit || want.Got != 0 && e.Got != want.Got {
			t.Errorf("CanonicalNumber of a text of %d bytes: %v, want %+v", len(n), err, want)
		}
	}
	if sortkey.CompareNumbers("x", "1") != 1 || sortkey.CompareNumbers("1", "x") != -1 || sortkey.CompareNumbers("x", "y") != -1 {
		t.Error("texts that are no numbers do not come after all numbers")
	}
}

func TestCheckPartitionKey(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("p", sortkey.MaxPartitionKeyBytes)
	for _, v := range []sortkey.Value{sortkey.Text(long), sortkey.Text("é"), sortkey.Binary([]byte{0xff}), sortkey.Number("-1.5")} {
		if err := sortkey.CheckPartitionKey("ID", v); err != nil {
			t.Errorf("a good %s: %v", v.Kind(), err)
		}
	}
	for name, test := range map[string]struct {
		value sortkey.Value
		want  sortkey.Error
	}{
		"2,049 bytes":   {sortkey.Text(long + "p"), sortkey.Error{Part: "ID", Reason: sortkey.ReasonTooLong, Limit: 2048, Got: 2049}},
		"empty text":    {sortkey.Text(""), sortkey.Error{Part: "ID", Reason: sortkey.ReasonEmpty}},
		"empty binary":  {sortkey.Binary(nil), sortkey.Error{Part: "ID", Reason: sortkey.ReasonEmpty}},
		"invalid UTF-8": {sortkey.Text("\xff"), sortkey.Error{Part: "ID", Reason: sortkey.ReasonUTF8}},
		"no number":     {sortkey.Number("x"), sortkey.Error{Part: "ID", Reason: sortkey.ReasonNotANumber}},
		"no kind":       {sortkey.Value{}, sortkey.Error{Part: "ID", Reason: sortkey.ReasonKind}},
	} {
		wantError(t, name, sortkey.CheckPartitionKey("ID", test.value), test.want)
	}
}

func TestCodecIsImmutableAndSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	parts := []sortkey.Part{part("a", sortkey.KindText), part("b", sortkey.KindText)}
	c := codec(t, parts...)
	parts[0].Kind = sortkey.KindBinary
	c.Parts()[1].Kind = sortkey.KindBinary
	raw := []byte("x")
	v := sortkey.Binary(raw)
	raw[0] = 'y'
	v.Bytes()[0] = 'z'
	if v.String() != "x" {
		t.Errorf("a binary value changed to %q", v)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				if got, err := c.Encode(texts("a", "b")...); got != "a#b" || err != nil {
					t.Errorf("Encode = %q, %v", got, err)
				}
			}
		})
	}
	wg.Wait()
}
