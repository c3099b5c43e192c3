package redrive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/indexsync"
)

const (
	// maxEmptyPages is after how many pages in a row without a record a shard is given up. Some come before records that are there.
	maxEmptyPages = 100
	// maxRenewals is how often an iterator is fetched anew without a record in between. One lives for 15 minutes
	// (https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_streams_GetShardIterator.html).
	maxRenewals = 3
)

// trimmed says what to do when the stream has forgotten.
var errTrimmed = errors.New("redrive: the object has no payload and the stream no longer has its records (it keeps them for 24 hours): " + Instead)

// stream reads an object's records from their shard, page by page, and replays each page. One batch is of one shard, so there is no lineage to follow.
func (p *replay) stream(ctx context.Context, batch indexsync.FailedBatch) error {
	reader := &shardReader{stream: p.redriver.config.Stream, batch: batch}
	for end := false; !end; {
		var records []json.RawMessage
		var err error
		if records, end, err = reader.next(ctx); err != nil {
			return err
		}
		if len(records) > 0 {
			if err := p.records(ctx, records); err != nil {
				return err
			}
		}
	}
	if found := p.report.Records; found < batch.BatchSize {
		return fmt.Errorf("redrive: the stream has %d of the batch's %d records: %w", found, batch.BatchSize, errTrimmed)
	}
	return nil
}

// shardReader reads a range of one shard.
type shardReader struct {
	stream   Stream
	batch    indexsync.FailedBatch
	iterator *string
	last     string // sequence number of the last record read
	ended    bool   // without the last record of the batch
	empty    int
	renewals int
}

// next gives the next records, as Lambda would deliver them, and whether they are the last.
func (s *shardReader) next(ctx context.Context) (records []json.RawMessage, end bool, err error) {
	if s.ended {
		return nil, false, fmt.Errorf("redrive: the shard ends before sequence number %s: %w", s.batch.EndSequenceNumber, errTrimmed)
	}
	if s.iterator == nil {
		if err := s.seek(ctx); err != nil {
			return nil, false, err
		}
	}
	page, err := s.stream.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: s.iterator})
	if _, expired := errors.AsType[*types.ExpiredIteratorException](err); expired && s.renewals < maxRenewals {
		s.iterator = nil
		s.renewals++
		return nil, false, nil
	}
	if err != nil {
		return nil, false, readError(err)
	}
	for n := range page.Records {
		record := &page.Records[n]
		if record.Dynamodb == nil {
			return nil, false, errors.New("redrive: a record of the stream has no content")
		}
		sequence := aws.ToString(record.Dynamodb.SequenceNumber)
		if before(sequence, s.batch.StartSequenceNumber) {
			continue
		}
		if before(s.batch.EndSequenceNumber, sequence) {
			return records, true, nil
		}
		raw, err := lambdaRecord(record, s.batch.StreamARN)
		if err != nil {
			return nil, false, fmt.Errorf("redrive: record %s of the stream: %w", sequence, err)
		}
		records = append(records, raw)
		s.last, s.renewals = sequence, 0
		if sequence == s.batch.EndSequenceNumber {
			return records, true, nil
		}
	}
	s.empty++
	if len(page.Records) > 0 {
		s.empty = 0
	}
	s.iterator = page.NextShardIterator
	s.ended = s.iterator == nil || s.empty >= maxEmptyPages
	return records, false, nil
}

// seek gets an iterator at the first record, or behind the last one read.
func (s *shardReader) seek(ctx context.Context) error {
	input := &dynamodbstreams.GetShardIteratorInput{
		StreamArn: aws.String(s.batch.StreamARN), ShardId: aws.String(s.batch.ShardID),
		ShardIteratorType: types.ShardIteratorTypeAtSequenceNumber, SequenceNumber: aws.String(s.batch.StartSequenceNumber),
	}
	if s.last != "" {
		input.ShardIteratorType, input.SequenceNumber = types.ShardIteratorTypeAfterSequenceNumber, aws.String(s.last)
	}
	answer, err := s.stream.GetShardIterator(ctx, input)
	if err != nil {
		return readError(err)
	}
	if answer.ShardIterator == nil {
		return errors.New("redrive: the stream gave no iterator")
	}
	s.iterator = answer.ShardIterator
	return nil
}

func readError(err error) error {
	_, trimmed := errors.AsType[*types.TrimmedDataAccessException](err)
	_, gone := errors.AsType[*types.ResourceNotFoundException](err)
	if trimmed || gone {
		return fmt.Errorf("%w (%w)", errTrimmed, err)
	}
	return fmt.Errorf("redrive: read the stream: %w", err)
}

// before compares sequence numbers by value: they differ in length.
func before(a, b string) bool {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	if len(a) != len(b) {
		return len(a) < len(b)
	}
	return a < b
}

// lambdaRecord writes a record of the stream's API as Lambda delivers it.
func lambdaRecord(record *types.Record, streamARN string) (json.RawMessage, error) {
	change := map[string]any{
		"SequenceNumber": aws.ToString(record.Dynamodb.SequenceNumber), "StreamViewType": record.Dynamodb.StreamViewType, "SizeBytes": aws.ToInt64(record.Dynamodb.SizeBytes),
	}
	if created := record.Dynamodb.ApproximateCreationDateTime; created != nil {
		change["ApproximateCreationDateTime"] = created.Unix()
	}
	for name, image := range map[string]map[string]types.AttributeValue{
		"Keys": record.Dynamodb.Keys, "OldImage": record.Dynamodb.OldImage, "NewImage": record.Dynamodb.NewImage,
	} {
		if image == nil {
			continue
		}
		item, err := attributevalue.FromDynamoDBStreamsMap(image)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		raw, err := ddb.EncodeItem(item)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		change[name] = json.RawMessage(raw)
	}
	whole := map[string]any{
		"eventID": aws.ToString(record.EventID), "eventName": record.EventName, "eventVersion": aws.ToString(record.EventVersion),
		"eventSource": aws.ToString(record.EventSource), "awsRegion": aws.ToString(record.AwsRegion), "dynamodb": change, "eventSourceARN": streamARN,
	}
	if who := record.UserIdentity; who != nil {
		whole["userIdentity"] = map[string]string{"type": aws.ToString(who.Type), "principalId": aws.ToString(who.PrincipalId)}
	}
	return json.Marshal(whole)
}
