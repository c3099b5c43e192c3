package ddb

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// askCapacity gives a copy of the input that asks for the total, or the input itself where it asks already or cannot.
func askCapacity(input any) any {
	const total = types.ReturnConsumedCapacityTotal
	switch in := input.(type) {
	case *dynamodb.QueryInput:
		if in != nil && in.ReturnConsumedCapacity == "" {
			asking := *in
			asking.ReturnConsumedCapacity = total
			return &asking
		}
	case *dynamodb.GetItemInput:
		if in != nil && in.ReturnConsumedCapacity == "" {
			asking := *in
			asking.ReturnConsumedCapacity = total
			return &asking
		}
	case *dynamodb.PutItemInput:
		if in != nil && in.ReturnConsumedCapacity == "" {
			asking := *in
			asking.ReturnConsumedCapacity = total
			return &asking
		}
	case *dynamodb.UpdateItemInput:
		if in != nil && in.ReturnConsumedCapacity == "" {
			asking := *in
			asking.ReturnConsumedCapacity = total
			return &asking
		}
	case *dynamodb.DeleteItemInput:
		if in != nil && in.ReturnConsumedCapacity == "" {
			asking := *in
			asking.ReturnConsumedCapacity = total
			return &asking
		}
	case *dynamodb.BatchGetItemInput:
		if in != nil && in.ReturnConsumedCapacity == "" {
			asking := *in
			asking.ReturnConsumedCapacity = total
			return &asking
		}
	case *dynamodb.BatchWriteItemInput:
		if in != nil && in.ReturnConsumedCapacity == "" {
			asking := *in
			asking.ReturnConsumedCapacity = total
			return &asking
		}
	case *dynamodb.TransactWriteItemsInput:
		if in != nil && in.ReturnConsumedCapacity == "" {
			asking := *in
			asking.ReturnConsumedCapacity = total
			return &asking
		}
	case *dynamodb.TransactGetItemsInput:
		if in != nil && in.ReturnConsumedCapacity == "" {
			asking := *in
			asking.ReturnConsumedCapacity = total
			return &asking
		}
	case *dynamodb.ScanInput:
		if in != nil && in.ReturnConsumedCapacity == "" {
			asking := *in
			asking.ReturnConsumedCapacity = total
			return &asking
		}
	}
	return input
}

// consumed reads what an answer reports, as reads and writes.
func consumed(output any) (read, write float64) {
	switch out := output.(type) {
	case *dynamodb.QueryOutput:
		return units(out.ConsumedCapacity), 0
	case *dynamodb.ScanOutput:
		return units(out.ConsumedCapacity), 0
	case *dynamodb.GetItemOutput:
		return units(out.ConsumedCapacity), 0
	case *dynamodb.BatchGetItemOutput:
		return allUnits(out.ConsumedCapacity), 0
	case *dynamodb.TransactGetItemsOutput:
		return allUnits(out.ConsumedCapacity), 0
	case *dynamodb.PutItemOutput:
		return 0, units(out.ConsumedCapacity)
	case *dynamodb.UpdateItemOutput:
		return 0, units(out.ConsumedCapacity)
	case *dynamodb.DeleteItemOutput:
		return 0, units(out.ConsumedCapacity)
	case *dynamodb.BatchWriteItemOutput:
		return 0, allUnits(out.ConsumedCapacity)
	case *dynamodb.TransactWriteItemsOutput:
		// A repeat with the same token is answered from a read and reports read units
		// (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html).
		for _, capacity := range out.ConsumedCapacity {
			if capacity.ReadCapacityUnits != nil && capacity.WriteCapacityUnits == nil {
				read += *capacity.ReadCapacityUnits
				continue
			}
			write += units(&capacity)
		}
		return read, write
	default:
		return 0, 0
	}
}

func units(capacity *types.ConsumedCapacity) float64 {
	if capacity == nil || capacity.CapacityUnits == nil {
		return 0
	}
	return *capacity.CapacityUnits
}

func allUnits(list []types.ConsumedCapacity) float64 {
	sum := 0.0
	for n := range list {
		sum += units(&list[n])
	}
	return sum
}

// failedUnits is what a refused write was charged at least.
func failedUnits(input any, err error) float64 {
	if _, reads := input.(*dynamodb.TransactGetItemsInput); reads {
		return 0
	}
	failure := Classify(err)
	if len(failure.Positions) == 0 {
		if failure.Class != ConditionFailed {
			return 0
		}
		return WriteUnits(Size(failure.Item))
	}
	sum := 0.0
	for _, position := range failure.Positions {
		sum += 2 * WriteUnits(Size(position.Item)) // a transaction's units are doubled after rounding
	}
	return sum
}
