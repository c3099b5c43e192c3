package main

import (
	"encoding/base64"
	"errors"
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
		if fault != nil && fault.Part != "" {
			return usage("the text is no key of index %s: part %s: %s", c.Index, fault.Part, err)
		}
		return usage("the text is no key of index %s: it must be %s", c.Index, keyForm(index))
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
