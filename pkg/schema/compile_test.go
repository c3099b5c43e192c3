package schema_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/pkg/schema"
)

func TestCompileResolvesNamesAndTypes(t *testing.T) {
	t.Parallel()
	catalog, err := schema.Compile(definition())
	if err != nil {
		t.Fatal(err)
	}
	index, ok := catalog.Index("managed")
	if !ok {
		t.Fatal("no index")
	}
	if diff := cmp.Diff([]schema.KeyPart{{Attribute: schema.Attribute{Name: "managedKey", Type: schema.Number}, Width: 13}}, index.SortKey); diff != "" {
		t.Error(diff)
	}
	if index.PartitionKey.Type != schema.String || index.Source.Name != "User" || index.TableName() != "UserManagedIndex" {
		t.Errorf("%+v", index)
	}
	if got := len(index.Codec.Parts()); got != 2 {
		t.Errorf("the codec has %d parts, want managedKey and userId", got)
	}
	if table, ok := catalog.Table("User"); !ok || len(table.StreamIndexes()) != 1 {
		t.Error("User should keep one index table")
	}
	if _, ok := catalog.Table("Nobody"); ok {
		t.Error("found a table that is not there")
	}
}

func TestTypeMayBeLeftOutWhereOneFormIsBuilt(t *testing.T) {
	t.Parallel()
	d := definition()
	d.Indexes[0].Build, d.Indexes[0].Type = schema.Table, 0
	catalog, err := schema.Compile(d)
	if err != nil {
		t.Fatal(err)
	}
	if index, _ := catalog.Index("managed"); index.Type != schema.Table {
		t.Errorf("readers use %s", index.Type)
	}
}

func TestProjectionLeavesOutReservedAndPrivateAndKeepsKeys(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		projection schema.Projection
		in, out    []string
	}{
		{schema.Projection{Kind: schema.All}, []string{"userId", "ID", "managedKey", "anything"}, []string{"SK", "_v", "_ttl", "_deleted", "_secret"}},
		{schema.Projection{Kind: schema.KeysOnly}, []string{"userId", "ID", "managedKey"}, []string{"anything", "SK"}},
		{
			schema.Projection{Kind: schema.Include, Attributes: []string{"nickname"}},
			[]string{"userId", "ID", "managedKey", "nickname"},
			[]string{"anything", "_secret"},
		},
	} {
		d := definition()
		d.Indexes[0].Projection = test.projection
		catalog, err := schema.Compile(d)
		if err != nil {
			t.Fatal(err)
		}
		index, _ := catalog.Index("managed")
		for _, name := range test.in {
			if !index.Projects(name) {
				t.Errorf("%s does not carry %s", test.projection.Kind, name)
			}
		}
		for _, name := range test.out {
			if index.Projects(name) {
				t.Errorf("%s carries %s", test.projection.Kind, name)
			}
		}
	}
}

func TestTableEnv(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"User":             "HEATSINK_TABLE_USER",
		"UserManagedIndex": "HEATSINK_TABLE_USER_MANAGED_INDEX",
		"UserURLIndex":     "HEATSINK_TABLE_USER_URLINDEX",
	} {
		if got := schema.TableEnv(name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

func ExampleCompile() {
	d := definition()
	d.Indexes[0].TombstoneRetention = 0
	_, err := schema.Compile(d)
	fmt.Println(err)
	// Output: table User, index managed: TombstoneRetention: must be more than 24h0m0s, the life of a stream record, is 0s
}
