// Command heatsink is the operator's command line: it checks the catalog, explains reads, takes keys apart, replays failed records, rotates the cursor secret, plans
// capacity, shows races, keeps claims and gives a tour.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr, os.LookupEnv)
	stop()
	os.Exit(code)
}
