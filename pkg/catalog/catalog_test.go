package catalog_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/heatsink-dev/heatsink/pkg/catalog"
	"github.com/heatsink-dev/heatsink/pkg/schema"
	"github.com/heatsink-dev/heatsink/pkg/shard"
)

// A fault in catalog.go stops here, at synth and at start-up, with the same words.
func TestTheCatalogIsValid(t *testing.T) {
	t.Parallel()
	if _, err := catalog.Load(); err != nil {
		t.Fatal(err)
	}
}

func TestTheIndexesAreWhatTheContractSays(t *testing.T) {
	t.Parallel()
	loaded, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	managed, ok := loaded.Index("managed")
	if !ok || managed.Build != schema.GSI|schema.Table || managed.TableName() != "UserManagedIndex" || managed.Projection.Kind != schema.All {
		t.Errorf("managed: %+v", managed)
	}
	if managed.Version.Attribute != "" {
		t.Error("the rows of managed are versioned by the stream")
	}
	second, ok := loaded.Index("team-status")
	if !ok || second.Build != schema.Table || second.Type != schema.Table || len(second.SortKey) != 2 || second.Projection.Kind != schema.Include {
		t.Errorf("team-status: %+v", second)
	}
}

func TestTheShardsOfEventsAreALayout(t *testing.T) {
	t.Parallel()
	if _, err := shard.NewLayout(catalog.EventShards()...); err != nil {
		t.Fatal(err)
	}
}

// The switch is one line of text, because an operator changes it by hand or by a script.
func TestTheSwitchStandsAsOneLine(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("catalog.go")
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for line := range strings.Lines(string(source)) {
		if line := strings.TrimSpace(line); line == "Type: schema.Table," || line == "Type: schema.GSI," {
			lines++
		}
	}
	if lines != 1 {
		t.Errorf("the switch line stands %d times in catalog.go, want once", lines)
	}
}

func ExampleLoad() {
	loaded, err := catalog.Load()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, table := range loaded.Tables() {
		for _, index := range table.Indexes {
			fmt.Println(table.Name, index.Name, index.Build)
		}
	}
	// Output:
	// User managed GSI|TABLE
	// User team-status TABLE
	// Event pending-index GSI
	// Event failed-pending-index GSI
}
