package accountapi

import (
	"context"
	"errors"
	"net/http"

	"github.com/heatsink-dev/heatsink/pkg/account"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/edge"
	"github.com/heatsink-dev/heatsink/pkg/edge/routes"
	"github.com/heatsink-dev/heatsink/pkg/unique"
)

// Service is what the surface needs: *account.Service. It is safe for concurrent use.
type Service interface {
	SignUp(context.Context, account.Application) (*account.User, error)
	Get(ctx context.Context, userID string) (*account.User, error)
	Rename(ctx context.Context, userID, nickname string) (*account.User, error)
	ReleaseNickname(ctx context.Context, userID string) error
	Withdraw(ctx context.Context, userID string) error
	NicknameOwner(ctx context.Context, nickname string) (*account.User, error)
}

var _ Service = (*account.Service)(nil)

// API serves the routes. It is safe for concurrent use.
type API struct{ service Service }

// New serves the users of a service.
func New(service Service) (*API, error) {
	if service == nil {
		return nil, errors.New("accountapi: no service")
	}
	return &API{service}, nil
}

// Register adds the routes to a router.
func (a *API) Register(router *edge.Router) {
	router.Handle(routes.UserCreate, a.handle(a.create))
	router.Handle(routes.UserGet, a.handle(a.get))
	router.Handle(routes.UserRename, a.handle(a.rename))
	router.Handle(routes.UserRelease, a.handle(a.release))
	router.Handle(routes.UserWithdraw, a.handle(a.withdraw))
	router.Handle(routes.NicknameGet, a.handle(a.owner, "nickname"))
}

// call answers one request with its query parameters.
type call func(http.ResponseWriter, *http.Request, edge.Parameters) error

// handle checks the query, meters the call and turns its error into a problem.
func (a *API) handle(run call, allowed ...string) edge.Handler {
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

// problem gives each refusal its code. What edge knows (throttled, out of time) is left to it.
func problem(err error) error {
	if err == nil {
		return nil
	}
	if bad, ok := errors.AsType[*account.FieldError](err); ok {
		if bad.Reason == account.ReasonTooLong && bad.Field == "attributes" {
			return &edge.Problem{Code: edge.TooLarge, Detail: bad.Error()}
		}
		return edge.Invalid(bad.Field, "%s", bad.Text())
	}
	for _, known := range []struct {
		err  error
		code edge.Code
	}{
		{account.ErrUserExists, edge.UserExists},
		{account.ErrNicknameTaken, edge.NicknameTaken},
		{account.ErrEmailTaken, edge.EmailTaken},
		{account.ErrUserNotFound, edge.UserNotFound},
		{account.ErrWithdrawing, edge.UserWithdrawing},
		{account.ErrNicknameNotFound, edge.NicknameNotFound},
	} {
		if errors.Is(err, known.err) {
			return &edge.Problem{Code: known.code, Detail: known.err.Error()}
		}
	}
	switch {
	case errors.Is(err, unique.ErrUnknown):
		// Not throttled, whatever the last try met: an earlier one may have taken effect.
		return &edge.Problem{Code: edge.TryAgain, Detail: "it is not known whether it was done: try again", Cause: err}
	case errors.Is(err, unique.ErrTryAgain):
		if ddb.Classify(err).Class == ddb.Throttled {
			return err
		}
		// Of the last write nothing was done, but a withdrawal has marked the user before it, and what a repeat was for may be done.
		return &edge.Problem{Code: edge.TryAgain, Detail: "others were at it, not finished: try again", Cause: err}
	default:
		return err
	}
}
