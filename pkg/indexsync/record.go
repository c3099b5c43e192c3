package indexsync

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/schema"
	"github.com/heatsink-dev/heatsink/pkg/sortkey"
)

// record is one change record. It keeps its raw bytes, because a poison record is parked as it came.
type record struct {
	raw      json.RawMessage
	position int
	sequence string // as it came; empty where it is no sequence number
	arn      string
	version  string // of the stream; made on first use
	ttl      bool   // a removal by DynamoDB's own TTL

	oldImage, newImage ddb.Item
	item               itemKey

	parked bool
}

// itemKey identifies a base item within a batch.
type itemKey struct{ partition, sort sortkey.Value }

// The three kinds of change.
const (
	eventInsert = "INSERT"
	eventModify = "MODIFY"
	eventRemove = "REMOVE"
)

// envelope is the part of a record that is read. The images stay raw, so that one bad value cannot fail the whole batch and one decoder, strict and
// total, reads them. Everything that is not needed for an index row (times, identity, sizes) stays raw or unread: it must never fail a record.
type envelope struct {
	EventName      string          `json:"eventName"`
	EventSourceARN string          `json:"eventSourceARN"`
	UserIdentity   json.RawMessage `json:"userIdentity"`
	Change         struct {
		Created  json.RawMessage `json:"ApproximateCreationDateTime"`
		NewImage json.RawMessage `json:"NewImage"`
		OldImage json.RawMessage `json:"OldImage"`
		Sequence string          `json:"SequenceNumber"`
	} `json:"dynamodb"`
}

// SplitRecords takes a stream event, {"Records":[...]}, apart without reading the records.
func SplitRecords(payload []byte) ([]json.RawMessage, error) {
	var event struct {
		Records []json.RawMessage `json:"Records"`
	}
	if err := json.Unmarshal(payload, &event); err != nil {
		return nil, fmt.Errorf("indexsync: decode event: %w", err)
	}
	if event.Records == nil {
		return nil, errors.New(`indexsync: decode event: it has no "Records": not an event of a DynamoDB stream`)
	}
	return event.Records, nil
}

// JoinRecords is the inverse of [SplitRecords].
func JoinRecords(records ...json.RawMessage) []byte {
	size := len(`{"Records":[]}`)
	for _, r := range records {
		size += len(r) + 1
	}
	event := append(make([]byte, 0, size), `{"Records":[`...)
	for n, r := range records {
		if n > 0 {
			event = append(event, ',')
		}
		event = append(event, r...)
	}
	return append(event, `]}`...)
}

// RecordTime is the time of a change by its ApproximateCreationDateTime, in seconds, milliseconds or microseconds since 1970, told apart by size. It is
// false where the record has none that makes sense.
func RecordTime(raw json.RawMessage) (time.Time, bool) {
	var e envelope
	_ = json.Unmarshal(raw, &e) // what can be read is read, even beside a fault
	return e.created()
}

// RecordSequence is the sequence number of a record, or "" where it has none.
func RecordSequence(raw json.RawMessage) string {
	var e envelope
	_ = json.Unmarshal(raw, &e) // as in RecordTime
	if !isSequence(e.Change.Sequence) {
		return ""
	}
	return e.Change.Sequence
}

// RecordStream is the ARN of the stream that a record says it is of, or "" where it names none.
func RecordStream(raw json.RawMessage) string {
	var e envelope
	_ = json.Unmarshal(raw, &e) // as in RecordTime
	return e.EventSourceARN
}

// created reads the time. DynamoDB documents seconds; its Kinesis form, SDKs and emulators also write milliseconds, microseconds and fractions.
func (e *envelope) created() (time.Time, bool) {
	number, err := strconv.ParseFloat(string(bytes.Trim(e.Change.Created, `"`)), 64)
	switch {
	case err != nil || !(number > 0):
		return time.Time{}, false
	case number < 1e11: // seconds until the year 5138
		return time.UnixMilli(int64(number * 1e3)).UTC(), true
	case number < 1e14:
		return time.UnixMilli(int64(number)).UTC(), true
	case number < 1e17:
		return time.UnixMicro(int64(number)).UTC(), true
	default:
		return time.Time{}, false
	}
}

// decode reads one record. On an error, which says why the record is poison without a word of its content, the record still has what a report and parking need.
func (s *Syncer) decode(raw json.RawMessage, position int) (r *record, err error) {
	r = &record{raw: raw, position: position}
	defer func() {
		if recover() != nil { // the text of a panic may hold values
			err = errors.New("decoding the record panicked")
		}
	}()
	var e envelope
	err = json.Unmarshal(raw, &e) // fills what fits even when it fails
	r.arn = e.EventSourceARN
	if isSequence(e.Change.Sequence) {
		r.sequence = e.Change.Sequence
	}
	if err != nil {
		return r, envelopeError(err)
	}
	if r.newImage, err = decodeImage(e.Change.NewImage); err != nil {
		return r, fmt.Errorf("NewImage: %w", err)
	}
	if r.oldImage, err = decodeImage(e.Change.OldImage); err != nil {
		return r, fmt.Errorf("OldImage: %w", err)
	}
	if err = r.checkImages(e.EventName); err != nil {
		return r, err
	}
	r.ttl = e.EventName == eventRemove && byTTL(e.UserIdentity)
	r.item, err = s.itemKey(r)
	return r, err
}

// envelopeError tells what is wrong with the record's frame by the field, never by the value.
func envelopeError(err error) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
		return fmt.Errorf("the record's %q is of the wrong type", wrong.Field)
	}
	return errors.New("the record is not a JSON object")
}

func decodeImage(raw json.RawMessage) (ddb.Item, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	return ddb.DecodeItem(raw)
}

// checkImages holds the record against its kind. A missing image means that the stream has another view than NEW_AND_OLD_IMAGES, and without both images a moved
// or removed row could not be found: the operator must know, so the record is parked instead of half applied.
func (r *record) checkImages(event string) error {
	const view = "the stream's view must be NEW_AND_OLD_IMAGES"
	switch event {
	case eventInsert:
		if r.newImage == nil {
			return errors.New("INSERT without NewImage: " + view)
		}
		if r.oldImage != nil {
			return errors.New("INSERT with OldImage")
		}
	case eventModify:
		if r.newImage == nil {
			return errors.New("MODIFY without NewImage: " + view)
		}
		if r.oldImage == nil {
			return errors.New("MODIFY without OldImage: " + view)
		}
	case eventRemove:
		if r.oldImage == nil {
			return errors.New("REMOVE without OldImage: " + view)
		}
		if r.newImage != nil {
			return errors.New("REMOVE with NewImage")
		}
	case "":
		return errors.New("the record has no eventName")
	default:
		return errors.New("the record's eventName is none of INSERT, MODIFY, REMOVE")
	}
	return nil
}

// byTTL reads the mark of a TTL deletion. It is for a metric alone: deletions that a replica made by TTL come without it
// (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ttl-expired-items.html).
func byTTL(identity json.RawMessage) bool {
	if len(identity) == 0 {
		return false
	}
	var who struct {
		Type        string `json:"type"`
		PrincipalID string `json:"principalId"`
	}
	return json.Unmarshal(identity, &who) == nil && who.Type == "Service" && who.PrincipalID == "dynamodb.amazonaws.com"
}

// itemKey reads the base table's key, the same in both images.
func (s *Syncer) itemKey(r *record) (itemKey, error) {
	image := r.newImage
	if image == nil {
		image = r.oldImage
	}
	key, err := s.keyOf(image)
	if err != nil || r.newImage == nil || r.oldImage == nil {
		return key, err
	}
	before, err := s.keyOf(r.oldImage)
	if err == nil && before != key {
		err = errors.New("OldImage and NewImage are of different items")
	}
	return key, err
}

func (s *Syncer) keyOf(image ddb.Item) (key itemKey, err error) {
	if key.partition, err = keyValue(image, s.source.PartitionKey); err != nil || s.source.SortKey.Name == "" {
		return key, err
	}
	key.sort, err = keyValue(image, s.source.SortKey)
	return key, err
}

func keyValue(image ddb.Item, attribute schema.Attribute) (sortkey.Value, error) {
	value, ok := scalar(image[attribute.Name], attribute.Type)
	if !ok {
		return value, fmt.Errorf("an image lacks the table's key attribute %q of type %s", attribute.Name, attribute.Type)
	}
	return canonical(value)
}

// canonical makes equal numbers equal texts, so that a value can serve as a map key.
func canonical(value sortkey.Value) (sortkey.Value, error) {
	if value.Kind() != sortkey.KindNumber {
		return value, nil
	}
	text, err := sortkey.CanonicalNumber(value.String())
	return sortkey.Number(text), err
}

// streamVersion is the version that the stream gives the record.
func (r *record) streamVersion() (string, error) {
	if r.version == "" {
		version, err := StreamVersion(streamLabel(r.arn), r.sequence)
		if err != nil {
			return "", err
		}
		r.version = version
	}
	return r.version, nil
}
