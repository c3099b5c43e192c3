package catalog

import (
	"time"

	"github.com/heatsink-dev/heatsink/pkg/schema"
)

// Names of the tables.
const (
	UserTable  = "User"
	ClaimTable = "Claim"
	EventTable = "Event"
	// EventRequestTable holds what makes a repeat of a request or upload meet itself: a record for each Idempotency-Key and each batch.
	EventRequestTable = EventTable + "Request"
)

// EventShards is into how many shards a date of events is written: 20 take 3,000 write units a second at peak with room to grow. To change it, add a line whose
// From is a date after the deployment, and keep the lines before it for as long as events of their dates are kept: readers ask the old and the new number.
func EventShards() []schema.ShardEpoch {
	return []schema.ShardEpoch{
		{Shards: 20},
	}
}

// Load compiles the definitions below. Its error, if any, names every fault; start-up, synth and test all stop on it.
func Load() (*schema.Catalog, error) { return schema.Compile(user(), claim(), event(), eventRequest()) }

func user() schema.TableDefinition {
	return schema.TableDefinition{
		Name: UserTable,
		Attributes: []schema.Attribute{
			{Name: "userId", Type: schema.String},
			{Name: "ID", Type: schema.String},
			{Name: "managedKey", Type: schema.Number}, // epoch milliseconds
			{Name: "teamId", Type: schema.String},
			{Name: "status", Type: schema.String},
			{Name: "joinedOn", Type: schema.String}, // YYYY-MM-DD
		},
		PartitionKey: "userId",
		Private:      []string{"_incarnation", "_nickname_key", "_email_key", "_withdrawing", "_request"},
		Indexes: []schema.IndexDefinition{
			{
				Name:               "managed",
				PartitionKey:       "ID",
				SortKey:            []schema.Part{{Name: "managedKey", Width: 13}},
				Projection:         schema.Projection{Kind: schema.All},
				TombstoneRetention: 7 * 24 * time.Hour,
				Build:              schema.GSI | schema.Table,

				// The switch: which form readers use. schema.GSI or schema.Table; nothing else changes with it.
				Type: schema.Table,
			},
			{
				// Who of a team is active, and since when: an index table alone, sparse, for its three attributes.
				Name:               "team-status",
				PartitionKey:       "teamId",
				SortKey:            []schema.Part{{Name: "status"}, {Name: "joinedOn"}},
				Projection:         schema.Projection{Kind: schema.Include, Attributes: []string{"nickname"}},
				TombstoneRetention: 7 * 24 * time.Hour,
				Build:              schema.Table,
			},
		},
	}
}

func claim() schema.TableDefinition {
	return schema.TableDefinition{
		Name:         ClaimTable,
		Attributes:   []schema.Attribute{{Name: "pk", Type: schema.String}},
		PartitionKey: "pk",
	}
}

func event() schema.TableDefinition {
	return schema.TableDefinition{
		Name: EventTable,
		Attributes: []schema.Attribute{
			{Name: "message_pk", Type: schema.String},
			{Name: "message_sk", Type: schema.String},
			{Name: "pending_message_pk", Type: schema.String},
			{Name: "pending_message_sk", Type: schema.String},
			{Name: "failed_pending_message_pk", Type: schema.String},
			{Name: "failed_pending_message_sk", Type: schema.String},
		},
		PartitionKey: "message_pk",
		SortKey:      "message_sk",
		TTL:          "expiration_time",
		Indexes: []schema.IndexDefinition{
			{
				Name:         "pending-index",
				PartitionKey: "pending_message_pk",
				SortKey:      []schema.Part{{Name: "pending_message_sk"}},
				Projection:   schema.Projection{Kind: schema.All},
				Build:        schema.GSI,
			},
			{
				Name:         "failed-pending-index",
				PartitionKey: "failed_pending_message_pk",
				SortKey:      []schema.Part{{Name: "failed_pending_message_sk"}},
				Projection:   schema.Projection{Kind: schema.KeysOnly},
				Build:        schema.GSI,
			},
		},
	}
}

func eventRequest() schema.TableDefinition {
	return schema.TableDefinition{
		Name:         EventRequestTable,
		Attributes:   []schema.Attribute{{Name: "id", Type: schema.String}}, // key#<Idempotency-Key> or batch#<batchId>
		PartitionKey: "id",
		TTL:          "expiration_time",
	}
}
