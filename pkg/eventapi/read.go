package eventapi

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"github.com/heatsink-dev/heatsink/pkg/buffer"
	"github.com/heatsink-dev/heatsink/pkg/cursor"
	"github.com/heatsink-dev/heatsink/pkg/edge"
)

// defaultLimit of a page.
const defaultLimit = 50

// event is one event in an answer.
type event struct {
	ID        string          `json:"id"`
	BatchID   string          `json:"batchId"`
	Date      string          `json:"date"`
	Time      int64           `json:"time"` // epoch milliseconds
	Retry     int             `json:"retry"`
	Data      json.RawMessage `json:"data"`
	LastError string          `json:"lastError,omitempty"`
	DoneAt    string          `json:"doneAt,omitempty"` // RFC 3339, UTC
	Successor string          `json:"successor,omitempty"`
}

// page is an answer of a list.
type page struct {
	Items  []event `json:"items"`
	Cursor string  `json:"cursor,omitempty"`
}

func answer(e buffer.Event) (event, error) {
	data := e.Data
	if !json.Valid(data) { // of another writer: as a text, for the page's other events are fine
		text, err := json.Marshal(string(data))
		if err != nil {
			return event{}, fmt.Errorf("encode an event: %w", err)
		}
		data = text
	}
	return event{
		ID: e.ID, BatchID: e.BatchID, Date: e.Date, Time: e.Time, Retry: e.Retry, Data: data, LastError: e.LastError, DoneAt: e.DoneAt, Successor: e.Successor,
	}, nil
}

func (a *API) list(w http.ResponseWriter, r *http.Request, parameters edge.Parameters) error {
	request, err := readList(parameters)
	if err != nil {
		return err
	}
	note := edge.NoteOf(r.Context())
	note.Log(slog.String("state", request.State.String()))
	if a.options.TenantClaim != "" {
		request.Tenant = edge.Claim(r.Context(), a.options.TenantClaim)
	}
	found, err := a.service.List(r.Context(), request)
	if err != nil {
		return err
	}
	body := page{Items: make([]event, len(found.Events)), Cursor: found.Cursor}
	for n := range found.Events {
		if body.Items[n], err = answer(found.Events[n]); err != nil {
			return err
		}
	}
	note.Log(slog.Int("rounds", found.Cost.Rounds), slog.Int("rowsRead", found.Cost.Rows), slog.Int("returned", len(body.Items)))
	note.Count("ItemsReturned", float64(len(body.Items)))
	note.Count("RowsEvaluated", float64(found.Cost.Rows))
	return edge.WriteJSON(w, http.StatusOK, body)
}

// readList reads a list's parameters. What is out of range is the store's to say.
func readList(parameters edge.Parameters) (buffer.ListRequest, error) {
	request := buffer.ListRequest{Date: parameters["date"], Limit: defaultLimit, Cursor: parameters["cursor"]}
	for _, needed := range []string{"date", "state"} {
		if parameters.Text(needed) == nil {
			return request, edge.Invalid(needed, "is missing")
		}
	}
	for _, state := range []buffer.State{buffer.Pending, buffer.Failed, buffer.All} {
		if parameters["state"] == state.String() {
			request.State = state
		}
	}
	var err error
	if request.From, err = readTime(parameters, "from"); err != nil {
		return request, err
	}
	if request.To, err = readTime(parameters, "to"); err != nil {
		return request, err
	}
	if order := parameters.Text("order"); order != nil {
		if *order != "asc" && *order != "desc" {
			return request, edge.Invalid("order", "must be asc or desc")
		}
		request.Descending = *order == "desc"
	}
	if limit := parameters.Text("limit"); limit != nil {
		n, err := strconv.Atoi(*limit)
		if err != nil || strconv.Itoa(n) != *limit {
			n = 0 // which the store refuses, with the range
		}
		request.Limit = n
	}
	if given := parameters.Text("cursor"); given != nil && *given == "" {
		return request, cursor.ErrInvalid // no cursor of ours, and taking it for none would start a walk again, for ever
	}
	return request, nil
}

func readTime(parameters edge.Parameters, name string) (*int64, error) {
	given := parameters.Text(name)
	if given == nil {
		return nil, nil
	}
	ms, err := strconv.ParseInt(*given, 10, 64)
	if err != nil || strings.HasPrefix(*given, "+") || ms < 0 || ms > buffer.MaxTime {
		return nil, edge.Invalid(name, "must be epoch milliseconds, 0 to %d", int64(buffer.MaxTime))
	}
	return &ms, nil
}

func (a *API) stats(w http.ResponseWriter, r *http.Request, parameters edge.Parameters) error {
	if parameters.Text("date") == nil {
		return edge.Invalid("date", "is missing")
	}
	counted, err := a.service.Stats(r.Context(), parameters["date"])
	if err != nil {
		return err
	}
	return edge.WriteJSON(w, http.StatusOK, map[string]int64{"pending": counted.Pending, "failed": counted.Failed})
}

func (a *API) get(w http.ResponseWriter, r *http.Request, _ edge.Parameters) error {
	found, err := a.service.Get(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	body, err := answer(*found)
	if err != nil {
		return err
	}
	return edge.WriteJSON(w, http.StatusOK, body)
}
