package account

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/schema"
	"github.com/heatsink-dev/heatsink/pkg/unique"
)

// Constraints whose claims users hold.
const (
	NicknameConstraint = "NICKNAME"
	EmailConstraint    = "EMAIL"
)

// Why a step is refused. Nothing was written. Beside these there are *[FieldError], and unique.ErrTryAgain and unique.ErrUnknown.
var (
	ErrUserExists       = errors.New("the user id is in use")
	ErrNicknameTaken    = errors.New("the nickname belongs to another user")
	ErrEmailTaken       = errors.New("the e-mail belongs to another user")
	ErrUserNotFound     = errors.New("there is no such user")
	ErrWithdrawing      = errors.New("the user is being withdrawn")
	ErrNicknameNotFound = errors.New("nobody has this nickname")
)

// Client is what a [Service] calls. *dynamodb.Client implements it.
type Client interface {
	unique.Client
	ddb.Updater
}

var _ Client = (*dynamodb.Client)(nil)

// Dependent is something that hangs on a user and must be gone before the user is.
type Dependent struct {
	// Name tells it in errors.
	Name string
	// Remove removes all of it. It is called again after a withdrawal that was killed, so what is gone already is success. What belongs to another
	// incarnation of the user id is not its to touch.
	Remove func(ctx context.Context, userID, incarnation string) error
}

// Config of [New]. Client, Users, UserTable and ClaimTable are needed.
type Config struct {
	Client Client
	// Users is the user table in the catalog: its keys, private attributes and indexes.
	Users *schema.BaseTable
	// UserTable and ClaimTable are deployed names.
	UserTable, ClaimTable string
	// Dependents go, in this order, before a withdrawn user does.
	Dependents []Dependent
	// Reserved nicknames, in mapped form. Nil: [Reserved].
	Reserved []string
	// Retry says how to wait after conflicts, throttles and lost races.
	Retry ddb.Policy
	// Patience bounds one call, as in unique.Config.
	Patience time.Duration
	// AttemptTimeout and SettleTime as in unique.Config.
	AttemptTimeout, SettleTime time.Duration
	// ID makes incarnations and request ids: random, at least 100 bits, at most 36 bytes. Nil: 128 bits of crypto/rand.
	ID func() string
	// Now is when a withdrawal begins. Nil: the system's clock.
	Now func() time.Time
}

// Service does what users can do. It is safe for concurrent use.
type Service struct {
	config   Config
	reader   reader
	writer   *unique.Writer
	claims   unique.Claims
	reserved map[string]struct{}
	keys     keyChecks
}

// New checks the configuration: the user table must have the key userId and keep the attributes of this package private.
func New(config Config) (*Service, error) {
	switch {
	case config.Client == nil, config.Users == nil:
		return nil, errors.New("account: needs a client and the user table's schema")
	case config.UserTable == "", config.ClaimTable == "":
		return nil, errors.New("account: needs the deployed names of the user and the claim table")
	case config.Users.PartitionKey != (schema.Attribute{Name: UserIDAttribute, Type: schema.String}) || config.Users.SortKey.Name != "":
		return nil, fmt.Errorf("account: table %s must have the key %s (S) alone", config.Users.Name, UserIDAttribute)
	}
	for _, name := range privateAttributes() {
		if !config.Users.IsPrivate(name) {
			return nil, fmt.Errorf("account: table %s must list %s as private", config.Users.Name, name)
		}
	}
	for n, dependent := range config.Dependents {
		if dependent.Name == "" || dependent.Remove == nil {
			return nil, fmt.Errorf("account: Dependents[%d] needs a name and a function", n)
		}
	}
	if config.Reserved == nil {
		config.Reserved = Reserved()
	}
	if config.ID == nil {
		config.ID = rand.Text
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.Patience <= 0 {
		config.Patience = 30 * time.Second
	}
	writer, err := unique.New(unique.Config{
		Client: config.Client, Retry: config.Retry, Patience: config.Patience, AttemptTimeout: config.AttemptTimeout, SettleTime: config.SettleTime,
	})
	if err != nil {
		return nil, err
	}
	s := &Service{config: config, reader: reader{config.Client}, writer: writer, claims: unique.Claims{Table: config.ClaimTable}, reserved: map[string]struct{}{}}
	for _, name := range config.Reserved {
		n, err := ParseNickname(name)
		if err != nil || n.Form != name {
			return nil, fmt.Errorf("account: reserved name %q is not in mapped form (%q): it could never match", name, n.Form)
		}
		s.reserved[name] = struct{}{}
	}
	s.keys, err = newKeyChecks(config.Users)
	return s, err
}

// nickname parses a nickname that somebody wants to have.
func (s *Service) nickname(spelling string) (Nickname, error) {
	n, err := ParseNickname(spelling)
	if err != nil {
		return Nickname{}, err
	}
	if _, reserved := s.reserved[n.Form]; reserved {
		return Nickname{}, &FieldError{Field: "nickname", Reason: ReasonReserved}
	}
	return n, nil
}

// read reads a user, strongly consistent. Nil: there is none. It costs 1 RRU for each 4 KB begun.
func (s *Service) read(ctx context.Context, userID string) (*User, error) {
	var out *dynamodb.GetItemOutput
	err := ddb.RetryRead(ctx, s.config.Retry, func(ctx context.Context) (err error) {
		out, err = s.reader.GetItem(ctx, &dynamodb.GetItemInput{
			TableName: &s.config.UserTable, Key: ddb.Item{UserIDAttribute: text(userID)}, ConsistentRead: aws.Bool(true),
		})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read user: %w", err)
	}
	if len(out.Item) == 0 {
		return nil, nil //nolint:nilnil // nil is the answer
	}
	return s.user(out.Item), nil
}

// once switches the SDK's own retries off: the policy's attempts would begin them anew, and together they outlast any caller's patience.
func once(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} }

// reader reads [once].
type reader struct{ client ddb.Getter }

// GetItem implements [ddb.Getter].
func (r reader) GetItem(ctx context.Context, in *dynamodb.GetItemInput, options ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return r.client.GetItem(ctx, in, append(options, once)...)
}

// errLostRace says that what a step had read changed before it wrote.
var errLostRace = errors.New("another step came between")

// race repeats a step that lost a race, from its reading on, until the time ends.
func (s *Service) race(ctx context.Context, name string, step func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.config.Patience)
	defer cancel()
	for n := 1; ; n++ {
		err := step(ctx)
		if err == nil {
			return nil
		}
		if !errors.Is(err, errLostRace) {
			return fmt.Errorf("%s: %w", name, err)
		}
		if !s.config.Retry.Wait(ctx, n) {
			return fmt.Errorf("%s: %w: %w", name, unique.ErrTryAgain, err)
		}
	}
}
