package racelab_test

import (
	"fmt"

	"github.com/heatsink-dev/heatsink/pkg/racelab"
)

// The two answers of a lab are apart: a table that is left behind does not change whether claims held.
func ExampleReport() {
	report := racelab.Report{Passed: true, LeftBehind: []string{"heatsink-lab-race-X-claim"}}
	fmt.Println(report.Passed, report.CleanedUp, report.LeftBehind)
	// Output: true false [heatsink-lab-race-X-claim]
}
