package main

import (
	_ "embed" // the page and the charts' script
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"

	"github.com/heatsink-dev/heatsink/pkg/partition"
)

// echartsScript is Apache ECharts 5.6.0, dist/echarts.common.min.js of the npm package (Apache License 2.0, beside it): go-echarts itself would load
// it from a host at each look at the page.
//
//go:embed echarts/echarts.common.min.js
var echartsScript string

//go:embed plan_page.tmpl
var planPage string

// chart is one chart of the page: the id of its place and its options, as JSON.
type chart struct {
	ID, Title string
	Options   template.JS
}

type planPageData struct {
	Title  string
	Sheets []sheet
	Charts map[string]chart
	Script template.JS
}

// writePlanPage writes one self-contained page. A half-written page never takes the place of an older one.
func writePlanPage(path string, p planned) error {
	page, err := renderPlanPage(p)
	if err != nil {
		return err
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return usage("--html: %s is a folder", path)
	}
	temporary, err := os.CreateTemp(filepath.Dir(path), ".plan-*.html")
	if err != nil {
		return usage("--html: %s", err)
	}
	_, err = temporary.WriteString(page)
	if err = errors.Join(err, temporary.Close()); err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		_ = os.Remove(temporary.Name())
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

func renderPlanPage(p planned) (string, error) {
	parsed, err := template.New("plan").Funcs(template.FuncMap{
		"right": func(s sheet, column int) bool { return slices.Contains(s.Numbers, column) },
		"last":  func(s sheet, row int) bool { return s.Total && row == len(s.Rows)-1 },
	}).Parse(planPage)
	if err != nil {
		return "", fmt.Errorf("plan page: %w", err)
	}
	data := planPageData{Title: "heatsink plan", Sheets: sheets(p), Charts: planCharts(p), Script: template.JS(echartsScript)} // #nosec G203 -- the embedded script
	var out strings.Builder
	if err := parsed.Execute(&out, data); err != nil {
		return "", fmt.Errorf("plan page: %w", err)
	}
	return out.String(), nil
}

// planCharts are the page's charts by id. No text of the caller's gets into them.
func planCharts(p planned) map[string]chart {
	all := []chart{scenarioChart(p), differenceChart(p), riskChart(p)}
	for i, moment := range p.Moments {
		all = append(all, loadChart(moment, fmt.Sprintf("load%d", i)))
	}
	byID := map[string]chart{}
	for _, one := range all {
		byID[one.ID] = one
	}
	return byID
}

// value puts a decimal number into a chart as it is, without a float.
func value(amount partition.Money) json.Number {
	text := strings.Replace(amount.Text(4), "$", "", 1)
	return json.Number(text)
}

func newBar(yAxis string, x []string) *charts.Bar {
	bar := charts.NewBar()
	bar.SetGlobalOptions(
		charts.WithTooltipOpts(opts.Tooltip{Show: opts.Bool(true), Trigger: "axis"}),
		charts.WithLegendOpts(opts.Legend{Show: opts.Bool(true), Top: "0"}),
		charts.WithYAxisOpts(opts.YAxis{Name: yAxis}),
		charts.WithXAxisOpts(opts.XAxis{AxisLabel: &opts.AxisLabel{Show: opts.Bool(true), Interval: "0", Rotate: 20, ShowMinLabel: opts.Bool(true), ShowMaxLabel: opts.Bool(true)}}),
		charts.WithGridOpts(opts.Grid{Left: "120", Bottom: "90"}),
		charts.WithAnimation(false),
	)
	bar.SetXAxis(x)
	return bar
}

func barChart(id, title string, bar *charts.Bar) chart {
	bar.Validate()
	return chart{ID: id, Title: title, Options: template.JS(strings.TrimSpace(string(bar.JSONNotEscaped())))} // #nosec G203 -- JSON of our own numbers and names
}

func scenarioChart(p planned) chart {
	var names []string
	var story, then, now []opts.BarData
	for i, scenario := range p.Story.Scenarios {
		names = append(names, scenario.Name)
		story = append(story, opts.BarData{Value: value(scenario.Printed)})
		then = append(then, opts.BarData{Value: value(p.CorrectedThen[i].Total)})
		now = append(now, opts.BarData{Value: value(p.Corrected[i].Total)})
	}
	bar := newBar("$ a month", names)
	bar.AddSeries("the story", story).AddSeries("corrected, its prices", then).AddSeries("corrected", now)
	return barChart("scenarios", "The bill of a month, by projection of the pending and the failed index", bar)
}

// differenceChart is a waterfall: an unseen bar carries each step.
func differenceChart(p planned) chart {
	names := []string{"the story"}
	none := opts.BarData{Value: json.Number("0")}
	carry, up, down := []opts.BarData{none}, []opts.BarData{none}, []opts.BarData{none}
	total := []opts.BarData{{Value: value(p.Comparison.Story)}}
	for _, step := range p.Comparison.Differences {
		names = append(names, step.Name)
		before := step.Total.Minus(step.Change)
		low, rise, fall := before, opts.BarData{Value: value(step.Change)}, none
		if step.Total.Cmp(before) < 0 {
			low, rise, fall = step.Total, none, opts.BarData{Value: value(before.Minus(step.Total))}
		}
		carry, up, down, total = append(carry, opts.BarData{Value: value(low)}), append(up, rise), append(down, fall), append(total, none)
	}
	names = append(names, "corrected")
	carry, up, down, total = append(carry, none), append(up, none), append(down, none), append(total, opts.BarData{Value: value(p.Comparison.Corrected)})
	bar := newBar("$ a month", names)
	bar.SetGlobalOptions(charts.WithLegendOpts(opts.Legend{Show: opts.Bool(true), Top: "0", Data: []string{"total", "more", "less"}}))
	stack := charts.WithBarChartOpts(opts.BarChart{Stack: "total"})
	unseen := charts.WithItemStyleOpts(opts.ItemStyle{Color: "transparent"})
	bar.AddSeries("up to here", carry, stack, unseen).AddSeries("total", total, stack).AddSeries("more", up, stack).AddSeries("less", down, stack)
	return barChart("differences", "From the story's total to the corrected one", bar)
}

func loadChart(moment partition.Moment, id string) chart {
	var names []string
	var ours, story []opts.BarData
	for _, load := range moment.Loads {
		names = append(names, load.Index+", "+load.Projection.String())
		ours = append(ours, opts.BarData{Value: json.Number(load.ReadUnits.String())})
		if load.StoryUnits == "" {
			story = append(story, opts.BarData{Value: json.Number("0")})
			continue
		}
		story = append(story, opts.BarData{Value: json.Number(load.StoryUnits)})
	}
	bar := newBar("read units a second", names)
	bar.AddSeries("corrected", ours).AddSeries("the story (pending index)", story)
	return barChart(id, "Read units a second, "+moment.Name, bar)
}

// riskChart shows how the risk falls with shards and with partitions.
func riskChart(p planned) chart {
	line := charts.NewLine()
	line.SetGlobalOptions(
		charts.WithTooltipOpts(opts.Tooltip{Show: opts.Bool(true), Trigger: "axis"}),
		charts.WithLegendOpts(opts.Legend{Show: opts.Bool(true), Top: "0"}),
		charts.WithYAxisOpts(opts.YAxis{Name: "probability", Max: 1}),
		charts.WithXAxisOpts(opts.XAxis{Name: "shards"}),
		charts.WithAnimation(false),
	)
	counts := []int64{2, 4, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 128}
	var names []string
	for _, shards := range counts {
		names = append(names, number(shards))
	}
	line.SetXAxis(names)
	for factor := int64(1); factor <= 8; factor *= 2 {
		partitions := p.ShardPlan.Partitions * factor
		var points []opts.LineData
		for _, shards := range counts {
			points = append(points, opts.LineData{Value: json.Number(partition.OverloadRisk(p.Workload.PeakWrites, shards, partitions).FloatString(4))})
		}
		line.AddSeries(number(partitions)+" partitions", points)
	}
	line.Validate()
	return chart{ID: "risk", Title: "Probability that some partition is overloaded at peak", Options: template.JS(strings.TrimSpace(string(line.JSONNotEscaped())))} // #nosec G203 -- JSON of our own numbers
}
