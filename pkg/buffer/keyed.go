package buffer

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/shard"
)

// Attributes of a record in the request table.
const (
	recordID      = "id" // key#<Idempotency-Key>
	recordBatch   = "batch_id"
	recordTime    = "time"
	recordShards  = "shards"
	recordFirst   = "first_shard"
	recordHash    = "body_hash"
	recordStored  = "stored" // so many of the first events are
	recordExpires = "expiration_time"
	keyPrefix     = "key#"
)

// record of an idempotency key: what fixes the keys of the request's events, a hash of them, and how far the requests so far have come.
type record struct {
	batch  Batch
	hash   string
	stored int
}

func (s *Store) writeKeyed(ctx, send context.Context, request WriteRequest) (*Written, error) {
	if err := CheckIdempotencyKey(request.IdempotencyKey); err != nil {
		return nil, err
	}
	fresh, err := s.NewBatch(len(request.Events))
	if err != nil {
		return nil, err
	}
	hash := hashOf(request.Events)
	kept, err := s.keep(ctx, request.IdempotencyKey, record{batch: fresh, hash: hash})
	if err != nil {
		return nil, fmt.Errorf("keep the record of an idempotency key: %w", err)
	}
	if kept.hash != hash {
		return nil, ErrIdempotencyMismatch
	}
	count := len(request.Events)
	w := &writing{Store: s, batch: kept.batch, events: request.Events, skip: make([]bool, count)}
	repeated := kept.batch.ID != fresh.ID
	if repeated && kept.stored == 0 && count > lookAgain {
		if err := s.findStored(send, kept.batch, w.skip); err != nil {
			return nil, fmt.Errorf("find what an earlier request stored: %w", err)
		}
	}
	for position := range min(kept.stored, count) {
		w.skip[position] = true
	}
	err = w.run(ctx, send, true)
	written := w.written(err)
	written.Repeated = repeated
	if first := slices.Index(written.IDs, ""); first < 0 {
		s.markStored(ctx, request.IdempotencyKey, kept, count)
	} else {
		s.markStored(ctx, request.IdempotencyKey, kept, first)
	}
	return written, err
}

// lookAgain is from how many events on a repeat asks what is stored already, where the request before it has not said so: it crashed, or still goes on. The
// repeat's puts would all be refused, one write unit each, and might take all of its time.
const lookAgain = 100

// findStored marks which events of a batch are stored, done ones too. It makes one query a shard and MB. What it does not see yet costs a refused put.
func (s *Store) findStored(ctx context.Context, batch Batch, found []bool) error {
	from := s.shardsOf(dateOf(batch.Time), All)
	prefix := batch.prefix()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(s.config.ReadConcurrency)
	for number := range batch.Shards {
		in := from.query(number, prefix, prefix+maxSuffixText)
		in.ProjectionExpression = aws.String("#s")
		group.Go(func() error {
			for {
				out, err := s.config.Client.Query(ctx, in)
				if err != nil {
					return &shard.Error{Shard: number, Err: err}
				}
				for _, item := range out.Items {
					position, err := strconv.Atoi(strings.TrimPrefix(text(item, attrSort), prefix))
					if err == nil && position >= 0 && position < len(found) && batch.Key(position).Shard == number {
						found[position] = true // each position has one shard, so no two goroutines meet
					}
				}
				if len(out.LastEvaluatedKey) == 0 {
					return nil
				}
				in.ExclusiveStartKey = out.LastEvaluatedKey
			}
		})
	}
	return group.Wait()
}

// keep puts the record if there is none, or one whose time is over, and gives the one that is there then. A put whose answer was lost is sent again: it is then
// refused by its own work.
func (s *Store) keep(ctx context.Context, key string, own record) (record, error) {
	now := s.config.Now()
	in := &dynamodb.PutItemInput{
		TableName: &s.config.RequestTable,
		Item: ddb.Item{
			recordID: str(keyPrefix + key), recordBatch: str(own.batch.ID), recordTime: num(own.batch.Time), recordShards: num(int64(own.batch.Shards)),
			recordFirst: num(int64(own.batch.First)), recordHash: str(own.hash), recordExpires: num(now.Add(KeyLife).Unix()),
		},
		ConditionExpression:                 aws.String("attribute_not_exists(#id) OR #expires <= :now"), // TTL deletes late
		ExpressionAttributeNames:            map[string]string{"#id": recordID, "#expires": recordExpires},
		ExpressionAttributeValues:           ddb.Item{":now": num(now.Unix())},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	err := s.repeat(ctx, func(ctx context.Context) error {
		_, err := s.config.Client.PutItem(ctx, in, once)
		return err
	})
	if err == nil {
		return own, nil
	}
	failure := ddb.Classify(err)
	if failure.Class != ddb.ConditionFailed {
		return record{}, err
	}
	return readRecord(failure.Item)
}

func readRecord(item ddb.Item) (record, error) {
	kept := record{
		batch: Batch{
			ID: text(item, recordBatch), Time: integer(item, recordTime), Shards: int(integer(item, recordShards)), First: int(integer(item, recordFirst)),
		},
		hash: text(item, recordHash), stored: int(integer(item, recordStored)),
	}
	return kept, kept.batch.Check()
}

// markStored says in the record that so many of the first events are stored, which spares a repeat their puts: one that did not get through in its time gets
// further the next time. It is no more than that, so that a failure changes nothing.
func (s *Store) markStored(ctx context.Context, key string, kept record, events int) {
	if events <= kept.stored {
		return
	}
	_, _ = s.config.Client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &s.config.RequestTable, Key: ddb.Item{recordID: str(keyPrefix + key)},
		UpdateExpression:          aws.String("SET #stored = :events"),
		ConditionExpression:       aws.String("#batch = :batch AND (attribute_not_exists(#stored) OR #stored < :events)"),
		ExpressionAttributeNames:  map[string]string{"#stored": recordStored, "#batch": recordBatch},
		ExpressionAttributeValues: ddb.Item{":events": num(int64(events)), ":batch": str(kept.batch.ID)},
	}, once)
}

// repeat sends until the outcome is definite or the time ends, when the request is safe to send twice. Each try has AttemptTimeout.
func (s *Store) repeat(ctx context.Context, try func(context.Context) error) error {
	for attempt := 1; ; attempt++ {
		one, cancel := context.WithTimeout(ctx, s.config.AttemptTimeout)
		err := try(one)
		cancel()
		switch ddb.Classify(err).Class {
		case ddb.Conflict, ddb.Throttled, ddb.UnknownOutcome:
			if !s.config.Retry.Wait(ctx, attempt) {
				return err
			}
		default:
			return err
		}
	}
}

// hashOf is one text for one list of events.
func hashOf(events []json.RawMessage) string {
	hash := sha256.New()
	var length [8]byte
	for _, event := range events {
		binary.BigEndian.PutUint64(length[:], uint64(len(event)))
		_, _ = hash.Write(length[:]) // never fails
		_, _ = hash.Write(event)
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// maxKeyLen of an idempotency key.
const maxKeyLen = 64

// CheckIdempotencyKey says what is wrong with a key, as a [*FieldError].
func CheckIdempotencyKey(key string) error {
	fault := bad("Idempotency-Key", "must be 1 to %d of A-Z a-z 0-9 - _ . ~, and not . or .. alone", maxKeyLen)
	if key == "" || len(key) > maxKeyLen || key == "." || key == ".." {
		return fault
	}
	for n := range len(key) {
		switch c := key[n]; {
		case c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '-', c == '_', c == '.', c == '~':
		default:
			return fault
		}
	}
	return nil
}
