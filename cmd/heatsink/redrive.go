package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/schollz/progressbar/v3"

	"github.com/heatsink-dev/heatsink/cmd/heatsink/deployment"
	"github.com/heatsink-dev/heatsink/pkg/catalog"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/edge"
	"github.com/heatsink-dev/heatsink/pkg/indexjobs"
	"github.com/heatsink-dev/heatsink/pkg/indexsync"
	"github.com/heatsink-dev/heatsink/pkg/redrive"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

type redriveCommand struct {
	Outputs string `help:"CDK outputs file, to find bucket and tables in. Without it the functions' environment variables (HEATSINK_...) are read." type:"path" placeholder:"FILE"`
	Bucket  string `help:"Failure bucket, if not the deployment's own."`
	Prefix  string `help:"Only objects below it: aws/lambda/ for what the mapping gave up, heatsink/poison/ for what the indexer parked."`
	After   string `help:"Only objects with a later key: go on where a run stopped." placeholder:"KEY"`
	DryRun  bool   `help:"Say what would be replayed and what would stay; write and delete nothing."`
	Keep    bool   `help:"Leave objects that are done in the bucket."`
	JSON    bool   `help:"Print JSON, without a progress bar."`
}

// Help shows examples.
func (redriveCommand) Help() string {
	return `Replays failure objects through the indexer's own code, any number of times: rows are written by version, so nothing newer is overwritten. An object is deleted
once everything in it is done. Records older than the tombstone retention less an hour are refused, and so are those of other tables, with what to do instead. A record whose row
DynamoDB refuses is done once a later change of its item stands in the row's place.

Examples:

    heatsink redrive --outputs cdk.out/outputs.json --dry-run
    heatsink redrive --outputs cdk.out/outputs.json --prefix heatsink/poison/
    heatsink redrive --outputs .local/outputs.json --keep --json

Exit code 1: something is not done, or with --dry-run would not be; the report says what, and why.`
}

// Run replays.
func (c *redriveCommand) Run(console *console) error {
	deployed, found, bucket, err := c.names(console)
	if err != nil {
		return err
	}
	tables, err := catalog.Load()
	if err != nil {
		return err
	}
	env := edge.NewEnvironment(deployed)
	var absent []error // from the outputs
	need := func(table string) {
		if env.Table(table); found != nil {
			_, err := found.Table(table)
			absent = append(absent, err)
		}
	}
	for _, table := range tables.Tables() {
		for n, index := range table.StreamIndexes() {
			if n == 0 {
				need(table.Name)
			}
			need(index.TableName())
		}
	}
	if missing := errors.Join(absent...); missing != nil {
		return usage("%s", missing)
	}
	if missing := env.Err(); missing != nil {
		return usage("%s\nor give --outputs", missing)
	}
	aws, err := console.aws()
	if err != nil {
		return err
	}
	client, objects := dynamodb.NewFromConfig(aws, ddb.Metered), s3.NewFromConfig(aws, edge.S3Options)
	sources, err := indexjobs.NewSources(indexjobs.SourceConfig{
		Catalog: tables, Deployed: env.Table, Client: client, Park: &indexsync.BucketParker{Bucket: bucket, Client: objects}, PartialBatch: true,
	})
	if err != nil {
		return err
	}
	if err := sources.Check(console.ctx, client); err != nil {
		return err
	}
	redriver, err := redrive.New(redrive.Config{Bucket: bucket, Store: objects, Stream: dynamodbstreams.NewFromConfig(aws), Rows: client, Syncer: sources.Syncer})
	if err != nil {
		return err
	}
	options := redrive.Options{Prefix: c.Prefix, After: c.After, DryRun: c.DryRun, Keep: c.Keep}
	if !c.JSON {
		options.Progress = progress(console)
	}
	report, err := redriver.Run(console.ctx, options)
	if err != nil {
		return errors.Join(err, c.print(console, report))
	}
	return c.print(console, report)
}

// names finds the bucket, and where to look up tables: in the outputs file or in the environment.
func (c *redriveCommand) names(console *console) (deployed func(string) (string, bool), found *deployment.Deployment, bucket string, err error) {
	deployed, bucket = console.lookup, c.Bucket
	if c.Outputs != "" {
		if err := readable(c.Outputs); err != nil {
			return nil, nil, "", err
		}
		if found, err = deployment.Load(c.Outputs); err != nil {
			return nil, nil, "", err
		}
		deployed = found.Environment
	}
	if bucket == "" {
		bucket, _ = deployed(schema.EnvFailureBucket)
	}
	if bucket == "" {
		return nil, nil, "", usage("which bucket? Give --outputs with a CDK outputs file, or --bucket and the functions' variables (%s...)", schema.EnvPrefix)
	}
	return deployed, found, bucket, nil
}

// progress draws a bar with rate and remaining time on the error output.
func progress(console *console) func(n, m int, object redrive.ObjectReport) {
	var bar *progressbar.ProgressBar
	return func(n, m int, _ redrive.ObjectReport) {
		if bar == nil {
			bar = progressbar.NewOptions(m, progressbar.OptionSetWriter(console.err), progressbar.OptionSetDescription("redrive"), progressbar.OptionShowCount(),
				progressbar.OptionShowIts(), progressbar.OptionSetItsString("objects"), progressbar.OptionSetPredictTime(true), progressbar.OptionThrottle(100*time.Millisecond),
				progressbar.OptionClearOnFinish())
		}
		bar.ChangeMax(m)
		_ = bar.Set(n)
	}
}

func (c *redriveCommand) print(console *console, report redrive.Report) error {
	answer := indexjobs.NewRedriveAnswer(report)
	if c.JSON {
		if err := console.json(answer); err != nil {
			return err
		}
	} else {
		if c.DryRun {
			console.printf("%d objects: %d to replay, %d refused, %d still poison, %d failed; %d records to replay; nothing was written or deleted\n",
				answer.Objects, answer.ToReplay, answer.Refused, answer.StillPoison, answer.Failed, answer.Records)
		} else {
			console.printf("%d objects: %d done, %d refused, %d still poison, %d failed; %d records replayed, %d objects deleted\n",
				answer.Objects, answer.Done, answer.Refused, answer.StillPoison, answer.Failed, answer.Records, answer.Deleted)
		}
		for _, problem := range answer.Problems {
			console.printf("  %-12s %s\n               %s\n", problem.Outcome, problem.Key, problem.Reason)
		}
	}
	switch open := answer.Objects - answer.Done - answer.ToReplay; {
	case answer.Stopped:
		return fmt.Errorf("stopped before the end: go on with --after %q", answer.Last)
	case open > 0 && c.DryRun:
		return fmt.Errorf("%d of %d objects would stay: see above", open, answer.Objects)
	case open > 0:
		return fmt.Errorf("%d of %d objects are not done: see above", open, answer.Objects)
	default:
		return nil
	}
}
