package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/heatsink-dev/heatsink/pkg/partition"
)

// sheet is one part of a plan, as the terminal and the page show it.
type sheet struct {
	Title string
	Head  []string
	Rows  [][]string
	// Total marks the last row as a sum.
	Total bool
	Notes []string
	// Numbers are the columns, from 0, that are set to the right; Wide those that wrap.
	Numbers, Wide []int
	// Chart is the id of the page's chart that stands with it.
	Chart string
}

func printPlan(out io.Writer, p planned) {
	for i, s := range sheets(p) {
		if i > 0 {
			_, _ = fmt.Fprintln(out)
		}
		_, _ = fmt.Fprintln(out, strings.ToUpper(s.Title))
		if len(s.Rows) > 0 {
			s.print(out)
		}
		for _, note := range s.Notes {
			bullet := "- "
			if len(note) > 1 && note[0] >= '1' && note[0] <= '9' && note[1] == '.' { // numbered already
				bullet = ""
			}
			for line := range strings.Lines(text.WrapSoft(bullet+note, 150)) {
				_, _ = fmt.Fprintln(out, strings.TrimRight(line, " \n"))
			}
		}
	}
}

func (s sheet) print(out io.Writer) {
	writer := table.NewWriter()
	writer.SetOutputMirror(out)
	style := table.StyleLight
	style.Format.Header = text.FormatDefault
	style.Format.Footer = text.FormatDefault
	writer.SetStyle(style)
	writer.AppendHeader(row(s.Head))
	for i, cells := range s.Rows {
		if s.Total && i == len(s.Rows)-1 {
			writer.AppendSeparator()
		}
		writer.AppendRow(row(cells))
	}
	var columns []table.ColumnConfig
	for i := range s.Head {
		columns = append(columns, table.ColumnConfig{Number: i + 1})
	}
	for _, i := range s.Numbers {
		columns[i].Align, columns[i].AlignHeader = text.AlignRight, text.AlignRight
	}
	for _, i := range s.Wide {
		columns[i].WidthMax, columns[i].WidthMaxEnforcer = 76, text.WrapSoft
	}
	writer.SetColumnConfigs(columns)
	writer.Render()
}

func row(cells []string) table.Row {
	out := make(table.Row, 0, len(cells))
	for _, cell := range cells {
		out = append(out, cell)
	}
	return out
}

// sheets are the parts of a plan, in order.
func sheets(p planned) []sheet {
	all := []sheet{inputSheet(p), shardSheet(p), riskSheet(p), billSheet(p), scenarioSheet(p), differenceSheet(p)}
	for _, choice := range p.Choices {
		all = append(all, choiceSheet(choice))
	}
	for i, moment := range p.Moments {
		all = append(all, momentSheet(moment, i))
	}
	return append(all, keySheet(p))
}

func inputSheet(p planned) sheet {
	w, f := p.Workload, p.Flow
	return sheet{
		Title: "Inputs",
		Notes: []string{
			fmt.Sprintf("%s events a day of %s bytes, kept %d days; pending at the end of a day: %s, of them failed: %s", number(w.EventsPerDay), number(int64(w.Item)), w.RetentionDays, number(f.PendingRows), number(f.FailedRows)),
			fmt.Sprintf("a day has %s puts, %s completes and %s retries; a month %d days", number(f.Puts), number(f.Completes), number(f.Retries), w.DaysPerMonth),
			fmt.Sprintf("reads a day: %s of %s pending rows, %s of %s failed rows", number(w.Pending.QueriesPerDay), number(w.Pending.Rows), number(w.Failed.QueriesPerDay), number(w.Failed.Rows)),
			"prices: " + pricesText(p.Prices),
			"the story's prices: " + pricesText(p.StoryPrices),
			"not in the bills: backups, streams, functions, metrics, transfer, taxes and the free tier",
		},
	}
}

func shardSheet(p planned) sheet {
	s := sheet{Title: "Shards", Head: []string{"step", "value", "why"}, Numbers: []int{1}, Wide: []int{2}}
	for _, step := range p.ShardPlan.Steps {
		s.Rows = append(s.Rows, []string{step.Rule, number(step.Value), step.Reason})
	}
	s.Notes = []string{fmt.Sprintf("partitions: %d by size (%s of items at 10 GB each), %d by throughput (1,000 write and 3,000 read units a second each); counted with %d (a new on-demand table has about %d)",
		p.Partitions.BySize, decimalGB(p.Partitions.StoredBytes), p.Partitions.ByThroughput, p.Partitions.Assumed, partition.NewOnDemandTable)}
	return s
}

func riskSheet(p planned) sheet {
	s := sheet{
		Title:   fmt.Sprintf("Risk: shards hashed to %d partitions", p.ShardPlan.Partitions),
		Head:    []string{"shards", "write units of a shard at peak", "of a partition", "some partition overloaded", "read units of a pending page"},
		Numbers: []int{0, 1, 2, 3, 4}, Notes: p.ShardPlan.Warnings, Chart: "risk",
	}
	for _, risk := range p.ShardPlan.Risks {
		s.Rows = append(s.Rows, []string{number(risk.Shards), number(int64(risk.PerShard)), fmt.Sprintf("%d %%", risk.PercentOfPartition), risk.Percent(), risk.PendingReads.String()})
	}
	return s
}

func billSheet(p planned) sheet {
	s := sheet{
		Title:   "Bill of a month, All + KeysOnly",
		Head:    []string{"line", "the story", "corrected, its prices", "corrected", "quantity", "rule"},
		Numbers: []int{1, 2, 3, 4}, Wide: []int{5}, Total: true,
		Notes: []string{"\"corrected\" is at the prices of " + p.Prices.Region + " of " + p.Prices.Date},
	}
	for _, line := range p.Rows(partition.ChosenScenario) {
		rule := line.Rule
		if line.StoryRule != "" {
			rule += "; the story: " + line.StoryRule
		}
		s.Rows = append(s.Rows, []string{line.Name, dollars(line.Story, partition.Money.Exact), dollars(line.Then, partition.Money.String), dollars(line.Now, partition.Money.String), line.Quantity, rule})
	}
	chosen := p.Story.Scenarios[partition.ChosenScenario]
	s.Rows = append(s.Rows, []string{
		"total", chosen.WithReads.String(), p.CorrectedThen[partition.ChosenScenario].Total.String(), p.Corrected[partition.ChosenScenario].Total.String(),
		"", "the story prints " + chosen.Printed.String() + ", without its reads",
	})
	return s
}

func scenarioSheet(p planned) sheet {
	s := sheet{
		Title: "Scenarios: pending + failed index", Head: []string{"scenario", "the story", "its lines add up to", "corrected, its prices", "corrected"},
		Numbers: []int{1, 2, 3, 4}, Chart: "scenarios",
		Notes: []string{"without an index, each read is a read of all events of the date; the story states its reads and doesn't derive them"},
	}
	for i, scenario := range p.Story.Scenarios {
		s.Rows = append(s.Rows, []string{scenario.Name, scenario.Printed.String(), scenario.WithReads.String(), p.CorrectedThen[i].Total.String(), p.Corrected[i].Total.String()})
	}
	s.Rows = append(s.Rows, []string{"All + KeysOnly, ten times the events", p.Story.Tenfold.String(), "", "", p.Tenfold.String()})
	return s
}

func differenceSheet(p planned) sheet {
	s := sheet{
		Title: "From the story's total to the corrected one", Head: []string{"step", "change", "total", "why"},
		Numbers: []int{1, 2}, Wide: []int{3}, Chart: "differences",
		Rows: [][]string{{"the story", "", p.Comparison.Story.Text(3), "its total for All + KeysOnly"}},
	}
	for _, difference := range p.Comparison.Differences {
		s.Rows = append(s.Rows, []string{difference.Name, difference.Change.String(), difference.Total.Text(3), difference.Reason})
	}
	for _, finding := range p.Comparison.Findings {
		s.Notes = append(s.Notes, strconv.Itoa(finding.Number)+". "+finding.Text)
	}
	return s
}

func choiceSheet(choice partition.Choice) sheet {
	s := sheet{
		Title:   "Projection of the " + choice.Index,
		Head:    []string{"projection", "entry, bytes", "stored, bytes", "storage", "writes", "reads", "a month", "query, units", "gets, units", "gets a day", "requests a page", "ms", "in time"},
		Numbers: []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11},
		Notes:   append([]string{"recommended: " + choice.Recommended.String()}, choice.Reasons...),
	}
	for _, cost := range choice.Costs {
		inTime := "no"
		if cost.KeepsTarget {
			inTime = "yes"
		}
		s.Rows = append(s.Rows, []string{
			cost.Projection.String(), number(int64(cost.EntryBytes)), number(int64(cost.StoredBytes)), cost.Storage.String(), cost.Writes.String(), cost.Reads.String(), cost.Total.String(),
			cost.QueryUnits.String(), cost.GetUnits.String(), number(cost.GetsPerDay), number(cost.Requests), number(cost.Millis), inTime,
		})
	}
	return s
}

func momentSheet(moment partition.Moment, i int) sheet {
	s := sheet{
		Title:   "Load: " + moment.Name,
		Head:    []string{"index", "projection", "pages a second", "read units a second", "requests a second", "units of a shard", "the story: units", "requests"},
		Numbers: []int{2, 3, 4, 5, 6, 7},
		Notes: append([]string{fmt.Sprintf("writes: %s units a second, %s of a shard: %d %% of a partition", number(int64(moment.Writes)), number(int64(moment.PerShard)), moment.Percent)},
			moment.Warnings...),
		Chart: "load" + strconv.Itoa(i),
	}
	for _, load := range moment.Loads {
		story, requests := load.StoryUnits, ""
		if story != "" {
			requests = number(load.StoryRequests)
		}
		s.Rows = append(s.Rows, []string{load.Index, load.Projection.String(), number(load.Pages), commas(load.ReadUnits.String()), number(load.Requests), load.ShardUnits.String(), commas(story), requests})
	}
	return s
}

func keySheet(p planned) sheet {
	s := sheet{Title: "Keys", Head: []string{"of", "keys", "", "remark"}, Wide: []int{3}}
	for _, review := range p.Keys {
		keys := review.PartitionKey
		if review.SortKey != "" {
			keys += "\n" + review.SortKey
		}
		for i, remark := range review.Remarks {
			name, shown := review.Name, keys
			if i > 0 {
				name, shown = "", ""
			}
			s.Rows = append(s.Rows, []string{name, shown, remark.Severity.String(), remark.Code + ": " + remark.Text})
		}
	}
	return s
}

// number prints with commas.
func number(n int64) string { return commas(strconv.FormatInt(n, 10)) }

// commas sets commas into the whole part of a non-negative decimal number.
func commas(text string) string {
	digits, fraction, point := strings.Cut(text, ".")
	out := ""
	for len(digits) > 3 {
		out = "," + digits[len(digits)-3:] + out
		digits = digits[:len(digits)-3]
	}
	if point {
		out += "." + fraction
	}
	return digits + out
}

func decimalGB(size partition.Bytes) string {
	return fmt.Sprintf("%d.%d GB", size/1_000_000_000, size%1_000_000_000/100_000_000)
}
