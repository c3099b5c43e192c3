package main

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/logging"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/heatsink-dev/heatsink/pkg/catalog"
	"github.com/heatsink-dev/heatsink/pkg/racelab"
)

// exitLeftBehind: what was tried has held, but something that should be gone is still there.
const exitLeftBehind = 3

type labCommand struct {
	Race labRaceCommand `cmd:"" help:"Race for names, the naive way and with claims, and read what is left."`
}

type labRaceCommand struct {
	Lag         *time.Duration `help:"How late the naive way sees what was written: injected. Default: 200ms on a local endpoint, nothing on AWS, whose index lags by itself." placeholder:"DURATION"`
	NoConflicts bool           `help:"Inject no transaction conflicts. Nothing is injected on AWS, which has its own."`
	YesOnAWS    bool           `name:"yes-on-aws" help:"Run against AWS: it makes three tables, and costs money."`
	JSON        bool           `help:"Print JSON."`
}

// Help shows examples.
func (labRaceCommand) Help() string {
	return `Three callers want one name at once; twenty pairs want one name, one right after the other; two callers delete one target at the same time, twenty times over. Once the
naive way (query an index, then put; delete once, and take any error for "done by another"), once with claims and callers that try again. What is left is read strongly
consistent from the base tables. It makes its own tables and deletes them, also when it is interrupted.

The local cloud's index is never behind and its transactions never conflict: both are injected there, and the output says so.

Examples:

    heatsink lab race
    heatsink lab race --lag 50ms --json
    heatsink lab race --lag 0s --no-conflicts

Exit codes: 0 claims held and all is cleaned up; 1 claims did not hold, or it could not be done to the end; 2 bad input; 3 claims held, but tables were left behind.`
}

// Run races.
func (c *labRaceCommand) Run(console *console) error {
	if c.Lag != nil && (*c.Lag < 0 || *c.Lag > time.Minute) {
		return usage("--lag: must be 0s to 1m, is %s", *c.Lag)
	}
	all, err := catalog.Load()
	if err != nil {
		return err
	}
	users, ok := all.Table(catalog.UserTable)
	if !ok {
		return fmt.Errorf("the catalog has no table %s", catalog.UserTable)
	}
	aws, err := console.aws()
	if err != nil {
		return err
	}
	client := dynamodb.NewFromConfig(aws, quiet)
	endpoint := client.Options().BaseEndpoint
	local := endpoint != nil && isLocal(*endpoint)
	config := racelab.Config{Client: client, Users: users, Conflicts: local && !c.NoConflicts, Seed: uint64(time.Now().UnixNano())} //nolint:gosec // any number will do
	switch {
	case c.Lag != nil:
		config.Lag = *c.Lag
	case local:
		config.Lag = 200 * time.Millisecond
	}
	lab, err := racelab.New(config)
	if err != nil {
		return err
	}
	if !local && !c.YesOnAWS {
		where := "AWS, region " + aws.Region
		if endpoint != nil {
			where = *endpoint
		}
		return usage("this would make tables %s at %s and send about %d requests, which costs money: add --yes-on-aws if you mean it, or source .local/env",
			strings.Join(lab.Tables(), ", "), where, lab.Requests())
	}
	report, err := lab.Run(console.ctx)
	if printed := c.print(console, report); printed != nil {
		return errors.Join(err, printed)
	}
	return verdict(report, interrupted(console, err))
}

// verdict keeps the two answers apart: whether claims held, and whether all is cleaned up.
func verdict(report racelab.Report, err error) error {
	left := ""
	if !report.CleanedUp {
		left = "; left behind: " + strings.Join(report.LeftBehind, ", ")
	}
	switch {
	case err != nil:
		return fmt.Errorf("not done to the end: %w%s", err, left)
	case !report.Passed:
		return fmt.Errorf("claims did not hold%s", left)
	case left != "":
		return &codeError{exitLeftBehind, "claims held" + left}
	default:
		return nil
	}
}

// quiet drops the SDK's own lines, which would stand in the middle of a table or of a progress bar: every error is returned as well.
func quiet(o *dynamodb.Options) { o.Logger = logging.Nop{} }

// interrupted says in one word what a cancelled call says in many.
func interrupted(console *console, err error) error {
	if err != nil && console.ctx.Err() != nil {
		return errors.New("interrupted")
	}
	return err
}

// isLocal reports whether an endpoint is on this machine.
func isLocal(endpoint string) bool {
	address, err := url.Parse(endpoint)
	if err != nil {
		return false
	}
	host := address.Hostname()
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (c *labRaceCommand) print(console *console, report racelab.Report) error {
	if c.JSON {
		return console.json(report)
	}
	writer := table.NewWriter()
	writer.SetOutputMirror(console.out)
	writer.SetStyle(table.StyleLight)
	writer.AppendHeader(table.Row{"experiment", "way", "calls", "wins", "refused", "try again", "leaks", "final state (strongly consistent)"})
	for n, row := range report.Rows {
		if n > 0 && n%2 == 0 {
			writer.AppendSeparator()
		}
		writer.AppendRow(table.Row{row.Experiment, row.Way, row.Calls, row.Wins, row.Refused, row.TryAgains, row.Leaks, row.Final})
	}
	var columns []table.ColumnConfig
	for number := 3; number <= 7; number++ {
		columns = append(columns, table.ColumnConfig{Number: number, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	writer.SetColumnConfigs(columns)
	if len(report.Rows) > 0 {
		writer.Render()
	}
	if report.InjectedLag != "0s" {
		console.printf("injected: the naive way sees its index as it was %s ago; the local cloud's own index is never behind\n", report.InjectedLag)
	}
	if report.InjectedConflicts {
		console.printf("injected: a transaction that meets another one is refused, and 1 time in 4 both are; the local cloud's own transactions never conflict\n")
	}
	console.printf("claims held: %s\ncleaned up:  %s\n", yesNo(report.Passed), yesNo(report.CleanedUp))
	return nil
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}
