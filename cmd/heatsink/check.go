package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/smithy-go"

	"github.com/heatsink-dev/heatsink/pkg/catalog"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

type checkCommand struct {
	Deployed bool `help:"Compare the GSIs with those of the deployed stack: CloudFormation adds or deletes one of a table per update."`
	JSON     bool `help:"Print JSON."`
}

// Help shows examples.
func (checkCommand) Help() string {
	return `Examples:

    heatsink check
    heatsink check --deployed
    heatsink check --deployed --json

Exit code 1: the catalog has faults (each is listed), or the change cannot be deployed at once (it says what to deploy first).`
}

// checked is what is printed.
type checked struct {
	OK      bool           `json:"ok"`
	Faults  []string       `json:"faults,omitempty"`
	Tables  []checkedTable `json:"tables,omitempty"`
	Stack   string         `json:"stack,omitempty"`
	Changes []gsiChange    `json:"changes,omitempty"`
}

type checkedTable struct {
	Name    string         `json:"name"`
	Indexes []checkedIndex `json:"indexes,omitempty"`
}

type checkedIndex struct {
	Name         string   `json:"name"`
	PartitionKey string   `json:"partitionKey"`
	SortKey      []string `json:"sortKey,omitempty"`
	Build        string   `json:"build"`
	Readers      string   `json:"readers"`
	Table        string   `json:"table,omitempty"`
}

type gsiChange struct {
	Table   string   `json:"table"`
	Create  []string `json:"create,omitempty"`
	Delete  []string `json:"delete,omitempty"`
	Rebuild []string `json:"rebuild,omitempty"`
	Updates int      `json:"updates"`
}

// Run checks.
func (c *checkCommand) Run(console *console) error {
	tables, err := catalog.Load()
	found := checked{Faults: faults(err)}
	if err == nil {
		found.Tables = describe(tables)
		if c.Deployed {
			if err := found.compare(console, tables); err != nil {
				return err
			}
		}
	}
	found.OK = len(found.Faults) == 0
	if c.JSON {
		if err := console.json(found); err != nil {
			return err
		}
	} else {
		found.print(console)
	}
	if !found.OK {
		return fmt.Errorf("%d faults: see above", len(found.Faults))
	}
	return nil
}

// faults are the errors that a joined error holds, one a line.
func faults(err error) []string {
	if err == nil {
		return nil
	}
	return strings.Split(err.Error(), "\n")
}

func describe(tables *schema.Catalog) []checkedTable {
	var list []checkedTable
	for _, table := range tables.Tables() {
		shown := checkedTable{Name: table.Name}
		for _, index := range table.Indexes {
			one := checkedIndex{Name: index.Name, PartitionKey: index.PartitionKey.Name, Build: index.Build.String(), Readers: index.Type.String()}
			for _, part := range index.SortKey {
				one.SortKey = append(one.SortKey, part.Name)
			}
			if index.Build.Has(schema.Table) {
				one.Table = index.TableName()
			}
			shown.Indexes = append(shown.Indexes, one)
		}
		list = append(list, shown)
	}
	return list
}

// compare reads the template of the deployed data stack. A stack that does not exist is fine: it is created with everything at once.
func (f *checked) compare(console *console, tables *schema.Catalog) error {
	loaded, err := console.aws()
	if err != nil {
		return err
	}
	f.Stack = schema.DataStack
	answer, err := cloudformation.NewFromConfig(loaded).GetTemplate(console.ctx, &cloudformation.GetTemplateInput{
		StackName: aws.String(schema.DataStack), TemplateStage: types.TemplateStageOriginal,
	})
	if err != nil {
		if refusal, ok := errors.AsType[smithy.APIError](err); ok && refusal.ErrorCode() == "ValidationError" && strings.Contains(refusal.ErrorMessage(), "does not exist") {
			return nil
		}
		return fmt.Errorf("template of stack %s: %w", schema.DataStack, err)
	}
	deployed, err := schema.TemplateGSIs([]byte(aws.ToString(answer.TemplateBody)))
	if err != nil {
		return fmt.Errorf("template of stack %s: %w", schema.DataStack, err)
	}
	for _, change := range tables.GSIChanges(deployed) {
		f.Changes = append(f.Changes, gsiChange{Table: change.Table, Create: change.Create, Delete: change.Delete, Rebuild: change.Rebuild, Updates: change.Steps()})
		f.Faults = append(f.Faults, faults(change.Err())...)
	}
	return nil
}

func (f *checked) print(console *console) {
	for _, table := range f.Tables {
		console.printf("table %s\n", table.Name)
		for _, index := range table.Indexes {
			console.printf("  index %-21s %-10s readers use the %-6s key %s\n", index.Name, index.Build, index.Readers, strings.Join(append([]string{index.PartitionKey}, index.SortKey...), ", "))
		}
	}
	for _, change := range f.Changes {
		console.printf("table %s: GSIs to create %v, to delete %v, to rebuild %v: %d updates\n", change.Table, change.Create, change.Delete, change.Rebuild, change.Updates)
	}
	if f.Stack != "" && len(f.Changes) == 0 {
		console.printf("stack %s: no change of GSIs\n", f.Stack)
	}
	for _, fault := range f.Faults {
		console.printf("fault: %s\n", fault)
	}
	if len(f.Faults) == 0 {
		console.printf("the catalog is sound\n")
	}
}
