package buffer

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
)

// Names of attributes and indexes of the event table.
const (
	attrPartition        = "message_pk"
	attrSort             = "message_sk"
	attrPendingPartition = "pending_message_pk"
	attrPendingSort      = "pending_message_sk"
	attrFailedPartition  = "failed_pending_message_pk"
	attrFailedSort       = "failed_pending_message_sk"
	attrBatch            = "batch_id"
	attrRetry            = "retry"
	attrData             = "json_data"
	attrCreated          = "created_at"
	attrDone             = "deleted_at"
	attrError            = "last_error"
	attrSuccessor        = "successor"
	attrExpires          = "expiration_time"

	pendingIndex = "pending-index"
	failedIndex  = "failed-pending-index"
)

const (
	// MaxDataBytes is the longest JSON text of one event. DynamoDB takes items of 409,600 bytes, names included
	// (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html); the rest is for what stands beside the data: the keys
	// of the table and of both indexes, an error of MaxErrorBytes, the successor, times.
	MaxDataBytes = 400_000
	// MaxErrorBytes is the longest error text of a retry, in UTF-8.
	MaxErrorBytes = 2048
	// Retention is how long an event is kept from its time on: TTL then deletes it, within days.
	Retention = 90 * 24 * time.Hour
)

// timeForm is RFC 3339 with milliseconds, UTC.
const timeForm = "2006-01-02T15:04:05.000Z"

// Event is one event as it is read.
type Event struct {
	ID      string
	BatchID string
	// Date in UTC that the event belongs to, YYYY-MM-DD. A retry keeps it.
	Date string
	// Time in epoch milliseconds: of the request, or of the retry that opened this event.
	Time int64
	// Retry counts the retries that led here.
	Retry int
	// Data is the JSON text that was sent.
	Data json.RawMessage
	// LastError is the text that the retry was asked with.
	LastError string
	// DoneAt is when it was completed or closed by a retry, RFC 3339 in UTC. Empty: it is pending.
	DoneAt string
	// Successor is the id of the event that a retry opened in its place.
	Successor string
}

// fromItem reads an event. Attributes that another writer left out stay empty.
func fromItem(item ddb.Item) Event {
	date, number, _ := parsePartition(text(item, attrPartition))
	key := Key{Date: date, Shard: number, Sort: text(item, attrSort)}
	retry, _ := strconv.Atoi(numeral(item, attrRetry))
	return Event{
		ID: key.ID(), BatchID: text(item, attrBatch), Date: date, Time: timeOf(key.Sort), Retry: retry, Data: json.RawMessage(text(item, attrData)),
		LastError: text(item, attrError), DoneAt: text(item, attrDone), Successor: text(item, attrSuccessor),
	}
}

// newItem is a pending event as it is written.
func newItem(key Key, batchID string, data string) ddb.Item {
	ms := timeOf(key.Sort)
	return ddb.Item{
		attrPartition: str(key.Partition()), attrSort: str(key.Sort),
		attrPendingPartition: str(key.Partition()), attrPendingSort: str(key.Sort),
		attrBatch: str(batchID), attrRetry: num(0), attrData: str(data),
		attrCreated: str(formatTime(ms)), attrExpires: num(time.UnixMilli(ms).Add(Retention).Unix()),
	}
}

func formatTime(ms int64) string { return time.UnixMilli(ms).UTC().Format(timeForm) }

func keyItem(key Key) ddb.Item {
	return ddb.Item{attrPartition: str(key.Partition()), attrSort: str(key.Sort)}
}

func isDone(item ddb.Item) bool { return text(item, attrDone) != "" }

func str(text string) types.AttributeValue { return &types.AttributeValueMemberS{Value: text} }

func num(number int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(number, 10)}
}

func text(item ddb.Item, name string) string {
	value, _ := item[name].(*types.AttributeValueMemberS)
	if value == nil {
		return ""
	}
	return value.Value
}

func numeral(item ddb.Item, name string) string {
	value, _ := item[name].(*types.AttributeValueMemberN)
	if value == nil {
		return ""
	}
	return value.Value
}

func integer(item ddb.Item, name string) int64 {
	value, _ := strconv.ParseInt(numeral(item, name), 10, 64)
	return value
}
