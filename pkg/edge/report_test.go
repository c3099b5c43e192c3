package edge_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/pkg/edge"
)

func TestALogLineIsJSONWithTheRequestID(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	logger := edge.NewLogger(&out, slog.LevelInfo).With(slog.String("index", "managed"))
	ctx := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: "request-1"})
	logger.DebugContext(ctx, "not shown")
	logger.WarnContext(ctx, "slow", slog.Int("ms", 5))
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatalf("%s: %v", out.String(), err)
	}
	if _, err := time.Parse(time.RFC3339Nano, line["timestamp"].(string)); err != nil {
		t.Error(err)
	}
	delete(line, "timestamp")
	want := map[string]any{"level": "WARN", "message": "slow", "index": "managed", "ms": 5.0, "requestId": "request-1"}
	if diff := cmp.Diff(want, line); diff != "" {
		t.Error(diff)
	}
}

func TestALogLineWithoutInvocationHasNoRequestID(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	edge.NewLogger(&out, slog.LevelInfo).InfoContext(t.Context(), "start")
	if strings.Contains(out.String(), "requestId") {
		t.Error(out.String())
	}
}

func at(second int64) func() time.Time { return func() time.Time { return time.Unix(second, 0) } }

// The format of https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html, byte for byte.
func TestMetricsAreOneLineOfTheEmbeddedFormat(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	metrics := edge.NewMetrics(&out, "Heatsink", "indexer", at(1700000000))
	err := metrics.Emit(edge.Dimensions{"Index": "managed"},
		edge.Metric{Name: "Upserts", Unit: edge.Count, Value: 2}, edge.Metric{Name: "Elapsed", Unit: edge.Milliseconds, Value: 1.5}, edge.Metric{Name: "Upserts", Unit: edge.Count, Value: 3})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"Elapsed":1.5,"Function":"indexer","Index":"managed","Upserts":5,"_aws":{"CloudWatchMetrics":[{"Namespace":"Heatsink",` +
		`"Dimensions":[["Function","Index"]],"Metrics":[{"Name":"Upserts","Unit":"Count"},{"Name":"Elapsed","Unit":"Milliseconds"}]}],"Timestamp":1700000000000}}` + "\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestMetricsThatTheFormatDoesNotTakeAreRefused(t *testing.T) {
	t.Parallel()
	var many []edge.Metric
	for n := range 101 {
		many = append(many, edge.Metric{Name: "m" + strconv.Itoa(n), Value: 1})
	}
	for name, metrics := range map[string][]edge.Metric{
		"NaN":         {{Name: "a", Value: math.NaN()}},
		"infinite":    {{Name: "a", Value: math.Inf(-1)}},
		"a dimension": {{Name: "Function", Value: 1}},
		"too many":    many,
	} {
		var out bytes.Buffer
		if err := edge.NewMetrics(&out, "Heatsink", "f", nil).Emit(nil, metrics...); err == nil || out.Len() > 0 {
			t.Errorf("%s: error %v, wrote %q", name, err, out.String())
		}
	}
	var out bytes.Buffer
	if err := edge.NewMetrics(&out, "Heatsink", "f", nil).Emit(edge.Dimensions{"Index": "x"}); err != nil || out.Len() > 0 {
		t.Errorf("nothing to say: error %v, wrote %q", err, out.String())
	}
}

func TestMetricsOfManyGoroutinesStayWholeLines(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	metrics := edge.NewMetrics(&out, "Heatsink", "f", nil)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if err := metrics.Emit(nil, edge.Metric{Name: "a", Unit: edge.Count, Value: 1}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for _, line := range lines {
		if !json.Valid([]byte(line)) {
			t.Errorf("%q", line)
		}
	}
	if len(lines) != 20 {
		t.Errorf("%d lines", len(lines))
	}
}

type broken struct{}

// Write fails.
func (broken) Write([]byte) (int, error) { return 0, errors.New("no space") }

func TestLostMetricsAreAnError(t *testing.T) {
	t.Parallel()
	if err := edge.NewMetrics(broken{}, "Heatsink", "f", nil).Emit(nil, edge.Metric{Name: "a", Value: 1}); err == nil {
		t.Error("no error")
	}
}
