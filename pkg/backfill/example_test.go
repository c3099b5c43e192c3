package backfill_test

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/backfill"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
)

// twoUsers is a table with two users, whose nicknames are one.
type twoUsers struct{ backfill.Client }

func (twoUsers) items() []ddb.Item {
	return []ddb.Item{{"userId": s("u1"), "nickname": s("Ａlice")}, {"userId": s("u2"), "nickname": s("alice")}}
}

func (twoUsers) DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error) {
	return &dynamodb.DescribeTableOutput{Table: &types.TableDescription{KeySchema: []types.KeySchemaElement{{AttributeName: aws.String("userId")}}}}, nil
}

func (t twoUsers) Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	return &dynamodb.ScanOutput{Items: t.items()}, nil
}

func (t twoUsers) BatchGetItem(context.Context, *dynamodb.BatchGetItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	return &dynamodb.BatchGetItemOutput{Responses: map[string][]ddb.Item{"User": t.items()}}, nil
}

func ExampleTool_Scan() {
	tool, err := backfill.New(backfill.Config{Client: twoUsers{}, UserTable: "User", Segments: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := tool.Scan(context.Background(), func(f backfill.Finding) error {
		fmt.Println(f.Kind, f.Form, f.UserIDs, f.Spellings)
		return nil
	})
	fmt.Println(result.Duplicates, err)
	// Output:
	// duplicate alice [u1 u2] [Ａlice alice]
	// 1 <nil>
}
