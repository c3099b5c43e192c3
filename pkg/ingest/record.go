package ingest

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/buffer"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
)

// RecordLife is how long a batch is known, from its making on.
const RecordLife = 14 * 24 * time.Hour

// MaxFaults is how many rejected lines a batch keeps by number and reason. All are counted.
const MaxFaults = 100

// State of a batch. The zero value is unknown.
type State string

// The states, in their order. Done and Failed are final.
const (
	Waiting   State = "waiting"
	Ingesting State = "ingesting"
	Done      State = "done"
	Failed    State = "failed"
)

// Fault is a rejected line.
type Fault struct {
	// Line is its number, from 1. Blank lines count.
	Line int
	// Reason says what is wrong, and nothing of what stands there.
	Reason string
}

// Progress is how far a batch is.
type Progress struct {
	// Accepted lines are stored, Rejected ones are not.
	Accepted, Rejected int
	// Faults are the first MaxFaults of the rejected lines, in their order.
	Faults []Fault

	lines int // that are done, blank ones too
}

// add takes what follows it.
func (p *Progress) add(w *window) {
	p.lines, p.Accepted, p.Rejected = w.lines, p.Accepted+w.accepted, p.Rejected+w.rejected
	p.Faults = append(p.Faults, w.faults[:min(len(w.faults), MaxFaults-len(p.Faults))]...)
}

// Status is what is known of a batch.
type Status struct {
	BatchID string
	State   State
	Progress
	// Reason is why it failed. Else empty.
	Reason string
}

// record of a batch as it stands in the request table.
type record struct {
	Status
	etag, version string
	batch         buffer.Batch
	owner         string
	lease         time.Time // until when the owner works; zero: nobody does
	expires       time.Time
}

// Attributes of a record in the request table.
const (
	attrID       = "id" // batch#<batch id>
	attrState    = "status"
	attrETag     = "etag"
	attrVersion  = "version_id"
	attrTime     = "time" // these four make the keys of the batch's events
	attrShards   = "shards"
	attrFirst    = "first_shard"
	attrOwner    = "owner"
	attrLease    = "lease_until" // epoch milliseconds
	attrLines    = "lines"
	attrAccepted = "accepted"
	attrRejected = "rejected_count"
	attrFaults   = "rejected"
	attrReason   = "reason"
	attrExpires  = "expiration_time"

	recordPrefix = "batch#"
)

func recordKey(batchID string) ddb.Item { return ddb.Item{attrID: str(recordPrefix + batchID)} }

// errRecord says that a record is none of ours.
var errRecord = errors.New("the batch's record is damaged")

func readRecord(batchID string, item ddb.Item) (*record, error) {
	r := &record{
		Status: Status{BatchID: batchID, State: State(text(item, attrState)), Reason: text(item, attrReason)},
		etag:   text(item, attrETag), version: text(item, attrVersion), owner: text(item, attrOwner),
		batch: buffer.Batch{ID: batchID, Time: integer(item, attrTime), Shards: int(integer(item, attrShards)), First: int(integer(item, attrFirst))},
	}
	r.Accepted, r.Rejected, r.lines = int(integer(item, attrAccepted)), int(integer(item, attrRejected)), int(integer(item, attrLines))
	r.expires = time.Unix(integer(item, attrExpires), 0)
	if lease := integer(item, attrLease); lease > 0 {
		r.lease = time.UnixMilli(lease)
	}
	if list, ok := item[attrFaults].(*types.AttributeValueMemberL); ok {
		for _, element := range list.Value {
			if fault, ok := element.(*types.AttributeValueMemberM); ok {
				r.Faults = append(r.Faults, Fault{Line: int(integer(fault.Value, "line")), Reason: text(fault.Value, "reason")})
			}
		}
	}
	switch r.State {
	case Waiting, Done, Failed:
		return r, nil
	case Ingesting:
		if err := r.batch.Check(); err != nil {
			return nil, fmt.Errorf("%w: %w", errRecord, err)
		}
		return r, nil
	default:
		return nil, fmt.Errorf("%w: it has no status", errRecord)
	}
}

func faultList(faults []Fault) types.AttributeValue {
	list := make([]types.AttributeValue, 0, len(faults))
	for _, fault := range faults {
		list = append(list, &types.AttributeValueMemberM{Value: ddb.Item{"line": num(int64(fault.Line)), "reason": str(fault.Reason)}})
	}
	return &types.AttributeValueMemberL{Value: list}
}

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

func integer(item ddb.Item, name string) int64 {
	value, _ := item[name].(*types.AttributeValueMemberN)
	if value == nil {
		return 0
	}
	number, _ := strconv.ParseInt(value.Value, 10, 64)
	return number
}
