package account_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/account"
	"github.com/heatsink-dev/heatsink/pkg/catalog"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
	"github.com/heatsink-dev/heatsink/pkg/schema"
	"github.com/heatsink-dev/heatsink/pkg/unique"
)

// kit is a service over tables of its own, with faults below the SDK.
type kit struct {
	t             *testing.T
	users, claims string
	faults        *ddbtest.Faults
	plain         *dynamodb.Client
	service       *account.Service // with the faults
	calm          *account.Service // without
}

func tables(t testing.TB) (users, claims *schema.BaseTable) {
	t.Helper()
	all, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	users, _ = all.Table(catalog.UserTable)
	claims, _ = all.Table(catalog.ClaimTable)
	return users, claims
}

func newKit(t *testing.T, change ...func(*account.Config)) *kit {
	t.Helper()
	users, claims := tables(t)
	k := &kit{t: t, users: ddbtest.Table(t, users), claims: ddbtest.Table(t, claims), faults: ddbtest.NewFaults(t, 0), plain: ddbtest.Client(t, ddb.Metered)}
	k.service = k.open(ddbtest.Client(t, k.faults.Install, ddb.Metered), change...)
	k.calm = k.open(k.plain, change...)
	return k
}

// open is another process on the same tables.
func (k *kit) open(client *dynamodb.Client, change ...func(*account.Config)) *account.Service {
	k.t.Helper()
	schema, _ := tables(k.t)
	// Times that no machine is too slow for: what a test says about attempts is about faults.
	config := account.Config{Client: client, Users: schema, UserTable: k.users, ClaimTable: k.claims, AttemptTimeout: time.Minute, Patience: 5 * time.Minute, Retry: ddb.Policy{
		Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	}}
	for _, f := range change {
		f(&config)
	}
	service, err := account.New(config)
	if err != nil {
		k.t.Fatal(err)
	}
	return service
}

// signUp signs somebody up without faults; an empty text is no name.
func (k *kit) signUp(id, nickname, email string) *account.User {
	k.t.Helper()
	u, err := k.calm.SignUp(k.t.Context(), application(id, nickname, email))
	if err != nil {
		k.t.Fatal(err)
	}
	return u
}

func application(id, nickname, email string) account.Application {
	a := account.Application{UserID: id}
	if nickname != "" {
		a.Nickname = &nickname
	}
	if email != "" {
		a.Email = &email
	}
	return a
}

func s(text string) types.AttributeValue   { return &types.AttributeValueMemberS{Value: text} }
func num(text string) types.AttributeValue { return &types.AttributeValueMemberN{Value: text} }

func textOf(item ddb.Item, name string) string {
	if value, ok := item[name].(*types.AttributeValueMemberS); ok {
		return value.Value
	}
	return ""
}

// put writes an item past the service.
func (k *kit) put(table string, item ddb.Item) {
	k.t.Helper()
	if _, err := k.plain.PutItem(k.t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: item}); err != nil {
		k.t.Fatal(err)
	}
}

// state is both tables as strongly consistent reads give them: user id -> nickname, and claim -> owner.
func (k *kit) state() (users map[string]string, claims map[string]string) {
	k.t.Helper()
	users, claims = map[string]string{}, map[string]string{}
	for _, item := range ddbtest.Dump(k.t, k.plain, k.users) {
		users[textOf(item, "userId")] = textOf(item, "nickname")
	}
	for _, item := range ddbtest.Dump(k.t, k.plain, k.claims) {
		claims[textOf(item, "pk")] = textOf(item, "owner")
	}
	return users, claims
}

// whole checks that users and claims point at each other, both ways, in one incarnation: no orphan, no name without its claim.
func (k *kit) whole() {
	k.t.Helper()
	want := map[string]string{}
	for _, item := range ddbtest.Dump(k.t, k.plain, k.users) {
		owner := textOf(item, "userId") + "/" + textOf(item, "_incarnation")
		if key := textOf(item, "_nickname_key"); key != "" {
			want["NICKNAME#"+key] = owner
		}
		if key := textOf(item, "_email_key"); key != "" {
			want["EMAIL#"+key] = owner
		}
		if (textOf(item, "_nickname_key") == "") != (textOf(item, "nickname") == "") {
			k.t.Errorf("user %s has a nickname without a key, or a key without a nickname", textOf(item, "userId"))
		}
	}
	for _, item := range ddbtest.Dump(k.t, k.plain, k.claims) {
		pk, owner := textOf(item, "pk"), textOf(item, "owner")+"/"+textOf(item, "incarnation")
		switch want[pk] {
		case owner:
			delete(want, pk)
		case "":
			k.t.Errorf("orphan: claim %s of %s, whose user does not hold it", pk, owner)
		default:
			k.t.Errorf("claim %s belongs to %s, and user %s holds it", pk, owner, want[pk])
			delete(want, pk)
		}
	}
	for pk, owner := range want {
		k.t.Errorf("user %s holds %s without a claim", owner, pk)
	}
}

// insist repeats a step as a caller would, in a new process each time, while its answer is not definite.
func insist(step func() error) error {
	var err error
	for range 50 {
		if err = step(); !errors.Is(err, unique.ErrTryAgain) && !errors.Is(err, unique.ErrUnknown) && !errors.Is(err, ddbtest.ErrCrashed) {
			return err
		}
	}
	return fmt.Errorf("no definite answer in 50 tries: %w", err)
}

func operations(calls []ddbtest.Call) []string {
	var names []string
	for _, call := range calls {
		names = append(names, call.Operation)
	}
	return slices.Clip(names)
}
