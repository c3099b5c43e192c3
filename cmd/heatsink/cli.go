package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/kong"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/heatsink-dev/heatsink/cmd/heatsink/deployment"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // it was tried and did not work, or something is not as it should be
	exitUsage  = 2 // bad input: nothing was done
)

// grammar of the command line.
type grammar struct {
	Check     checkCommand     `cmd:"" help:"Validate the catalog, and say whether it can be deployed."`
	Explain   explainCommand   `cmd:"" help:"Show what a read of an index becomes, without making it."`
	DecodeKey decodeKeyCommand `cmd:"" name:"decode-key" help:"Take the sort key of an index row apart."`
	Redrive   redriveCommand   `cmd:"" help:"Replay the records of the failure bucket."`
	Fill      fillCommand      `cmd:"" help:"Fill an index table with what its base table held before."`
	Cursor    cursorCommand    `cmd:"" help:"Manage the secret that page cursors are sealed with."`
	Plan      planCommand      `cmd:"" help:"Plan an event buffer: shards, partitions, bill, projections, keys."`
	Claims    claimsCommand    `cmd:"" help:"Bring an existing user table under claims, and prove that it is."`
	Lab       labCommand       `cmd:"" help:"Experiments that show why."`
	Demo      demoCommand      `cmd:"" help:"Take a tour through a deployment, on real requests."`
}

// Help is shown below the usage.
func (grammar) Help() string {
	return `Every command that prints data takes --json. Exit codes: 0 done, 1 failed, 2 bad input (nothing was done).

Commands that talk to AWS take region and credentials from the environment, as the AWS CLI does; for the local cloud: source .local/env first.`
}

// usageError is bad input: one line, exit code 2.
type usageError struct{ text string }

// Error is the line.
func (e *usageError) Error() string { return e.text }

func usage(format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...)}
}

// codeError is a failure with an exit code of its own.
type codeError struct {
	code int
	text string
}

// Error is the line.
func (e *codeError) Error() string { return e.text }

// console is what a command works with.
type console struct {
	ctx      context.Context //nolint:containedctx // one run of the program is one call
	out, err io.Writer
	lookup   func(string) (string, bool)
}

// aws loads region and credentials.
func (c *console) aws() (aws.Config, error) {
	loaded, err := config.LoadDefaultConfig(c.ctx)
	if err != nil {
		return loaded, fmt.Errorf("AWS configuration: %w", err)
	}
	if loaded.Region == "" {
		return loaded, usage("no AWS region: set AWS_REGION, or source .local/env for the local cloud")
	}
	return loaded, nil
}

// env is a variable, or "".
func (c *console) env(name string) string {
	value, _ := c.lookup(name)
	return value
}

func (c *console) printf(format string, args ...any) { _, _ = fmt.Fprintf(c.out, format, args...) }

// json prints a value, indented.
func (c *console) json(value any) error {
	encoder := json.NewEncoder(c.out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

// exit carries kong's own wish to end (after --help) out of Parse.
type exit int

// run is the program: everything but the process around it.
func run(ctx context.Context, args []string, out, errOut io.Writer, lookup func(string) (string, bool)) (code int) {
	defer func() {
		switch reason := recover().(type) {
		case nil:
		case exit:
			code = int(reason)
		default:
			panic(reason)
		}
	}()
	parser, err := kong.New(&grammar{},
		kong.Name("heatsink"), kong.Description("Takes the heat off DynamoDB partitions."),
		kong.Writers(out, errOut), kong.Exit(func(code int) { panic(exit(code)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}), kong.UsageOnError(),
	)
	if err != nil {
		_, _ = fmt.Fprintln(errOut, "heatsink:", err)
		return exitFailed
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	if n := slices.IndexFunc(args, func(word string) bool { return !utf8.ValidString(word) }); n >= 0 {
		_, _ = fmt.Fprintf(errOut, "heatsink: argument %d is not UTF-8\n", n+1)
		return exitUsage
	}
	parsed, err := parser.Parse(args)
	if err == nil {
		err = repeated(parsed)
	}
	if err != nil {
		_, _ = fmt.Fprintf(errOut, "heatsink: %s; try: heatsink %s\n", oneLine(err), helpFor(parser, args[0]))
		return exitUsage
	}
	err = parsed.Run(&console{ctx: ctx, out: out, err: errOut, lookup: lookup})
	if err == nil {
		return exitOK
	}
	_, _ = fmt.Fprintln(errOut, "heatsink:", oneLine(err))
	_, bad := errors.AsType[*usageError](err)
	if _, wrong := errors.AsType[*deployment.FileError](err); bad || wrong {
		return exitUsage
	}
	if special, ok := errors.AsType[*codeError](err); ok {
		return special.code
	}
	return exitFailed
}

// helpFor is the help that fits the first word that was typed.
func helpFor(parser *kong.Kong, word string) string {
	if slices.ContainsFunc(parser.Model.Children, func(command *kong.Node) bool { return command.Name == word }) {
		return word + " --help"
	}
	return "--help"
}

// repeated refuses a flag that is given more than once and holds one value: the last would win, silently.
func repeated(parsed *kong.Context) error {
	seen := map[string]bool{}
	for _, step := range parsed.Path {
		if step.Flag == nil || step.Resolved || step.Flag.IsCumulative() {
			continue
		}
		if seen[step.Flag.Name] {
			return usage("--%s is given more than once", step.Flag.Name)
		}
		seen[step.Flag.Name] = true
	}
	return nil
}

// oneLine is an error in one line. Joined errors stand one on each line of their text.
func oneLine(err error) string {
	var parts []string
	for line := range strings.Lines(err.Error()) {
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			parts = append(parts, line)
		}
	}
	return strings.Join(parts, "; ")
}

// readable opens a file that must exist.
func readable(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return usage("%s", err)
	}
	if info.IsDir() {
		return usage("%s is a folder", path)
	}
	return nil
}
