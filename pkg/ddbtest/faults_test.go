package ddbtest_test

import (
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
)

func TestAThrottleOnceIsRetriedBelowTheCaller(t *testing.T) {
	t.Parallel()
	reason := ddb.Throttle{Reason: "TableWriteKeyRangeThroughputExceeded", Resource: "arn:aws:dynamodb:us-east-1:123456789012:table/T"}
	for _, code := range []string{ddbtest.CodeProvisioned, ddbtest.CodeRequestLimit, ddbtest.CodeThrottling} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			faults := ddbtest.NewFaults(t, 0)
			client := ddbtest.Client(t, faults.Install)
			table := ddbtest.Table(t, userTable(t))
			faults.Add(ddbtest.Rule{Operation: "PutItem", Nth: 1, Do: ddbtest.Throttle(code, reason)})
			put(t, client, table, ddb.Item{"userId": text("a")})
			want := []ddbtest.Call{
				{Operation: "PutItem", Tables: []string{table}, Fault: "throttle"},
				{Operation: "PutItem", Tables: []string{table}},
			}
			if diff := cmp.Diff(want, faults.Calls()); diff != "" {
				t.Error(diff)
			}
			// Without end it reaches the caller, reasons and all, after the SDK's four attempts.
			faults.Clear()
			faults.Add(ddbtest.Rule{Do: ddbtest.Throttle(code, reason)})
			_, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: ddb.Item{"userId": text("b")}})
			failure := ddb.Classify(err)
			if failure.Class != ddb.Throttled || failure.Code != code {
				t.Errorf("got %s %s, want throttled %s: %v", failure.Class, failure.Code, code, err)
			}
			if diff := cmp.Diff([]ddb.Throttle{reason}, failure.Throttles); diff != "" {
				t.Error(diff)
			}
			if n := faults.Count("PutItem"); n != 4 {
				t.Errorf("%d attempts, want the SDK's 4", n)
			}
			if items := ddbtest.Dump(t, ddbtest.Client(t), table); len(items) != 1 {
				t.Errorf("%d items, want 1: a throttled put must not reach the engine", len(items))
			}
		})
	}
}

func TestWhatReachesTheEngineAndWhatTheCallerSees(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		fault   ddbtest.Fault
		written bool
		class   ddb.Class
	}{
		{"a lost answer took effect", ddbtest.LostAnswer(), true, ddb.UnknownOutcome},
		{"a timeout took effect", ddbtest.Timeout(), true, ddb.UnknownOutcome},
		{"a 500 after the work took effect", ddbtest.ServerErrorAfter(), true, ddb.UnknownOutcome},
		{"a 500 in place of the work did not", ddbtest.ServerError(), false, ddb.UnknownOutcome},
		{"a dropped request did not", ddbtest.Dropped(), false, ddb.UnknownOutcome},
		{"a crash before did not", ddbtest.Crash(), false, ddb.Other},
		{"a crash after did", ddbtest.CrashAfter(), true, ddb.Other},
		{"a conflict did not", ddbtest.Conflict(), false, ddb.Conflict},
		{"a refusal did not", ddbtest.Refuse("ValidationException", "no"), false, ddb.Invalid},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			faults := ddbtest.NewFaults(t, 0).Add(ddbtest.Rule{Operation: "PutItem", Do: test.fault})
			client := ddbtest.Client(t, faults.Install, func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} })
			table := ddbtest.Table(t, userTable(t))
			_, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: ddb.Item{"userId": text("a")}})
			if got := ddb.Classify(err).Class; got != test.class {
				t.Errorf("class %s, want %s: %v", got, test.class, err)
			}
			if got := len(ddbtest.Dump(t, client, table)) == 1; got != test.written {
				t.Errorf("written: %t, want %t", got, test.written)
			}
		})
	}
}

func TestALostAnswerMakesTheSDKSendAgainAndMeetItsOwnWrite(t *testing.T) {
	t.Parallel()
	faults := ddbtest.NewFaults(t, 0).Add(ddbtest.Rule{Operation: "PutItem", Nth: 1, Do: ddbtest.LostAnswer()})
	client := ddbtest.Client(t, faults.Install)
	table := ddbtest.Table(t, userTable(t))
	_, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{
		TableName: &table, Item: ddb.Item{"userId": text("a")},
		ConditionExpression:                 aws.String("attribute_not_exists(userId)"),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	failure := ddb.Classify(err)
	if failure.Class != ddb.ConditionFailed {
		t.Fatalf("%s, want condition_failed: %v", failure.Class, err)
	}
	if !ddb.EqualItems(failure.Item, ddb.Item{"userId": text("a")}) {
		t.Errorf("the item in the way: %v", failure.Item)
	}
}

func TestAConflictNamesItsPositions(t *testing.T) {
	t.Parallel()
	faults := ddbtest.NewFaults(t, 0).Add(ddbtest.Rule{Operation: "TransactWriteItems", Times: 1, Do: ddbtest.Conflict(1)})
	client := ddbtest.Client(t, faults.Install)
	table := ddbtest.Table(t, userTable(t))
	write := func() error {
		_, err := client.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
			{Put: &types.Put{TableName: &table, Item: ddb.Item{"userId": text("a")}}},
			{Put: &types.Put{TableName: &table, Item: ddb.Item{"userId": text("b")}}},
		}})
		return err
	}
	failure := ddb.Classify(write())
	want := []ddb.Position{{Code: "None"}, {Class: ddb.Conflict, Code: "TransactionConflict"}}
	if diff := cmp.Diff(want, failure.Positions); diff != "" || failure.Class != ddb.Conflict {
		t.Error(failure.Class, diff)
	}
	if err := write(); err != nil {
		t.Errorf("the second try must reach the engine: %v", err)
	}
}

func TestSmallPagesComeWithAKeyToGoOnFrom(t *testing.T) {
	t.Parallel()
	faults := ddbtest.NewFaults(t, 0).Add(ddbtest.Rule{Do: ddbtest.SmallPages(2)})
	client := ddbtest.Client(t, faults.Install)
	table := ddbtest.Table(t, userTable(t))
	plain := ddbtest.Client(t)
	for n := range 5 {
		put(t, plain, table, ddb.Item{"userId": text(strconv.Itoa(n)), "ID": text("t"), "managedKey": number(strconv.Itoa(n))})
	}
	in := &dynamodb.QueryInput{
		TableName: &table, IndexName: aws.String("managed"), KeyConditionExpression: aws.String("ID = :id"),
		ExpressionAttributeValues: ddb.Item{":id": text("t")}, Limit: aws.Int32(4),
	}
	var sizes []int
	for {
		out, err := client.Query(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, len(out.Items))
		if len(out.LastEvaluatedKey) == 0 {
			break
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
	}
	if diff := cmp.Diff([]int{2, 2, 1}, sizes); diff != "" {
		t.Error(diff)
	}
}

func TestUnprocessedItemsAreNotWrittenAndComeBack(t *testing.T) {
	t.Parallel()
	faults := ddbtest.NewFaults(t, 0).Add(ddbtest.Rule{Times: 2, Do: ddbtest.Unprocessed(1)})
	client := ddbtest.Client(t, faults.Install)
	table := ddbtest.Table(t, userTable(t))
	var requests []types.WriteRequest
	var keys []ddb.Item
	for n := range 3 {
		key := ddb.Item{"userId": text(strconv.Itoa(n))}
		keys = append(keys, key)
		requests = append(requests, types.WriteRequest{PutRequest: &types.PutRequest{Item: key}})
	}
	wrote, err := client.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{table: requests}})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(wrote.UnprocessedItems[table]); n != 2 {
		t.Errorf("%d unprocessed, want 2", n)
	}
	if items := ddbtest.Dump(t, ddbtest.Client(t), table); len(items) != 1 || !ddb.EqualItems(items[0], keys[0]) {
		t.Errorf("written: %v, want the first alone", items)
	}
	read, err := client.BatchGetItem(t.Context(), &dynamodb.BatchGetItemInput{
		RequestItems: map[string]types.KeysAndAttributes{table: {Keys: keys, ConsistentRead: aws.Bool(true)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(read.Responses[table]) != 1 || len(read.UnprocessedKeys[table].Keys) != 2 || !aws.ToBool(read.UnprocessedKeys[table].ConsistentRead) {
		t.Errorf("read %v, unprocessed %v", read.Responses, read.UnprocessedKeys)
	}
}

func TestRulesChooseTheirCalls(t *testing.T) {
	t.Parallel()
	table := ddbtest.Table(t, userTable(t))
	other := ddbtest.Table(t, userTable(t))
	for _, test := range []struct {
		name string
		rule ddbtest.Rule
		want string // one letter a put: x failed, . went through
	}{
		{"nth", ddbtest.Rule{Nth: 2}, ".x...."},
		{"from", ddbtest.Rule{From: 3}, "..xxxx"},
		{"times", ddbtest.Rule{Times: 2}, "xx...."},
		{"from and times", ddbtest.Rule{From: 2, Times: 2}, ".xx..."},
		{"table", ddbtest.Rule{Table: other}, ".x.x.x"},
		{"operation", ddbtest.Rule{Operation: "DeleteItem"}, "......"},
		{"when", ddbtest.Rule{When: func(in any) bool {
			return ddb.Equal(in.(*dynamodb.PutItemInput).Item["userId"], text("4"))
		}}, "....x."},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.rule.Do = ddbtest.Crash()
			client := ddbtest.Client(t, ddbtest.NewFaults(t, 0).Add(test.rule).Install)
			got := ""
			for n := range 6 {
				name := []string{table, other}[n%2]
				_, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &name, Item: ddb.Item{"userId": text(strconv.Itoa(n))}})
				switch {
				case err == nil:
					got += "."
				case errors.Is(err, ddbtest.ErrCrashed):
					got += "x"
				default:
					t.Fatal(err)
				}
			}
			if got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestTheSameSeedDrawsTheSameFaults(t *testing.T) {
	t.Parallel()
	table := ddbtest.Table(t, userTable(t))
	draw := func(seed uint64) string {
		faults := ddbtest.NewFaults(t, seed).Add(ddbtest.Rule{Probability: 0.5, Do: ddbtest.Crash()})
		client := ddbtest.Client(t, faults.Install)
		for range 40 {
			_, err := client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &table, Key: ddb.Item{"userId": text("a")}})
			if err != nil && !errors.Is(err, ddbtest.ErrCrashed) {
				t.Fatal(err)
			}
		}
		return fmt.Sprint(faults.Calls())
	}
	first := draw(7)
	if draw(7) != first {
		t.Error("two runs of one seed differ")
	}
	if draw(8) == first {
		t.Error("two seeds drew the same 40 times")
	}
}

// naiveClaim is the story's check: look the nickname up in the index, and write if nobody has it.
func naiveClaim(t *testing.T, client *dynamodb.Client, table, user, nickname string) bool {
	t.Helper()
	out, err := client.Query(t.Context(), &dynamodb.QueryInput{
		TableName: &table, IndexName: aws.String("managed"), KeyConditionExpression: aws.String("ID = :id"),
		ExpressionAttributeValues: ddb.Item{":id": text(nickname)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Items) > 0 {
		return false
	}
	put(t, client, table, ddb.Item{"userId": text(user), "ID": text(nickname), "managedKey": number("1")})
	return true
}

func TestALaggingIndexLetsANaiveUniquenessCheckLeak(t *testing.T) {
	t.Parallel()
	clock := ddbtest.NewClock(time.Time{})
	faults := ddbtest.NewFaults(t, 0)
	client := ddbtest.Client(t, faults.Install)
	table := ddbtest.Table(t, userTable(t))
	lag := faults.Lag(table, "managed", time.Second, clock.Now)
	if !naiveClaim(t, client, table, "u1", "neo") || !naiveClaim(t, client, table, "u2", "neo") {
		t.Error("within the lag both must have been let through")
	}
	if lag.Pending() != 2 {
		t.Errorf("%d pending, want 2", lag.Pending())
	}
	clock.Advance(time.Second)
	if lag.Pending() != 0 || naiveClaim(t, client, table, "u3", "neo") {
		t.Error("after the lag the index must show the claims")
	}
}

func TestALaggingIndexShowsMovesAndDeletesLateAndInOrder(t *testing.T) {
	t.Parallel()
	clock := ddbtest.NewClock(time.Time{})
	faults := ddbtest.NewFaults(t, 0)
	client := ddbtest.Client(t, faults.Install)
	table := ddbtest.Table(t, userTable(t))
	put(t, client, table, ddb.Item{"userId": text("u1"), "ID": text("t"), "managedKey": number("1")})
	faults.Lag(table, "managed", time.Minute, clock.Now)
	keys := func() (keys []string) {
		out, err := client.Query(t.Context(), &dynamodb.QueryInput{
			TableName: &table, IndexName: aws.String("managed"), KeyConditionExpression: aws.String("ID = :id"),
			ExpressionAttributeValues: ddb.Item{":id": text("t")}, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		})
		if err != nil {
			t.Fatal(err)
		}
		if out.ConsumedCapacity != nil && *out.ConsumedCapacity.TableName != table {
			t.Errorf("capacity of %s, want the real table's name", *out.ConsumedCapacity.TableName)
		}
		for _, item := range out.Items {
			key, _ := ddb.KeyValue(item["managedKey"])
			keys = append(keys, key.String())
		}
		return keys
	}
	expect := func(when string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, keys()); diff != "" {
			t.Errorf("%s: %s", when, diff)
		}
	}
	expect("what was there before", "1")
	clock.Advance(time.Second)
	if _, err := client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: &table, Key: ddb.Item{"userId": text("u1")}, UpdateExpression: aws.String("SET managedKey = :n"),
		ExpressionAttributeValues: ddb.Item{":n": number("2")},
	}); err != nil {
		t.Fatal(err)
	}
	clock.Advance(30 * time.Second)
	if _, err := client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &table, Key: ddb.Item{"userId": text("u1")}}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{Put: &types.Put{TableName: &table, Item: ddb.Item{"userId": text("u2"), "ID": text("t"), "managedKey": number("3")}}},
	}}); err != nil {
		t.Fatal(err)
	}
	expect("the past before the move", "1")
	clock.Advance(30 * time.Second)
	expect("the past after the move", "2")
	clock.Advance(30 * time.Second)
	expect("all is caught up", "3")
}

func TestALaggingIndexSeesAWriteWhoseAnswerWasLost(t *testing.T) {
	t.Parallel()
	clock := ddbtest.NewClock(time.Time{})
	faults := ddbtest.NewFaults(t, 0).Add(ddbtest.Rule{Operation: "PutItem", Do: ddbtest.LostAnswer()})
	client := ddbtest.Client(t, faults.Install)
	table := ddbtest.Table(t, userTable(t))
	faults.Lag(table, "managed", time.Second, clock.Now)
	_, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{
		TableName: &table, Item: ddb.Item{"userId": text("u"), "ID": text("neo"), "managedKey": number("1")},
	})
	if ddb.Classify(err).Class != ddb.UnknownOutcome {
		t.Fatal(err)
	}
	clock.Advance(time.Second)
	if naiveClaim(t, client, table, "other", "neo") {
		t.Error("the write took effect, the index must show it in the end")
	}
}
