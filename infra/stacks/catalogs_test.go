package stacks_test

import (
	"time"

	"github.com/heatsink-dev/heatsink/pkg/schema"
)

const week = 7 * 24 * time.Hour

// shippedCatalog is the catalog as heatsink ships it. The tests of exact templates use this copy and not package catalog: a team that edits that one file
// must not have to edit expectations here. Variant own is the deployment's.
func shippedCatalog() (*schema.Catalog, error) {
	text := func(names ...string) []schema.Attribute {
		var list []schema.Attribute
		for _, name := range names {
			list = append(list, schema.Attribute{Name: name, Type: schema.String})
		}
		return list
	}
	return schema.Compile(
		schema.TableDefinition{
			Name:         "User",
			Attributes:   append(text("userId", "ID", "teamId", "status", "joinedOn"), schema.Attribute{Name: "managedKey", Type: schema.Number}),
			PartitionKey: "userId",
			Indexes: []schema.IndexDefinition{
				{
					Name: "managed", PartitionKey: "ID", SortKey: []schema.Part{{Name: "managedKey", Width: 13}}, Projection: schema.Projection{Kind: schema.All},
					TombstoneRetention: week, Build: schema.GSI | schema.Table, Type: schema.Table,
				},
				{
					Name: "team-status", PartitionKey: "teamId", SortKey: []schema.Part{{Name: "status"}, {Name: "joinedOn"}},
					Projection: schema.Projection{Kind: schema.Include, Attributes: []string{"nickname"}}, TombstoneRetention: week, Build: schema.Table,
				},
			},
		},
		schema.TableDefinition{Name: "Claim", Attributes: text("pk"), PartitionKey: "pk"},
		schema.TableDefinition{
			Name: "Event",
			Attributes: text("message_pk", "message_sk", "pending_message_pk", "pending_message_sk", "failed_pending_message_pk",
				"failed_pending_message_sk"),
			PartitionKey: "message_pk", SortKey: "message_sk", TTL: "expiration_time",
			Indexes: []schema.IndexDefinition{
				{
					Name: "pending-index", PartitionKey: "pending_message_pk", SortKey: []schema.Part{{Name: "pending_message_sk"}},
					Projection: schema.Projection{Kind: schema.All}, Build: schema.GSI,
				},
				{
					Name: "failed-pending-index", PartitionKey: "failed_pending_message_pk", SortKey: []schema.Part{{Name: "failed_pending_message_sk"}},
					Projection: schema.Projection{Kind: schema.KeysOnly}, Build: schema.GSI,
				},
			},
		},
		schema.TableDefinition{Name: "EventRequest", Attributes: text("id"), PartitionKey: "id", TTL: "expiration_time"},
	)
}

// otherCatalog is a catalog unlike the deployment's own: a GSI whose sort key has two parts, a GSI with none, a second table with a stream, a table with
// a sort key and a TTL.
func otherCatalog() (*schema.Catalog, error) {
	return schema.Compile(
		schema.TableDefinition{
			Name: "User",
			Attributes: []schema.Attribute{
				{Name: "id", Type: schema.String},
				{Name: "team", Type: schema.String},
				{Name: "state", Type: schema.String},
				{Name: "since", Type: schema.Number},
				{Name: "photo", Type: schema.Binary},
			},
			PartitionKey: "id",
			Indexes: []schema.IndexDefinition{
				{
					Name: "by-team", PartitionKey: "team", SortKey: []schema.Part{{Name: "state"}, {Name: "since"}},
					Projection: schema.Projection{Kind: schema.Include, Attributes: []string{"name"}}, TombstoneRetention: week,
					Build: schema.GSI | schema.Table, Type: schema.GSI,
				},
				{Name: "by-photo", PartitionKey: "photo", Projection: schema.Projection{Kind: schema.KeysOnly}, Build: schema.GSI},
			},
		},
		schema.TableDefinition{
			Name:         "Order",
			Attributes:   []schema.Attribute{{Name: "customer", Type: schema.String}, {Name: "at", Type: schema.Number}, {Name: "state", Type: schema.String}},
			PartitionKey: "customer", SortKey: "at", TTL: "until",
			Indexes: []schema.IndexDefinition{{
				Name: "orders", PartitionKey: "state", SortKey: []schema.Part{{Name: "at"}}, Projection: schema.Projection{Kind: schema.All},
				TombstoneRetention: week, Build: schema.Table,
			}},
		},
	)
}
