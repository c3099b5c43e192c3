package schema_test

import (
	"strings"
	"testing"
	"time"

	"github.com/heatsink-dev/heatsink/pkg/schema"
)

// definition is a valid table with one index in both forms; tests break one thing of it.
func definition() schema.TableDefinition {
	return schema.TableDefinition{
		Name: "User",
		Attributes: []schema.Attribute{
			{Name: "userId", Type: schema.String},
			{Name: "ID", Type: schema.String},
			{Name: "managedKey", Type: schema.Number},
			{Name: "rev", Type: schema.Number},
		},
		PartitionKey: "userId",
		Private:      []string{"_secret"},
		Indexes: []schema.IndexDefinition{{
			Name: "managed", PartitionKey: "ID", SortKey: []schema.Part{{Name: "managedKey", Width: 13}},
			Projection: schema.Projection{Kind: schema.All}, TombstoneRetention: 48 * time.Hour,
			Build: schema.GSI | schema.Table, Type: schema.Table,
		}},
	}
}

func TestEachFaultNamesTableIndexFieldAndLimit(t *testing.T) {
	t.Parallel()
	index := func(change func(*schema.IndexDefinition)) func(*schema.TableDefinition) {
		return func(d *schema.TableDefinition) { change(&d.Indexes[0]) }
	}
	for name, test := range map[string]struct {
		breakIt func(*schema.TableDefinition)
		want    string
	}{
		"table without a name": {func(d *schema.TableDefinition) { d.Name = "" }, "table : Name: must be a letter"},
		"table name with a dash": {
			func(d *schema.TableDefinition) { d.Name = "user-table" }, "table user-table: Name: must be a letter and then letters and digits, at most 64",
		},
		"undeclared table key": {func(d *schema.TableDefinition) { d.PartitionKey = "userID" }, `table User: PartitionKey: unknown attribute "userID"`},
		"attribute without a type": {
			func(d *schema.TableDefinition) { d.Attributes[1].Type = 0 }, `table User: Attributes[1]: attribute "ID" needs a type`,
		},
		"attribute twice": {
			func(d *schema.TableDefinition) { d.Attributes[2].Name = "ID" }, `table User: Attributes[2]: attribute "ID" is declared twice`,
		},
		"sort key is the partition key": {func(d *schema.TableDefinition) { d.SortKey = "userId" }, "table User: SortKey: is the partition key too"},
		"TTL on the key":                {func(d *schema.TableDefinition) { d.TTL = "userId" }, `table User: TTL: attribute "userId" is a key`},
		"index name too short": {
			index(func(i *schema.IndexDefinition) { i.Name = "ab" }), "table User, index ab: Name: must be 3 to 255",
		},
		"index name without a letter": {
			index(func(i *schema.IndexDefinition) { i.Name = "---" }), "index ---: Name: must be 3 to 255",
		},
		"unknown key attribute": {
			index(func(i *schema.IndexDefinition) { i.SortKey[0].Name = "managedkey" }), `index managed: SortKey[0]: unknown attribute "managedkey"`,
		},
		"private key attribute": {
			func(d *schema.TableDefinition) { d.Private = []string{"ID"} }, `index managed: PartitionKey: attribute "ID" is private`,
		},
		"width of a text": {
			index(func(i *schema.IndexDefinition) { i.SortKey[0] = schema.Part{Name: "userId", Width: 3} }), "index managed: SortKey[0]: Width must be 0 to 38",
		},
		"width past a number's digits": {
			index(func(i *schema.IndexDefinition) { i.SortKey[0].Width = 39 }), "index managed: SortKey[0]: Width must be 0 to 38, and 0 unless the attribute is a Number, is 39",
		},
		"part twice": {
			index(func(i *schema.IndexDefinition) { i.SortKey = append(i.SortKey, schema.Part{Name: "ID"}) }), `index managed: SortKey[1]: attribute "ID" is in the key already`,
		},
		"nothing built": {index(func(i *schema.IndexDefinition) { i.Build = 0 }), "index managed: Build: must be GSI, Table or GSI | Table"},
		"switched to a form that is not built": {
			index(func(i *schema.IndexDefinition) { i.Build = schema.Table; i.Type = schema.GSI }), "index managed: Type: readers use the GSI, which Build leaves out: move them first",
		},
		"two forms and no switch": {index(func(i *schema.IndexDefinition) { i.Type = 0 }), "index managed: Type: must be GSI or Table"},
		"both forms as the switch": {
			index(func(i *schema.IndexDefinition) { i.Type = schema.GSI | schema.Table }), "index managed: Type: must be GSI or Table",
		},
		"tombstones no longer than the stream": {
			index(func(i *schema.IndexDefinition) { i.TombstoneRetention = 24 * time.Hour }), "index managed: TombstoneRetention: must be more than 24h0m0s, the life of a stream record, is 24h0m0s",
		},
		"tombstones in a GSI": {
			index(func(i *schema.IndexDefinition) { i.Build = schema.GSI; i.Type = schema.GSI }), "index managed: TombstoneRetention: only an index table has tombstones",
		},
		"no projection": {index(func(i *schema.IndexDefinition) { i.Projection.Kind = 0 }), "index managed: Projection: Kind must be"},
		"include nothing": {
			index(func(i *schema.IndexDefinition) { i.Projection.Kind = schema.Include }), "index managed: Projection: Include needs Attributes",
		},
		"include beside all": {
			index(func(i *schema.IndexDefinition) { i.Projection.Attributes = []string{"x"} }), "index managed: Projection: Attributes go with Include alone",
		},
		"include a reserved name": {
			index(func(i *schema.IndexDefinition) {
				i.Projection = schema.Projection{Kind: schema.Include, Attributes: []string{"_v"}}
			}), `index managed: Projection.Attributes[0]: attribute "_v" is reserved`,
		},
		"include a private name": {
			index(func(i *schema.IndexDefinition) {
				i.Projection = schema.Projection{Kind: schema.Include, Attributes: []string{"_secret"}}
			}), `index managed: Projection.Attributes[0]: attribute "_secret" is private`,
		},
		"version without width": {
			index(func(i *schema.IndexDefinition) { i.Version.Attribute = "rev" }), "index managed: Version: Width must be 1 to 38, is 0",
		},
		"width without version": {index(func(i *schema.IndexDefinition) { i.Version.Width = 5 }), "index managed: Version: Width goes with Attribute alone"},
		"reserved version": {
			index(func(i *schema.IndexDefinition) { i.Version = schema.VersionSource{Attribute: "_v", Width: 5} }), `index managed: Version: attribute "_v" is reserved`,
		},
		"five parts in a GSI": {
			func(d *schema.TableDefinition) {
				d.Indexes[0].SortKey = nil
				for _, name := range []string{"a", "b", "c", "d", "e"} {
					d.Attributes = append(d.Attributes, schema.Attribute{Name: name, Type: schema.String})
					d.Indexes[0].SortKey = append(d.Indexes[0].SortKey, schema.Part{Name: name})
				}
			}, "index managed: SortKey: a GSI takes at most 4 parts, has 5",
		},
		"index twice": {
			func(d *schema.TableDefinition) { d.Indexes = append(d.Indexes, d.Indexes[0]) }, "index managed: Name: is already the name of another index",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := definition()
			test.breakIt(&d)
			catalog, err := schema.Compile(d)
			if err == nil || catalog != nil {
				t.Fatal("compiled")
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Fatalf("got\n%s\nwant it to contain\n%s", err, test.want)
			}
		})
	}
}

func TestReservedNamesCannotBeKeys(t *testing.T) {
	t.Parallel()
	for _, name := range []string{schema.SortKeyAttribute, schema.DeletedAttribute, schema.TTLAttribute, schema.VersionAttribute} {
		d := definition()
		d.Attributes[1].Name = name
		d.Indexes[0].PartitionKey = name
		_, err := schema.Compile(d)
		if err == nil || !strings.Contains(err.Error(), "index managed: PartitionKey: attribute \""+name+"\" is reserved") {
			t.Errorf("%s as a key: %v", name, err)
		}
	}
}

func TestAnIndexTableCannotTakeAnotherTablesName(t *testing.T) {
	t.Parallel()
	other := schema.TableDefinition{
		Name: "UserManagedIndex", PartitionKey: "pk", Attributes: []schema.Attribute{{Name: "pk", Type: schema.String}},
	}
	_, err := schema.Compile(definition(), other)
	if err == nil || !strings.Contains(err.Error(), "index managed: Name: its index table UserManagedIndex would take the name of a table") {
		t.Fatal(err)
	}
	_, err = schema.Compile(definition(), definition())
	if err == nil || !strings.Contains(err.Error(), "table User: Name: is already the name of a table") {
		t.Fatal(err)
	}
}

func TestAllFaultsAreNamedAtOnce(t *testing.T) {
	t.Parallel()
	d := definition()
	d.PartitionKey = "nope"
	d.Indexes[0].Projection.Kind = 0
	_, err := schema.Compile(d)
	if err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Fatalf("want two lines, one a fault: %v", err)
	}
}
