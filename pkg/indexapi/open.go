package indexapi

import (
	"fmt"

	"github.com/heatsink-dev/heatsink/pkg/cursor"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/query"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

// The read budget of one request. A page of 1,000 items of usual size is within it; what it cuts short answers with a cursor.
var budget = query.Budget{}

// Open makes a reader for each index of a table. deployed gives the deployed name of a table by its name in the catalog.
func Open(table *schema.BaseTable, deployed func(logical string) string, client ddb.Querier, cursors *cursor.Sealer) ([]Served, error) {
	var served []Served
	for _, index := range table.Indexes {
		config := query.Config{Client: client, Cursors: cursors, Budget: budget}
		if index.Build.Has(schema.GSI) {
			config.BaseTable = deployed(table.Name)
		}
		if index.Build.Has(schema.Table) {
			config.IndexTable = deployed(index.TableName())
		}
		reader, err := query.New(index, config)
		if err != nil {
			return nil, fmt.Errorf("open index %s: %w", index.Name, err)
		}
		served = append(served, Served{Index: index, Reader: reader})
	}
	return served, nil
}
