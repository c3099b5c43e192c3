package buffer

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/cursor"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/shard"
	"github.com/heatsink-dev/heatsink/pkg/sortkey"
)

// State chooses the events of a list. Zero is none.
type State uint8

// The states.
const (
	// Pending events are not done, failed ones among them. They are read from an index, which may be behind by a moment.
	Pending State = iota + 1
	// Failed events are pending and came from a retry. Each is read again from the table, strongly consistent, so that none of them is done.
	Failed
	// All events, done ones too, are read from the table.
	All
)

// String is the state's name in a request.
func (s State) String() string {
	switch s {
	case Pending:
		return "pending"
	case Failed:
		return "failed"
	case All:
		return "all"
	default:
		return "unspecified"
	}
}

// MaxLimit is the largest page.
const MaxLimit = 1000

// ListRequest asks for a page of the events of a date.
type ListRequest struct {
	// Date in UTC, YYYY-MM-DD, 1970-01-01 to 2286-11-20.
	Date string
	// State of the events.
	State State
	// From and To bound the time, both inclusive, in epoch milliseconds, 0 to MaxTime. Nil: no bound, so that a retry on a later day, which keeps the date, is listed.
	From, To *int64
	// Descending: newest first.
	Descending bool
	// Limit of the page: 1 to MaxLimit.
	Limit int
	// Cursor of the page before. Empty: the first page.
	Cursor string
	// Tenant that cursors are bound to. Empty: none.
	Tenant string
}

// Page is one answer of [Store.List].
type Page struct {
	// Events in the order of time, over all shards. Never nil.
	Events []Event
	// Cursor of the next page. Empty at the end, and only there.
	Cursor string
	// Cost of the page, without the reads by key that Failed makes.
	Cost shard.Cost
}

// List gives a page of a date's events, merged over all shards: Limit of them unless the date ends first, or the budget does; then there is a cursor. Requests: one a
// shard, a few more where a shard ran dry (see package shard), and for Failed one BatchGetItem for each hundred.
//
// Errors: [*FieldError]; cursor.ErrInvalid for a cursor that is not of this question; a [*shard.Error] with what the SDK returns.
func (s *Store) List(ctx context.Context, request ListRequest) (*Page, error) {
	if err := request.check(); err != nil {
		return nil, err
	}
	if s.config.Cursors == nil {
		return nil, errors.New("list events: Config.Cursors is missing")
	}
	after, err := s.position(ctx, request)
	if err != nil {
		return nil, err
	}
	from := s.newSource(ctx, request)
	merger, err := shard.NewMerger(from, shard.Request{
		Shards: s.config.Layout.Read(request.Date, s.config.Now()), Limit: request.Limit, After: after, Descending: request.Descending,
		Concurrency: s.config.ReadConcurrency, MaxRows: s.config.Budget.Rows,
	})
	if err != nil {
		return nil, fmt.Errorf("list events: %w", err)
	}
	listing := &listing{Store: s, request: request, merger: merger, after: after}
	if err := listing.fill(ctx); err != nil {
		return nil, fmt.Errorf("list %s events: %w", request.State, err)
	}
	page := &Page{Events: listing.events, Cost: merger.Cost()}
	if listing.more {
		if page.Cursor, err = s.seal(ctx, request, *listing.after); err != nil {
			return nil, err
		}
	}
	return page, nil
}

func (r *ListRequest) check() error {
	if !validDate(r.Date) {
		return bad("date", "must be a day YYYY-MM-DD, 1970-01-01 to %s", dateOf(MaxTime))
	}
	for _, bound := range []struct {
		name string
		ms   *int64
	}{{"from", r.From}, {"to", r.To}} {
		if bound.ms != nil && (*bound.ms < 0 || *bound.ms > MaxTime) {
			return bad(bound.name, "must be epoch milliseconds, 0 to %d", int64(MaxTime))
		}
	}
	switch {
	case r.State < Pending || r.State > All:
		return bad("state", "must be pending, failed or all")
	case r.Limit < 1 || r.Limit > MaxLimit:
		return bad("limit", "must be a whole number from 1 to %d", MaxLimit)
	default:
		return nil
	}
}

// listing is a page in the making.
type listing struct {
	*Store
	request ListRequest
	merger  *shard.Merger[ddb.Item]
	events  []Event
	bytes   int
	// after is the last row that the page is done with, whether it is in the page or was dropped.
	after *shard.Position
	moved bool // after is not where the page began
	more  bool
	full  bool
}

// fill takes rows until the page is full, the date or the budget ends.
func (l *listing) fill(ctx context.Context) error {
	l.events = []Event{}
	for !l.full {
		rows, err := l.take(ctx)
		spent := errors.Is(err, shard.ErrBudget)
		if err != nil && !spent {
			return err
		}
		if spent && len(rows) == 0 && !l.moved {
			return context.DeadlineExceeded // not one row in all the time: a cursor would say nothing new
		}
		if l.request.State == Failed {
			err = l.addFailed(ctx, rows)
		} else {
			err = l.add(rows, func(row shard.Row[ddb.Item]) ddb.Item { return row.Value })
		}
		if err != nil {
			return err
		}
		switch {
		case l.full:
		case spent:
			l.more = true
			return nil
		case len(rows) == 0:
			return nil
		}
	}
	l.more = l.more || l.merger.More()
	return nil
}

// take takes as many rows as the page has room for; of Failed, whose events are read by key, no more than one BatchGetItem takes.
func (l *listing) take(ctx context.Context) (rows []shard.Row[ddb.Item], err error) {
	room := l.request.Limit - len(l.events)
	l.merger.Expect(room)
	if l.request.State == Failed {
		room = min(room, ddb.MaxBatchGet)
	}
	weight := l.bytes
	for len(rows) < room && weight <= l.config.Budget.Bytes {
		row, ok, err := l.merger.Next(ctx)
		if err != nil || !ok {
			return rows, err
		}
		weight += weigh(row.Value)
		rows = append(rows, row)
	}
	return rows, nil
}

// add puts rows into the page, as far as its bytes go. item gives a row's event, nil where it is to be dropped.
func (l *listing) add(rows []shard.Row[ddb.Item], item func(shard.Row[ddb.Item]) ddb.Item) error {
	for n := range rows {
		if found := item(rows[n]); found != nil {
			weight := weigh(found)
			if l.bytes+weight > l.config.Budget.Bytes && len(l.events) > 0 {
				l.full, l.more = true, true
				return nil
			}
			l.bytes += weight
			l.events = append(l.events, fromItem(found))
		}
		l.after, l.moved = &rows[n].Position, true
	}
	l.full = len(l.events) == l.request.Limit
	return nil
}

// weigh is about what an event takes in an answer: its data as they are, its error with every byte escaped at worst, names and the rest.
func weigh(item ddb.Item) int {
	const rest, escaped = 512, 6
	return len(text(item, attrData)) + escaped*len(text(item, attrError)) + rest
}

// addFailed reads the events of index rows, which are keys alone, and drops what is not failed and pending any more.
func (l *listing) addFailed(ctx context.Context, rows []shard.Row[ddb.Item]) error {
	if len(rows) == 0 {
		return nil
	}
	keys := make([]ddb.Item, len(rows))
	for n := range rows {
		keys[n] = ddb.Item{attrPartition: rows[n].Value[attrPartition], attrSort: rows[n].Value[attrSort]}
	}
	policy := l.config.Retry
	items, err := ddb.BatchGet(ctx, l.config.Client, l.config.Table, keys, types.KeysAndAttributes{ConsistentRead: aws.Bool(true)}, policy)
	if err != nil {
		return fmt.Errorf("read failed events by key: %w", err)
	}
	found := make(map[string]ddb.Item, len(items))
	for _, item := range items {
		found[text(item, attrPartition)+"/"+text(item, attrSort)] = item
	}
	return l.add(rows, func(row shard.Row[ddb.Item]) ddb.Item {
		item := found[text(row.Value, attrPartition)+"/"+text(row.Value, attrSort)]
		if isDone(item) || text(item, attrFailedPartition) == "" {
			return nil
		}
		return item
	})
}

// binding of a list's cursors.
func (r *ListRequest) binding() cursor.Binding {
	bound := func(ms *int64) string {
		if ms == nil {
			return ""
		}
		return fmt.Sprint(*ms)
	}
	return cursor.Binding{
		Scope: "events:" + r.State.String(), Partition: sortkey.Text(r.Date), Condition: bound(r.From) + ".." + bound(r.To), Descending: r.Descending, Tenant: r.Tenant,
	}
}

// positionVersion begins a cursor's payload; the shard and the sort key follow. One position stands for all shards, see package shard.
const positionVersion = 1

func (s *Store) seal(ctx context.Context, request ListRequest, after shard.Position) (string, error) {
	payload := binary.AppendUvarint([]byte{positionVersion}, uint64(max(0, after.Shard))) //nolint:gosec // not negative
	token, err := s.config.Cursors.Seal(ctx, request.binding(), append(payload, after.Key...))
	if err != nil {
		return "", fmt.Errorf("list events: %w", err)
	}
	return token, nil
}

func (s *Store) position(ctx context.Context, request ListRequest) (*shard.Position, error) {
	if request.Cursor == "" {
		return nil, nil
	}
	payload, err := s.config.Cursors.Open(ctx, request.binding(), request.Cursor)
	if err != nil {
		return nil, err
	}
	position, ok := parsePosition(payload)
	if !ok {
		return nil, cursor.ErrInvalid
	}
	return position, nil
}

func parsePosition(payload []byte) (*shard.Position, bool) {
	if len(payload) < 3 || payload[0] != positionVersion {
		return nil, false
	}
	number, size := binary.Uvarint(payload[1:])
	if size <= 0 || number >= shard.MaxShards || !slices.Equal(payload[1:1+size], binary.AppendUvarint(nil, number)) || len(payload) == 1+size {
		return nil, false
	}
	return &shard.Position{Key: string(payload[1+size:]), Shard: int(number)}, true
}
