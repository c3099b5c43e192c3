package ddbtest_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
)

func ExampleStream() {
	clock := ddbtest.NewClock(time.Time{})
	stream := ddbtest.NewStream("User", []string{"userId"}, clock, 1)
	record, changed := stream.Change(nil, ddb.Item{"userId": text("a"), "n": number("1.50")})
	fmt.Println(changed, record.ARN)
	_, changed = stream.Change(ddb.Item{"n": number("1.5")}, ddb.Item{"n": number("1.50")})
	fmt.Println(changed)
	// Output:
	// true arn:aws:dynamodb:us-east-1:123456789012:table/User/stream/2026-11-14T00:00:00.000
	// false
}

func TestSequenceNumbersGrowUnevenlyAndPastTheirWidth(t *testing.T) {
	t.Parallel()
	stream := ddbtest.NewStream("User", []string{"userId"}, ddbtest.NewClock(time.Time{}), 7)
	widths := map[int]int{}
	last, asText := new(big.Int), ""
	misordered := false
	for range 50 {
		record, _ := stream.Change(nil, ddb.Item{"userId": text("a")})
		number, ok := new(big.Int).SetString(record.Sequence, 10)
		if !ok || number.Cmp(last) <= 0 {
			t.Fatalf("%s after %s", record.Sequence, last)
		}
		misordered = misordered || record.Sequence < asText
		last, asText = number, record.Sequence
		widths[len(record.Sequence)]++
	}
	if widths[21] == 0 || widths[22] == 0 || !misordered {
		t.Errorf("widths %v: whoever compares them as text must be found out", widths)
	}
}

func TestARecordIsWhatLambdaSends(t *testing.T) {
	t.Parallel()
	clock := ddbtest.NewClock(time.Time{})
	stream := ddbtest.NewStream("User", []string{"userId"}, clock, 1)
	old, changed := ddb.Item{"userId": text("a"), "n": number("1")}, ddb.Item{"userId": text("a"), "n": number("2")}
	for _, test := range []struct {
		event        string
		old, changed ddb.Item
	}{{"INSERT", nil, changed}, {"MODIFY", old, changed}, {"REMOVE", old, nil}} {
		record, _ := stream.Change(test.old, test.changed)
		record.Expired = test.event == "REMOVE"
		var event events.DynamoDBEvent
		if err := json.Unmarshal(ddbtest.Event(record.JSON()), &event); err != nil {
			t.Fatal(err)
		}
		got := event.Records[0]
		if got.EventName != test.event || got.EventSourceArn != stream.ARN || got.Change.SequenceNumber != record.Sequence ||
			!got.Change.ApproximateCreationDateTime.Equal(clock.Now()) || got.Change.Keys["userId"].String() != "a" ||
			(got.Change.OldImage == nil) != (test.old == nil) || (got.Change.NewImage == nil) != (test.changed == nil) ||
			(got.UserIdentity != nil) != record.Expired || got.Change.StreamViewType != "NEW_AND_OLD_IMAGES" || len(got.EventID) != 32 {
			t.Errorf("%s: %s", test.event, record.JSON())
		}
	}
}

func TestARecreatedStreamIsALaterEpochWithLowerNumbers(t *testing.T) {
	t.Parallel()
	stream := ddbtest.NewStream("User", []string{"userId"}, ddbtest.NewClock(time.Time{}), 1)
	var before ddbtest.Record
	for range 30 {
		before, _ = stream.Change(nil, ddb.Item{"userId": text("a")})
	}
	again := stream.Recreate("User")
	after, _ := again.Change(nil, ddb.Item{"userId": text("a")})
	if again.ARN <= stream.ARN || len(after.Sequence) >= len(before.Sequence) {
		t.Errorf("%s %s, then %s %s", stream.ARN, before.Sequence, again.ARN, after.Sequence)
	}
}

func TestAnImageThatNoStreamCarriesSaysSo(t *testing.T) {
	t.Parallel()
	record := ddbtest.Record{New: ddb.Item{"a": nil}, Sequence: "1"}
	if raw := string(record.JSON()); !strings.Contains(raw, "ddbtest: value at a: is nil") || !json.Valid([]byte(raw)) {
		t.Error(raw)
	}
	record = ddbtest.Record{RawNew: json.RawMessage(`{"a":{"X":1}}`), Sequence: "1"}
	if raw := string(record.JSON()); !strings.Contains(raw, `"NewImage":{"a":{"X":1}}`) || !strings.Contains(raw, "INSERT") {
		t.Error(raw)
	}
}
