package ddb_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/pkg/catalog"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
)

func userTable(t testing.TB) string {
	t.Helper()
	loaded, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	table, _ := loaded.Table(catalog.UserTable)
	return ddbtest.Table(t, table)
}

func TestTheMeterCountsEveryOperationOfARealEngine(t *testing.T) {
	t.Parallel()
	client := ddbtest.Client(t, ddb.Metered)
	table := userTable(t)
	key := ddb.Item{"userId": text("a")}
	big := ddb.Item{"userId": text("a"), "ID": text("t"), "managedKey": number("1"), "big": text(strings.Repeat("x", 3000))}
	put := &types.Put{TableName: &table, Item: ddb.Item{"userId": text("b")}}
	calls := []struct {
		name        string
		do          func(context.Context) error
		read, write bool
	}{
		{"put", func(ctx context.Context) error {
			_, err := client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &table, Item: big})
			return err
		}, false, true},
		{"update", func(ctx context.Context) error {
			_, err := client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
				TableName: &table, Key: key, UpdateExpression: aws.String("SET v = :v"), ExpressionAttributeValues: ddb.Item{":v": number("1")},
			})
			return err
		}, false, true},
		{"get", func(ctx context.Context) error {
			_, err := client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &table, Key: key})
			return err
		}, true, false},
		{"query", func(ctx context.Context) error {
			_, err := client.Query(ctx, &dynamodb.QueryInput{
				TableName: &table, IndexName: aws.String("managed"), KeyConditionExpression: aws.String("ID = :id"), ExpressionAttributeValues: ddb.Item{":id": text("t")},
			})
			return err
		}, true, false},
		{"scan", func(ctx context.Context) error {
			_, err := client.Scan(ctx, &dynamodb.ScanInput{TableName: &table})
			return err
		}, true, false},
		{"batch write", func(ctx context.Context) error {
			_, err := client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{table: {{PutRequest: &types.PutRequest{Item: ddb.Item{"userId": text("c")}}}}}})
			return err
		}, false, true},
		{"transact write", func(ctx context.Context) error {
			_, err := client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{{Put: put}}, ClientRequestToken: aws.String("t" + table[len(table)-10:])})
			return err
		}, false, true},
		{"the same transaction again is a read", func(ctx context.Context) error {
			_, err := client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{{Put: put}}, ClientRequestToken: aws.String("t" + table[len(table)-10:])})
			return err
		}, true, false},
		{"transact get", func(ctx context.Context) error {
			_, err := client.TransactGetItems(ctx, &dynamodb.TransactGetItemsInput{TransactItems: []types.TransactGetItem{{Get: &types.Get{TableName: &table, Key: key}}}})
			return err
		}, true, false},
		{"delete", func(ctx context.Context) error {
			_, err := client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &table, Key: key})
			return err
		}, false, true},
	}
	outer, all := ddb.WithMeter(t.Context())
	var sum ddb.Usage
	for _, call := range calls {
		ctx, meter := ddb.WithMeter(outer)
		if err := call.do(ctx); err != nil {
			t.Fatalf("%s: %v", call.name, err)
		}
		got := meter.Usage()
		if got.Requests != 1 || got.Attempts != 1 || got.Throttles != 0 || got.Unknown != 0 || (got.ReadUnits > 0) != call.read || (got.WriteUnits > 0) != call.write {
			t.Errorf("%s: %+v", call.name, got)
		}
		sum = sum.Add(got)
	}
	if all.Usage() != sum {
		t.Errorf("the meter around them has %+v, want %+v", all.Usage(), sum)
	}
}

func TestFailedConditionsAreChargedThoughTheErrorOmitsIt(t *testing.T) {
	t.Parallel()
	client := ddbtest.Client(t, ddb.Metered)
	table := userTable(t)
	big := ddb.Item{"userId": text("a"), "big": text(strings.Repeat("x", 3000))}
	if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: big}); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name      string
		user      string
		condition string
		old       bool
		want      float64
	}{
		{"an absent item is 1", "nobody", "attribute_exists(userId)", true, 1},
		{"an existing one is its size", "a", "attribute_not_exists(userId)", true, 3},
		{"its size unknown, at least 1", "a", "attribute_not_exists(userId)", false, 1},
	} {
		old := types.ReturnValuesOnConditionCheckFailureNone
		if test.old {
			old = types.ReturnValuesOnConditionCheckFailureAllOld
		}
		put := &dynamodb.PutItemInput{
			TableName: &table, Item: ddb.Item{"userId": text(test.user)}, ConditionExpression: &test.condition, ReturnValuesOnConditionCheckFailure: old,
		}
		ctx, meter := ddb.WithMeter(t.Context())
		if _, err := client.PutItem(ctx, put); ddb.Classify(err).Class != ddb.ConditionFailed {
			t.Fatalf("%s: %v", test.name, err)
		}
		if got := meter.Usage(); got != (ddb.Usage{Requests: 1, Attempts: 1, WriteUnits: test.want}) {
			t.Errorf("%s: %+v", test.name, got)
		}
		// In a transaction each operation is charged twice.
		ctx, meter = ddb.WithMeter(t.Context())
		_, err := client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
			{Put: &types.Put{TableName: &table, Item: ddb.Item{"userId": text("other")}}},
			{Put: &types.Put{TableName: &table, Item: put.Item, ConditionExpression: &test.condition, ReturnValuesOnConditionCheckFailure: old}},
		}})
		if ddb.Classify(err).Class != ddb.ConditionFailed {
			t.Fatalf("%s: %v", test.name, err)
		}
		if got := meter.Usage(); got != (ddb.Usage{Requests: 1, Attempts: 1, WriteUnits: 2 + 2*test.want}) {
			t.Errorf("%s, in a transaction: %+v", test.name, got)
		}
	}
}

// TestTheMeterCountsABatchOfReads on a stub, since the engine of make test reports no capacity for it.
func TestTheMeterCountsABatchOfReads(t *testing.T) {
	t.Parallel()
	client := stub(t, answer(200, `{"Responses":{},"UnprocessedKeys":{},"ConsumedCapacity":[{"TableName":"T","CapacityUnits":1.5},{"TableName":"U","CapacityUnits":1}]}`), ddb.Metered)
	ctx, meter := ddb.WithMeter(t.Context())
	_, err := client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{"T": {Keys: []ddb.Item{{"a": text("b")}}}}})
	if err != nil {
		t.Fatal(err)
	}
	if got := meter.Usage(); got != (ddb.Usage{Requests: 1, Attempts: 1, ReadUnits: 2.5}) {
		t.Errorf("%+v", got)
	}
}

func TestACancelledTransactionOfReadsIsNoWrite(t *testing.T) {
	t.Parallel()
	faults := ddbtest.NewFaults(t, 0).Add(ddbtest.Rule{Do: ddbtest.Conflict()})
	client := stub(t, answer(200, `{}`), ddb.Metered, faults.Install)
	ctx, meter := ddb.WithMeter(t.Context())
	_, err := client.TransactGetItems(ctx, &dynamodb.TransactGetItemsInput{TransactItems: []types.TransactGetItem{
		{Get: &types.Get{TableName: aws.String("T"), Key: ddb.Item{"a": text("b")}}},
	}})
	if ddb.Classify(err).Class != ddb.Conflict || meter.Usage() != (ddb.Usage{Requests: 1, Attempts: 1}) {
		t.Errorf("%+v, %v", meter.Usage(), err)
	}
}

func TestAttemptsAreToldApartFromRequests(t *testing.T) {
	t.Parallel()
	faults := ddbtest.NewFaults(t, 0).
		Add(ddbtest.Rule{Operation: "PutItem", Nth: 1, Do: ddbtest.Throttle(ddbtest.CodeThrottling)}).
		Add(ddbtest.Rule{Operation: "PutItem", Nth: 1, Do: ddbtest.LostAnswer()})
	client := ddbtest.Client(t, ddb.Metered, faults.Install)
	table := userTable(t)
	ctx, meter := ddb.WithMeter(t.Context())
	if _, err := client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &table, Item: ddb.Item{"userId": text("a")}}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(ddb.Usage{Requests: 1, Attempts: 3, WriteUnits: 1, Throttles: 1, Unknown: 1}, meter.Usage()); d != "" {
		t.Error(d)
	}
}

func TestTheMeterLeavesTheCallerAlone(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var bodies []string
	client := stub(t, func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		mu.Lock()
		bodies = append(bodies, string(raw))
		mu.Unlock()
		_, _ = io.WriteString(w, `{}`)
	}, ddb.Metered)
	in := &dynamodb.GetItemInput{TableName: aws.String("T"), Key: ddb.Item{"a": text("b")}}
	metered, _ := ddb.WithMeter(t.Context())
	for _, ctx := range []context.Context{t.Context(), metered} {
		if _, err := client.GetItem(ctx, in); err != nil {
			t.Fatal(err)
		}
	}
	if in.ReturnConsumedCapacity != "" {
		t.Error("the caller's input was changed")
	}
	in.ReturnConsumedCapacity = types.ReturnConsumedCapacityIndexes
	if _, err := client.GetItem(metered, in); err != nil {
		t.Fatal(err)
	}
	for n, want := range []string{"", `"ReturnConsumedCapacity":"TOTAL"`, `"ReturnConsumedCapacity":"INDEXES"`} {
		if strings.Contains(bodies[n], "ReturnConsumedCapacity") != (want != "") || !strings.Contains(bodies[n], want) {
			t.Errorf("call %d: %s, want %s", n, bodies[n], want)
		}
	}
}

func TestTheMeterIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	client := stub(t, answer(200, `{"ConsumedCapacity":{"TableName":"T","CapacityUnits":0.5}}`), ddb.Metered)
	outer, all := ddb.WithMeter(t.Context())
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			ctx, mine := ddb.WithMeter(outer)
			for range 10 {
				if _, err := client.GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String("T"), Key: ddb.Item{"a": text("b")}}); err != nil {
					t.Error(err)
				}
			}
			if got := mine.Usage(); got != (ddb.Usage{Requests: 10, Attempts: 10, ReadUnits: 5}) {
				t.Errorf("%+v", got)
			}
		})
	}
	wg.Wait()
	if got := all.Usage(); got != (ddb.Usage{Requests: 80, Attempts: 80, ReadUnits: 40}) {
		t.Errorf("%+v", got)
	}
}

// BenchmarkMeter compares a page of 100 rows with and without the meter.
func BenchmarkMeter(b *testing.B) {
	var rows []string
	for n := range 100 {
		rows = append(rows, fmt.Sprintf(`{"ID":{"S":"tenant"},"SK":{"S":"1699900000%03d#user-%d"},"managedKey":{"N":"1699900000%03d"},"userId":{"S":"user-%d"},"nickname":{"S":"nick"}}`, n, n, n, n))
	}
	body := `{"Count":100,"ScannedCount":100,"ConsumedCapacity":{"TableName":"T","CapacityUnits":1.5},"Items":[` + strings.Join(rows, ",") + `]}`
	in := &dynamodb.QueryInput{
		TableName: aws.String("T"), KeyConditionExpression: aws.String("ID = :id"), ExpressionAttributeValues: ddb.Item{":id": text("tenant")},
		ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	}
	run := func(b *testing.B, client *dynamodb.Client, metered bool) {
		b.ReportAllocs()
		for b.Loop() {
			ctx := b.Context()
			if metered {
				ctx, _ = ddb.WithMeter(ctx)
			}
			if _, err := client.Query(ctx, in); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("raw", func(b *testing.B) { run(b, stub(b, answer(200, body)), false) })
	b.Run("metered", func(b *testing.B) { run(b, stub(b, answer(200, body), ddb.Metered), true) })
}
