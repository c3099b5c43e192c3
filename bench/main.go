// Command bench measures heatsink beside its peers: the raw SDK, guregu/dynamo v2, a bare Lambda handler. It prints a table and writes
// results.json. Nothing in it fails for being slow: it measures, and says for each stated limit whether it is met.
//
// What it compares runs in this one process, in turns, against one stub of DynamoDB (package stub) that answers at once or after a fixed time, so that
// what is left is the cost of the code itself. Subjects are one file each, in the list subjects.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"time"

	"github.com/heatsink-dev/heatsink/bench/stub"
)

// subject is one thing to measure. It adds rows to the report.
type subject struct {
	name string
	run  func(ctx context.Context, w *world, r *report) error
}

// subjects in the order of the table. Add a file with a function of that shape, and its line here.
var subjects = []subject{
	{"page", pages},
	{"amplification", amplification},
	{"batch", batches},
	{"claims", claims},
	{"buffer", buffers},
	{"ingest", ingests},
	{"cold start", coldStarts},
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == stub.Argument {
		exit(stub.Main())
	}
	if len(os.Args) == 3 && os.Args[1] == ingestArgument {
		exit(ingestMain(os.Args[2]))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	exit(err)
}

func exit(err error) {
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		os.Exit(0)
	default:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, arguments []string) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	only := flags.String("only", "", "run the subjects whose name matches this regular expression; results.json is left alone then")
	out := flags.String("out", "results.json", "file to write the results to")
	rounds := flags.Int("rounds", 21, "rounds of each comparison, in which the contestants take turns; the table shows medians")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	chosen, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	if *rounds < 1 {
		return fmt.Errorf("-rounds must be at least 1, is %d", *rounds)
	}
	w, err := newWorld(ctx, *rounds)
	if err != nil {
		return err
	}
	results := &report{}
	for _, s := range subjects {
		if !chosen.MatchString(s.name) {
			continue
		}
		began := time.Now()
		if err := s.run(ctx, w, results); err != nil {
			return errors.Join(fmt.Errorf("%s: %w", s.name, err), w.close())
		}
		fmt.Fprintf(os.Stderr, "bench: %s took %s\n", s.name, time.Since(began).Round(time.Second/10))
	}
	results.print(os.Stdout)
	if *only == "" {
		err = results.write(*out)
	}
	return errors.Join(err, w.close())
}
