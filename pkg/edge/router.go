package edge

import (
	"log/slog"
	"net/http"
	"path"
	"time"
)

// Handler answers a request or returns why it cannot, having written nothing then.
type Handler func(http.ResponseWriter, *http.Request) error

// RouterConfig of [NewRouter].
type RouterConfig struct {
	Logger  *slog.Logger
	Metrics *Metrics
	// Now is the system's clock if nil.
	Now func() time.Time
}

// Router is a ServeMux of handlers that return errors. For each request it writes one log line and one line of metrics.
type Router struct {
	RouterConfig
	mux *http.ServeMux
}

// NewRouter without routes.
func NewRouter(config RouterConfig) *Router {
	if config.Now == nil {
		config.Now = time.Now
	}
	return &Router{RouterConfig: config, mux: http.NewServeMux()}
}

// Handle adds a route: method and path in ServeMux's patterns, such as "GET /v1/users/{userId}".
func (r *Router) Handle(pattern string, handler Handler) {
	r.mux.HandleFunc(pattern, func(w http.ResponseWriter, request *http.Request) {
		if err := handler(w, request); err != nil {
			r.fail(w, request, err)
		}
	})
}

// ServeHTTP answers. A path that ServeMux would redirect (a doubled or trailing slash, dots) is an unknown route, as no gateway route leads there.
func (r *Router) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	started := r.Now()
	note := &Note{dimensions: Dimensions{}}
	request = request.WithContext(withNote(request.Context(), note))
	answer := &statusWriter{ResponseWriter: w}
	finished := false
	defer func() {
		if !finished { // a panic on its way to the adapter, which answers it
			answer.status, note.category = http.StatusInternalServerError, "panic"
		}
		r.report(request, note, answer.status, r.Now().Sub(started))
	}()
	handler, pattern := r.mux.Handler(request)
	switch {
	case pattern != "" && path.Clean(request.URL.Path) == request.URL.Path:
		note.route = pattern
		r.mux.ServeHTTP(answer, request)
	case pattern == "":
		refusal := &recorder{} // ServeMux tells a wrong method from an unknown path only by what it answers
		handler.ServeHTTP(refusal, request)
		if allow := refusal.Header().Get("Allow"); allow != "" {
			answer.Header().Set("Allow", allow)
			r.fail(answer, request, &Problem{Code: MethodNotAllowed, Detail: "this path takes " + allow})
			break
		}
		fallthrough
	default:
		r.fail(answer, request, &Problem{Code: UnknownRoute, Detail: "there is no such path"})
	}
	finished = true
}

// fail answers with the problem of err. What is our own fault is logged with its cause; what is the caller's is in the summary line alone.
func (r *Router) fail(w http.ResponseWriter, request *http.Request, err error) {
	problem := ProblemFor(err)
	NoteOf(request.Context()).category = string(problem.Code)
	if problem.Code.Status() >= http.StatusInternalServerError || problem.Code == Throttled {
		r.Logger.ErrorContext(request.Context(), "request failed", slog.String("code", string(problem.Code)), slog.Any("error", err))
	}
	WriteProblem(request.Context(), w, problem)
}

func (r *Router) report(request *http.Request, note *Note, status int, elapsed time.Duration) {
	ctx := request.Context()
	attrs := append([]slog.Attr{
		slog.String("route", note.route), slog.Int("status", status), slog.String("category", note.category),
		slog.Float64("elapsedMs", float64(elapsed.Microseconds())/1000), slog.String("gatewayRequestId", RequestID(ctx)),
	}, note.attrs...)
	r.Logger.LogAttrs(ctx, slog.LevelInfo, "request", attrs...)
	serverErrors := 0.0
	if status >= http.StatusInternalServerError {
		serverErrors = 1
	}
	metrics := append([]Metric{{"Requests", Count, 1}, {"Errors5xx", Count, serverErrors}, {"Elapsed", Milliseconds, float64(elapsed.Microseconds()) / 1000}}, note.metrics...)
	if err := r.Metrics.Emit(note.dimensions, metrics...); err != nil {
		r.Logger.ErrorContext(ctx, "metrics lost", slog.Any("error", err))
	}
}

// statusWriter remembers the status.
type statusWriter struct {
	http.ResponseWriter
	status int
}

// WriteHeader remembers the first.
func (w *statusWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implies 200.
func (w *statusWriter) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(p)
}
