package tour

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/cmd/heatsink/deployment"
	"github.com/heatsink-dev/heatsink/pkg/buffer"
	"github.com/heatsink-dev/heatsink/pkg/catalog"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
)

const (
	eventCount = 1000
	eventPage  = 200
)

// eventTour is the state of the chapter.
type eventTour struct {
	*Tour
	ctx             context.Context //nolint:containedctx // one chapter is one call
	table, requests string
	batch           string
	ids             []string // of the first request, in its order
	made            []string // all events, for tidying up
	uploads         []string // batches that were uploaded
	date            string
	time            int64
}

// stored is an answer to a create.
type stored struct {
	BatchID string   `json:"batchId"`
	IDs     []string `json:"ids"`
}

// oneEvent is an event in an answer.
type oneEvent struct {
	ID        string          `json:"id"`
	BatchID   string          `json:"batchId"`
	Date      string          `json:"date"`
	Time      int64           `json:"time"`
	Retry     int             `json:"retry"`
	Data      json.RawMessage `json:"data"`
	LastError string          `json:"lastError"`
	DoneAt    string          `json:"doneAt"`
	Successor string          `json:"successor"`
}

func events(ctx context.Context, t *Tour) error {
	c := &eventTour{Tour: t, ctx: ctx}
	var err error
	if c.table, err = t.Deployment.Table(catalog.EventTable); err != nil {
		return err
	}
	if c.requests, err = t.Deployment.Table(catalog.EventRequestTable); err != nil {
		return err
	}
	walked := t.steps(c.store, c.read, c.complete, c.retry, c.repeat, c.upload)
	return errorsFirst(walked, c.clean())
}

// create stores events whose data are their positions.
func (c *eventTour) create(count int, headers ...string) (*stored, *deployment.Answer, error) {
	var body struct {
		Events []map[string]any `json:"events"`
	}
	for n := range count {
		body.Events = append(body.Events, map[string]any{"data": map[string]any{"tour": c.run, "n": n}})
	}
	text, err := json.Marshal(body)
	if err != nil {
		return nil, nil, fmt.Errorf("encode events: %w", err)
	}
	answer, err := c.http.Do(c.ctx, "POST", "/v1/events", "", text, headers...)
	if err != nil {
		return nil, nil, err
	}
	var got stored
	if answer.Status != 201 {
		return nil, answer, fmt.Errorf("HTTP %d %s", answer.Status, answer.Code())
	}
	if err := answer.Decode(&got); err != nil {
		return nil, nil, err
	}
	c.made = append(c.made, got.IDs...)
	if len(got.IDs) != count {
		return nil, nil, fmt.Errorf("%d ids of %d events", len(got.IDs), count)
	}
	return &got, answer, nil
}

func (c *eventTour) store() error {
	return c.step(fmt.Sprintf("store %d events in one request", eventCount), func() (string, error) {
		got, _, err := c.create(eventCount)
		if err != nil {
			return "", err
		}
		c.batch, c.ids = got.BatchID, got.IDs
		first, err := c.get(c.ids[0])
		if err != nil {
			return "", err
		}
		c.date, c.time = first.Date, first.Time
		return fmt.Sprintf("201 and their ids in order; pending under %s, spread over the shards of the date", c.date), nil
	})
}

// call expects a status and decodes the answer, if into is not nil.
func (c *eventTour) call(method, path string, body any, status int, into any) error {
	var answer *deployment.Answer
	var err error
	if body == nil {
		answer, err = c.http.Do(c.ctx, method, path, "", nil)
	} else {
		answer, err = c.http.Send(c.ctx, method, path, body)
	}
	if err != nil {
		return err
	}
	if answer.Status != status {
		return fmt.Errorf("%s %s: HTTP %d %s, want %d", method, path, answer.Status, answer.Code(), status)
	}
	if into == nil {
		return nil
	}
	return answer.Decode(into)
}

func (c *eventTour) get(id string) (*oneEvent, error) {
	var got oneEvent
	return &got, c.call("GET", "/v1/events/"+id, nil, 200, &got)
}

// list walks through the pages of a state from the tour's time on, and gives the ids of its own batch.
func (c *eventTour) list(state, order string, more ...string) (ids []string, pages int, err error) {
	values := url.Values{"date": {c.date}, "state": {state}, "order": {order}, "limit": {strconv.Itoa(eventPage)}, "from": {strconv.FormatInt(c.time, 10)}}
	for n := 0; n+1 < len(more); n += 2 {
		values.Set(more[n], more[n+1])
	}
	for {
		answer, err := c.http.Get(c.ctx, "/v1/events", values)
		if err != nil {
			return nil, 0, err
		}
		if answer.Status != 200 {
			return nil, 0, fmt.Errorf("HTTP %d %s", answer.Status, answer.Code())
		}
		var page struct {
			Items  []oneEvent `json:"items"`
			Cursor string     `json:"cursor"`
		}
		if err := answer.Decode(&page); err != nil {
			return nil, 0, err
		}
		for _, event := range page.Items {
			if event.BatchID == c.batch {
				ids = append(ids, event.ID)
			}
		}
		pages++
		if page.Cursor == "" {
			return ids, pages, nil
		}
		if len(page.Items) != eventPage {
			return nil, 0, fmt.Errorf("a page of %d that is not the last", len(page.Items))
		}
		values.Set("cursor", page.Cursor)
	}
}

func (c *eventTour) read() error {
	return c.step("read them back, merged over all shards", func() (string, error) {
		got, pages, err := c.list("pending", "asc")
		if err != nil {
			return "", err
		}
		if !slices.Equal(got, c.ids) {
			return "", fmt.Errorf("got %d events, want the %d of the request in order; first difference at %d", len(got), len(c.ids), firstDifference(got, c.ids))
		}
		back, _, err := c.list("pending", "desc")
		if err != nil {
			return "", err
		}
		slices.Reverse(back)
		if !slices.Equal(back, c.ids) {
			return "", fmt.Errorf("newest first: %d events, want the same in reverse", len(back))
		}
		return fmt.Sprintf("each once, in the order of the request, in %d full pages of %d; newest first too", pages, eventPage), nil
	})
}

func (c *eventTour) complete() error {
	return c.step("complete one, twice", func() (string, error) {
		id := c.ids[0]
		for range 2 {
			if err := c.call("POST", "/v1/events/"+id+"/complete", nil, 204, nil); err != nil {
				return "", err
			}
		}
		event, err := c.get(id)
		if err != nil {
			return "", err
		}
		at := strconv.FormatInt(c.time, 10)
		pending, _, err := c.list("pending", "asc", "to", at)
		if err != nil {
			return "", err
		}
		if event.DoneAt == "" || !slices.Equal(pending, c.ids[1:]) {
			return "", fmt.Errorf("done at %q, %d events pending", event.DoneAt, len(pending))
		}
		return "204 both times; it is no longer pending, and still there to read", nil
	})
}

func (c *eventTour) retry() error {
	return c.step("retry another one", func() (string, error) {
		id := c.ids[1]
		var next struct {
			ID string `json:"id"`
		}
		if err := c.call("POST", "/v1/events/"+id+"/retry", map[string]string{"error": "no answer from the other side"}, 201, &next); err != nil {
			return "", err
		}
		c.made = append(c.made, next.ID)
		var refused struct {
			Code      string `json:"code"`
			Successor string `json:"successor"`
		}
		if err := c.call("POST", "/v1/events/"+id+"/complete", nil, 409, &refused); err != nil {
			return "", err
		}
		event, err := c.get(next.ID)
		if err != nil {
			return "", err
		}
		failed, _, err := c.list("failed", "asc")
		if err != nil {
			return "", err
		}
		if refused.Code != "event_retried" || refused.Successor != next.ID || event.Retry != 1 || event.Date != c.date || !slices.Equal(failed, []string{next.ID}) {
			return "", fmt.Errorf("the old one answers %s, the new one has retry %d on %s, %d are failed", refused.Code, event.Retry, event.Date, len(failed))
		}
		return "the old one is closed and names its successor, which is pending and failed, on the same date: in one transaction", nil
	})
}

func (c *eventTour) repeat() error {
	return c.step("send a request with an Idempotency-Key twice", func() (string, error) {
		const count = 20
		key := []string{"Idempotency-Key", c.run}
		first, _, err := c.create(count, key...)
		if err != nil {
			return "", err
		}
		again, _, err := c.create(count, key...)
		if err != nil {
			return "", err
		}
		if !slices.Equal(first.IDs, again.IDs) {
			return "", fmt.Errorf("the second answer has other ids")
		}
		if _, answer, err := c.create(count+1, key...); answer == nil || answer.Status != 409 || answer.Code() != "idempotency_mismatch" {
			return "", fmt.Errorf("other events with the same key: %w", err)
		}
		return "the same ids, nothing stored twice; other events with the same key are refused", nil
	})
}

// clean deletes what the chapter made: completed events would stay for 90 days.
func (c *eventTour) clean() error {
	return c.step("remove the events", func() (string, error) {
		var deletes []types.WriteRequest
		for _, id := range c.made {
			key, ok := buffer.ParseID(id)
			if !ok {
				return "", fmt.Errorf("an answer had an id that is none: %q", id)
			}
			deletes = append(deletes, types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: ddb.Item{
				"message_pk": &types.AttributeValueMemberS{Value: key.Partition()}, "message_sk": &types.AttributeValueMemberS{Value: key.Sort},
			}}})
		}
		if err := ddb.BatchWrite(c.ctx, c.dynamo, c.table, []string{"message_pk", "message_sk"}, deletes, ddb.Policy{}); err != nil {
			return "", err
		}
		_, err := c.dynamo.DeleteItem(c.ctx, &dynamodb.DeleteItemInput{
			TableName: &c.requests, Key: ddb.Item{"id": &types.AttributeValueMemberS{Value: "key#" + c.run}},
		})
		if err != nil {
			return "", fmt.Errorf("delete the record of the idempotency key: %w", err)
		}
		if err := c.cleanUploads(); err != nil {
			return "", err
		}
		return fmt.Sprintf("%d events of this tour, and the records of its key and its upload", len(c.made)), nil
	})
}
