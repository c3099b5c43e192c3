package stub_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/guregu/dynamo/v2"

	"github.com/heatsink-dev/heatsink/bench/stub"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
)

// TestMain lets Start run this program as a stub.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == stub.Argument {
		if err := stub.Main(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
func number(n int) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.Itoa(n)}
}

// create makes a table with a GSI, by the same call on the stub and on the engine.
func create(t testing.TB, client *dynamodb.Client, name string) {
	t.Helper()
	key := func(name string, kind types.KeyType) types.KeySchemaElement {
		return types.KeySchemaElement{AttributeName: &name, KeyType: kind}
	}
	attribute := func(name string, kind types.ScalarAttributeType) types.AttributeDefinition {
		return types.AttributeDefinition{AttributeName: &name, AttributeType: kind}
	}
	_, err := client.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{attribute("pk", "S"), attribute("SK", "S"), attribute("gpk", "S"), attribute("n", "N")},
		KeySchema:            []types.KeySchemaElement{key("pk", types.KeyTypeHash), key("SK", types.KeyTypeRange)},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{
			IndexName: aws.String("gsi"), KeySchema: []types.KeySchemaElement{key("gpk", types.KeyTypeHash), key("n", types.KeyTypeRange)},
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeInclude, NonKeyAttributes: []string{"_deleted"}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestStubIsLikeTheEngine sends the same writes and the same queries to both.
func TestStubIsLikeTheEngine(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(stub.NewServer())
	t.Cleanup(server.Close)
	ours, engine := stub.Client(server.URL), ddbtest.Client(t)
	name := fmt.Sprintf("stub-%d", time.Now().UnixNano())
	t.Cleanup(func() {
		if _, err := engine.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &name}); err != nil {
			t.Error(err)
		}
	})
	seed := rand.Uint64() //nolint:gosec // test input
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // test input
	const rows = 120
	for _, client := range []*dynamodb.Client{ours, engine} {
		create(t, client, name)
	}
	for n := range rows {
		item := ddb.Item{
			"pk": text("p" + strconv.Itoa(n%2)), "SK": text(fmt.Sprintf("%03d#%s", r.IntN(900), string(rune('a'+r.IntN(26))))), "filler": text(fmt.Sprint(r.Uint64())),
		}
		if r.IntN(3) > 0 {
			item["_deleted"] = &types.AttributeValueMemberBOOL{Value: true}
		}
		if r.IntN(4) > 0 {
			item["gpk"], item["n"] = text("g"), number(1000-7*n) // no ties: their order in a GSI is nobody's
		}
		for _, client := range []*dynamodb.Client{ours, engine} {
			if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &name, Item: item}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for n := range 150 {
		in := randomQuery(r, name)
		for page := 0; ; page++ {
			want, err := engine.Query(t.Context(), in)
			if err != nil {
				t.Fatalf("engine: query %d: %v", n, err)
			}
			got, err := ours.Query(t.Context(), in)
			if err != nil {
				t.Fatalf("stub: query %d: %v", n, err)
			}
			if diff := cmp.Diff(summary(t, want), summary(t, got)); diff != "" {
				t.Fatalf("query %d, page %d: %+v: (-engine +stub):\n%s", n, page, in, diff)
			}
			if len(got.LastEvaluatedKey) == 0 {
				break
			}
			in.ExclusiveStartKey = got.LastEvaluatedKey
		}
	}
}

// answer is what counts of a Query's output, in comparable form.
type answer struct {
	Items               []string
	Count, ScannedCount int32
	Last                string
	Units               float64
}

func summary(t testing.TB, out *dynamodb.QueryOutput) answer {
	t.Helper()
	encode := func(item ddb.Item) string {
		if len(item) == 0 {
			return ""
		}
		raw, err := ddb.EncodeItem(item)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	a := answer{Count: out.Count, ScannedCount: out.ScannedCount, Last: encode(out.LastEvaluatedKey), Units: aws.ToFloat64(out.ConsumedCapacity.CapacityUnits)}
	for _, item := range out.Items {
		a.Items = append(a.Items, encode(item))
	}
	return a
}

func randomQuery(r *rand.Rand, table string) *dynamodb.QueryInput {
	in := &dynamodb.QueryInput{
		TableName: &table, ExpressionAttributeNames: map[string]string{"#p": "pk"}, ExpressionAttributeValues: ddb.Item{":p": text("p" + strconv.Itoa(r.IntN(3)))},
		KeyConditionExpression: aws.String("#p = :p"), ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	}
	sortKey, low, high := "SK", text(fmt.Sprintf("%03d", r.IntN(450))), text(fmt.Sprintf("%03d", 450+r.IntN(450)))
	if r.IntN(2) == 0 {
		in.IndexName = aws.String("gsi")
		in.ExpressionAttributeNames["#p"], in.ExpressionAttributeValues[":p"] = "gpk", text("g")
		sortKey, low, high = "n", number(r.IntN(500)), number(500+r.IntN(500))
	} else if r.IntN(2) == 0 {
		in.ConsistentRead = aws.Bool(true)
	}
	conditions := []string{"", "#s = :l", "#s < :l", "#s <= :l", "#s > :l", "#s >= :l", "#s BETWEEN :l AND :h"}
	if sortKey == "SK" {
		conditions = append(conditions, "begins_with(#s, :l)")
	}
	if condition := conditions[r.IntN(len(conditions))]; condition != "" {
		in.KeyConditionExpression = aws.String("#p = :p AND " + condition)
		in.ExpressionAttributeNames["#s"] = sortKey
		in.ExpressionAttributeValues[":l"] = low
		if condition == "#s BETWEEN :l AND :h" {
			in.ExpressionAttributeValues[":h"] = high
		}
		if condition == "begins_with(#s, :l)" {
			in.ExpressionAttributeValues[":l"] = text(strconv.Itoa(r.IntN(10)))
		}
	}
	if r.IntN(2) == 0 {
		in.FilterExpression = aws.String("attribute_not_exists(#d)")
		in.ExpressionAttributeNames["#d"] = "_deleted"
	}
	if r.IntN(2) == 0 {
		in.Limit = aws.Int32(int32(1 + r.IntN(30))) //nolint:gosec // small
	}
	if r.IntN(2) == 0 {
		in.ScanIndexForward = aws.Bool(false)
	}
	switch r.IntN(4) {
	case 0:
		in.Select = types.SelectCount
	case 1:
		in.ProjectionExpression = aws.String("#s2, #p")
		in.ExpressionAttributeNames["#s2"] = sortKey
	}
	return in
}

// TestConditionalPut covers the two conditions of index rows.
func TestConditionalPut(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(stub.NewServer())
	t.Cleanup(server.Close)
	client := stub.Client(server.URL)
	create(t, client, "table")
	for n, step := range []struct {
		condition, version string
		stored             bool
	}{
		{"attribute_not_exists(#pk) OR #v < :v", "2", true},
		{"attribute_not_exists(#pk) OR #v < :v", "2", false},
		{"attribute_not_exists(#pk) OR #v <= :v", "2", true},
		{"attribute_not_exists(#pk) OR #v < :v", "1", false},
		{"(attribute_not_exists(#pk)) OR (NOT #v >= :v)", "3", true},
		{"attribute_exists(#pk) AND #v=:v", "3", true},
	} {
		_, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{
			TableName: aws.String("table"), Item: ddb.Item{"pk": text("a"), "SK": text("b"), "_v": text(step.version)},
			ConditionExpression: &step.condition, ExpressionAttributeNames: map[string]string{"#pk": "pk", "#v": "_v"},
			ExpressionAttributeValues: ddb.Item{":v": text(step.version)},
		})
		_, refused := errors.AsType[*types.ConditionalCheckFailedException](err)
		if err != nil && !refused || refused == step.stored {
			t.Errorf("step %d: %v, want stored: %v", n, err, step.stored)
		}
	}
}

// TestOlderKeyConditions: guregu/dynamo writes them.
func TestOlderKeyConditions(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(stub.NewServer())
	t.Cleanup(server.Close)
	client := stub.Client(server.URL)
	create(t, client, "table")
	for n := range 10 {
		item := ddb.Item{"pk": text("a"), "SK": text(strconv.Itoa(n))}
		if n%2 == 0 {
			item["_deleted"] = &types.AttributeValueMemberBOOL{Value: true}
		}
		if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("table"), Item: item}); err != nil {
			t.Fatal(err)
		}
	}
	var got []struct {
		SK string `dynamo:"SK"`
	}
	err := dynamo.NewFromIface(client).Table("table").Get("pk", "a").Range("SK", dynamo.Between, "2", "7").Filter("attribute_not_exists($)", "_deleted").All(t.Context(), &got)
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(got) != "[{3} {5} {7}]" {
		t.Errorf("rows %v, want 3, 5, 7", got)
	}
}

// TestPagesEndAtOneMegabyte: DynamoDB's own page limit, on a stub in a process of its own, with its counts.
func TestPagesEndAtOneMegabyte(t *testing.T) {
	t.Parallel()
	process, err := stub.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	client := process.Client()
	create(t, client, "table")
	for n := range 12 {
		item := ddb.Item{"pk": text("a"), "SK": text(strconv.Itoa(100 + n)), "filler": &types.AttributeValueMemberB{Value: make([]byte, 100_000)}}
		if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("table"), Item: item}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := process.Counts(t.Context()); err != nil {
		t.Fatal(err)
	}
	in := &dynamodb.QueryInput{TableName: aws.String("table"), KeyConditionExpression: aws.String("pk = :p"), ExpressionAttributeValues: ddb.Item{":p": text("a")}}
	var pages []int
	for {
		out, err := client.Query(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, len(out.Items))
		if in.ExclusiveStartKey = out.LastEvaluatedKey; in.ExclusiveStartKey == nil {
			break
		}
	}
	counts, err := process.Counts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(pages) != "[11 1]" || counts.Evaluated != 12 || counts.Requests["Query"] != 2 || counts.Total() != 2 || counts.ReadUnits < 146 || counts.ReadUnits > 148 {
		t.Errorf("pages %v, counts %+v", pages, counts)
	}
	if err := process.Stop(); err != nil {
		t.Errorf("the process ended with %v", err)
	}
}

func TestUnknownThingsAreRefused(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(stub.NewServer())
	t.Cleanup(server.Close)
	client := stub.Client(server.URL)
	create(t, client, "table")
	if _, err := client.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String("table")}); err == nil {
		t.Error("an operation that it does not know is answered")
	}
	for _, filter := range []string{"size(#d) > :p", "#d", "contains(#d, :p)", "attribute_not_exists(#d) AND", "attribute_not_exists(#d) #d = :p"} {
		_, err := client.Query(t.Context(), &dynamodb.QueryInput{
			TableName: aws.String("table"), KeyConditionExpression: aws.String("pk = :p"), FilterExpression: &filter,
			ExpressionAttributeNames: map[string]string{"#d": "_deleted"}, ExpressionAttributeValues: ddb.Item{":p": text("a")},
		})
		if err == nil {
			t.Errorf("filter %q is answered", filter)
		}
	}
}
