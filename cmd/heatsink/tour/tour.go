// Package tour shows a deployment at work: it puts real data into the real tables, reads it over HTTP, and checks at each step that what should have
// happened has. It removes its users at the end, and works beside live data: everything it makes is in partitions of its own.
package tour

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/heatsink-dev/heatsink/cmd/heatsink/deployment"
)

// Step is what one step of the tour found.
type Step struct {
	Chapter string  `json:"chapter"`
	Step    string  `json:"step"`
	Held    bool    `json:"held"`
	Found   string  `json:"found"`
	Elapsed float64 `json:"elapsedMs"`
}

// Chapter is a part of the tour that stands alone.
type Chapter struct {
	Title string
	Run   func(context.Context, *Tour) error
}

// chapters in their order. One file each.
func chapters() []Chapter {
	return []Chapter{
		{"Indexes: a base table, its index table in step, exact pages", indexes},
		{"Names: a nickname that two want belongs to one", accounts},
		{"Events: stored by the thousand, read in order from all shards", events},
	}
}

// Config of a tour.
type Config struct {
	Deployment *deployment.Deployment
	AWS        aws.Config
	// Report is called when a chapter begins (with an empty Step) and after each step.
	Report func(Step)
	Now    func() time.Time
	// Patience is how long a step waits for something that happens by itself, such as an index row.
	Patience time.Duration
}

// Tour is one walk through the chapters.
type Tour struct {
	Config
	dynamo  *dynamodb.Client
	http    *deployment.Client
	run     string // tells the data of this walk from that of others
	chapter string
}

// errStep says that a step did not hold. It has been reported.
var errStep = errors.New("a step did not hold")

// Run walks through all chapters. A step that does not hold ends its chapter, not the tour. The error counts such chapters.
func Run(ctx context.Context, config Config) error {
	url, err := config.Deployment.URL()
	if err != nil {
		return err
	}
	t := &Tour{
		Config: config, dynamo: dynamodb.NewFromConfig(config.AWS), http: &deployment.Client{Base: url, Config: config.AWS},
		run: fmt.Sprintf("tour-%x", config.Now().UnixNano()),
	}
	failed := 0
	for _, chapter := range chapters() {
		t.chapter = chapter.Title
		t.Report(Step{Chapter: chapter.Title})
		switch err := chapter.Run(ctx, t); {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
		case errors.Is(err, errStep):
			failed++
		default:
			t.Report(Step{Chapter: chapter.Title, Step: "go on", Found: err.Error()})
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d chapters did not hold", failed, len(chapters()))
	}
	return nil
}

// step runs and reports one step. do says what it found; its error says what did not hold.
func (t *Tour) step(name string, do func() (string, error)) error {
	started := t.Now()
	found, err := do()
	step := Step{Chapter: t.chapter, Step: name, Held: err == nil, Found: found, Elapsed: float64(t.Now().Sub(started).Microseconds()) / 1000}
	if err != nil {
		step.Found = err.Error()
	}
	t.Report(step)
	if err != nil {
		return errStep
	}
	return nil
}

// steps runs steps until one does not hold.
func (t *Tour) steps(list ...func() error) error {
	for _, step := range list {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// wait asks until the answer is yes. What it says last is the error when patience ends.
func (t *Tour) wait(ctx context.Context, ask func() (yes bool, state string, err error)) error {
	ctx, cancel := context.WithTimeout(ctx, t.Patience)
	defer cancel()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		yes, state, err := ask()
		if err != nil {
			return err
		}
		if yes {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("after %s still: %s", t.Patience, state)
		case <-ticker.C:
		}
	}
}
