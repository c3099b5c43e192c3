package stacks_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heatsink-dev/heatsink/pkg/catalog"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

// What the stack makes of a catalog is what package schema compares the next one with: deployed as synthesized, nothing is left to do.
func TestADeployedTemplateLeavesNoGSIToChange(t *testing.T) {
	t.Parallel()
	for v, load := range map[*variant]func() (*schema.Catalog, error){own: catalog.Load, dev: shippedCatalog, other: otherCatalog} {
		tables, err := load()
		if err != nil {
			t.Fatal(err)
		}
		body, err := os.ReadFile(filepath.Join(v.get(t).folder, schema.DataStack+".template.json"))
		if err != nil {
			t.Fatal(err)
		}
		deployed, err := schema.TemplateGSIs(body)
		if err != nil {
			t.Fatal(err)
		}
		for _, table := range tables.Tables() {
			if _, known := deployed[schema.TableResource(table.Name)]; !known {
				t.Errorf("%s: no table %s in the template", v.name, schema.TableResource(table.Name))
			}
		}
		if changes := tables.GSIChanges(deployed); len(changes) > 0 {
			t.Errorf("%s: %+v", v.name, changes)
		}
	}
}

func TestACatalogThatNeedsTwoUpdatesIsToldFromTheDeployedTemplate(t *testing.T) {
	t.Parallel()
	body, err := os.ReadFile(filepath.Join(other.get(t).folder, schema.DataStack+".template.json"))
	if err != nil {
		t.Fatal(err)
	}
	deployed, err := schema.TemplateGSIs(body)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := shippedCatalog()
	if err != nil {
		t.Fatal(err)
	}
	err = tables.CheckGSIChanges(deployed)
	if err == nil || !strings.Contains(err.Error(), "table User: CloudFormation adds or deletes one GSI of a table per update, and this needs 3: create managed; delete by-photo, by-team.") {
		t.Errorf("error is %v", err)
	}
}
