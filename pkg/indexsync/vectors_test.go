package indexsync_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/indexsync"
)

// The vectors of the stream study that are about the write path, each under its number. They run on the real engine.

func throttle() error {
	return &types.ThrottlingException{Message: aws.String("slow down"), ThrottlingReasons: []types.ThrottlingReason{
		{Reason: aws.String("TableWriteKeyRangeThroughputExceeded"), Resource: aws.String("arn:table")},
	}}
}

func oneByOne(c *indexsync.Config) { c.Concurrency = 1 }

func TestVector01OnlyTheThrottledRecordIsNamed(t *testing.T) {
	t.Parallel()
	b := newBench(t, newReal(t), things(t, onlyManaged), oneByOne)
	b.process(t, record{new: thing("i2", "a", "2", "n", number("2")), sequence: seq(9)})
	b.spy.calls = nil
	b.spy.hook = func(_ int, in *dynamodb.PutItemInput) (bool, error) {
		if strings.HasSuffix(s(in.Item["SK"]), "#i3") {
			return false, throttle()
		}
		return false, nil
	}
	result := b.process(t,
		record{new: thing("i1", "a", "1"), sequence: seq(1)},
		record{new: thing("i2", "a", "2", "n", number("1")), sequence: seq(2)}, // stale
		record{new: thing("i3", "a", "3"), sequence: seq(3)},
		record{new: thing("i4", "a", "4"), sequence: seq(4)},
	)
	if result.FailedSequence != seq(3) || ddb.Classify(result.Cause).Class != ddb.Throttled {
		t.Errorf("failed %q (%v), want %q throttled", result.FailedSequence, result.Cause, seq(3))
	}
	if got := result.Stats; got.Upserts != 1 || got.StaleSkips != 1 || got.Throttles[ddb.Throttle{Reason: "TableWriteKeyRangeThroughputExceeded", Resource: "arn:table"}] != 1 {
		t.Errorf("stats %+v", got)
	}
	if b.row(t, "managed", "a", "0000000000004#i4") != nil {
		t.Error("the record behind the throttled one was begun")
	}
}

func TestVector02AnUndecodableRecordIsParkedAndTheRestGoesOn(t *testing.T) {
	t.Parallel()
	b := newBench(t, newReal(t), things(t, onlyManaged))
	bad := json.RawMessage(fmt.Sprintf(`{"eventName":"INSERT","eventSourceARN":%q,"dynamodb":{"SequenceNumber":%q,"NewImage":{"id":{"S":"i2"},"x":{"Q":"?"}}}}`, streamARN, seq(2)))
	payload := indexsync.JoinRecords(record{new: thing("i1", "a", "1"), sequence: seq(1)}.raw(t), bad, record{new: thing("i3", "a", "3"), sequence: seq(3)}.raw(t))
	result, err := b.syncer.Process(t.Context(), payload)
	if err != nil || result.FailedSequence != "" {
		t.Fatalf("failed %q, error %v; want neither", result.FailedSequence, err)
	}
	if len(b.live(t, "managed")) != 2 {
		t.Error("the records around the bad one are not both in the index")
	}
	if len(b.lot.parked) != 1 || string(b.lot.parked[0].Record) != string(bad) {
		t.Fatalf("parked %+v, want the whole bad record", b.lot.parked)
	}
	if len(result.Parked) != 1 || result.Parked[0].Sequence != seq(2) || result.Stats.Parked != 1 {
		t.Errorf("result tells %+v", result.Parked)
	}
}

func TestVector03AFailedRecordWithoutASequenceNumberIsAnError(t *testing.T) {
	t.Parallel()
	b := newBench(t, newReal(t), things(t, byRevision)) // whose version does not need the number
	b.spy.hook = func(int, *dynamodb.PutItemInput) (bool, error) { return false, throttle() }
	for _, sequence := range []string{"", "not a number", strings.Repeat("1", 41)} {
		r := record{new: thing("i1", "a", "1", "rev", number("1")), sequence: sequence}
		result, err := b.syncer.Process(t.Context(), event(t, r))
		if err == nil || result.FailedSequence != "" {
			t.Errorf("sequence %q: failed %q, error %v; want an error alone", sequence, result.FailedSequence, err)
		}
		if ddb.Classify(err).Class != ddb.Throttled {
			t.Errorf("sequence %q: the error hides its cause: %v", sequence, err)
		}
	}
}

func TestVector04ALateEventDoesNotReviveAndANewerOneDoes(t *testing.T) {
	t.Parallel()
	b := newBench(t, newReal(t), things(t, onlyManaged))
	live := thing("i1", "a", "1")
	const sort = "0000000000001#i1"
	b.process(t, record{new: live, sequence: seq(1)})
	b.process(t, record{old: live, sequence: seq(5)})
	for _, n := range []int{5, 4} {
		b.process(t, record{old: live, new: thing("i1", "a", "1", "n", number("2")), sequence: seq(n)})
		if row := b.row(t, "managed", "a", sort); row["_deleted"] == nil || row["_ttl"] == nil {
			t.Fatalf("a late event of version %d revived the row: %v", n, row)
		}
	}
	b.process(t, record{new: live, sequence: seq(6)})
	row := b.row(t, "managed", "a", sort)
	if row["_deleted"] != nil || row["_ttl"] != nil || s(row["_v"]) != version(t, 6) {
		t.Errorf("the created item's row is %v", row)
	}
}

func version(t *testing.T, n int) string {
	t.Helper()
	v, err := indexsync.StreamVersion(label, seq(n))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestVector05ARemovalThatComesFirstLeavesATombstone(t *testing.T) {
	t.Parallel()
	b := newBench(t, newReal(t), things(t, onlyManaged))
	live := thing("i1", "a", "1")
	b.process(t, record{old: live, sequence: seq(2)})
	want := ddb.Item{
		"ID": text("a"), "SK": text("0000000000001#i1"), "_deleted": &types.AttributeValueMemberBOOL{Value: true}, "_v": text(version(t, 2)),
		"_ttl": number(fmt.Sprint(now.Add(7 * 24 * time.Hour).Unix())),
	}
	if got := b.row(t, "managed", "a", "0000000000001#i1"); !ddb.EqualItems(want, got) {
		t.Error(cmp.Diff(want, got, itemOptions))
	}
	b.process(t, record{new: live, sequence: seq(1)})
	if len(b.live(t, "managed")) != 0 {
		t.Error("the insert that came after its removal is visible")
	}
}

func TestVector06TheTombstoneOutlivesTheStreamByTheRetentionOfItsIndex(t *testing.T) {
	t.Parallel()
	b := newBench(t, newReal(t), things(t))
	item := thing("i1", "a", "1", "teamId", text("t"), "status", text("on"), "joinedOn", text("2026"))
	b.process(t, record{old: item, sequence: seq(1)})
	for index, want := range map[string]time.Duration{"managed": 7 * 24 * time.Hour, "team-status": 3 * 24 * time.Hour} {
		rows := b.engine.rows(t, b.tables[index])
		if len(rows) != 1 || !ddb.Equal(rows[0]["_ttl"], number(fmt.Sprint(now.Add(want).Unix()))) {
			t.Errorf("%s: rows %v, want one that expires in %s", index, rows, want)
		}
	}
	if got := b.syncer.Retention(); got != 3*24*time.Hour {
		t.Errorf("retention %s, want the shortest", got)
	}
}

func TestVector07ABackfillNeverWins(t *testing.T) {
	t.Parallel()
	b := newBench(t, newReal(t), things(t, onlyManaged))
	index := b.source.Indexes[0]
	backfill := func(item ddb.Item, at time.Time) error {
		row, _, ok := indexsync.Row(index, item, indexsync.BackfillVersion(at))
		if !ok {
			t.Fatal("the item is not in the index")
		}
		_, err := b.engine.PutItem(t.Context(), &dynamodb.PutItemInput{
			TableName: aws.String(b.tables["managed"]), Item: row, ConditionExpression: aws.String("attribute_not_exists(#p) OR #v < :v"),
			ExpressionAttributeNames: map[string]string{"#p": "ID", "#v": "_v"}, ExpressionAttributeValues: ddb.Item{":v": row["_v"]},
		})
		return err
	}
	stale := func(err error) bool { return ddb.Classify(err).Class == ddb.ConditionFailed }
	old := thing("i1", "a", "1", "n", text("old"))
	b.process(t, record{new: thing("i1", "a", "1", "n", text("new")), sequence: seq(1)})
	if err := backfill(old, now); !stale(err) {
		t.Errorf("against a live row: %v, want it refused", err)
	}
	b.process(t, record{old: thing("i2", "a", "2"), sequence: seq(2)})
	if err := backfill(thing("i2", "a", "2"), now); !stale(err) {
		t.Errorf("against a tombstone: %v, want it refused", err)
	}
	if err := backfill(thing("i3", "a", "3", "n", text("first")), now); err != nil {
		t.Errorf("against nothing: %v", err)
	}
	if err := backfill(thing("i3", "a", "3"), now); !stale(err) {
		t.Errorf("the same once more: %v, want it refused", err)
	}
	if err := backfill(thing("i3", "a", "3", "n", text("second")), now.Add(time.Second)); err != nil {
		t.Errorf("a later backfill: %v", err)
	}
	if result := b.process(t, record{old: thing("i3", "a", "3"), new: thing("i3", "a", "3", "n", text("live")), sequence: "1"}); result.Stats.Upserts != 1 {
		t.Error("a change record does not override a backfilled row")
	}
}

func TestVector08SequenceNumbersOfDifferentLengthCompareByValue(t *testing.T) {
	t.Parallel()
	b := newBench(t, newReal(t), things(t, onlyManaged))
	first, second := thing("i1", "a", "1", "n", number("1")), thing("i1", "a", "1", "n", number("2"))
	b.process(t, record{new: first, sequence: "9900000000002513012315"})
	b.process(t, record{old: first, new: second, sequence: "10000000000002513012315"})
	if got := b.live(t, "managed"); len(got) != 1 || !ddb.EqualItems(got[0], second) {
		t.Errorf("rows %v, want the second", got)
	}
}

func TestVector09ValuesComeThroughExactly(t *testing.T) {
	t.Parallel()
	b := newBench(t, newReal(t), things(t, onlyManaged))
	for n, value := range []types.AttributeValue{
		number("0"), number("-0.5"), number("12345678901234567890123456789012345678"), number("1E125"), number("9007199254740993"),
		text(""), &types.AttributeValueMemberB{Value: []byte{}}, &types.AttributeValueMemberBS{Value: [][]byte{{1}, {2, 255}}},
		&types.AttributeValueMemberSS{Value: []string{"x", "ü"}}, &types.AttributeValueMemberNS{Value: []string{"1", "2.50"}},
		&types.AttributeValueMemberL{Value: []types.AttributeValue{}}, &types.AttributeValueMemberM{Value: ddb.Item{}}, null(),
		&types.AttributeValueMemberBOOL{Value: false},
		&types.AttributeValueMemberL{Value: []types.AttributeValue{&types.AttributeValueMemberM{Value: ddb.Item{"a": null()}}}},
	} {
		item := thing(fmt.Sprintf("i%02d", n), "a", "1", "value", value)
		result := b.process(t, record{new: item, sequence: seq(n)})
		if result.Stats.Parked != 0 {
			t.Errorf("%T %v was parked: %s", value, value, result.Parked[0].Reason)
		}
		row := b.row(t, "managed", "a", fmt.Sprintf("0000000000001#i%02d", n))
		if row == nil || !ddb.EqualItems(bare(row), item) {
			t.Errorf("%T: row %v", value, row)
		}
	}
	nested := json.RawMessage(fmt.Sprintf(`{"eventName":"INSERT","eventSourceARN":%q,"dynamodb":{"SequenceNumber":"7","NewImage":{"id":{"S":"i"},"l":{"L":[{"M":{"x":{}}}]}}}}`, streamARN))
	result, err := b.syncer.Process(t.Context(), indexsync.JoinRecords(nested))
	if err != nil || len(result.Parked) != 1 || !strings.Contains(result.Parked[0].Reason, "l[0].x") {
		t.Errorf("a nested value without a type: %+v, %v; want it parked with its path", result.Parked, err)
	}
}

func TestVector10AThrottleWithItsReasonIsCountedAndNoTombstoneIsWritten(t *testing.T) {
	t.Parallel()
	b := newBench(t, newReal(t), things(t, onlyManaged))
	first, second := thing("i1", "a", "1"), thing("i1", "b", "2")
	b.process(t, record{new: first, sequence: seq(1)})
	b.spy.hook = func(int, *dynamodb.PutItemInput) (bool, error) {
		return false, fmt.Errorf("operation error DynamoDB: PutItem, exceeded maximum number of attempts, 4, %w", &types.ThrottlingException{
			ThrottlingReasons: []types.ThrottlingReason{{Reason: aws.String("IndexWriteKeyRangeThroughputExceeded"), Resource: aws.String("arn")}},
		})
	}
	result := b.process(t, record{old: first, new: second, sequence: seq(2)})
	if result.FailedSequence != seq(2) {
		t.Errorf("failed %q, want %q", result.FailedSequence, seq(2))
	}
	if n := result.Stats.Throttles[ddb.Throttle{Reason: "IndexWriteKeyRangeThroughputExceeded", Resource: "arn"}]; n != 1 {
		t.Errorf("throttles %v", result.Stats.Throttles)
	}
	if got := b.live(t, "managed"); len(got) != 1 || !ddb.EqualItems(got[0], first) {
		t.Errorf("rows %v, want the old place alone", got)
	}
}

// The study's advice on one failed id, which an error must never look like.
func TestWithoutPartialBatchesAFailureIsAnErrorForTheWholeBatch(t *testing.T) {
	t.Parallel()
	b := newBench(t, newReal(t), things(t, onlyManaged), func(c *indexsync.Config) { c.PartialBatch = false })
	cause := errors.New("no")
	b.spy.hook = func(int, *dynamodb.PutItemInput) (bool, error) { return false, cause }
	result, err := b.syncer.Process(t.Context(), event(t, record{new: thing("i1", "a", "1"), sequence: seq(1)}))
	if !errors.Is(err, cause) || result.FailedSequence != seq(1) {
		t.Errorf("error %v, sequence %q", err, result.FailedSequence)
	}
}

func TestPayloadsThatAreNoStreamEventAreErrors(t *testing.T) {
	t.Parallel()
	b := newBench(t, newMemory(), things(t))
	for _, payload := range []string{``, `null`, `{}`, `[]`, `"x"`, `{"Records":5}`, `{"Records":null}`, `{"Records":[{}`} {
		if _, err := b.syncer.Process(t.Context(), []byte(payload)); err == nil {
			t.Errorf("%s: no error", payload)
		}
	}
	if result, err := b.syncer.Process(t.Context(), []byte(`{"Records":[]}`)); err != nil || result.FailedSequence != "" {
		t.Errorf("an empty batch: %+v, %v", result, err)
	}
}
