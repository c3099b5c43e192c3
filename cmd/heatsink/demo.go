package main

import (
	"fmt"
	"time"

	"github.com/heatsink-dev/heatsink/cmd/heatsink/deployment"
	"github.com/heatsink-dev/heatsink/cmd/heatsink/tour"
)

type demoCommand struct {
	Outputs  string        `help:"CDK outputs file of the deployment." type:"path" default:".local/outputs.json" placeholder:"FILE"`
	Patience time.Duration `help:"How long to wait for something that happens by itself, such as an index row." default:"60s"`
	JSON     bool          `help:"Print one JSON object a step."`
}

// Help shows examples.
func (demoCommand) Help() string {
	return `Writes users into partitions of its own, reads them back over HTTP, checks each step, and removes them at the end. Needs the stacks with auth=none, or credentials that
may call the API and write the User table.

Examples:

    make demo
    heatsink demo --outputs .local/outputs.json
    heatsink demo --outputs cdk.out/outputs.json --json`
}

// Run takes the tour.
func (c *demoCommand) Run(console *console) error {
	if err := readable(c.Outputs); err != nil {
		return usage("%s; deploy first: make up", err)
	}
	deployed, err := deployment.Load(c.Outputs)
	if err != nil {
		return err
	}
	aws, err := console.aws()
	if err != nil {
		return err
	}
	report := func(step tour.Step) {
		mark := "ok  "
		if !step.Held {
			mark = "FAIL"
		}
		switch {
		case c.JSON && step.Step != "":
			_ = console.json(step)
		case c.JSON:
		case step.Step == "":
			console.printf("\n%s\n", step.Chapter)
		default:
			console.printf("  %s %s (%.0f ms)\n       %s\n", mark, step.Step, step.Elapsed, step.Found)
		}
	}
	if err := tour.Run(console.ctx, tour.Config{Deployment: deployed, AWS: aws, Report: report, Now: time.Now, Patience: c.Patience}); err != nil {
		return fmt.Errorf("the tour: %w", err)
	}
	if !c.JSON {
		console.printf("\nEvery step held.\n")
	}
	return nil
}
