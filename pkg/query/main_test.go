package query_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain keeps the properties on the real engine short; -rapid.checks makes them as long as one likes.
func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if !given {
		if err := flag.Set("rapid.checks", "25"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
