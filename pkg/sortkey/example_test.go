package sortkey_test

import (
	"fmt"

	"github.com/heatsink-dev/heatsink/pkg/sortkey"
)

// The sort key of an index by a 13-digit time, over a base table keyed by userId.
func Example() {
	codec, err := sortkey.New(
		sortkey.Part{Name: "managedKey", Kind: sortkey.KindNumber, Width: 13},
		sortkey.Part{Name: "userId", Kind: sortkey.KindText},
	)
	if err != nil {
		panic(err)
	}
	text, err := codec.Encode(sortkey.Number("1699900000000"), sortkey.Text("user-aaa"))
	fmt.Println(text, err)
	values, err := codec.Decode(text)
	fmt.Println(values[0], values[1], err)
	_, err = codec.Encode(sortkey.Number("16999000000000"), sortkey.Text("user-aaa"))
	fmt.Println(err)
	// Output:
	// 1699900000000#user-aaa <nil>
	// 1699900000000 user-aaa <nil>
	// sortkey: part "managedKey": the integer has 14 digits, the part's width is 13
}

// Conditions on a part become one key condition on the text.
func ExampleCodec_Range() {
	codec, err := sortkey.New(
		sortkey.Part{Name: "status", Kind: sortkey.KindText},
		sortkey.Part{Name: "date", Kind: sortkey.KindText},
		sortkey.Part{Name: "userId", Kind: sortkey.KindText},
	)
	if err != nil {
		panic(err)
	}
	under := []sortkey.Value{sortkey.Text("open")}
	june := sortkey.Text("2024-06")
	equal, _ := codec.Range(under, sortkey.Condition{Equal: &june})
	fmt.Println("begins_with", equal.Prefix)
	after, _ := codec.Range(under, sortkey.Condition{Lower: &sortkey.Bound{Value: june}})
	fmt.Println("BETWEEN", after.Low, "AND", after.High)
	// Output:
	// begins_with open#2024-06#
	// BETWEEN open#2024-06$ AND open$
}

// A GSI holds the attribute itself, so a bound must be one that the attribute can have.
func ExamplePart_Normalise() {
	part := sortkey.Part{Name: "managedKey", Kind: sortkey.KindNumber, Width: 13}
	cond, empty, err := part.Normalise(sortkey.Condition{
		Lower: &sortkey.Bound{Value: sortkey.Number("9.5")},
		Upper: &sortkey.Bound{Value: sortkey.Number("1E20")},
	})
	fmt.Println(cond.Lower.Value, cond.Lower.Inclusive, cond.Upper.Value, cond.Upper.Inclusive, empty, err)
	// Output:
	// 10 true 9999999999999 true false <nil>
}
