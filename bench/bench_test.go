package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/bench/stub"
)

// TestMain lets the stub's Start run this program as a stub.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == stub.Argument {
		exit(stub.Main())
	}
	os.Exit(m.Run())
}

// TestCountedLimitsAreMet runs the subjects for one round. What they count is the same on every machine, so it is asserted; what they time is not.
func TestCountedLimitsAreMet(t *testing.T) {
	t.Parallel()
	w, err := newWorld(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	r := &report{}
	for _, s := range []subject{{"page", pages}, {"amplification", amplification}, {"batch", batches}} {
		if err := s.run(t.Context(), w, r); err != nil {
			t.Errorf("%s: %v", s.name, err)
		}
	}
	if err := w.close(); err != nil {
		t.Error(err)
	}
	counted := 0
	for n, result := range r.results {
		timed := strings.Contains(result.Unit, "CPU") || result.Unit == "ms" || strings.Contains(result.Unit, "alloc")
		if timed || r.limits[n].met == nil {
			continue
		}
		counted++
		if !r.limits[n].met(result) {
			t.Errorf("%s: %v %s, %s: %v: %s is not met", result.Name, result.Ours, result.Unit, result.PeerName, result.Peer, r.limits[n].text)
		}
	}
	if counted < 11 { // 4 of pages, 6 of amplification, 1 of the batch
		t.Errorf("%d limits are on counts, want 11 or more", counted)
	}
}

// TestColdStartSeesTheFirstPoll starts the bare handler, and a program that ends instead of polling.
func TestColdStartSeesTheFirstPoll(t *testing.T) {
	t.Parallel()
	bare, err := build(t.Context(), t.TempDir(), "bare", ".", "./bare")
	if err != nil {
		t.Fatal(err)
	}
	api, err := newRuntimeAPI()
	if err != nil {
		t.Fatal(err)
	}
	defer api.close()
	environment := []string{"AWS_LAMBDA_RUNTIME_API=" + api.address}
	for range 2 {
		if took, err := api.start(t.Context(), bare, environment); err != nil || took <= 0 {
			t.Errorf("start = %v, %v", took, err)
		}
	}
	if _, err := api.start(t.Context(), &program{name: "false", path: "/usr/bin/false"}, environment); err == nil || !strings.Contains(err.Error(), "false ended before its first poll") {
		t.Errorf("a program that ends: %v", err)
	}
}

func TestPairTakesTheRoundWithTheMedianRatio(t *testing.T) {
	t.Parallel()
	var r rounds
	for _, cpu := range [][2]float64{{9, 1}, {10, 10}, {30, 20}, {1, 2}, {100, 50}} { // ratios 9, 1, 1.5, 0.5, 2
		r = append(r, []cost{{cpu: cpu[0]}, {}, {cpu: cpu[1]}})
	}
	if ours, peer := r.pair(0, 2, cpuOf); ours != 30 || peer != 20 {
		t.Errorf("pair = %v, %v, want those of the ratio 1.5", ours, peer)
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	r := &report{}
	r.add("fast enough", "µs", 1.04, "peer", 1, atMost(1.05))
	r.add("too slow", "µs", 1.06, "peer", 1, atMost(1.05))
	r.add("equal is not below", "µs", 5, "peer", 5, below(1))
	r.add("absolute", "ms", 30, "peer", 10, oursAtMost(30))
	r.add("past the floor", "requests", 4, "floor", 1, peerPlus(2))
	r.add("both nothing", "requests", 0, "peer", 0, none)
	var out bytes.Buffer
	r.print(&out)
	for line, verdict := range map[string]string{"fast enough": " met", "too slow": "NOT MET", "equal is not below": "NOT MET", "absolute": " met", "past the floor": "NOT MET"} {
		for printed := range strings.Lines(out.String()) {
			if strings.Contains(printed, line) && !strings.Contains(printed, verdict) {
				t.Errorf("%q is not told to be %s", printed, verdict)
			}
		}
	}
	if !strings.Contains(out.String(), "Limits not met: 3.") {
		t.Errorf("printed:\n%s", out.String())
	}

	path := filepath.Join(t.TempDir(), "results.json")
	if err := r.write(path); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path) //nolint:gosec // written above
	if err != nil {
		t.Fatal(err)
	}
	var results []map[string]any
	if err := json.Unmarshal(raw, &results); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"name": "fast enough", "ours": 1.04, "peer": 1.0, "peerName": "peer", "ratio": 1.04, "unit": "µs"}
	if diff := cmp.Diff(want, results[0]); len(results) != 6 || diff != "" {
		t.Errorf("%d results, the first (-want +got):\n%s", len(results), diff)
	}
	r.add("impossible", "requests", 1, "peer", 0, none)
	if err := r.write(path); err == nil {
		t.Error("an infinite ratio is written")
	}
}

func TestBadArgumentsAreRefused(t *testing.T) {
	t.Parallel()
	for _, arguments := range [][]string{{"-rounds", "0"}, {"-only", "("}, {"-unknown"}} {
		t.Run(fmt.Sprint(arguments), func(t *testing.T) {
			t.Parallel()
			if err := run(t.Context(), arguments); err == nil {
				t.Error("accepted")
			}
		})
	}
}
