package unique_test

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/catalog"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
	"github.com/heatsink-dev/heatsink/pkg/schema"
	"github.com/heatsink-dev/heatsink/pkg/unique"
)

// kit is a writer over a claim table of its own, with faults below the SDK.
type kit struct {
	t      *testing.T
	faults *ddbtest.Faults
	client *dynamodb.Client // with the faults
	plain  *dynamodb.Client // without
	claims unique.Claims
	writer *unique.Writer
	waits  int
}

func claimTable(t testing.TB) *schema.BaseTable {
	t.Helper()
	tables, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	table, _ := tables.Table(catalog.ClaimTable)
	return table
}

func newKit(t *testing.T, change ...func(*unique.Config)) *kit {
	t.Helper()
	k := &kit{t: t, faults: ddbtest.NewFaults(t, 0)}
	k.client, k.plain = ddbtest.Client(t, k.faults.Install, ddb.Metered), ddbtest.Client(t)
	k.claims = unique.Claims{Table: ddbtest.Table(t, claimTable(t))}
	config := unique.Config{Client: k.client, AttemptTimeout: time.Minute, Patience: 5 * time.Minute, Retry: ddb.Policy{Sleep: func(ctx context.Context, _ time.Duration) error {
		k.waits++
		return ctx.Err()
	}}}
	for _, f := range change {
		f(&config)
	}
	var err error
	if k.writer, err = unique.New(config); err != nil {
		t.Fatal(err)
	}
	return k
}

func (k *kit) write(operations ...unique.Operation) (unique.Outcome, error) {
	k.t.Helper()
	return k.writer.Write(k.t.Context(), unique.Transaction{Name: "test", Operations: operations})
}

// must writes without faults.
func (k *kit) must(operations ...unique.Operation) {
	k.t.Helper()
	writer, err := unique.New(unique.Config{Client: k.plain})
	if err != nil {
		k.t.Fatal(err)
	}
	if _, err := writer.Write(k.t.Context(), unique.Transaction{Operations: operations}); err != nil {
		k.t.Fatal(err)
	}
}

func (k *kit) owner(value string) string {
	k.t.Helper()
	claim, found, err := k.claims.Read(k.t.Context(), k.plain, "NAME", value)
	if err != nil {
		k.t.Fatal(err)
	}
	if !found {
		return ""
	}
	return claim.Owner
}

func claim(value, owner string) unique.Claim {
	return unique.Claim{Constraint: "NAME", Value: value, Owner: owner, Incarnation: owner + "-1", Request: owner + "-r"}
}

func s(text string) types.AttributeValue { return &types.AttributeValueMemberS{Value: text} }
