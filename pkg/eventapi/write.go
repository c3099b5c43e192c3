package eventapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/heatsink-dev/heatsink/pkg/buffer"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/edge"
)

// MaxEvents of one request: their ids fit into an answer. More go by an upload.
const MaxEvents = 60_000

// idempotencyKey is the header that makes a repeated request the same one.
const idempotencyKey = "Idempotency-Key"

// events is the body of a create.
type events struct {
	Events []struct {
		Data json.RawMessage `json:"data"`
	} `json:"events"`
}

// created is its answer.
type created struct {
	BatchID string   `json:"batchId"`
	IDs     []string `json:"ids"`
}

func (a *API) create(w http.ResponseWriter, r *http.Request, _ edge.Parameters) error {
	key, err := readKey(r)
	if err != nil {
		return err
	}
	body, err := edge.DecodeBody[events](r)
	if err != nil {
		return err
	}
	if len(body.Events) > MaxEvents {
		return &edge.Problem{Code: edge.TooLarge, Detail: fmt.Sprintf("events: at most %d in one request, are %d: send them as an upload, POST /v1/event-batches", MaxEvents, len(body.Events))}
	}
	request := buffer.WriteRequest{Events: make([]json.RawMessage, len(body.Events)), IdempotencyKey: key}
	for n, event := range body.Events {
		request.Events[n] = event.Data
	}
	written, err := a.service.Write(r.Context(), request)
	if failure, ok := errors.AsType[*buffer.NotStoredError](err); ok && written != nil {
		count(r, len(request.Events), failure)
		return partly(written, failure, key != "")
	}
	if err != nil {
		return err
	}
	count(r, len(request.Events), &buffer.NotStoredError{})
	return edge.WriteJSON(w, http.StatusCreated, created{written.BatchID, written.IDs})
}

func count(r *http.Request, asked int, failure *buffer.NotStoredError) {
	note := edge.NoteOf(r.Context())
	missing := len(failure.Positions) + len(failure.Unknown)
	note.Count("EventsStored", float64(asked-missing))
	note.Count("EventsNotStored", float64(missing))
}

// partly is the problem of a write that stored some events, or none.
func partly(written *buffer.Written, failure *buffer.NotStoredError, keyed bool) error {
	ids := make([]*string, len(written.IDs))
	for n := range written.IDs {
		if written.IDs[n] != "" {
			ids[n] = &written.IDs[n]
		}
	}
	what := &edge.Problem{
		Members: map[string]any{"batchId": written.BatchID, "ids": ids, "notStored": positions(failure.Positions), "unknown": positions(failure.Unknown)},
		Cause:   failure,
	}
	class := ddb.Classify(failure.Err).Class
	switch {
	case errors.Is(failure, buffer.ErrThrottled), class == ddb.Throttled:
		what.Code = edge.Throttled
	case class == ddb.Conflict, class == ddb.UnknownOutcome, errors.Is(failure, context.DeadlineExceeded), errors.Is(failure, context.Canceled):
		what.Code = edge.TryAgain
	default:
		what.Code = edge.Internal
	}
	what.Detail = fmt.Sprintf("%d of %d events were not stored, and of %d it is not known: notStored and unknown are their positions. ", len(failure.Positions), len(ids), len(failure.Unknown))
	if keyed {
		what.Detail += "Repeat the request with the same Idempotency-Key."
	} else {
		what.Detail += "Send those of notStored again."
	}
	return what
}

// positions is never null.
func positions(list []int) []int {
	if list == nil {
		return []int{}
	}
	return list
}

// readKey reads the idempotency key. The header may be left out, but not left empty.
func readKey(r *http.Request) (string, error) {
	values := r.Header.Values(idempotencyKey)
	switch len(values) {
	case 0:
		return "", nil
	case 1:
		return values[0], buffer.CheckIdempotencyKey(values[0])
	default:
		return "", edge.Invalid(idempotencyKey, "is given more than once")
	}
}

// retrying is the body of a retry.
type retrying struct {
	Error string `json:"error"`
}

func (a *API) retry(w http.ResponseWriter, r *http.Request, _ edge.Parameters) error {
	body, err := edge.DecodeBody[retrying](r)
	if err != nil {
		return err
	}
	successor, err := a.service.Retry(r.Context(), r.PathValue("id"), body.Error)
	if err != nil {
		return err
	}
	edge.NoteOf(r.Context()).Count("EventsRetried", 1)
	return edge.WriteJSON(w, http.StatusCreated, map[string]string{"id": successor})
}

func (a *API) complete(w http.ResponseWriter, r *http.Request, _ edge.Parameters) error {
	// Nothing is to be said in the body; an empty object says nothing.
	if r.ContentLength != 0 {
		if _, err := edge.DecodeBody[struct{}](r); err != nil {
			return err
		}
	}
	if err := a.service.Complete(r.Context(), r.PathValue("id")); err != nil {
		return err
	}
	edge.NoteOf(r.Context()).Count("EventsCompleted", 1)
	w.WriteHeader(http.StatusNoContent)
	return nil
}
