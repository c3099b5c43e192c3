package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/heatsink-dev/heatsink/pkg/catalog"
	"github.com/heatsink-dev/heatsink/pkg/partition"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

// review judges the keys: of a table of the catalog, or of the event buffer and what --pattern puts in their place.
func (c *planCommand) review(plan partition.Plan) ([]partition.Review, error) {
	var hottest partition.PPM
	if c.Hottest != nil {
		var err error
		if hottest, err = percentFlag("hottest", *c.Hottest); err != nil {
			return nil, err
		}
	}
	var collection int64
	if c.CollectionBytes != nil {
		if !c.LSI {
			return nil, usage("--collection-bytes: needs --lsi")
		}
		collection = *c.CollectionBytes
	}
	base := partition.KeyDesign{
		Item: plan.Workload.Item, PeakWrites: plan.Workload.PeakWrites, UsableWrites: plan.Workload.UsableWrites, HeadroomPercent: plan.Workload.HeadroomPercent,
		HottestShare: hottest, LSI: c.LSI, CollectionBytes: partition.Bytes(collection),
	}
	designs, guessed, err := c.designs(base, plan)
	if err != nil {
		return nil, err
	}
	var reviews []partition.Review
	for _, design := range designs {
		review, err := design.Review()
		if err != nil {
			return nil, planFault(err)
		}
		for _, attribute := range guessed {
			mark := func(described string) string {
				if strings.HasPrefix(described, attribute+" = ") {
					return described + " (guessed from its name)"
				}
				return described
			}
			review.PartitionKey, review.SortKey = mark(review.PartitionKey), mark(review.SortKey)
		}
		reviews = append(reviews, review)
	}
	return reviews, nil
}

// designs are the tables and indexes to review; guessed are the attributes whose patterns come from their names alone.
func (c *planCommand) designs(base partition.KeyDesign, plan partition.Plan) (designs []partition.KeyDesign, guessed []string, err error) {
	known := c.known(plan.Shards)
	patterns := map[string]partition.Pattern{}
	pattern := func(attribute string) (partition.Pattern, error) {
		text, given := c.Pattern[attribute]
		if !given {
			text, given = known[attribute]
		}
		if !given {
			if text, given = partition.GuessPattern(attribute); !given {
				return partition.Pattern{}, nil
			}
			guessed = append(guessed, attribute)
		}
		parsed, err := partition.ParsePattern(text)
		if err != nil {
			return parsed, usage("--pattern: %s: %s", attribute, err)
		}
		patterns[attribute] = parsed
		return parsed, nil
	}
	add := func(design partition.KeyDesign, partitionKey, sortKey string) error {
		design.PartitionKey, design.SortKey = partitionKey, sortKey
		var err error
		if design.Partition, err = pattern(partitionKey); err != nil {
			return err
		}
		patterns[partitionKey] = design.Partition
		if sortKey != "" {
			if design.Sort, err = pattern(sortKey); err != nil {
				return err
			}
			patterns[sortKey] = design.Sort
		}
		designs = append(designs, design)
		return nil
	}

	if c.Table == nil {
		base.Name = "event buffer"
		err = add(base, "partition", "sort")
	} else {
		err = c.catalogDesigns(base, plan, add)
	}
	if err != nil {
		return nil, nil, err
	}
	for attribute := range c.Pattern {
		if _, used := patterns[attribute]; !used {
			return nil, nil, usage("--pattern: %q is no key attribute here; there are: %s", attribute, strings.Join(slices.Sorted(maps.Keys(patterns)), ", "))
		}
	}
	return designs, guessed, nil
}

// known are the patterns of the event buffer's keys.
func (c *planCommand) known(shards int64) map[string]string {
	sharded, ordered := fmt.Sprintf("{date}#{shard:%d}", shards), "{ms}{random}"
	if c.Table == nil {
		return map[string]string{"partition": sharded, "sort": ordered}
	}
	return map[string]string{
		"message_pk": sharded, "pending_message_pk": sharded, "failed_pending_message_pk": sharded,
		"message_sk": ordered, "pending_message_sk": ordered, "failed_pending_message_sk": ordered,
		"managedKey": "{ms}",
	}
}

// catalogDesigns adds the table and each of its indexes.
func (c *planCommand) catalogDesigns(base partition.KeyDesign, plan partition.Plan, add func(design partition.KeyDesign, partitionKey, sortKey string) error) error {
	tables, err := catalog.Load()
	if err != nil {
		return err
	}
	table, ok := tables.Table(*c.Table)
	if !ok {
		var names []string
		for _, table := range tables.Tables() {
			names = append(names, table.Name)
		}
		return usage("--table: there is no table %q; the catalog has: %s", *c.Table, strings.Join(names, ", "))
	}
	design := base
	design.Name = "table " + table.Name
	if err := add(design, table.PartitionKey.Name, table.SortKey.Name); err != nil {
		return err
	}
	for _, index := range table.Indexes {
		design := base
		design.Name, design.GSI, design.LSI, design.CollectionBytes = "index "+index.Name, index.Build.Has(schema.GSI), false, 0
		design.Item = plan.Workload.Entry(projectionOf(index.Projection.Kind))
		sortKey := ""
		if len(index.SortKey) > 0 {
			sortKey = index.SortKey[0].Name
		}
		if err := add(design, index.PartitionKey.Name, sortKey); err != nil {
			return err
		}
	}
	return nil
}

func projectionOf(kind schema.ProjectionKind) partition.Projection {
	switch kind {
	case schema.KeysOnly:
		return partition.KeysOnly
	case schema.Include:
		return partition.Include
	case schema.All:
		return partition.All
	default:
		return partition.All
	}
}
