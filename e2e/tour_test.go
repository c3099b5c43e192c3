package e2e_test

import (
	"testing"
	"time"

	"github.com/heatsink-dev/heatsink/cmd/heatsink/tour"
)

// `heatsink demo` is what a newcomer sees first.
func TestEveryStepOfTheTourHolds(t *testing.T) {
	t.Parallel()
	s := onStage(t)
	steps := 0
	err := tour.Run(t.Context(), tour.Config{Deployment: s.deployed, AWS: s.config, Now: time.Now, Patience: patience, Report: func(step tour.Step) {
		if step.Step == "" {
			return
		}
		steps++
		if !step.Held {
			t.Errorf("%s: %s: %s", step.Chapter, step.Step, step.Found)
		}
	}})
	if err != nil || steps < 12 {
		t.Errorf("%d steps, %v", steps, err)
	}
}
