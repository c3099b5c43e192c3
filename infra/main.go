// The CDK application: it reads the context, checks it, and writes the templates. Started by the CDK CLI, from the root of the repository,
// as cdk.json says.
package main

import (
	"fmt"
	"os"

	"github.com/aws/jsii-runtime-go"

	"github.com/heatsink-dev/heatsink/infra/stacks"
	"github.com/heatsink-dev/heatsink/pkg/catalog"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "heatsink infra:", err)
		os.Exit(1)
	}
}

func run() error {
	tables, err := catalog.Load()
	if err != nil {
		return fmt.Errorf("pkg/catalog: %w", err)
	}
	defer jsii.Close()
	app := stacks.NewApp("")
	options, err := stacks.ReadOptions(stacks.Context(app), ".")
	if err != nil {
		return err
	}
	if _, err := stacks.New(app, tables, options); err != nil {
		return err
	}
	app.Synth(nil)
	return nil
}
