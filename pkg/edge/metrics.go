package edge

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"sync"
	"time"
)

// Unit is a CloudWatch unit (https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_MetricDatum.html).
type Unit string

// The units in use.
const (
	Count        Unit = "Count"
	Milliseconds Unit = "Milliseconds"
)

// Dimensions of a metric beside Function, such as Index. Their values must come from a small, known set, never from a caller: each combination
// is a metric of its own, and billed.
type Dimensions map[string]string

// Metric is one value.
type Metric struct {
	Name  string
	Unit  Unit
	Value float64
}

// Metrics writes CloudWatch's embedded metric format: one JSON line from which CloudWatch takes the metrics, without a request
// (https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html). It is ours because the
// kept Go library for it (prozz/aws-embedded-metrics-golang) is not on the module proxy. Safe for concurrent use.
type Metrics struct {
	namespace, function string
	now                 func() time.Time

	mu sync.Mutex
	w  io.Writer
}

// NewMetrics writes to w, a function's standard output. now may be nil for the system's clock.
func NewMetrics(w io.Writer, namespace, function string, now func() time.Time) *Metrics {
	if now == nil {
		now = time.Now
	}
	return &Metrics{w: w, namespace: namespace, function: function, now: now}
}

// maxMetrics is the format's limit for one directive.
const maxMetrics = 100

type directive struct {
	Namespace  string
	Dimensions [][]string
	Metrics    []definition
}

type definition struct{ Name, Unit string }

// Emit writes one line. Values of one name are added up. The error names a metric that the format does not take: NaN, infinite, more than 100
// names, or a name that is a dimension too.
func (m *Metrics) Emit(dimensions Dimensions, metrics ...Metric) error {
	if len(metrics) == 0 {
		return nil
	}
	line := map[string]any{"Function": m.function}
	names := append([]string{"Function"}, slices.Sorted(maps.Keys(dimensions))...)
	for name, value := range dimensions {
		line[name] = value
	}
	var defined []definition
	for _, metric := range metrics {
		if math.IsNaN(metric.Value) || math.IsInf(metric.Value, 0) {
			return fmt.Errorf("metric %s is not a number", metric.Name)
		}
		if slices.Contains(names, metric.Name) {
			return fmt.Errorf("metric %s has the name of a dimension", metric.Name)
		}
		sum, again := line[metric.Name].(float64)
		line[metric.Name] = sum + metric.Value
		if !again {
			defined = append(defined, definition{metric.Name, string(metric.Unit)})
		}
	}
	if len(defined) > maxMetrics {
		return fmt.Errorf("%d metrics in one line, at most %d", len(defined), maxMetrics)
	}
	line["_aws"] = map[string]any{
		"Timestamp":         m.now().UnixMilli(),
		"CloudWatchMetrics": []directive{{Namespace: m.namespace, Dimensions: [][]string{names}, Metrics: defined}},
	}
	text, err := json.Marshal(line)
	if err != nil {
		return fmt.Errorf("encode metrics: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.w.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("write metrics: %w", err)
	}
	return nil
}
