package unique_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/unique"
)

// refusing is a table in which somebody has the second value already.
type refusing struct{ ddb.Getter }

func (refusing) TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	return nil, &types.TransactionCanceledException{CancellationReasons: []types.CancellationReason{
		{Code: aws.String("None")},
		{Code: aws.String("ConditionalCheckFailed"), Item: unique.Claim{Constraint: "EMAIL", Value: "a@example.com", Owner: "bob"}.Item()},
	}}
}

func ExampleWriter_Write() {
	writer, err := unique.New(unique.Config{Client: refusing{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	claims := unique.Claims{Table: "Claim"}
	_, err = writer.Write(context.Background(), unique.Transaction{Name: "sign up", Operations: []unique.Operation{
		claims.Take("nickname", unique.Claim{Constraint: "NICKNAME", Value: "alice", Owner: "alice-1"}),
		claims.Take("email", unique.Claim{Constraint: "EMAIL", Value: "a@example.com", Owner: "alice-1"}),
	}})
	if refused, ok := errors.AsType[*unique.ConditionError](err); ok {
		holder, _ := unique.ParseClaim(refused.Item)
		fmt.Printf("%v (it belongs to %s)\n", err, holder.Owner)
	}
	// Output: sign up: the condition of email does not hold (it belongs to bob)
}
