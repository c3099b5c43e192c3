package indexjobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/indexsync"
	"github.com/heatsink-dev/heatsink/pkg/redrive"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

// Client is what the functions need of DynamoDB: *dynamodb.Client.
type Client interface {
	ddb.Putter
	indexsync.TableDescriber
}

// SourceConfig says how the tables of a catalog are kept.
type SourceConfig struct {
	Catalog *schema.Catalog
	// Deployed gives the deployed name of a table by its name in the catalog.
	Deployed func(logical string) string
	Client   Client
	Park     indexsync.Parker
	// PartialBatch says that the mapping reports item failures, see [indexsync.Config].
	PartialBatch bool
	// Patience is how long a batch tries again what failed for a passing reason, see [indexsync.Config].
	Patience time.Duration
}

// source is a table whose change stream feeds index tables.
type source struct {
	logical, deployed string
	syncer            *indexsync.Syncer
}

// Sources are the tables whose change streams feed index tables.
type Sources struct{ list []source }

// NewSources makes a syncer for each such table of the catalog. Its error joins the faults of all of them. It makes no request.
func NewSources(config SourceConfig) (*Sources, error) {
	sources := &Sources{}
	var faults []error
	for _, table := range config.Catalog.Tables() {
		indexes := table.StreamIndexes()
		if len(indexes) == 0 {
			continue
		}
		var targets []indexsync.Target
		for _, index := range indexes {
			targets = append(targets, indexsync.Target{Index: index, Table: config.Deployed(index.TableName())})
		}
		deployed := config.Deployed(table.Name)
		syncer, err := indexsync.New(indexsync.Config{
			Source: table, Targets: targets, Writer: config.Client, Park: config.Park, PartialBatch: config.PartialBatch, Patience: config.Patience,
		})
		if err != nil {
			faults = append(faults, fmt.Errorf("table %s: %w", table.Name, err))
			continue
		}
		sources.list = append(sources.list, source{logical: table.Name, deployed: deployed, syncer: syncer})
	}
	if len(sources.list) == 0 && len(faults) == 0 {
		faults = append(faults, errors.New("indexjobs: no table of the catalog has an index table"))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return sources, nil
}

// Check refuses deployed tables that must not be indexed: see [indexsync.Syncer.CheckStream]. One DescribeTable request for each source.
func (s *Sources) Check(ctx context.Context, client indexsync.TableDescriber) error {
	var faults []error
	for _, source := range s.list {
		faults = append(faults, source.syncer.CheckStream(ctx, client, source.deployed))
	}
	return errors.Join(faults...)
}

// of finds the source of a batch. With one source there is nothing to find, so that a batch whose records cannot be read still reaches it.
func (s *Sources) of(payload []byte) (source, error) {
	if len(s.list) == 1 {
		return s.list[0], nil
	}
	var event struct {
		Records []struct {
			EventSourceARN string `json:"eventSourceARN"`
		}
	}
	if err := json.Unmarshal(payload, &event); err != nil {
		return source{}, errors.New("indexjobs: the payload is no stream event")
	}
	for _, record := range event.Records {
		for _, source := range s.list {
			if source.owns(record.EventSourceARN) {
				return source, nil
			}
		}
	}
	return source{}, errForeign
}

// Syncer finds the syncer of a stream by its ARN, as package redrive asks for it: a stream of another table is a [*redrive.ForeignError]. With one source, an ARN that names no
// table may be taken for its own.
func (s *Sources) Syncer(streamARN string) (*indexsync.Syncer, error) {
	table := indexsync.StreamTable(streamARN)
	if len(s.list) == 1 && table == "" {
		return s.list[0].syncer, nil
	}
	for _, source := range s.list {
		if source.owns(streamARN) {
			return source.syncer, nil
		}
	}
	return nil, &redrive.ForeignError{Table: table}
}

// errForeign says that records are not of any source.
var errForeign = errors.New("indexjobs: the records come from no table with index tables here")

// owns reports whether a stream is this table's.
func (s *source) owns(streamARN string) bool {
	return indexsync.StreamTable(streamARN) == s.deployed
}
