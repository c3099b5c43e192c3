package ddb_test

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
)

func ExampleDecodeItem() {
	item, err := ddb.DecodeItem([]byte(`{"userId":{"S":"u1"},"score":{"N":"12345678901234567890.5"},"tags":{"SS":["a","b"]}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	plain, err := ddb.AppendPlain(nil, item, nil)
	fmt.Println(string(plain), err)

	_, err = ddb.DecodeItem([]byte(`{"address":{"M":{"lines":{"L":[{"S":"x"},{}]}}}}`))
	fmt.Println(err)
	// Output:
	// {"score":12345678901234567890.5,"tags":["a","b"],"userId":"u1"} <nil>
	// value at address.lines[1]: has no type, must have one (byte 43)
}

func ExampleClassify() {
	err := fmt.Errorf("claim a name: %w", &types.TransactionCanceledException{CancellationReasons: []types.CancellationReason{
		{Code: new("None")}, {Code: new("ConditionalCheckFailed")}, {Code: new("TransactionConflict")},
	}})
	failure := ddb.Classify(err)
	fmt.Println(failure.Class, failure.Positions[1].Class, failure.Positions[2].Class)
	fmt.Println(ddb.Classify(context.DeadlineExceeded).Class)
	// Output:
	// condition_failed condition_failed conflict
	// unknown_outcome
}

func ExampleSize() {
	item := ddb.Item{"userId": &types.AttributeValueMemberS{Value: "u1"}, "n": &types.AttributeValueMemberN{Value: "-42"}}
	fmt.Println(ddb.Size(item), ddb.WriteUnits(ddb.Size(item)))
	// Output: 12 1
}
