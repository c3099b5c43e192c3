package eventapi

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/heatsink-dev/heatsink/pkg/buffer"
	"github.com/heatsink-dev/heatsink/pkg/cursor"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/edge"
	"github.com/heatsink-dev/heatsink/pkg/edge/routes"
	"github.com/heatsink-dev/heatsink/pkg/ingest"
	"github.com/heatsink-dev/heatsink/pkg/unique"
)

// Service is what the surface needs: *buffer.Store. It is safe for concurrent use.
type Service interface {
	Write(context.Context, buffer.WriteRequest) (*buffer.Written, error)
	List(context.Context, buffer.ListRequest) (*buffer.Page, error)
	Stats(ctx context.Context, date string) (buffer.Stats, error)
	Get(ctx context.Context, id string) (*buffer.Event, error)
	Complete(ctx context.Context, id string) error
	Retry(ctx context.Context, id, reason string) (successor string, err error)
}

var _ Service = (*buffer.Store)(nil)

// Options of [New].
type Options struct {
	// TenantClaim names the JWT claim whose value cursors are bound to. Empty: cursors are bound to no tenant.
	TenantClaim string
	// Uploads makes batches past one request. Nil: their routes are not there.
	Uploads Uploads
}

// API serves the routes. It is safe for concurrent use.
type API struct {
	service Service
	options Options
}

// New serves the events of a service.
func New(service Service, options Options) (*API, error) {
	if service == nil {
		return nil, errors.New("eventapi: no service")
	}
	return &API{service, options}, nil
}

// Register adds the routes to a router.
func (a *API) Register(router *edge.Router) {
	router.Handle(routes.EventsCreate, handle(a.create))
	router.Handle(routes.EventsList, handle(a.list, "date", "state", "from", "to", "order", "limit", "cursor"))
	router.Handle(routes.EventsStats, handle(a.stats, "date"))
	router.Handle(routes.EventGet, handle(a.get))
	router.Handle(routes.EventComplete, handle(a.complete))
	router.Handle(routes.EventRetry, handle(a.retry))
	if a.options.Uploads != nil {
		router.Handle(routes.EventBatchCreate, handle(a.createBatch))
		router.Handle(routes.EventBatchGet, handle(a.getBatch))
	}
}

// call answers one request with its query parameters.
type call func(http.ResponseWriter, *http.Request, edge.Parameters) error

// handle checks the query, meters the call and turns its error into a problem.
func handle(run call, allowed ...string) edge.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		parameters, err := edge.ParseQuery(r.URL.RawQuery, allowed...)
		if err != nil {
			return err
		}
		ctx, meter := ddb.WithMeter(r.Context())
		err = run(w, r.WithContext(ctx), parameters)
		spend(r.Context(), meter.Usage())
		return problem(err)
	}
}

// spend notes what a call took, for the summary line and the metrics.
func spend(ctx context.Context, usage ddb.Usage) {
	note := edge.NoteOf(ctx)
	note.Log(slog.Int("requests", usage.Requests), slog.Int("attempts", usage.Attempts), slog.Float64("readUnits", usage.ReadUnits), slog.Float64("writeUnits", usage.WriteUnits))
	note.Count("ReadUnits", usage.ReadUnits)
	note.Count("WriteUnits", usage.WriteUnits)
}

// problem gives each refusal its code. What edge knows (throttled, out of time) is left to it.
func problem(err error) error {
	if err == nil {
		return nil
	}
	if fault, ok := errors.AsType[*buffer.FieldError](err); ok {
		return edge.Invalid(fault.Field, "%s", fault.Reason)
	}
	if large, ok := errors.AsType[*buffer.TooLargeError](err); ok {
		refused := &edge.Problem{Code: edge.TooLarge, Detail: large.Error()}
		if large.Position >= 0 {
			refused.Members = map[string]any{"position": large.Position}
		}
		return refused
	}
	if closed, ok := errors.AsType[*buffer.RetriedError](err); ok {
		return &edge.Problem{Code: edge.EventRetried, Detail: closed.Error(), Members: map[string]any{"successor": closed.Successor}}
	}
	switch {
	case errors.Is(err, buffer.ErrNotFound):
		return &edge.Problem{Code: edge.EventNotFound, Detail: buffer.ErrNotFound.Error()}
	case errors.Is(err, ingest.ErrNotFound):
		return &edge.Problem{Code: edge.BatchNotFound, Detail: ingest.ErrNotFound.Error()}
	case errors.Is(err, buffer.ErrDone):
		return &edge.Problem{Code: edge.EventDone, Detail: buffer.ErrDone.Error()}
	case errors.Is(err, buffer.ErrIdempotencyMismatch):
		return &edge.Problem{Code: edge.IdempotencyMismatch, Detail: buffer.ErrIdempotencyMismatch.Error()}
	case errors.Is(err, cursor.ErrInvalid):
		return &edge.Problem{Code: edge.InvalidCursor, Detail: "cursor: is not valid here: start again without it"}
	case errors.Is(err, cursor.ErrUnavailable):
		return &edge.Problem{Code: edge.TryAgain, Detail: "cursors cannot be had for the moment: try again", Cause: err}
	case errors.Is(err, unique.ErrUnknown):
		return &edge.Problem{Code: edge.TryAgain, Detail: "it is not known whether it was done: try again, or read the event", Cause: err}
	case errors.Is(err, unique.ErrTryAgain) && ddb.Classify(err).Class != ddb.Throttled:
		return &edge.Problem{Code: edge.TryAgain, Detail: "others were at it, not finished: try again", Cause: err}
	default:
		return err
	}
}
