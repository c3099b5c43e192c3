package redrive_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
	"github.com/heatsink-dev/heatsink/pkg/indexsync"
	"github.com/heatsink-dev/heatsink/pkg/redrive"
)

func object(key string) s3types.Object { return s3types.Object{Key: aws.String(key)} }

func item(input any) ddb.Item { return input.(*dynamodb.PutItemInput).Item }

// lived is a base table whose stream holds a few changes.
type lived struct {
	arn, shard string
	sequences  []string
}

// live writes n users, moves each of them, and reads where its stream stands.
func live(t *testing.T, b *bench, n int) lived {
	t.Helper()
	table := ddbtest.Table(t, b.source)
	b.config.Syncer = redrive.Only(table, b.syncer)
	for _, managedKey := range []string{"1", "2"} {
		for i := range n {
			_, err := b.client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(table), Item: user(fmt.Sprintf("u%03d", i), managedKey)})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	described, err := b.client.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String(table)})
	if err != nil {
		t.Fatal(err)
	}
	l := lived{arn: *described.Table.LatestStreamArn}
	streams := ddbtest.Streams(t)
	shards, err := streams.DescribeStream(t.Context(), &dynamodbstreams.DescribeStreamInput{StreamArn: aws.String(l.arn)})
	if err != nil {
		t.Fatal(err)
	}
	l.shard = *shards.StreamDescription.Shards[0].ShardId
	iterator, err := streams.GetShardIterator(t.Context(), &dynamodbstreams.GetShardIteratorInput{
		StreamArn: aws.String(l.arn), ShardId: aws.String(l.shard), ShardIteratorType: types.ShardIteratorTypeTrimHorizon,
	})
	if err != nil {
		t.Fatal(err)
	}
	for next := iterator.ShardIterator; len(l.sequences) < 2*n; {
		page, err := streams.GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: next})
		if err != nil {
			t.Fatal(err)
		}
		for _, record := range page.Records {
			l.sequences = append(l.sequences, *record.Dynamodb.SequenceNumber)
		}
		next = page.NextShardIterator
	}
	return l
}

// metadata is a failure object without a payload.
func (l lived) metadata(t testing.TB, first, last int, functionError bool) []byte {
	t.Helper()
	return failure(t, func(o *indexsync.FailureObject) {
		o.Payload = ""
		o.ResponseContext = json.RawMessage(`{"statusCode":200}`)
		if functionError {
			o.ResponseContext = json.RawMessage(`{"statusCode":200,"functionError":"Unhandled"}`)
		}
		o.Batch = indexsync.FailedBatch{
			ShardID: l.shard, StreamARN: l.arn, StartSequenceNumber: l.sequences[first], EndSequenceNumber: l.sequences[last], BatchSize: last - first + 1,
		}
	})
}

func TestVector11WithoutAPayloadTheStreamIsRead(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(c *redrive.Config) { c.Now = time.Now })
	l := live(t, b, 10)
	b.put(t, "aws/lambda/1", l.metadata(t, 0, 3, false))   // u000 to u003 created
	b.put(t, "aws/lambda/2", l.metadata(t, 11, 12, true))  // u001 and u002 moved
	b.put(t, "aws/lambda/3", l.metadata(t, 19, 19, false)) // u009 moved, the last of the stream
	report := b.run(t, redrive.Options{})
	if report.Done != 3 || report.Deleted != 3 || report.Records != 7 {
		t.Errorf("report %+v", report)
	}
	want := []string{"a/0000000000001#u000", "a/0000000000001#u003", "a/0000000000002#u001", "a/0000000000002#u002", "a/0000000000002#u009"}
	if diff := cmp.Diff(want, b.live(t, "managed")); diff != "" {
		t.Error(diff)
	}
}

// pagedStream reads the engine's stream by small pages, with empty ones and iterators that expire.
type pagedStream struct {
	redrive.Stream
	pages, seeks int
	expireAt     map[int]bool
	emptyAt      map[int]bool
}

func (s *pagedStream) GetShardIterator(ctx context.Context, in *dynamodbstreams.GetShardIteratorInput, o ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetShardIteratorOutput, error) {
	s.seeks++
	return s.Stream.GetShardIterator(ctx, in, o...)
}

func (s *pagedStream) GetRecords(ctx context.Context, in *dynamodbstreams.GetRecordsInput, o ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetRecordsOutput, error) {
	s.pages++
	if s.expireAt[s.pages] {
		return nil, fmt.Errorf("operation error: %w", &types.ExpiredIteratorException{})
	}
	if s.emptyAt[s.pages] {
		return &dynamodbstreams.GetRecordsOutput{NextShardIterator: in.ShardIterator}, nil
	}
	in.Limit = aws.Int32(3)
	return s.Stream.GetRecords(ctx, in, o...)
}

func TestPagesEmptyPagesAndExpiredIteratorsOfTheStream(t *testing.T) {
	t.Parallel()
	paged := &pagedStream{expireAt: map[int]bool{1: true, 4: true, 5: true, 8: true}, emptyAt: map[int]bool{2: true, 3: true, 6: true}}
	b := newBench(t, func(c *redrive.Config) { c.Now = time.Now; paged.Stream = c.Stream; c.Stream = paged })
	l := live(t, b, 10)
	b.put(t, "x", l.metadata(t, 2, 17, false))
	report := b.run(t, redrive.Options{})
	if report.Done != 1 || report.Records != 16 || paged.seeks != 5 {
		t.Errorf("report %+v, %d seeks", report, paged.seeks)
	}
	if rows := b.live(t, "managed"); len(rows) != 10 {
		t.Errorf("rows %v", rows)
	}
}

// scripted is a stream that answers what a test says.
type scripted struct {
	seek    error
	records []types.Record
	open    bool
	calls   int
}

func (s *scripted) GetShardIterator(context.Context, *dynamodbstreams.GetShardIteratorInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetShardIteratorOutput, error) {
	return &dynamodbstreams.GetShardIteratorOutput{ShardIterator: aws.String("i")}, s.seek
}

func (s *scripted) GetRecords(context.Context, *dynamodbstreams.GetRecordsInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetRecordsOutput, error) {
	s.calls++
	out := &dynamodbstreams.GetRecordsOutput{}
	if s.calls == 1 {
		out.Records = s.records
	}
	if s.open {
		out.NextShardIterator = aws.String("i")
	}
	return out, nil
}

func TestAStreamThatHasForgottenIsToldWithWhatToDo(t *testing.T) {
	t.Parallel()
	one := []types.Record{{Dynamodb: &types.StreamRecord{SequenceNumber: aws.String("100")}}}
	l := lived{arn: "arn:aws:dynamodb:r:1:table/User/stream/2026-11-01T00:00:00.000", shard: "shard", sequences: []string{"99", "101"}}
	for name, script := range map[string]*scripted{
		"trimmed":               {seek: &types.TrimmedDataAccessException{}},
		"the stream is gone":    {seek: &types.ResourceNotFoundException{}},
		"the shard ended":       {records: one},
		"nothing comes":         {open: true},
		"records are missing":   {records: []types.Record{one[0], {Dynamodb: &types.StreamRecord{SequenceNumber: aws.String("102")}}}},
		"only the last is left": {records: []types.Record{{Dynamodb: &types.StreamRecord{SequenceNumber: aws.String("101")}}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, func(c *redrive.Config) { c.Stream = script })
			b.put(t, "x", l.metadata(t, 0, 1, false))
			report := b.run(t, redrive.Options{})
			if report.Failed != 1 || len(b.keys(t.Context(), t)) != 1 || !strings.Contains(report.Problems[0].Reason, redrive.Instead) {
				t.Errorf("report %+v", report)
			}
			if script.calls > 100 {
				t.Errorf("%d reads", script.calls)
			}
		})
	}
}

// A page may begin before the batch and end behind it, and sequence numbers differ in length.
func TestOnlyTheBatchsOwnRecordsAreTaken(t *testing.T) {
	t.Parallel()
	script := &scripted{open: true}
	for _, sequence := range []string{"98", "99", "100", "101", "102"} {
		image := map[string]types.AttributeValue{"userId": &types.AttributeValueMemberS{Value: "u" + sequence}, "ID": &types.AttributeValueMemberS{Value: "a"}, "managedKey": &types.AttributeValueMemberN{Value: "1"}}
		script.records = append(script.records, types.Record{
			EventName: types.OperationTypeInsert,
			Dynamodb:  &types.StreamRecord{SequenceNumber: aws.String(sequence), NewImage: image, ApproximateCreationDateTime: aws.Time(now)},
		})
	}
	b := newBench(t, func(c *redrive.Config) { c.Stream = script })
	l := lived{arn: "arn:aws:dynamodb:r:1:table/User/stream/2026-11-01T00:00:00.000", shard: "shard", sequences: []string{"99", "", "101"}}
	b.put(t, "x", l.metadata(t, 0, 2, false))
	if report := b.run(t, redrive.Options{}); report.Done != 1 || report.Records != 3 {
		t.Errorf("report %+v", report)
	}
	if diff := cmp.Diff([]string{"a/0000000000001#u100", "a/0000000000001#u101", "a/0000000000001#u99"}, b.live(t, "managed")); diff != "" {
		t.Error(diff)
	}
}
