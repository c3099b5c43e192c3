package backfill_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/account"
	"github.com/heatsink-dev/heatsink/pkg/backfill"
	"github.com/heatsink-dev/heatsink/pkg/catalog"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

// kit is tables of its own, a client with faults and one without, and the live traffic's service.
type kit struct {
	t             *testing.T
	users, claims string
	faults        *ddbtest.Faults
	plain, faulty *dynamodb.Client
	live          *account.Service
	checkpoint    string
}

func newKit(t *testing.T) *kit {
	t.Helper()
	all, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	users, _ := all.Table(catalog.UserTable)
	claims, _ := all.Table(catalog.ClaimTable)
	k := &kit{
		t: t, users: ddbtest.Table(t, users), claims: ddbtest.Table(t, claims), faults: ddbtest.NewFaults(t, 0),
		plain: ddbtest.Client(t, ddb.Metered), checkpoint: filepath.Join(t.TempDir(), "checkpoint.json"),
	}
	k.faulty = ddbtest.Client(t, k.faults.Install, ddb.Metered)
	k.live, err = account.New(account.Config{Client: k.plain, Users: users, UserTable: k.users, ClaimTable: k.claims, Retry: hurried()})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func hurried() ddb.Policy {
	return ddb.Policy{Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }}
}

// tool goes through the faults.
func (k *kit) tool(change ...func(*backfill.Config)) *backfill.Tool {
	k.t.Helper()
	config := backfill.Config{
		Client: k.faulty, UserTable: k.users, ClaimTable: k.claims, Segments: 3, PageSize: 4, Concurrency: 6, TempDir: k.t.TempDir(), Retry: hurried(),
	}
	for _, f := range change {
		f(&config)
	}
	tool, err := backfill.New(config)
	if err != nil {
		k.t.Fatal(err)
	}
	return tool
}

func s(text string) types.AttributeValue { return &types.AttributeValueMemberS{Value: text} }

func textOf(item ddb.Item, name string) string {
	if value, ok := item[name].(*types.AttributeValueMemberS); ok {
		return value.Value
	}
	return ""
}

// legacy puts a user past account, as a table holds it that is older than claims. An empty text is no attribute.
func (k *kit) legacy(id, nickname, email string) {
	k.t.Helper()
	item := ddb.Item{"userId": s(id), "plan": s("free")}
	if nickname != "" {
		item["nickname"] = s(nickname)
	}
	if email != "" {
		item["email"] = s(email)
	}
	k.put(k.users, item)
}

func (k *kit) put(table string, item ddb.Item) {
	k.t.Helper()
	if _, err := k.plain.PutItem(k.t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: item}); err != nil {
		k.t.Fatal(err)
	}
}

// putAll puts users in batches. The engine closes each connection after a thousand requests, which may lose an answer: here nobody else writes, so it is sent again.
func (k *kit) putAll(puts []types.WriteRequest) {
	k.t.Helper()
	var err error
	for range 5 {
		if err = ddb.BatchWrite(k.t.Context(), k.plain, k.users, []string{"userId"}, puts, ddb.Policy{}); err == nil {
			return
		}
	}
	k.t.Fatal(err)
}

func (k *kit) signUp(id, nickname, email string) {
	k.t.Helper()
	a := account.Application{UserID: id}
	if nickname != "" {
		a.Nickname = &nickname
	}
	if email != "" {
		a.Email = &email
	}
	if _, err := k.live.SignUp(k.t.Context(), a); err != nil {
		k.t.Fatal(err)
	}
}

// crowd makes n users that are older than claims, each with a nickname, every second with an e-mail.
func (k *kit) crowd(n int) {
	k.t.Helper()
	for i := range n {
		email := ""
		if i%2 == 0 {
			email = fmt.Sprintf("User%d@Example.COM", i)
		}
		k.legacy(fmt.Sprint("old-", i), fmt.Sprint("Name", i), email)
	}
}

// state is claim -> owner, read strongly.
func (k *kit) state() map[string]string {
	k.t.Helper()
	claims := map[string]string{}
	for _, item := range ddbtest.Dump(k.t, k.plain, k.claims) {
		claims[textOf(item, "pk")] = textOf(item, "owner")
	}
	return claims
}

// whole checks by itself, without the code under test, that users and claims point at each other, in one incarnation.
func (k *kit) whole() {
	k.t.Helper()
	want := map[string]string{}
	for _, item := range ddbtest.Dump(k.t, k.plain, k.users) {
		id, incarnation := textOf(item, "userId"), textOf(item, "_incarnation")
		for attribute, constraint := range map[string]string{"nickname": "NICKNAME", "email": "EMAIL"} {
			key := textOf(item, "_"+attribute+"_key")
			if (key == "") != (textOf(item, attribute) == "") {
				k.t.Errorf("user %s: %s %q, key %q", id, attribute, textOf(item, attribute), key)
			}
			if key == "" {
				continue
			}
			if incarnation == "" {
				k.t.Errorf("user %s has no incarnation", id)
			}
			if other, twice := want[constraint+"#"+key]; twice {
				k.t.Errorf("%s has two holders: %s and %s", key, other, id)
			}
			want[constraint+"#"+key] = id + "/" + incarnation
		}
	}
	for _, item := range ddbtest.Dump(k.t, k.plain, k.claims) {
		pk, owner := textOf(item, "pk"), textOf(item, "owner")+"/"+textOf(item, "incarnation")
		if want[pk] != owner {
			k.t.Errorf("claim %s of %s, but the holder is %q", pk, owner, want[pk])
		}
		delete(want, pk)
	}
	for pk, owner := range want {
		k.t.Errorf("%s holds %s without a claim", owner, pk)
	}
}

// found collects findings.
type found struct {
	mu   sync.Mutex
	list []backfill.Finding
}

func (f *found) add(one backfill.Finding) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = append(f.list, one)
	return nil
}

// texts are the findings as "kind constraint#form users", sorted.
func (f *found) texts() []string {
	list := []string{}
	for _, one := range f.list {
		list = append(list, describe(one))
	}
	slices.Sort(list)
	return list
}

func describe(f backfill.Finding) string {
	users := slices.Clone(f.UserIDs)
	slices.Sort(users)
	text := fmt.Sprintf("%s %s#%s %s", f.Kind, f.Constraint, f.Form, strings.Join(users, ","))
	if f.Owner != "" {
		text += " owner " + f.Owner
	}
	if f.Repaired {
		text += " repaired"
	}
	return text
}

// lines reads a report.
func lines(t *testing.T, path string) []string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	list := []string{}
	for decoder := json.NewDecoder(bytes.NewReader(raw)); decoder.More(); {
		var f backfill.Finding
		if err := decoder.Decode(&f); err != nil {
			t.Fatal(err)
		}
		list = append(list, describe(f))
	}
	slices.Sort(list)
	return list
}

func (k *kit) backfill(tool *backfill.Tool) (backfill.Result, error) {
	return tool.Backfill(k.t.Context(), backfill.Options{Checkpoint: k.checkpoint})
}

// crashed reports whether a run ended because its process did.
func crashed(err error) bool { return errors.Is(err, ddbtest.ErrCrashed) }

func mustCatalog(t *testing.T) *schema.BaseTable {
	t.Helper()
	all, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	users, _ := all.Table(catalog.UserTable)
	return users
}

func sorted(texts []string) []string {
	texts = slices.Clone(texts)
	slices.Sort(texts)
	return texts
}
