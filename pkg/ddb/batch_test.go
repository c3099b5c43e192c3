package ddb_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
)

// waits is a policy that never waits and keeps how long it would have.
func waits(list *[]time.Duration) ddb.Policy {
	return ddb.Policy{
		Base: 10 * time.Millisecond, Max: 100 * time.Millisecond, Attempts: 4,
		Sleep:  func(_ context.Context, d time.Duration) error { *list = append(*list, d); return nil },
		Random: func(n int64) int64 { return n - 1 },
	}
}

func puts(n int) (requests []types.WriteRequest) {
	for i := range n {
		requests = append(requests, types.WriteRequest{PutRequest: &types.PutRequest{Item: ddb.Item{"userId": text(fmt.Sprintf("%03d", i)), "n": number(strconv.Itoa(i))}}})
	}
	return requests
}

func TestABatchIsCutIntoChunksAndLeftoversAreCarriedForward(t *testing.T) {
	t.Parallel()
	faults := ddbtest.NewFaults(t, 0).
		Add(ddbtest.Rule{Operation: "BatchWriteItem", Nth: 1, Do: ddbtest.Unprocessed(5)}).
		Add(ddbtest.Rule{Operation: "BatchWriteItem", Nth: 2, Do: ddbtest.Throttle(ddbtest.CodeProvisioned)})
	client := ddbtest.Client(t, faults.Install)
	table := userTable(t)
	var slept []time.Duration
	if err := ddb.BatchWrite(t.Context(), client, table, []string{"userId"}, puts(60), waits(&slept)); err != nil {
		t.Fatal(err)
	}
	items := ddbtest.Dump(t, client, table)
	if len(items) != 60 {
		t.Errorf("%d items, want 60", len(items))
	}
	// 5 of 25 done; then 20 and 5 more are throttled whole; then 25, 25, 5.
	if n := faults.Count("BatchWriteItem"); n != 5 {
		t.Errorf("%d requests, want 5", n)
	}
	if diff := cmp.Diff([]time.Duration{10 * time.Millisecond, 10 * time.Millisecond}, slept); diff != "" {
		t.Error(diff)
	}
}

func TestTheLastOperationOnAKeyWins(t *testing.T) {
	t.Parallel()
	client := ddbtest.Client(t)
	table := userTable(t)
	key := ddb.Item{"userId": text("a")}
	put := func(user, n string) types.WriteRequest {
		return types.WriteRequest{PutRequest: &types.PutRequest{Item: ddb.Item{"userId": text(user), "n": number(n)}}}
	}
	requests := []types.WriteRequest{put("a", "1"), put("b", "1"), {DeleteRequest: &types.DeleteRequest{Key: key}}, put("b", "2"), put("c", "1"), put("a", "3")}
	if err := ddb.BatchWrite(t.Context(), client, table, []string{"userId"}, requests, ddb.Policy{}); err != nil {
		t.Fatal(err)
	}
	want := []ddb.Item{{"userId": text("a"), "n": number("3")}, {"userId": text("b"), "n": number("2")}, {"userId": text("c"), "n": number("1")}}
	if d := diff(want, ddbtest.Dump(t, client, table)); d != "" {
		t.Error(d)
	}
}

func TestNumericKeysAreOneKeyByValue(t *testing.T) {
	t.Parallel()
	var sent []types.WriteRequest
	client := batchWriter(func(in *dynamodb.BatchWriteItemInput) (*dynamodb.BatchWriteItemOutput, error) {
		sent = in.RequestItems["T"]
		return &dynamodb.BatchWriteItemOutput{}, nil
	})
	requests := []types.WriteRequest{
		{DeleteRequest: &types.DeleteRequest{Key: ddb.Item{"h": text("a"), "r": number("1.0")}}},
		{DeleteRequest: &types.DeleteRequest{Key: ddb.Item{"h": text("a"), "r": number("1")}}},
		{DeleteRequest: &types.DeleteRequest{Key: ddb.Item{"h": text("a1"), "r": text("")}}},
		{DeleteRequest: &types.DeleteRequest{Key: ddb.Item{"h": text("a"), "r": text("1")}}},
	}
	if err := ddb.BatchWrite(t.Context(), client, "T", []string{"h", "r"}, requests, ddb.Policy{}); err != nil || len(sent) != 3 {
		t.Errorf("%d sent, %v; want 3", len(sent), err)
	}
}

type batchWriter func(*dynamodb.BatchWriteItemInput) (*dynamodb.BatchWriteItemOutput, error)

func (w batchWriter) BatchWriteItem(_ context.Context, in *dynamodb.BatchWriteItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error) {
	return w(in)
}

func TestABatchThatMakesNoProgressEndsWithItsLeftovers(t *testing.T) {
	t.Parallel()
	faults := ddbtest.NewFaults(t, 0).Add(ddbtest.Rule{Operation: "BatchWriteItem", From: 2, Do: ddbtest.Unprocessed(0)})
	client := ddbtest.Client(t, faults.Install)
	table := userTable(t)
	var slept []time.Duration
	err := ddb.BatchWrite(t.Context(), client, table, []string{"userId"}, puts(30), waits(&slept))
	left, ok := errors.AsType[*ddb.Leftovers](err)
	if !ok || len(left.Writes) != 5 || len(left.Unknown) != 0 || left.Err != nil || left.Table != table {
		t.Fatalf("%v", err)
	}
	// Attempts bound the requests in a row that got nothing done; the waits grow to the cap.
	if diff := cmp.Diff([]time.Duration{10 * time.Millisecond, 20 * time.Millisecond, 40 * time.Millisecond}, slept); diff != "" || faults.Count("BatchWriteItem") != 5 {
		t.Error(diff, faults.Count("BatchWriteItem"))
	}
	if n := len(ddbtest.Dump(t, client, table)); n != 25 {
		t.Errorf("%d items, want 25", n)
	}
}

func TestABatchWhoseAnswerWasLostIsNotSentAgain(t *testing.T) {
	t.Parallel()
	faults := ddbtest.NewFaults(t, 0).Add(ddbtest.Rule{Operation: "BatchWriteItem", Nth: 2, Do: ddbtest.LostAnswer()})
	client := ddbtest.Client(t, faults.Install)
	table := userTable(t)
	err := ddb.BatchWrite(t.Context(), client, table, []string{"userId"}, puts(60), ddb.Policy{})
	left, ok := errors.AsType[*ddb.Leftovers](err)
	if !ok || len(left.Unknown) != 25 || len(left.Writes) != 10 || ddb.Classify(err).Class != ddb.UnknownOutcome {
		t.Fatalf("%v", err)
	}
	if n := faults.Count("BatchWriteItem"); n != 2 {
		t.Errorf("%d requests: neither the SDK nor we may send it again", n)
	}
	if n := len(ddbtest.Dump(t, client, table)); n != 50 {
		t.Errorf("%d items, want 50", n)
	}
}

func TestABatchThatIsRefusedWroteNothing(t *testing.T) {
	t.Parallel()
	client := ddbtest.Client(t)
	table := userTable(t)
	requests := puts(27)
	requests[26].PutRequest.Item = ddb.Item{"userId": text("")} // an empty key, in the second chunk
	err := ddb.BatchWrite(t.Context(), client, table, []string{"userId"}, requests, ddb.Policy{})
	left, ok := errors.AsType[*ddb.Leftovers](err)
	if !ok || len(left.Writes) != 2 || len(left.Unknown) != 0 || ddb.Classify(err).Class != ddb.Invalid {
		t.Fatalf("%v", err)
	}
}

func TestBadRequestsNeverLeave(t *testing.T) {
	t.Parallel()
	client := batchWriter(func(*dynamodb.BatchWriteItemInput) (*dynamodb.BatchWriteItemOutput, error) {
		t.Error("sent")
		return nil, errors.New("sent")
	})
	put := func(item ddb.Item) types.WriteRequest {
		return types.WriteRequest{PutRequest: &types.PutRequest{Item: item}}
	}
	for name, bad := range map[string]types.WriteRequest{
		"neither": {}, "both": {PutRequest: &types.PutRequest{}, DeleteRequest: &types.DeleteRequest{}},
		"no key": put(ddb.Item{}), "a list as key": put(ddb.Item{"userId": list()}), "a broken number as key": put(ddb.Item{"userId": number("x")}),
	} {
		err := ddb.BatchWrite(t.Context(), client, "T", []string{"userId"}, []types.WriteRequest{put(ddb.Item{"userId": text("a")}), bad}, ddb.Policy{})
		if left, ok := errors.AsType[*ddb.Leftovers](err); !ok || len(left.Writes) != 2 || !strings.Contains(err.Error(), "write 1:") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := ddb.BatchWrite(t.Context(), client, "T", []string{"userId"}, nil, ddb.Policy{}); err != nil {
		t.Errorf("nothing to write: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := ddb.BatchWrite(ctx, client, "T", []string{"userId"}, puts(1), ddb.Policy{}); !errors.Is(err, context.Canceled) {
		t.Errorf("an ended context: %v", err)
	}
}

func TestItemsComeBackInTheOrderOfTheirKeys(t *testing.T) {
	t.Parallel()
	faults := ddbtest.NewFaults(t, 0).Add(ddbtest.Rule{Operation: "BatchGetItem", Nth: 1, Do: ddbtest.Unprocessed(7)})
	client := ddbtest.Client(t, faults.Install)
	table := userTable(t)
	if err := ddb.BatchWrite(t.Context(), client, table, []string{"userId"}, puts(130), ddb.Policy{}); err != nil {
		t.Fatal(err)
	}
	var keys []ddb.Item
	var want []string
	for _, n := range []int{7, 3, 900, 3, 129} { // 900 does not exist, 3 is asked twice
		keys = append(keys, ddb.Item{"userId": text(fmt.Sprintf("%03d", n))})
	}
	want = append(want, "007", "003", "129")
	for n := 128; n >= 10; n-- {
		keys = append(keys, ddb.Item{"userId": text(fmt.Sprintf("%03d", n))})
		want = append(want, fmt.Sprintf("%03d", n))
	}
	var slept []time.Duration
	items, err := ddb.BatchGet(t.Context(), client, table, keys, types.KeysAndAttributes{ConsistentRead: aws.Bool(true)}, waits(&slept))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, item := range items {
		key, _ := ddb.KeyValue(item["userId"])
		got = append(got, key.String())
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if n := faults.Count("BatchGetItem"); n != 3 || len(slept) != 1 { // 100 (7 done), 93 + 7, the rest
		t.Errorf("%d requests, %d waits", n, len(slept))
	}
}

func TestAReadThatEndsEarlyHandsBackWhatItHas(t *testing.T) {
	t.Parallel()
	faults := ddbtest.NewFaults(t, 0).
		Add(ddbtest.Rule{Operation: "BatchGetItem", Nth: 1, Do: ddbtest.Unprocessed(1)}).
		Add(ddbtest.Rule{Operation: "BatchGetItem", Do: ddbtest.Unprocessed(0)})
	client := ddbtest.Client(t, faults.Install)
	table := userTable(t)
	if err := ddb.BatchWrite(t.Context(), client, table, []string{"userId"}, puts(3), ddb.Policy{}); err != nil {
		t.Fatal(err)
	}
	keys := []ddb.Item{{"userId": text("000")}, {"userId": text("001")}, {"userId": text("002")}}
	var slept []time.Duration
	items, err := ddb.BatchGet(t.Context(), client, table, keys, types.KeysAndAttributes{}, waits(&slept))
	left, ok := errors.AsType[*ddb.Leftovers](err)
	if !ok || len(items) != 1 || len(left.Keys) != 2 {
		t.Errorf("%v, %v", items, err)
	}
	for name, bad := range map[string][]ddb.Item{
		"no key": {{"userId": list()}}, "another shape": {{"userId": text("a")}, {"userId": text("a"), "x": text("b")}}, "empty": {{"userId": text("a")}, {}},
	} {
		if _, err := ddb.BatchGet(t.Context(), client, table, bad, types.KeysAndAttributes{}, ddb.Policy{}); !strings.Contains(fmt.Sprint(err), "key ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if items, err := ddb.BatchGet(t.Context(), client, table, nil, types.KeysAndAttributes{}, ddb.Policy{}); items != nil || err != nil {
		t.Errorf("nothing to read: %v, %v", items, err)
	}
}
