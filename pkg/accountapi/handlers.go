package accountapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/heatsink-dev/heatsink/pkg/account"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/edge"
)

// application is the body of a sign-up.
type application struct {
	UserID     *string         `json:"userId"`
	Nickname   *string         `json:"nickname"`
	Email      *string         `json:"email"`
	Attributes json.RawMessage `json:"attributes"`
}

// naming is the body of a rename.
type naming struct {
	Nickname *string `json:"nickname"`
}

// owned says who has a nickname, in the owner's spelling.
type owned struct {
	Nickname string `json:"nickname"`
	UserID   string `json:"userId"`
}

// idempotencyKey is the header that makes a repeated sign-up the same one.
const idempotencyKey = "Idempotency-Key"

func (a *API) create(w http.ResponseWriter, r *http.Request, _ edge.Parameters) error {
	key, err := readKey(r)
	if err != nil {
		return err
	}
	body, err := edge.DecodeBody[application](r)
	if err != nil {
		return err
	}
	if body.UserID == nil {
		return edge.Invalid("userId", "is missing")
	}
	attributes, err := readAttributes(body.Attributes)
	if err != nil {
		return err
	}
	u, err := a.service.SignUp(r.Context(), account.Application{
		UserID: *body.UserID, Nickname: body.Nickname, Email: body.Email, Attributes: attributes, IdempotencyKey: key,
	})
	if err != nil {
		return err
	}
	return writeUser(w, http.StatusCreated, u)
}

func (a *API) get(w http.ResponseWriter, r *http.Request, _ edge.Parameters) error {
	u, err := a.service.Get(r.Context(), r.PathValue("userId"))
	if err != nil {
		return err
	}
	return writeUser(w, http.StatusOK, u)
}

func (a *API) rename(w http.ResponseWriter, r *http.Request, _ edge.Parameters) error {
	body, err := edge.DecodeBody[naming](r)
	if err != nil {
		return err
	}
	if body.Nickname == nil {
		return edge.Invalid("nickname", "is missing")
	}
	u, err := a.service.Rename(r.Context(), r.PathValue("userId"), *body.Nickname)
	if err != nil {
		return err
	}
	return writeUser(w, http.StatusOK, u)
}

func (a *API) release(w http.ResponseWriter, r *http.Request, _ edge.Parameters) error {
	if err := a.service.ReleaseNickname(r.Context(), r.PathValue("userId")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (a *API) withdraw(w http.ResponseWriter, r *http.Request, _ edge.Parameters) error {
	if err := a.service.Withdraw(r.Context(), r.PathValue("userId")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (a *API) owner(w http.ResponseWriter, r *http.Request, parameters edge.Parameters) error {
	nickname := parameters.Text("nickname")
	if nickname == nil {
		return edge.Invalid("nickname", "is missing")
	}
	u, err := a.service.NicknameOwner(r.Context(), *nickname)
	if err != nil {
		return err
	}
	return edge.WriteJSON(w, http.StatusOK, owned{u.Nickname, u.ID})
}

// readKey reads the idempotency key. The header may be left out, but not left empty.
func readKey(r *http.Request) (string, error) {
	values := r.Header.Values(idempotencyKey)
	switch len(values) {
	case 0:
		return "", nil
	case 1:
		return values[0], account.CheckIdempotencyKey(values[0])
	default:
		return "", edge.Invalid(idempotencyKey, "is given more than once")
	}
}

// readAttributes reads a JSON object into attributes, every number with all its digits.
func readAttributes(raw json.RawMessage) (ddb.Item, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	if raw[0] != '{' {
		return nil, edge.Invalid("attributes", "must be an object")
	}
	item, err := ddb.PlainItem(raw) // as an item: the object itself is no level of nesting
	if bad, ok := errors.AsType[*ddb.ValueError](err); ok {
		field := "attributes"
		if bad.Path != "" {
			field += "." + bad.Path
		}
		return nil, edge.Invalid(field, "%s", bad.Reason)
	}
	if err != nil {
		return nil, fmt.Errorf("read attributes: %w", err)
	}
	return item, nil
}

func writeUser(w http.ResponseWriter, status int, u *account.User) error {
	body, err := ddb.AppendPlain(nil, u.Public(), nil)
	if err != nil {
		return fmt.Errorf("encode user: %w", err)
	}
	edge.WriteBody(w, status, body)
	return nil
}

// spend notes what a call took, for the summary line and the metrics.
func spend(ctx context.Context, usage ddb.Usage) {
	note := edge.NoteOf(ctx)
	note.Log(slog.Int("requests", usage.Requests), slog.Int("attempts", usage.Attempts), slog.Float64("readUnits", usage.ReadUnits), slog.Float64("writeUnits", usage.WriteUnits))
	note.Count("ReadUnits", usage.ReadUnits)
	note.Count("WriteUnits", usage.WriteUnits)
}
