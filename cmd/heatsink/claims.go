package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/schollz/progressbar/v3"

	"github.com/heatsink-dev/heatsink/cmd/heatsink/deployment"
	"github.com/heatsink-dev/heatsink/pkg/backfill"
	"github.com/heatsink-dev/heatsink/pkg/catalog"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/edge"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

type claimsCommand struct {
	Scan     claimsScanCommand     `cmd:"" help:"Find names that several users have, and names that cannot be claimed. Writes to no table."`
	Backfill claimsBackfillCommand `cmd:"" help:"Write the claims of users who were there first, while others go on."`
	Verify   claimsVerifyCommand   `cmd:"" help:"Prove that claims and users point at each other."`
}

// claimsFlags are of all three.
type claimsFlags struct {
	Outputs     string        `help:"CDK outputs file, to find the tables in. Without it the functions' environment variables (HEATSINK_TABLE_...) are read." type:"path" placeholder:"FILE"`
	UserTable   string        `help:"Deployed name of the user table, if not the deployment's own." placeholder:"NAME"`
	ClaimTable  string        `help:"Deployed name of the claim table, if not the deployment's own." placeholder:"NAME"`
	Segments    int           `help:"Segments that a table is read in at once, 1 to 256." default:"8"`
	Concurrency int           `help:"Users that are worked on at once, 1 to 256." default:"16"`
	Patience    time.Duration `help:"How long one request is tried again while DynamoDB throttles it, 1s to 9m." default:"5m"`
	Temp        string        `help:"Folder for names while they are compared: about 50 bytes for each." type:"path" placeholder:"FOLDER"`
	JSON        bool          `help:"Print JSON, without a progress bar."`
}

// tables finds the deployed names.
func (f *claimsFlags) tables(console *console, claims bool) (user, claim string, err error) {
	deployed := console.lookup
	if f.Outputs != "" {
		if err := readable(f.Outputs); err != nil {
			return "", "", err
		}
		found, err := deployment.Load(f.Outputs)
		if err != nil {
			return "", "", err
		}
		deployed = found.Environment
	}
	user, claim = f.UserTable, f.ClaimTable
	for _, name := range []struct {
		to      *string
		logical string
		flag    string
		needed  bool
	}{{&user, catalog.UserTable, "--user-table", true}, {&claim, catalog.ClaimTable, "--claim-table", claims}} {
		if *name.to == "" {
			*name.to, _ = deployed(schema.TableEnv(name.logical))
		}
		if *name.to == "" && name.needed {
			return "", "", usage("which %s table? Give --outputs with a CDK outputs file, or %s, or set %s", name.logical, name.flag, schema.TableEnv(name.logical))
		}
	}
	return user, claim, nil
}

// tool checks all flags before anything is asked of AWS.
func (f *claimsFlags) tool(console *console, claims bool, writeUnits float64) (*backfill.Tool, error) {
	if f.Patience < time.Second || f.Patience > 9*time.Minute {
		return nil, usage("--patience: must be 1s to 9m, is %s", f.Patience)
	}
	for flag, value := range map[string]int{"--segments": f.Segments, "--concurrency": f.Concurrency} {
		if limit := backfill.MaxSegments; value < 1 || value > limit {
			return nil, usage("%s: must be 1 to %d, is %d", flag, limit, value)
		}
	}
	if f.Temp != "" {
		if info, err := os.Stat(f.Temp); err != nil || !info.IsDir() {
			return nil, usage("--temp: %s is no folder", f.Temp)
		}
	}
	user, claim, err := f.tables(console, claims)
	if err != nil {
		return nil, err
	}
	aws, err := console.aws()
	if err != nil {
		return nil, err
	}
	aws.HTTPClient = edge.HTTPClient(f.Segments + f.Concurrency)
	config := backfill.Config{
		Client: dynamodb.NewFromConfig(aws, ddb.Metered, quiet), UserTable: user, ClaimTable: claim,
		Segments: f.Segments, Concurrency: f.Concurrency, Patience: f.Patience, TempDir: f.Temp, WriteUnits: writeUnits,
	}
	if !f.JSON {
		config.Progress = claimsProgress(console)
	}
	return backfill.New(config)
}

// claimsProgress draws a bar for each phase on the error output, with rate and remaining time. The number of items is DynamoDB's own, which may be six hours old, so the bar says
// "about", and beside it which segments are done, which is exact.
func claimsProgress(console *console) func(backfill.Progress) {
	var bar *progressbar.ProgressBar
	phase := ""
	return func(p backfill.Progress) {
		about := max(p.About, p.Done, 1)
		if p.Phase != phase {
			if bar != nil {
				_ = bar.Finish()
			}
			phase = p.Phase
			bar = progressbar.NewOptions64(about, progressbar.OptionSetWriter(console.err), progressbar.OptionShowCount(), progressbar.OptionShowIts(),
				progressbar.OptionSetItsString("items"), progressbar.OptionSetPredictTime(true), progressbar.OptionThrottle(100*time.Millisecond),
				progressbar.OptionClearOnFinish())
		}
		if p.Segments > 0 {
			bar.Describe(fmt.Sprintf("%s: %d of %d segments, of about", p.Phase, p.SegmentsDone, p.Segments))
		} else {
			bar.Describe(p.Phase)
		}
		if p.Segments > 0 && p.SegmentsDone < p.Segments {
			about = max(about, p.Done+1) // not finished before it is, however old the count
		}
		bar.ChangeMax64(about)
		_ = bar.Set64(p.Done)
	}
}

// reported runs a step with a report that appears, complete, when the step has ended well.
func reported(path string, step func(backfill.Sink) error) (err error) {
	if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
		return usage("--report: %s is no folder", filepath.Dir(path))
	}
	report, err := backfill.CreateReport(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, report.Discard()) }()
	if err := step(report.Add); err != nil {
		return err
	}
	return report.Commit()
}

type claimsScanCommand struct {
	claimsFlags
	Report string `help:"File for what is found, a finding in JSON on each line. It holds user ids and names." type:"path" default:"claims-scan.jsonl" placeholder:"FILE"`
}

// Help shows examples.
func (claimsScanCommand) Help() string {
	return `Names are compared in mapped form, as a sign-up maps them: "Ａlice" and "alice" are one nickname, and so are "A@x.com" and "a@X.com" one address. A finding is read
again, strongly consistent, before it is called a duplicate. Memory stays below 512 MB, whatever the size of the table; names are compared in files.

Examples:

    heatsink claims scan --outputs cdk.out/outputs.json
    heatsink claims scan --user-table User-prod --report found.jsonl --segments 32
    heatsink claims scan --outputs .local/outputs.json --json

Exit code 1: there are duplicates, or names that cannot be mapped; the report lists them.`
}

// Run scans.
func (c *claimsScanCommand) Run(console *console) error {
	tool, err := c.tool(console, false, 0)
	if err != nil {
		return err
	}
	var result backfill.ScanResult
	err = reported(c.Report, func(sink backfill.Sink) (err error) {
		result, err = tool.Scan(console.ctx, sink)
		return err
	})
	if err != nil {
		return interrupted(console, err)
	}
	if c.JSON {
		if err := console.json(struct {
			backfill.ScanResult
			Report string `json:"report"`
		}{result, c.Report}); err != nil {
			return err
		}
	} else {
		console.printf("%d users, %d names: %d duplicates (%d users), %d that cannot be mapped\nreport: %s\n",
			result.Users, result.Names, result.Duplicates, result.InDuplicates, result.Unmappable, c.Report)
	}
	if !result.Clean() {
		return fmt.Errorf("%d names cannot be claimed as they are: see %s", result.Duplicates+result.Unmappable, c.Report)
	}
	return nil
}

type claimsBackfillCommand struct {
	claimsFlags
	Checkpoint   string  `help:"File that the run goes on from; made if it is not there. Beside it: FILE.findings.jsonl, FILE.rejected.jsonl." type:"path" required:"" placeholder:"FILE"`
	WriteUnits   float64 `help:"Write units a second at most, by what DynamoDB says was consumed, indexes included. 0: no limit." default:"0"`
	SkipFindings bool    `help:"Go on although the scan finds names that cannot be claimed: they are left out, and everybody else is done."`
}

// Help shows examples.
func (claimsBackfillCommand) Help() string {
	return `First the whole table is scanned, as "claims scan" does. If there are duplicates or names that cannot be mapped, it stops there with exit code 1, and nothing is written:
resolve them, and start again. With --skip-findings all others get their claims, and of those who share a name nobody does: the tool never chooses.

Then every user without its claims gets them, in one transaction with the user, which holds only while the user is as it was read: live users may sign up, rename and
withdraw all the while. A claim that a live user took meanwhile is kept, and reported. Killed at any point, it goes on from the checkpoint, which is bound to both tables and the
number of segments. One run at a time for each checkpoint.

Examples:

    heatsink claims backfill --outputs cdk.out/outputs.json --checkpoint claims.json --write-units 500
    heatsink claims backfill --user-table User-prod --claim-table Claim-prod --checkpoint claims.json --segments 32 --concurrency 64
    heatsink claims backfill --outputs .local/outputs.json --checkpoint claims.json --skip-findings --json

Exit code 1: something was found first, could not be claimed, or the run did not get to its end; start it again to go on.`
}

// Run writes claims.
func (c *claimsBackfillCommand) Run(console *console) error {
	if !(c.WriteUnits >= 0) || math.IsInf(c.WriteUnits, 0) {
		return usage("--write-units: must be 0 or more, is %g", c.WriteUnits)
	}
	if info, err := os.Stat(filepath.Dir(c.Checkpoint)); err != nil || !info.IsDir() {
		return usage("--checkpoint: %s is no folder", filepath.Dir(c.Checkpoint))
	}
	tool, err := c.tool(console, true, c.WriteUnits)
	if err != nil {
		return err
	}
	result, err := tool.Backfill(console.ctx, backfill.Options{Checkpoint: c.Checkpoint, SkipFindings: c.SkipFindings})
	if bad, ok := errors.AsType[*backfill.CheckpointError](err); ok {
		return usage("--checkpoint: %s", bad)
	}
	if c.JSON {
		if err := console.json(struct {
			backfill.Result
			Findings      string `json:"findingsFile"`
			RejectedUsers string `json:"rejectedFile"`
		}{result, c.Checkpoint + backfill.FindingsSuffix, c.Checkpoint + backfill.RejectedSuffix}); err != nil {
			return err
		}
	} else {
		console.printf("%d users read = %d written + %d skipped (%d without a name, %d with all claims, %d gone) + %d rejected\n%d claims written, %d there already, %d rejected\n",
			result.Read, result.Written, result.Skipped, result.NoName, result.Held, result.Gone, result.Rejected,
			result.ClaimsWritten, result.ClaimsHeld, result.ClaimsRejected)
	}
	switch {
	case errors.Is(err, backfill.ErrFindings):
		return err
	case err != nil && !result.Finished:
		return fmt.Errorf("not finished: %w; start it again with the same checkpoint to go on", interrupted(console, err))
	case err != nil:
		return err
	case result.Rejected > 0:
		return fmt.Errorf("%d users were rejected: see %s", result.Rejected, c.Checkpoint+backfill.RejectedSuffix)
	default:
		return nil
	}
}

type claimsVerifyCommand struct {
	claimsFlags
	Report     string  `help:"File for what is found, a finding in JSON on each line. It holds user ids and names." type:"path" default:"claims-verify.jsonl" placeholder:"FILE"`
	Repair     bool    `help:"Delete claims without their user, and write those that users lack. Everything else needs a person."`
	WriteUnits float64 `help:"Write units a second that repairs take at most. 0: no limit." default:"0"`
}

// Help shows examples.
func (claimsVerifyCommand) Help() string {
	return `Every name of every user must have its claim, and every claim its user, in one incarnation. What does not match at first may be a step of a live user between two reads; it is
read again, claim and user at one moment, before it is called a fault. A repair is one transaction, which holds only while the fault does.

Examples:

    heatsink claims verify --outputs cdk.out/outputs.json
    heatsink claims verify --outputs cdk.out/outputs.json --repair --write-units 200
    heatsink claims verify --user-table User-prod --claim-table Claim-prod --json

Exit code 1: there are faults that are not repaired; the report lists all.`
}

// Run verifies.
func (c *claimsVerifyCommand) Run(console *console) error {
	if !(c.WriteUnits >= 0) || math.IsInf(c.WriteUnits, 0) {
		return usage("--write-units: must be 0 or more, is %g", c.WriteUnits)
	}
	tool, err := c.tool(console, true, c.WriteUnits)
	if err != nil {
		return err
	}
	var result backfill.VerifyResult
	err = reported(c.Report, func(sink backfill.Sink) (err error) {
		result, err = tool.Verify(console.ctx, backfill.VerifyOptions{Repair: c.Repair}, sink)
		return err
	})
	if err != nil {
		return interrupted(console, err)
	}
	if c.JSON {
		if err := console.json(struct {
			backfill.VerifyResult
			Report string `json:"report"`
		}{result, c.Report}); err != nil {
			return err
		}
	} else {
		console.printf("%d users, %d claims: %d faults, %d of them repaired\n", result.Users, result.Claims, result.Found, result.Repaired)
		for _, kind := range backfill.FaultKinds() {
			if n := result.Faults[kind]; n > 0 {
				console.printf("  %-11s %d\n", kind, n)
			}
		}
		console.printf("report: %s\n", c.Report)
	}
	if !result.Whole() {
		return fmt.Errorf("%d faults are not repaired: see %s", result.Found-result.Repaired, c.Report)
	}
	return nil
}
