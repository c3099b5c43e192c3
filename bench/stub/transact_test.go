package stub_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/bench/stub"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
)

// TestTransactionsAreLikeTheEngines sends the same transactions, updates and reads to both, and compares answers, refusals and what is left.
func TestTransactionsAreLikeTheEngines(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(stub.NewServer())
	t.Cleanup(server.Close)
	ours, engine := stub.Client(server.URL), ddbtest.Client(t)
	name := fmt.Sprintf("stub-transactions-%d", time.Now().UnixNano())
	t.Cleanup(func() {
		if _, err := engine.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &name}); err != nil {
			t.Error(err)
		}
	})
	for _, client := range []*dynamodb.Client{ours, engine} {
		create(t, client, name)
	}
	seed := rand.Uint64() //nolint:gosec // test input
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 2)) //nolint:gosec // test input
	key := func(n int) ddb.Item { return ddb.Item{"pk": text("p"), "SK": text(fmt.Sprint(n))} }
	outcomes := map[ddb.Class]int{}
	for n := range 200 {
		var items []types.TransactWriteItem
		for _, at := range r.Perm(6)[:1+r.IntN(3)] {
			items = append(items, randomWrite(r, name, key(at)))
		}
		in := &dynamodb.TransactWriteItemsInput{TransactItems: items}
		_, wantErr := engine.TransactWriteItems(t.Context(), in)
		in.ClientRequestToken = nil
		_, gotErr := ours.TransactWriteItems(t.Context(), in)
		want, got := ddb.Classify(wantErr), ddb.Classify(gotErr)
		outcomes[want.Class]++
		if got.Class != want.Class || len(got.Positions) != len(want.Positions) {
			t.Fatalf("transaction %d: engine %v, stub %v", n, wantErr, gotErr)
		}
		for p := range want.Positions {
			if got.Positions[p].Class != want.Positions[p].Class || !ddb.EqualItems(got.Positions[p].Item, want.Positions[p].Item) {
				t.Fatalf("transaction %d, position %d: engine %+v, stub %+v", n, p, want.Positions[p], got.Positions[p])
			}
		}
		update := randomWrite(r, name, key(r.IntN(6))).Update
		if update == nil {
			continue
		}
		alone := &dynamodb.UpdateItemInput{
			TableName: &name, Key: update.Key, UpdateExpression: update.UpdateExpression, ConditionExpression: update.ConditionExpression,
			ExpressionAttributeNames: update.ExpressionAttributeNames, ExpressionAttributeValues: update.ExpressionAttributeValues, ReturnValues: types.ReturnValueAllNew,
		}
		wantOut, wantErr := engine.UpdateItem(t.Context(), alone)
		gotOut, gotErr := ours.UpdateItem(t.Context(), alone)
		if ddb.Classify(gotErr).Class != ddb.Classify(wantErr).Class || wantErr == nil && !ddb.EqualItems(gotOut.Attributes, wantOut.Attributes) {
			t.Fatalf("update %d: engine %v, stub %v", n, wantErr, gotErr)
		}
	}
	if outcomes[ddb.None] < 20 || outcomes[ddb.ConditionFailed] < 20 {
		t.Errorf("a lopsided test: %v", outcomes)
	}
	for n := range 6 {
		in := &dynamodb.GetItemInput{TableName: &name, Key: key(n), ConsistentRead: aws.Bool(true)}
		want, err := engine.GetItem(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ours.GetItem(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		if !ddb.EqualItems(got.Item, want.Item) {
			t.Error(cmp.Diff(want.Item, got.Item))
		}
	}
}

// randomWrite is an operation on an item: a put, an update, a deletion or a check, each with a condition that holds about half of the time.
func randomWrite(r *rand.Rand, table string, key ddb.Item) types.TransactWriteItem {
	owner := text(fmt.Sprint("o", r.IntN(2)))
	names, values := map[string]string{"#o": "owner", "#k": "pk"}, ddb.Item{":o": owner}
	condition := aws.String("attribute_not_exists(#k) OR (#o = :o AND attribute_exists(#k))")
	switch r.IntN(4) {
	case 0:
		return types.TransactWriteItem{Put: &types.Put{
			TableName: &table, Item: ddb.Item{"pk": key["pk"], "SK": key["SK"], "owner": owner}, ConditionExpression: condition,
			ExpressionAttributeNames: names, ExpressionAttributeValues: values, ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		}}
	case 1:
		return types.TransactWriteItem{Update: &types.Update{
			TableName: &table, Key: key, UpdateExpression: aws.String("SET #o = :o, #n = :n REMOVE #x, #y"), ConditionExpression: condition,
			ExpressionAttributeNames: map[string]string{"#o": "owner", "#k": "pk", "#n": "number", "#x": "x", "#y": "y"}, ExpressionAttributeValues: ddb.Item{":o": owner, ":n": number(r.IntN(9))},
		}}
	case 2:
		return types.TransactWriteItem{Delete: &types.Delete{
			TableName: &table, Key: key, ConditionExpression: condition, ExpressionAttributeNames: names, ExpressionAttributeValues: values,
		}}
	default:
		return types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
			TableName: &table, Key: key, ConditionExpression: condition, ExpressionAttributeNames: names, ExpressionAttributeValues: values,
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		}}
	}
}
