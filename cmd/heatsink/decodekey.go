package main

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/heatsink-dev/heatsink/pkg/catalog"
	"github.com/heatsink-dev/heatsink/pkg/schema"
	"github.com/heatsink-dev/heatsink/pkg/sortkey"
)

type decodeKeyCommand struct {
	Index string `arg:"" help:"Name of an index in the catalog."`
	Text  string `arg:"" help:"The text of the attribute SK, as it stands in the index table."`
	JSON  bool   `help:"Print JSON."`
}

// Help shows examples.
func (decodeKeyCommand) Help() string {
	return `Examples:

    heatsink decode-key managed '1699900000000#user-aaa'
    heatsink decode-key team-status 'active#2026-01-31#user-aaa' --json`
}

// keyPart is one part of a decoded key.
type keyPart struct {
	Name  string `json:"name"`
	Kind  string `json:"kind"`
	Value string `json:"value"`
}

// Run prints the parts.
func (c *decodeKeyCommand) Run(console *console) error {
	index, err := findIndex(c.Index)
	if err != nil {
		return err
	}
	if !index.Build.Has(schema.Table) {
		return usage("index %s has no index table, so no such key: it is a GSI", c.Index)
	}
	values, err := index.Codec.Decode(c.Text)
	if err != nil {
		fault, _ := errors.AsType[*sortkey.Error](err)
		for _, part := range index.Codec.Parts() {
			if fault != nil && fault.Reason == sortkey.ReasonMalformed && fault.Part == part.Name {
				return usage("the text is no key of index %s: %s: needs %s", c.Index, part.Name, partForm(part))
			}
		}
		return usage("the text is no key of index %s: it must be %s, %d bytes at most", c.Index, keyForm(index), sortkey.MaxSortKeyBytes)
	}
	for n, part := range index.Codec.Parts() {
		if values[n].String() == "" { // the indexer writes no such row
			return usage("the text is no key of index %s: %s: must not be empty", c.Index, part.Name)
		}
	}
	var parts []keyPart
	for n, part := range index.Codec.Parts() {
		text := values[n].String()
		if part.Kind == sortkey.KindBinary {
			text = base64.StdEncoding.EncodeToString(values[n].Bytes())
		}
		parts = append(parts, keyPart{Name: part.Name, Kind: part.Kind.String(), Value: text})
	}
	if c.JSON {
		return console.json(parts)
	}
	for _, part := range parts {
		console.printf("%-12s %-7s %q\n", part.Name, part.Kind, part.Value)
	}
	return nil
}

// keyForm describes an index's sort key: "managedKey#userId".
func keyForm(index *schema.Index) string {
	var names []string
	for _, part := range index.Codec.Parts() {
		names = append(names, part.Name)
	}
	return strings.Join(names, "#")
}

// partForm describes what a part's text must be.
func partForm(part sortkey.Part) string {
	switch {
	case part.Width > 0:
		return fmt.Sprintf("%d digits", part.Width)
	case part.Kind == sortkey.KindNumber:
		return "a number as the index writes it: p, three digits, a full stop and digits; or 0; or the complement of a negative one"
	case part.Kind == sortkey.KindBinary:
		return "pairs of hexadecimal digits as the index writes them"
	default:
		return "text as the index writes it, with a $ and another character for each blank, #, $ and the like"
	}
}

// findIndex finds an index of the catalog.
func findIndex(name string) (*schema.Index, error) {
	tables, err := catalog.Load()
	if err != nil {
		return nil, err
	}
	if index, known := tables.Index(name); known {
		return index, nil
	}
	names := map[string]bool{}
	for _, table := range tables.Tables() {
		for _, index := range table.Indexes {
			names[index.Name] = true
		}
	}
	return nil, usage("there is no index %q; the catalog has: %s", name, strings.Join(slices.Sorted(maps.Keys(names)), ", "))
}
