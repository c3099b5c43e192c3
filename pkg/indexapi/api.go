package indexapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/heatsink-dev/heatsink/pkg/cursor"
	"github.com/heatsink-dev/heatsink/pkg/edge"
	"github.com/heatsink-dev/heatsink/pkg/edge/routes"
	"github.com/heatsink-dev/heatsink/pkg/query"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

// Reader is what the surface needs of an index: *query.Reader. It is safe for concurrent use.
type Reader interface {
	Query(context.Context, query.Request) (*query.Page, error)
	Exists(context.Context, query.Request) (query.Existence, error)
	Count(context.Context, query.Request) (query.Counted, error)
}

var _ Reader = (*query.Reader)(nil)

// Served is an index that callers may read.
type Served struct {
	Index  *schema.Index
	Reader Reader
}

// Options of [New].
type Options struct {
	// TenantClaim names the JWT claim whose value cursors are bound to. Empty: cursors are bound to no tenant.
	TenantClaim string
}

// API serves the routes. It is safe for concurrent use.
type API struct {
	indexes map[string]Served
	options Options
}

// New serves the given indexes and no others: an index that is heatsink's own, such as those of the event table, is unknown to callers unless it is named here.
func New(indexes []Served, options Options) (*API, error) {
	api := &API{indexes: make(map[string]Served, len(indexes)), options: options}
	for _, served := range indexes {
		if served.Index == nil || served.Reader == nil {
			return nil, errors.New("indexapi: an index without a schema or a reader")
		}
		if _, twice := api.indexes[served.Index.Name]; twice {
			return nil, fmt.Errorf("indexapi: index %s is given twice", served.Index.Name)
		}
		api.indexes[served.Index.Name] = served
	}
	if len(api.indexes) == 0 {
		return nil, errors.New("indexapi: no index to serve")
	}
	return api, nil
}

// Register adds the routes to a router.
func (a *API) Register(router *edge.Router) {
	items, exists, count := a.serve(pageNames, answerItems), a.serve(conditionNames, answerExists), a.serve(conditionNames, answerCount)
	router.Handle(routes.IndexItems, items)
	router.Handle(routes.IndexItemsPost, items)
	router.Handle(routes.IndexExists, exists)
	router.Handle(routes.IndexExistsPost, exists)
	router.Handle(routes.IndexCount, count)
	router.Handle(routes.IndexCountPost, count)
}

// operation reads and answers one request.
type operation func(context.Context, http.ResponseWriter, Served, query.Request) error

func (a *API) serve(names []string, run operation) edge.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		served, known := a.indexes[r.PathValue("index")]
		if !known {
			return &edge.Problem{Code: edge.UnknownIndex, Detail: "index: there is no such index"}
		}
		note := edge.NoteOf(r.Context())
		note.Dimension("Index", served.Index.Name)
		note.Log(slog.String("index", served.Index.Name), slog.String("form", served.Index.Type.String()))
		asked, err := read(r, names)
		if err != nil {
			return err
		}
		note.Log(slog.String("conditions", asked.shape()))
		request, err := asked.request(served.Index)
		if err != nil {
			return err
		}
		if a.options.TenantClaim != "" {
			request.Tenant = edge.Claim(r.Context(), a.options.TenantClaim)
		}
		if err := run(r.Context(), w, served, request); err != nil {
			return problem(err)
		}
		return nil
	}
}

// problem tells a caller's fault apart. What edge knows (throttled, out of time) is left to it.
func problem(err error) error {
	switch {
	case errors.Is(err, cursor.ErrInvalid):
		return &edge.Problem{Code: edge.InvalidCursor, Detail: "cursor: is not valid here: start again without it"}
	case errors.Is(err, cursor.ErrUnavailable):
		return &edge.Problem{Code: edge.TryAgain, Detail: "cursors cannot be had for the moment: try again", Cause: err}
	case errors.Is(err, query.ErrConsistentGSI):
		return edge.Invalid("consistent", "this index is read from a GSI, which has no consistent reads")
	}
	if bad, ok := errors.AsType[*query.RequestError](err); ok {
		return edge.Invalid(parameterOf(bad.Field), "%s", bad.Reason)
	}
	return err
}

// parameterOf names the parameter of a request's field, for what only the reader refuses: Under[0] is "under".
func parameterOf(field string) string {
	name, _, _ := strings.Cut(field, "[")
	if name == "Where" {
		return "condition"
	}
	return strings.ToLower(name)
}

// spend notes what a read took, for the summary line and the metrics.
func spend(ctx context.Context, spent query.Cost, returned int) {
	note := edge.NoteOf(ctx)
	note.Log(slog.Int("pages", spent.Requests), slog.Int("rowsEvaluated", spent.Evaluated), slog.Float64("readUnits", spent.ReadUnits), slog.Int("returned", returned))
	note.Count("ItemsReturned", float64(returned))
	note.Count("RowsEvaluated", float64(spent.Evaluated))
	note.Count("ReadUnits", spent.ReadUnits)
}
