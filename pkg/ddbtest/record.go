package ddbtest

import (
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"time"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
)

// Record is one record of a DynamoDB stream, as Lambda hands it to a function
// (https://docs.aws.amazon.com/lambda/latest/dg/with-ddb.html). [Stream] makes realistic ones; a test changes fields to make others.
type Record struct {
	// Event is INSERT, MODIFY or REMOVE. Empty: what the images say.
	Event string
	// Keys, Old and New are images; nil leaves the field out.
	Keys, Old, New ddb.Item
	// RawNew stands in place of New, whatever it is: for records that cannot be decoded.
	RawNew json.RawMessage
	// Sequence is the sequence number, 21 to 40 digits on AWS. Empty leaves the field out.
	Sequence string
	// ARN of the stream: it ends in the stream's label.
	ARN string
	// At is ApproximateCreationDateTime, in whole seconds as AWS sends it. Zero leaves the field out.
	At time.Time
	// ID is the event's id. Empty: the sequence number in its form.
	ID string
	// Expired marks a deletion by time to live, in the Region where it happened; elsewhere it looks like any other.
	Expired bool
}

// JSON is the record on the wire, its names in the order of bytes. An image that no stream could carry becomes a text in its place that says
// why, so that a decoder refuses it with the reason in sight.
func (r Record) JSON() json.RawMessage {
	type identity struct {
		Type        string `json:"type"`
		PrincipalID string `json:"principalId"`
	}
	change := map[string]any{"SizeBytes": ddb.Size(r.Keys) + ddb.Size(r.Old) + ddb.Size(r.New), "StreamViewType": "NEW_AND_OLD_IMAGES"}
	image(change, "Keys", r.Keys)
	image(change, "OldImage", r.Old)
	image(change, "NewImage", r.New)
	if r.RawNew != nil {
		change["NewImage"] = r.RawNew
	}
	if r.Sequence != "" {
		change["SequenceNumber"] = r.Sequence
	}
	if !r.At.IsZero() {
		change["ApproximateCreationDateTime"] = r.At.Unix()
	}
	record := map[string]any{
		"eventID": r.ID, "eventName": r.event(), "eventVersion": "1.1", "eventSource": "aws:dynamodb",
		"awsRegion": Region, "dynamodb": change, "eventSourceARN": r.ARN,
	}
	if r.ID == "" {
		record["eventID"] = fmt.Sprintf("%032s", r.Sequence)
	}
	if r.Expired {
		record["userIdentity"] = identity{Type: "Service", PrincipalID: "dynamodb.amazonaws.com"}
	}
	raw, err := json.Marshal(record)
	if err != nil { // RawNew is no JSON at all: then neither is the record
		return json.RawMessage(`{"dynamodb":` + string(r.RawNew) + `}`)
	}
	return raw
}

func (r Record) event() string {
	switch {
	case r.Event != "":
		return r.Event
	case r.New == nil && r.RawNew == nil:
		return "REMOVE"
	case r.Old == nil:
		return "INSERT"
	default:
		return "MODIFY"
	}
}

func image(change map[string]any, name string, item ddb.Item) {
	if item == nil {
		return
	}
	raw, err := ddb.EncodeItem(item)
	if err != nil {
		change[name] = "ddbtest: " + err.Error()
		return
	}
	change[name] = json.RawMessage(raw)
}

// Event is the payload of an invocation with these records.
func Event(records ...json.RawMessage) []byte {
	payload := []byte(`{"Records":[`)
	for n, record := range records {
		if n > 0 {
			payload = append(payload, ',')
		}
		payload = append(payload, record...)
	}
	return append(payload, `]}`...)
}

// Stream makes the records of one table's stream. Its sequence numbers grow by uneven steps, begin with 21 digits and soon have 22, so that whoever
// compares them as text is found out.
type Stream struct {
	// ARN ends in the stream's label, which is the time of its making.
	ARN   string
	key   []string
	clock *Clock
	rand  *rand.Rand
	last  *big.Int
}

// NewStream makes the stream of a table with these key attributes. Times come from the clock, the rest from the seed.
func NewStream(table string, key []string, clock *Clock, seed uint64) *Stream {
	const first = "998700000000000000000" // 21 digits
	last, _ := new(big.Int).SetString(first, 10)
	s := &Stream{key: key, clock: clock, rand: rand.New(rand.NewPCG(seed, seed)), last: last}
	s.label(table)
	return s
}

func (s *Stream) label(table string) {
	s.ARN = "arn:aws:dynamodb:" + Region + ":123456789012:table/" + table + "/stream/" + s.clock.Now().UTC().Format("2006-01-02T15:04:05.000")
}

// Recreate is the table's next stream: a later label, at least by a second, and sequence numbers that begin anew, below the old ones.
func (s *Stream) Recreate(table string) *Stream {
	s.clock.Advance(time.Second)
	return NewStream(table, s.key, s.clock, s.rand.Uint64())
}

// Change is the record of a write that turned old into new; nil is no item. False: nothing changed, so a stream has no record of it.
func (s *Stream) Change(old, changed ddb.Item) (Record, bool) {
	if old == nil && changed == nil || old != nil && changed != nil && ddb.EqualItems(old, changed) {
		return Record{}, false
	}
	const step = 900_000_000_000_000_000
	s.last.Add(s.last, big.NewInt(1+s.rand.Int64N(step)))
	keys := ddb.Item{}
	for _, name := range s.key {
		keys[name] = changed[name]
		if changed == nil {
			keys[name] = old[name]
		}
	}
	return Record{
		Keys: keys, Old: old, New: changed, Sequence: s.last.String(), ARN: s.ARN, At: s.clock.Now(),
		ID: fmt.Sprintf("%016x%016x", s.rand.Uint64(), s.rand.Uint64()),
	}, true
}
