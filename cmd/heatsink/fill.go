package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/schollz/progressbar/v3"

	"github.com/heatsink-dev/heatsink/cmd/heatsink/deployment"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/edge"
	"github.com/heatsink-dev/heatsink/pkg/indexsync"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

type fillCommand struct {
	Index    string `arg:"" help:"Name of an index in the catalog that is built as a table."`
	Outputs  string `help:"CDK outputs file, to find the tables in. Without it the functions' environment variables (HEATSINK_TABLE_...) are read." type:"path" placeholder:"FILE"`
	Segments int    `help:"Segments that the base table is read in at once, 1 to 256." default:"4"`
	JSON     bool   `help:"Print JSON, without a progress bar."`
}

// Help shows examples.
func (fillCommand) Help() string {
	return `Fills an index table with what its base table held before the index was there: such items have no record in the change stream. Deploy first: the indexer must be running
before the fill begins, and it is once the index table is deployed, so that every change during the fill is in the stream. What the stream has written or writes, rows and removals, always wins
over the fill. Run it any number of times, and again after an interruption: what is there is kept.

It reads the whole base table, strongly consistent, and writes each row at most once.

Examples:

    heatsink fill team-status --outputs cdk.out/outputs.json
    heatsink fill managed --outputs cdk.out/outputs.json --segments 16
    heatsink fill managed --outputs .local/outputs.json --json

Exit code 1: an item can have no row (more than 400 KB, or without its version attribute), or the fill did not get to its end; start it again.`
}

// Run fills.
func (c *fillCommand) Run(console *console) error {
	index, err := findIndex(c.Index)
	if err != nil {
		return err
	}
	if !index.Build.Has(schema.Table) {
		return usage("index %s has no table to fill: it is built as %s only, and DynamoDB fills a GSI itself", c.Index, index.Build)
	}
	if c.Segments < 1 || c.Segments > indexsync.MaxFillSegments {
		return usage("--segments: must be 1 to %d, is %d", indexsync.MaxFillSegments, c.Segments)
	}
	source, table, err := c.tables(console, index)
	if err != nil {
		return err
	}
	loaded, err := console.aws()
	if err != nil {
		return err
	}
	loaded.HTTPClient = edge.HTTPClient(c.Segments * indexsync.FillPuts)
	config := indexsync.FillConfig{
		Client: dynamodb.NewFromConfig(loaded, ddb.Metered, quiet, func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} }),
		Target: indexsync.Target{Index: index, Table: table}, Source: source, Segments: c.Segments,
	}
	if !c.JSON {
		config.Progress = fillProgress(console)
	}
	report, err := indexsync.Fill(console.ctx, config)
	if c.JSON {
		if err := console.json(report); err != nil {
			return err
		}
	} else {
		console.printf("%d items read = %d written + %d kept + %d not indexed + %d rejected\n", report.Read, report.Written, report.Kept, report.NotIndexed, report.Rejected)
	}
	switch {
	case err != nil:
		return fmt.Errorf("not finished: %w; start it again", interrupted(console, err))
	case report.Rejected > 0:
		return fmt.Errorf("%d items have no row; one of them: %s", report.Rejected, report.Reason)
	default:
		return nil
	}
}

// tables finds the deployed names of the base table and the index table.
func (c *fillCommand) tables(console *console, index *schema.Index) (source, table string, err error) {
	if c.Outputs != "" {
		if err := readable(c.Outputs); err != nil {
			return "", "", err
		}
		found, err := deployment.Load(c.Outputs)
		if err != nil {
			return "", "", err
		}
		source, faultOfSource := found.Table(index.Source.Name)
		table, faultOfTable := found.Table(index.TableName())
		if missing := errors.Join(faultOfSource, faultOfTable); missing != nil {
			return "", "", usage("%s", missing)
		}
		return source, table, nil
	}
	env := edge.NewEnvironment(console.lookup)
	source, table = env.Table(index.Source.Name), env.Table(index.TableName())
	if missing := env.Err(); missing != nil {
		return "", "", usage("%s\nor give --outputs", missing)
	}
	return source, table, nil
}

// fillProgress draws a bar on the error output, with rate and remaining time. The number of items is DynamoDB's own, which may be six hours old.
func fillProgress(console *console) func(done, about int64) {
	var bar *progressbar.ProgressBar
	return func(done, about int64) {
		about = max(about, done+1) // not finished before it is, however old the count
		if bar == nil {
			bar = progressbar.NewOptions64(about, progressbar.OptionSetWriter(console.err), progressbar.OptionSetDescription("fill, of about"), progressbar.OptionShowCount(),
				progressbar.OptionShowIts(), progressbar.OptionSetItsString("items"), progressbar.OptionSetPredictTime(true), progressbar.OptionThrottle(100*time.Millisecond),
				progressbar.OptionClearOnFinish())
		}
		bar.ChangeMax64(about)
		_ = bar.Set64(done)
	}
}
