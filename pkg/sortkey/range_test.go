package sortkey_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/pkg/sortkey"
)

func at(v sortkey.Value) *sortkey.Bound     { return &sortkey.Bound{Value: v, Inclusive: true} }
func beyond(v sortkey.Value) *sortkey.Bound { return &sortkey.Bound{Value: v} }

//go:fix inline

// TestRangeTable is blueprint's table of conditions, literally.
func TestRangeTable(t *testing.T) {
	t.Parallel()
	statusDate := []sortkey.Part{part("status", sortkey.KindText), part("date", sortkey.KindText), part("id", sortkey.KindText)}
	open, date := texts("open"), sortkey.Text("2024-05")
	k := sortkey.Number("1699900000000")
	highest := strings.Repeat("\U0010ffff", 256)
	tests := map[string]struct {
		parts []sortkey.Part
		under []sortkey.Value
		cond  sortkey.Condition
		want  sortkey.Range
	}{
		"no condition":                      {statusDate, nil, sortkey.Condition{}, sortkey.Range{All: true}},
		"pinned only":                       {statusDate, open, sortkey.Condition{}, sortkey.Range{Prefix: "open#"}},
		"all pinned":                        {statusDate, texts("open", "2024", "x"), sortkey.Condition{}, sortkey.Range{Low: "open#2024#x", High: "open#2024#x"}},
		"=":                                 {managedKey, nil, sortkey.Condition{Equal: &k}, sortkey.Range{Prefix: "1699900000000#"}},
		"<":                                 {managedKey, nil, sortkey.Condition{Upper: beyond(k)}, sortkey.Range{Low: "#", High: "1699899999999$"}},
		"<=":                                {managedKey, nil, sortkey.Condition{Upper: at(k)}, sortkey.Range{Low: "#", High: "1699900000000$"}},
		">":                                 {managedKey, nil, sortkey.Condition{Lower: beyond(k)}, sortkey.Range{Low: "1699900000001", High: ":"}},
		">=":                                {managedKey, nil, sortkey.Condition{Lower: at(k)}, sortkey.Range{Low: "1699900000000", High: ":"}},
		"under, =":                          {statusDate, open, sortkey.Condition{Equal: &date}, sortkey.Range{Prefix: "open#2024-05#"}},
		"under, prefix":                     {statusDate, open, sortkey.Condition{Prefix: new("2024 ")}, sortkey.Range{Prefix: "open#2024$P"}},
		"under, <":                          {statusDate, open, sortkey.Condition{Upper: beyond(date)}, sortkey.Range{Low: "open#", High: "open#2024-05"}},
		"under, <=":                         {statusDate, open, sortkey.Condition{Upper: at(date)}, sortkey.Range{Low: "open#", High: "open#2024-05$"}},
		"under, >":                          {statusDate, open, sortkey.Condition{Lower: beyond(date)}, sortkey.Range{Low: "open#2024-05$", High: "open$"}},
		"under, >=":                         {statusDate, open, sortkey.Condition{Lower: at(date)}, sortkey.Range{Low: "open#2024-05", High: "open$"}},
		"under, > and <":                    {statusDate, open, sortkey.Condition{Lower: beyond(date), Upper: beyond(sortkey.Text("2025"))}, sortkey.Range{Low: "open#2024-05$", High: "open#2025"}},
		"text, no upper":                    {statusDate, nil, sortkey.Condition{Lower: at(open[0])}, sortkey.Range{Low: "open", High: highest}},
		"number, no upper":                  {numberID, nil, sortkey.Condition{Lower: at(sortkey.Number("42"))}, sortkey.Range{Low: "p501.42", High: "q"}},
		"number, exclusive":                 {numberID, nil, sortkey.Condition{Lower: beyond(sortkey.Number("-42")), Upper: beyond(sortkey.Number("42"))}, sortkey.Range{Low: "-498.57~$", High: "p501.42"}},
		"binary, no upper":                  {[]sortkey.Part{part("b", sortkey.KindBinary), part("id", sortkey.KindText)}, nil, sortkey.Condition{Lower: beyond(sortkey.Binary([]byte{0xff}))}, sortkey.Range{Low: "ff$", High: "g"}},
		"empty prefix":                      {statusDate, nil, sortkey.Condition{Prefix: new("")}, sortkey.Range{All: true}},
		"empty prefix under":                {statusDate, open, sortkey.Condition{Prefix: new("")}, sortkey.Range{Prefix: "open#"}},
		"= empty":                           {statusDate, nil, sortkey.Condition{Equal: new(sortkey.Text(""))}, sortkey.Range{Prefix: "#"}},
		"< empty":                           {statusDate, nil, sortkey.Condition{Upper: beyond(sortkey.Text(""))}, sortkey.Range{Empty: true}},
		"<= empty":                          {statusDate, nil, sortkey.Condition{Upper: at(sortkey.Text(""))}, sortkey.Range{Low: "#", High: "$"}},
		">= empty":                          {statusDate, nil, sortkey.Condition{Lower: at(sortkey.Text(""))}, sortkey.Range{Low: "#", High: highest}},
		"= out of width":                    {managedKey, nil, sortkey.Condition{Equal: new(sortkey.Number("1E13"))}, sortkey.Range{Empty: true}},
		"= negative":                        {managedKey, nil, sortkey.Condition{Equal: new(sortkey.Number("-1"))}, sortkey.Range{Empty: true}},
		"= fraction":                        {managedKey, nil, sortkey.Condition{Equal: new(sortkey.Number("0.5"))}, sortkey.Range{Empty: true}},
		">= beyond the width":               {managedKey, nil, sortkey.Condition{Lower: at(sortkey.Number("1E13"))}, sortkey.Range{Empty: true}},
		"> highest":                         {managedKey, nil, sortkey.Condition{Lower: beyond(sortkey.Number("9999999999999"))}, sortkey.Range{Empty: true}},
		"<= beyond the width":               {managedKey, nil, sortkey.Condition{Upper: at(sortkey.Number("1E13"))}, sortkey.Range{Low: "#", High: "9999999999999$"}},
		">= negative":                       {managedKey, nil, sortkey.Condition{Lower: at(sortkey.Number("-7"))}, sortkey.Range{Low: "0000000000000", High: ":"}},
		"< 0":                               {managedKey, nil, sortkey.Condition{Upper: beyond(sortkey.Number("0"))}, sortkey.Range{Empty: true}},
		"> 1.5, < 2.5":                      {managedKey, nil, sortkey.Condition{Lower: beyond(sortkey.Number("1.5")), Upper: beyond(sortkey.Number("2.5"))}, sortkey.Range{Low: "0000000000002", High: "0000000000002$"}},
		"under out of width":                {managedKey, []sortkey.Value{sortkey.Number("1E13")}, sortkey.Condition{}, sortkey.Range{Empty: true}},
		"under past the limit":              {twoTexts, texts(strings.Repeat("a", 2000)), sortkey.Condition{Lower: at(open[0])}, sortkey.Range{Empty: true}},
		"= past the limit":                  {twoTexts, nil, sortkey.Condition{Equal: new(sortkey.Text(strings.Repeat("a", 1024)))}, sortkey.Range{Empty: true}},
		"prefix past the limit":             {twoTexts, nil, sortkey.Condition{Prefix: new(strings.Repeat("a", 1025))}, sortkey.Range{Empty: true}},
		">= past the limit":                 {twoTexts, nil, sortkey.Condition{Lower: at(sortkey.Text(strings.Repeat("a", 9000)))}, sortkey.Range{Low: strings.Repeat("a", 1023) + "b", High: highest}},
		"<= past the limit":                 {twoTexts, nil, sortkey.Condition{Upper: at(sortkey.Text(strings.Repeat("a", 9000)))}, sortkey.Range{Low: "#", High: strings.Repeat("a", 1024)}},
		"last part, =":                      {twoTexts, texts("a"), sortkey.Condition{Equal: new(sortkey.Text("b"))}, sortkey.Range{Low: "a#b", High: "a#b"}},
		"last part, <=":                     {twoTexts, texts("a"), sortkey.Condition{Upper: at(sortkey.Text("b"))}, sortkey.Range{Low: "a#", High: "a#b$"}},
		"only part, < a":                    {twoTexts[:1], nil, sortkey.Condition{Upper: beyond(sortkey.Text("b"))}, sortkey.Range{Low: "#", High: "a" + highest[:1020] + "\uffff"}},
		"only part, = empty":                {twoTexts[:1], nil, sortkey.Condition{Equal: new(sortkey.Text(""))}, sortkey.Range{Empty: true}},
		"only part, > highest key":          {twoTexts[:1], nil, sortkey.Condition{Lower: beyond(sortkey.Text(highest))}, sortkey.Range{Empty: true}},
		"under, < empty":                    {statusDate, open, sortkey.Condition{Upper: beyond(sortkey.Text(""))}, sortkey.Range{Empty: true}},
		"only part, < empty":                {twoTexts[:1], nil, sortkey.Condition{Upper: beyond(sortkey.Text(""))}, sortkey.Range{Empty: true}},
		"last part, < after the surrogates": {twoTexts, texts("a"), sortkey.Condition{Upper: beyond(sortkey.Text("\ue000"))}, sortkey.Range{Low: "a#", High: "a#\ud7ff" + highest[:1016] + "\uffff"}},
		"highest runes are dropped":         {twoTexts, nil, sortkey.Condition{Lower: at(sortkey.Text("a" + highest))}, sortkey.Range{Low: "b", High: highest}},
		"nothing is above the highest":      {twoTexts, nil, sortkey.Condition{Lower: at(sortkey.Text(highest + highest))}, sortkey.Range{Empty: true}},
		"a successor of more bytes":         {twoTexts, nil, sortkey.Condition{Lower: at(sortkey.Text("a" + strings.Repeat("\x7f", 1024)))}, sortkey.Range{Low: "a" + strings.Repeat("\x7f", 1021) + "\u0080", High: highest}},
		"bounds meet in one value":          {managedKey, nil, sortkey.Condition{Lower: at(k), Upper: at(k)}, sortkey.Range{Low: "1699900000000", High: "1699900000000$"}},
		"surrogates are jumped over":        {twoTexts, nil, sortkey.Condition{Lower: at(sortkey.Text("a" + strings.Repeat("\ud7ff", 400)))}, sortkey.Range{Low: "a" + strings.Repeat("\ud7ff", 340) + "\ue000", High: highest}},
	}
	for name, test := range tests {
		got, err := codec(t, test.parts...).Range(test.under, test.cond)
		if diff := cmp.Diff(test.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
		checkOperands(t, got)
	}
}

func TestNormaliseTable(t *testing.T) {
	t.Parallel()
	epoch, number := managedKey[0], numberID[0]
	text, binary := twoTexts[0], part("b", sortkey.KindBinary)
	long := strings.Repeat("a", 2000)
	none := sortkey.Condition{}
	n := sortkey.Number
	tests := map[string]struct {
		part  sortkey.Part
		cond  sortkey.Condition
		want  sortkey.Condition
		empty bool
	}{
		"none":                    {epoch, none, none, false},
		"= in the width":          {epoch, sortkey.Condition{Equal: new(n("1E3"))}, sortkey.Condition{Equal: new(n("1000"))}, false},
		"= out of the width":      {epoch, sortkey.Condition{Equal: new(n("1E13"))}, none, true},
		"= fraction":              {epoch, sortkey.Condition{Equal: new(n("1.5"))}, none, true},
		">= fraction":             {epoch, sortkey.Condition{Lower: at(n("1.5"))}, sortkey.Condition{Lower: at(n("2"))}, false},
		"> fraction":              {epoch, sortkey.Condition{Lower: beyond(n("1.5"))}, sortkey.Condition{Lower: at(n("2"))}, false},
		"> integer":               {epoch, sortkey.Condition{Lower: beyond(n("9"))}, sortkey.Condition{Lower: at(n("10"))}, false},
		"< integer":               {epoch, sortkey.Condition{Upper: beyond(n("10"))}, sortkey.Condition{Upper: at(n("9"))}, false},
		"<= fraction":             {epoch, sortkey.Condition{Upper: at(n("9.99"))}, sortkey.Condition{Upper: at(n("9"))}, false},
		">= negative":             {epoch, sortkey.Condition{Lower: at(n("-5"))}, sortkey.Condition{Lower: at(n("0"))}, false},
		"<= negative":             {epoch, sortkey.Condition{Upper: at(n("-0.001"))}, none, true},
		"<= beyond":               {epoch, sortkey.Condition{Upper: at(n("1E40"))}, sortkey.Condition{Upper: at(n("9999999999999"))}, false},
		"> beyond":                {epoch, sortkey.Condition{Lower: beyond(n("9999999999998.5"))}, sortkey.Condition{Lower: at(n("9999999999999"))}, false},
		"no integer between":      {epoch, sortkey.Condition{Lower: at(n("1.2")), Upper: at(n("1.8"))}, none, true},
		"general stays open":      {number, sortkey.Condition{Lower: beyond(n("-1.50")), Upper: at(n("1E2"))}, sortkey.Condition{Lower: beyond(n("-1.5")), Upper: at(n("100"))}, false},
		"text stays":              {text, sortkey.Condition{Lower: beyond(sortkey.Text("a")), Upper: beyond(sortkey.Text("b"))}, sortkey.Condition{Lower: beyond(sortkey.Text("a")), Upper: beyond(sortkey.Text("b"))}, false},
		"= empty text":            {text, sortkey.Condition{Equal: new(sortkey.Text(""))}, none, true},
		">= empty text":           {text, sortkey.Condition{Lower: at(sortkey.Text(""))}, none, false},
		"> empty text":            {text, sortkey.Condition{Lower: beyond(sortkey.Text(""))}, none, false},
		"<= empty text":           {text, sortkey.Condition{Upper: at(sortkey.Text(""))}, none, true},
		"< empty text":            {text, sortkey.Condition{Upper: beyond(sortkey.Text(""))}, none, true},
		"empty prefix":            {text, sortkey.Condition{Prefix: new("")}, none, false},
		"empty binary lower":      {binary, sortkey.Condition{Lower: at(sortkey.Binary(nil)), Upper: at(sortkey.Binary([]byte{1}))}, sortkey.Condition{Upper: at(sortkey.Binary([]byte{1}))}, false},
		"= past the limit":        {text, sortkey.Condition{Equal: new(sortkey.Text(long))}, none, true},
		"prefix past the limit":   {text, sortkey.Condition{Prefix: &long}, none, true},
		"> past the limit":        {text, sortkey.Condition{Lower: beyond(sortkey.Text(long))}, sortkey.Condition{Lower: at(sortkey.Text(long[:1023] + "b"))}, false},
		"< past the limit":        {text, sortkey.Condition{Upper: beyond(sortkey.Text(long))}, sortkey.Condition{Upper: at(sortkey.Text(long[:1024]))}, false},
		"< a rune that is cut, 1": {text, sortkey.Condition{Upper: beyond(sortkey.Text(long[:1023] + "😀"))}, sortkey.Condition{Upper: at(sortkey.Text(long[:1023] + "\x7f"))}, false},
		"< a rune that is cut, 2": {text, sortkey.Condition{Upper: beyond(sortkey.Text(long[:1022] + "😀"))}, sortkey.Condition{Upper: at(sortkey.Text(long[:1022] + "\u07ff"))}, false},
		"< a rune that is cut, 3": {text, sortkey.Condition{Upper: beyond(sortkey.Text(long[:1021] + "😀"))}, sortkey.Condition{Upper: at(sortkey.Text(long[:1021] + "\uffff"))}, false},
		"> a rune that is cut":    {text, sortkey.Condition{Lower: beyond(sortkey.Text(long[:1022] + "😀"))}, sortkey.Condition{Lower: at(sortkey.Text(long[:1021] + "b"))}, false},
		"binary past the limit":   {binary, sortkey.Condition{Lower: at(sortkey.Binary([]byte("a" + strings.Repeat("\xff", 1024))))}, sortkey.Condition{Lower: at(sortkey.Binary([]byte("b")))}, false},
		"no binary so high":       {binary, sortkey.Condition{Lower: at(sortkey.Binary([]byte(strings.Repeat("\xff", 1025))))}, none, true},
		"nothing between cuts":    {text, sortkey.Condition{Lower: at(sortkey.Text(long)), Upper: at(sortkey.Text(long + "b"))}, none, true},
	}
	for name, test := range tests {
		got, empty, err := test.part.Normalise(test.cond)
		if err != nil || empty != test.empty || show(got) != show(test.want) {
			t.Errorf("%s: Normalise = %.80s, %t, %v, want %.80s, %t", name, show(got), empty, err, show(test.want), test.empty)
		}
	}
}

func TestConditionsThatAreErrors(t *testing.T) {
	t.Parallel()
	a, n := sortkey.Text("a"), sortkey.Number("1")
	tests := map[string]struct {
		parts []sortkey.Part
		under []sortkey.Value
		cond  sortkey.Condition
		want  sortkey.Error
	}{
		"= beside a lower bound":     {twoTexts, nil, sortkey.Condition{Equal: &a, Lower: at(a)}, sortkey.Error{Part: "first", Reason: sortkey.ReasonContradiction}},
		"= beside an upper bound":    {twoTexts, nil, sortkey.Condition{Equal: &a, Upper: at(a)}, sortkey.Error{Part: "first", Reason: sortkey.ReasonContradiction}},
		"= beside a prefix":          {twoTexts, nil, sortkey.Condition{Equal: &a, Prefix: new("a")}, sortkey.Error{Part: "first", Reason: sortkey.ReasonContradiction}},
		"prefix beside a bound":      {twoTexts, texts("x"), sortkey.Condition{Prefix: new("a"), Lower: at(a)}, sortkey.Error{Part: "second", Reason: sortkey.ReasonContradiction}},
		"prefix on a number":         {managedKey, nil, sortkey.Condition{Prefix: new("16")}, sortkey.Error{Part: "managedKey", Reason: sortkey.ReasonPrefix}},
		"prefix of invalid UTF-8":    {twoTexts, nil, sortkey.Condition{Prefix: new("\xe2\x82")}, sortkey.Error{Part: "first", Reason: sortkey.ReasonUTF8}},
		"= of another kind":          {managedKey, nil, sortkey.Condition{Equal: &a}, sortkey.Error{Part: "managedKey", Reason: sortkey.ReasonKind, Limit: 2, Got: 1}},
		"lower of another kind":      {twoTexts, nil, sortkey.Condition{Lower: at(n)}, sortkey.Error{Part: "first", Reason: sortkey.ReasonKind, Limit: 1, Got: 2}},
		"upper of another kind":      {twoTexts, nil, sortkey.Condition{Upper: at(n)}, sortkey.Error{Part: "first", Reason: sortkey.ReasonKind, Limit: 1, Got: 2}},
		"bound of no kind":           {twoTexts, nil, sortkey.Condition{Upper: &sortkey.Bound{}}, sortkey.Error{Part: "first", Reason: sortkey.ReasonKind, Limit: 1}},
		"bound of invalid UTF-8":     {twoTexts, nil, sortkey.Condition{Upper: at(sortkey.Text("\xff"))}, sortkey.Error{Part: "first", Reason: sortkey.ReasonUTF8}},
		"bound that is no number":    {managedKey, nil, sortkey.Condition{Lower: at(sortkey.Number("abc"))}, sortkey.Error{Part: "managedKey", Reason: sortkey.ReasonNotANumber}},
		"bound past every number":    {managedKey, nil, sortkey.Condition{Lower: at(sortkey.Number("1E126"))}, sortkey.Error{Part: "managedKey", Reason: sortkey.ReasonMagnitude, Limit: 125, Got: 126}},
		"under of another kind":      {managedKey, []sortkey.Value{a}, sortkey.Condition{}, sortkey.Error{Part: "managedKey", Reason: sortkey.ReasonKind, Limit: 2, Got: 1}},
		"under that is no number":    {numberID, []sortkey.Value{sortkey.Number("")}, sortkey.Condition{}, sortkey.Error{Part: "number", Reason: sortkey.ReasonNotANumber}},
		"more under than parts":      {twoTexts, texts("a", "b", "c"), sortkey.Condition{}, sortkey.Error{Reason: sortkey.ReasonCount, Limit: 2, Got: 3}},
		"no part for the condition":  {twoTexts, texts("a", "b"), sortkey.Condition{Equal: &a}, sortkey.Error{Reason: sortkey.ReasonCount, Limit: 2, Got: 2}},
		"empty, and yet wrong":       {managedKey, []sortkey.Value{sortkey.Number("-1")}, sortkey.Condition{Equal: &n}, sortkey.Error{Part: "userId", Reason: sortkey.ReasonKind, Limit: 1, Got: 2}},
		"unfit, then a wrong number": {append(managedKey[:1:1], numberID...), []sortkey.Value{sortkey.Number("-1"), sortkey.Number("x")}, sortkey.Condition{}, sortkey.Error{Part: "number", Reason: sortkey.ReasonNotANumber}},
	}
	for name, test := range tests {
		r, err := codec(t, test.parts...).Range(test.under, test.cond)
		wantError(t, name, err, test.want)
		if r != (sortkey.Range{}) {
			t.Errorf("%s: a range beside an error: %+v", name, r)
		}
		if len(test.under) == 0 {
			_, _, err := test.parts[0].Normalise(test.cond)
			wantError(t, name+", Normalise", err, test.want)
		}
	}
}

// Range and Normalise must not write through the caller's pointers.
func TestConditionsAreNotChanged(t *testing.T) {
	t.Parallel()
	cond := sortkey.Condition{Lower: beyond(sortkey.Number("1.50")), Upper: beyond(sortkey.Number("1E20"))}
	before := show(cond)
	if _, err := codec(t, managedKey...).Range(nil, cond); err != nil {
		t.Fatal(err)
	}
	got, _, err := managedKey[0].Normalise(cond)
	if err != nil {
		t.Fatal(err)
	}
	got.Lower.Inclusive, got.Upper.Value = false, sortkey.Text("")
	if show(cond) != before {
		t.Errorf("the condition changed from %s to %s", before, show(cond))
	}
}
