package main

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/edge"
	"github.com/heatsink-dev/heatsink/pkg/indexapi"
	"github.com/heatsink-dev/heatsink/pkg/query"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

type explainCommand struct {
	Index      string  `arg:"" help:"Name of an index in the catalog."`
	Partition  *string `help:"Value of the index's partition key." required:"" placeholder:"VALUE"`
	Under      *string `help:"Pin the first part of the sort key, so that the condition is on the second." placeholder:"VALUE"`
	Eq         *string `help:"Equal to." placeholder:"VALUE"`
	Lt         *string `help:"Less than." placeholder:"VALUE"`
	Lte        *string `help:"At most." placeholder:"VALUE"`
	Gt         *string `help:"Greater than." placeholder:"VALUE"`
	Gte        *string `help:"At least." placeholder:"VALUE"`
	Prefix     *string `help:"Begins with (text parts only)." placeholder:"TEXT"`
	Order      *string `help:"asc or desc." placeholder:"ORDER"`
	Limit      *string `help:"Items of a page, 1 to 1000." placeholder:"N"`
	Consistent bool    `help:"Strongly consistent reads (index table only)."`
	Form       string  `help:"Read this form instead of the catalog's: gsi or table." enum:",gsi,table" default:""`
	JSON       bool    `help:"Print JSON."`
}

// Help shows examples.
func (explainCommand) Help() string {
	return `The parameters are those of GET /v1/indexes/{index}/items. Table names are the catalog's; nothing is read.

Examples:

    heatsink explain managed --partition team-1 --gte 1699900000000 --lt 1700000000000
    heatsink explain managed --partition team-1 --eq 1699900000000 --form gsi
    heatsink explain team-status --partition team-1 --under active --prefix 2026- --order desc --json`
}

// plan is what is printed.
type plan struct {
	Index        string            `json:"index"`
	Form         string            `json:"form"`
	Table        string            `json:"table"`
	GSI          string            `json:"gsi,omitempty"`
	Empty        bool              `json:"empty"`
	KeyCondition string            `json:"keyCondition,omitempty"`
	Filter       string            `json:"filter,omitempty"`
	Projection   string            `json:"projection,omitempty"`
	Names        map[string]string `json:"names,omitempty"`
	Values       map[string]string `json:"values,omitempty"`
	Checks       []string          `json:"checks,omitempty"`
	Order        string            `json:"order"`
	Consistent   bool              `json:"consistent"`
	FirstRead    int               `json:"firstRead"`
	MaxReads     int               `json:"maxReads"`
	MaxRows      int               `json:"maxRows"`
}

// Run explains.
func (c *explainCommand) Run(console *console) error {
	index, err := findIndex(c.Index)
	if err != nil {
		return err
	}
	// The read is parsed as the API would, with one difference: the form may be chosen.
	chosen := *index
	if form := map[string]schema.Form{"gsi": schema.GSI, "table": schema.Table}[c.Form]; form != 0 {
		if !index.Build.Has(form) {
			return usage("--form: index %s is built as %s only", c.Index, index.Build)
		}
		chosen.Type = form
	}
	request, err := indexapi.Request(&chosen, c.parameters())
	if err != nil {
		if problem, ok := errors.AsType[*edge.Problem](err); ok {
			return usage("--%s", problem.Detail)
		}
		return err
	}
	built, err := query.Explain(&chosen, chosen.Source.Name, tableName(&chosen), request)
	if err != nil {
		if bad, ok := errors.AsType[*query.RequestError](err); ok {
			return usage("%s: %s", strings.ToLower(bad.Field), bad.Reason)
		}
		return err
	}
	shown := show(c.Index, built)
	if c.JSON {
		return console.json(shown)
	}
	shown.print(console)
	return nil
}

func tableName(index *schema.Index) string {
	if !index.Build.Has(schema.Table) {
		return ""
	}
	return index.TableName()
}

func (c *explainCommand) parameters() edge.Parameters {
	parameters := edge.Parameters{}
	for name, value := range map[string]*string{
		"partition": c.Partition, "under": c.Under, "eq": c.Eq, "lt": c.Lt, "lte": c.Lte, "gt": c.Gt, "gte": c.Gte, "prefix": c.Prefix, "order": c.Order, "limit": c.Limit,
	} {
		if value != nil {
			parameters[name] = *value
		}
	}
	if c.Consistent {
		parameters["consistent"] = "true"
	}
	return parameters
}

func show(index string, built query.Plan) plan {
	shown := plan{
		Index: index, Form: built.Form.String(), Table: built.Table, GSI: built.Index, Empty: built.Empty, KeyCondition: built.KeyCondition, Filter: built.Filter,
		Projection: built.Projection, Names: built.Names, Checks: built.Checks, Order: "asc", Consistent: built.Consistent,
		FirstRead: built.FirstRead, MaxReads: built.Budget.Pages, MaxRows: built.Budget.Evaluated,
	}
	if built.Descending {
		shown.Order = "desc"
	}
	for name, value := range built.Values {
		if shown.Values == nil {
			shown.Values = map[string]string{}
		}
		shown.Values[name] = valueText(value)
	}
	return shown
}

// valueText shows an operand with its type: S "text", N 5.
func valueText(value types.AttributeValue) string {
	text, err := ddb.EncodeItem(ddb.Item{"v": value})
	if err != nil {
		return "?"
	}
	return strings.TrimSuffix(strings.TrimPrefix(string(text), `{"v":`), "}")
}

func (p plan) print(console *console) {
	line := func(name, text string) {
		if text != "" {
			console.printf("%-14s %s\n", name, text)
		}
	}
	line("reads", p.Form+" of index "+p.Index)
	line("table", p.Table)
	line("GSI", p.GSI)
	if p.Empty {
		line("requests", "none: nothing can match")
		return
	}
	line("key condition", p.KeyCondition)
	line("filter", p.Filter)
	line("projection", p.Projection)
	for _, name := range slices.Sorted(maps.Keys(p.Names)) {
		line("  "+name, p.Names[name])
	}
	for _, name := range slices.Sorted(maps.Keys(p.Values)) {
		line("  "+name, p.Values[name])
	}
	for _, check := range p.Checks {
		line("kept only if", check)
	}
	line("order", p.Order)
	if p.Consistent {
		line("consistent", "yes, at twice the read units")
	}
	console.printf("%-14s the first read takes %d rows, later ones what the live ratio asks for; at most %d reads and %d rows a page\n", "pages", p.FirstRead, p.MaxReads, p.MaxRows)
}
