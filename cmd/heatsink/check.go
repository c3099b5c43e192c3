package main

import (
	"strings"

	"github.com/heatsink-dev/heatsink/pkg/catalog"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

type checkCommand struct {
	JSON bool `help:"Print JSON."`
}

// Help shows examples.
func (checkCommand) Help() string {
	return `Examples:

    heatsink check`
}

// Run checks.
func (c *checkCommand) Run(console *console) error {
	tables, err := catalog.Load()
	if err != nil {
		return err
	}
	for _, table := range tables.Tables() {
		console.printf("table %s\n", table.Name)
		for _, index := range table.Indexes {
			console.printf("  index %-22s %s\n", index.Name, describe(index))
		}
	}
	return nil
}

func describe(index *schema.Index) string {
	parts := []string{index.PartitionKey.Name}
	for _, part := range index.SortKey {
		parts = append(parts, part.Name)
	}
	return "built as " + index.Build.String() + ", readers use the " + index.Type.String() + ", key " + strings.Join(parts, ", ")
}
