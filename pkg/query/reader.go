package query

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/heatsink-dev/heatsink/pkg/cursor"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/schema"
	"github.com/heatsink-dev/heatsink/pkg/sortkey"
)

// Config of a [Reader].
type Config struct {
	// Client makes the requests: Query on the tables below, and nothing else. Required.
	Client ddb.Querier
	// BaseTable is the deployed name of the index's source, which its GSI is read through. Needed where readers use the GSI.
	BaseTable string
	// IndexTable is the deployed name of the index table. Needed where readers use it. With both names, requests may choose the form.
	IndexTable string
	// Cursors seals and opens cursors. Required.
	Cursors *cursor.Sealer
	// Budget of each call. Zero: [DefaultBudget].
	Budget Budget
	// Now is the clock that Budget.Margin is kept by. Nil: time.Now.
	Now func() time.Time
}

// Reader reads one index. It is immutable and safe for concurrent use.
type Reader struct {
	index  *schema.Index
	config Config
	// parts of the index's sort key, without the base key that closes the codec's.
	parts []sortkey.Part
	base  []schema.Attribute
	// keys are parts and base as a GSI row holds them, in the codec's order.
	keys     []sortkey.Part
	keyNames []string
	// hidden names are in no answer: reserved, those first that each row of an index table has, then private.
	hidden []string
}

// New checks the configuration. It makes no request.
func New(index *schema.Index, config Config) (*Reader, error) {
	if index == nil {
		return nil, errors.New("query: no index")
	}
	fault := func(field, reason string) error {
		return fmt.Errorf("query: index %s: Config.%s %s", index.Name, field, reason)
	}
	switch {
	case config.Client == nil:
		return nil, fault("Client", "is missing")
	case config.Cursors == nil:
		return nil, fault("Cursors", "is missing")
	case index.Type == schema.GSI && config.BaseTable == "":
		return nil, fault("BaseTable", "is missing: readers use the GSI")
	case index.Type == schema.Table && config.IndexTable == "":
		return nil, fault("IndexTable", "is missing: readers use the index table")
	case config.IndexTable != "" && !index.Build.Has(schema.Table):
		return nil, fault("IndexTable", "is set, but the index has no index table")
	}
	var err error
	if config.Budget, err = config.Budget.check(); err != nil {
		return nil, err
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	return newReader(index, config), nil
}

func newReader(index *schema.Index, config Config) *Reader {
	keys := index.Codec.Parts()
	var names []string
	for _, key := range keys {
		names = append(names, key.Name)
	}
	return &Reader{
		index: index, config: config,
		keys: keys, keyNames: names, parts: keys[:len(index.SortKey)], base: index.Source.Key(),
		hidden: append([]string{schema.SortKeyAttribute, schema.VersionAttribute, schema.DeletedAttribute, schema.TTLAttribute}, index.Source.Private...),
	}
}

// Index that the reader reads.
func (r *Reader) Index() *schema.Index { return r.index }

// sortsBy reports whether the attribute is a key of the index itself.
func (r *Reader) sortsBy(name string) bool {
	return name == r.index.PartitionKey.Name || slices.ContainsFunc(r.parts, func(p sortkey.Part) bool { return p.Name == name })
}

// form resolves which form a request reads.
func (r *Reader) form(wanted schema.Form) (schema.Form, error) {
	switch wanted {
	case 0:
		return r.index.Type, nil
	case schema.GSI:
		if r.index.Build.Has(schema.GSI) && r.config.BaseTable != "" {
			return wanted, nil
		}
	case schema.Table:
		if r.config.IndexTable != "" {
			return wanted, nil
		}
	default:
		return 0, badRequest("Form", "must be GSI or TABLE, or left out")
	}
	return 0, badRequest("Form", "index %s is not read as a %s here", r.index.Name, wanted)
}

// wrap names the index in an error of a call.
func (r *Reader) wrap(verb string, err error) error {
	return fmt.Errorf("query: %s index %s: %w", verb, r.index.Name, err)
}
