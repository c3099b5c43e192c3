package indexapi

import (
	"errors"
	"fmt"

	"github.com/heatsink-dev/heatsink/pkg/cursor"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/query"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

// pageBytes bounds the items of a page as DynamoDB counts them. Their JSON is a little longer as a rule, so a page that ends here is one that fits; see
// answerItems for one that does not.
const pageBytes = 3_000_000

// Open makes a reader for each index of a table. deployed gives the deployed name of a table by its name in the catalog. The error joins the faults of all indexes.
func Open(table *schema.BaseTable, deployed func(logical string) string, client ddb.Querier, cursors *cursor.Sealer) ([]Served, error) {
	var served []Served
	var faults []error
	for _, index := range table.Indexes {
		config := query.Config{Client: client, Cursors: cursors, Budget: query.Budget{Bytes: pageBytes}}
		if index.Build.Has(schema.GSI) {
			config.BaseTable = deployed(table.Name)
		}
		if index.Build.Has(schema.Table) {
			config.IndexTable = deployed(index.TableName())
		}
		reader, err := query.New(index, config)
		if err != nil {
			faults = append(faults, fmt.Errorf("open index %s: %w", index.Name, err))
			continue
		}
		served = append(served, Served{Index: index, Reader: reader})
	}
	return served, errors.Join(faults...)
}
