package indexjobs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/heatsink-dev/heatsink/pkg/edge"
	"github.com/heatsink-dev/heatsink/pkg/redrive"
)

// RedriveRequest is what function redrive is invoked with. The empty object replays the whole bucket.
type RedriveRequest struct {
	// Prefix limits the run to objects below it.
	Prefix string `json:"prefix"`
	// After skips all keys up to this one: the "last" of an answer that says "stopped".
	After string `json:"after"`
	// DryRun reads, builds the rows and reports what would become of each object; it writes and deletes nothing.
	DryRun bool `json:"dryRun"`
	// Keep leaves objects that are done in the bucket.
	Keep bool `json:"keep"`
}

// RedriveAnswer is a [redrive.Report] as JSON.
type RedriveAnswer struct {
	Objects     int              `json:"objects"`
	Done        int              `json:"done"`
	ToReplay    int              `json:"toReplay"` // in a dry run, what would be done
	Refused     int              `json:"refused"`
	StillPoison int              `json:"stillPoison"`
	Failed      int              `json:"failed"`
	Deleted     int              `json:"deleted"`
	Records     int              `json:"records"`
	Problems    []RedriveProblem `json:"problems,omitempty"`
	Stopped     bool             `json:"stopped"`
	Last        string           `json:"last,omitempty"`
}

// RedriveProblem is an object that is not done.
type RedriveProblem struct {
	Key       string `json:"key"`
	Outcome   string `json:"outcome"`
	Condition string `json:"condition,omitempty"`
	Reason    string `json:"reason"`
}

// NewRedriveAnswer writes a report as an answer.
func NewRedriveAnswer(report redrive.Report) RedriveAnswer {
	answer := RedriveAnswer{
		Objects: report.Objects, Done: report.Done, ToReplay: report.ToReplay, Refused: report.Refused, StillPoison: report.StillPoison, Failed: report.Failed, Deleted: report.Deleted,
		Records: report.Records, Stopped: report.Stopped, Last: report.Last,
	}
	for _, object := range report.Problems {
		answer.Problems = append(answer.Problems, RedriveProblem{Key: object.Key, Outcome: object.Outcome.String(), Condition: object.Condition, Reason: object.Reason})
	}
	return answer
}

// Redrive answers an operator's invocation.
type Redrive struct {
	redriver *redrive.Redriver
	Reporting
}

// NewRedrive over a redriver.
func NewRedrive(redriver *redrive.Redriver, reporting Reporting) *Redrive {
	return &Redrive{redriver: redriver, Reporting: reporting.withDefaults()}
}

// Handle is the Lambda handler. A field that it does not know is an error, and nothing is done then. Objects that are not done are in the answer.
func (r *Redrive) Handle(ctx context.Context, payload json.RawMessage) (RedriveAnswer, error) {
	request, err := readRedriveRequest(payload)
	if err != nil {
		return RedriveAnswer{}, err
	}
	started := r.Now()
	report, err := r.redriver.Run(ctx, redrive.Options{Prefix: request.Prefix, After: request.After, DryRun: request.DryRun, Keep: request.Keep})
	attrs := append([]slog.Attr{
		slog.Bool("dryRun", request.DryRun), slog.Int("objects", report.Objects), slog.Int("done", report.Done), slog.Int("toReplay", report.ToReplay), slog.Int("refused", report.Refused),
		slog.Int("stillPoison", report.StillPoison), slog.Int("failed", report.Failed), slog.Int("deleted", report.Deleted), slog.Int("replayed", report.Records),
		slog.Bool("stopped", report.Stopped), slog.Float64("elapsedMs", float64(r.Now().Sub(started).Microseconds())/1000),
	}, statsAttrs(report.Stats)...)
	level := slog.LevelInfo
	if err != nil {
		level = slog.LevelError
		attrs = append(attrs, slog.Any("error", err))
	}
	r.Logger.LogAttrs(ctx, level, "redrive", attrs...)
	r.emit(ctx, nil,
		edge.Metric{Name: "RedrivenObjects", Unit: edge.Count, Value: float64(report.Done)},
		edge.Metric{Name: "RedriveProblems", Unit: edge.Count, Value: float64(report.Objects - report.Done - report.ToReplay)})
	r.stats(ctx, report.Stats)
	return NewRedriveAnswer(report), err
}

func readRedriveRequest(payload json.RawMessage) (RedriveRequest, error) {
	var request RedriveRequest
	decoder := json.NewDecoder(bytes.NewReader(payload))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&request); err != nil {
		return request, fmt.Errorf("redrive takes {\"prefix\",\"after\",\"dryRun\",\"keep\"}, all optional: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return request, errors.New("redrive takes one JSON object")
	}
	return request, nil
}
