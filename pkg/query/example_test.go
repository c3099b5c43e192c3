package query_test

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/catalog"
	"github.com/heatsink-dev/heatsink/pkg/cursor"
	"github.com/heatsink-dev/heatsink/pkg/query"
	"github.com/heatsink-dev/heatsink/pkg/schema"
	"github.com/heatsink-dev/heatsink/pkg/sortkey"
)

// threeUsers stands in for a *dynamodb.Client.
type threeUsers struct{}

func (threeUsers) Query(_ context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	row := func(n int) map[string]types.AttributeValue {
		return map[string]types.AttributeValue{
			"ID": text("t1"), "SK": text(fmt.Sprintf("169990000000%d#user-%d", n, n)), "_v": text("1"),
			"userId": text(fmt.Sprintf("user-%d", n)), "managedKey": number(fmt.Sprintf("169990000000%d", n)),
		}
	}
	if in.ExclusiveStartKey != nil {
		return &dynamodb.QueryOutput{Items: []map[string]types.AttributeValue{row(1)}, Count: 1, ScannedCount: 1}, nil
	}
	last := row(2)
	return &dynamodb.QueryOutput{
		Items: []map[string]types.AttributeValue{row(3), last}, Count: 2, ScannedCount: 2,
		LastEvaluatedKey: map[string]types.AttributeValue{"ID": last["ID"], "SK": last["SK"]},
	}, nil
}

// A page, the next one by its cursor, and both as structs.
func Example() {
	definitions, err := catalog.Load()
	if err != nil {
		fmt.Println(err)
		return
	}
	managed, _ := definitions.Index("managed")
	key, err := cursor.DeriveKey([]byte("32 bytes of a secret, at least. "), "its version id")
	if err != nil {
		fmt.Println(err)
		return
	}
	reader, err := query.New(managed, query.Config{
		Client: threeUsers{}, BaseTable: "deployed-user", IndexTable: "deployed-user-managed-index",
		Cursors: cursor.New(cursor.NewStaticKeyring(key), cursor.Options{Expiry: time.Hour}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	request := query.Request{Partition: sortkey.Text("t1"), Descending: true, Limit: 2, Form: schema.Table}
	for {
		page, err := reader.Query(context.Background(), request)
		if err != nil {
			fmt.Println(err)
			return
		}
		users, err := query.As[struct {
			UserID     string `dynamodbav:"userId"`
			ManagedKey int64  `dynamodbav:"managedKey"`
		}](page.Items)
		fmt.Println(users, err)
		if request.Cursor = page.Cursor; page.Cursor == "" {
			return
		}
	}
	// Output:
	// [{user-3 1699900000003} {user-2 1699900000002}] <nil>
	// [{user-1 1699900000001}] <nil>
}

// What a request becomes, for people.
func ExampleReader_Explain() {
	definitions, err := catalog.Load()
	if err != nil {
		fmt.Println(err)
		return
	}
	teams, _ := definitions.Index("team-status")
	active := sortkey.Text("active")
	plan, err := query.Explain(teams, "User", "UserTeamStatusIndex", query.Request{
		Partition: sortkey.Text("team-1"), Under: []sortkey.Value{active},
		Where: sortkey.Condition{Lower: &sortkey.Bound{Value: sortkey.Text("2024-01-01"), Inclusive: true}},
	})
	fmt.Println(plan.Form, plan.Table, err)
	fmt.Println(plan.KeyCondition)
	fmt.Println(plan.Values[":h_l"].(*types.AttributeValueMemberS).Value, "to", plan.Values[":h_h"].(*types.AttributeValueMemberS).Value)
	fmt.Println(plan.Filter, "on", plan.Names["#h_d"])
	// Output:
	// TABLE UserTeamStatusIndex <nil>
	// #h_p = :h_p AND #h_s BETWEEN :h_l AND :h_h
	// active#2024-01-01 to active$
	// attribute_not_exists(#h_d) on _deleted
}
