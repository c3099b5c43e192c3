package partition_test

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/heatsink-dev/heatsink/pkg/partition"
)

func prices(t interface {
	Helper()
	Fatal(args ...any)
},
) (now, then partition.Prices) {
	t.Helper()
	list, err := partition.ShippedPrices()
	if err != nil {
		t.Fatal(err)
	}
	now, err = list.Find(partition.TodaysPrices)
	if err != nil {
		t.Fatal(err)
	}
	if then, err = list.Find(partition.StorysPrices); err != nil {
		t.Fatal(err)
	}
	return now, then
}

func storyPlan(t *testing.T) partition.Plan {
	t.Helper()
	now, then := prices(t)
	plan, err := partition.Make(partition.StoryWorkload(), now, then)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func amounts(lines []partition.Line) []string {
	var out []string
	for _, line := range lines {
		out = append(out, line.Name+" "+line.Amount.Exact())
	}
	return out
}

func TestTheStorysShardsAre4Then10Then20(t *testing.T) {
	t.Parallel()
	plan := storyPlan(t).ShardPlan
	if plan.Least != 4 || plan.Headroom != 10 || plan.Chosen != 20 {
		t.Fatalf("%d, %d, %d", plan.Least, plan.Headroom, plan.Chosen)
	}
	var rules []string
	for _, step := range plan.Steps {
		rules = append(rules, fmt.Sprint(step.Rule, " = ", step.Value))
		if step.Reason == "" {
			t.Errorf("%s has no reason", step.Rule)
		}
	}
	want := []string{"peak = 3000", "usable of a partition's 1,000 = 800", "ceil(3,000 / 800) = 4", "ceil(4 x 2.50) = 10", "2 x 10 = 20"}
	if diff := cmp.Diff(want, rules); diff != "" {
		t.Error(diff)
	}
	if len(plan.Warnings) != 1 || !strings.Contains(plan.Warnings[0], "75.5 %") || plan.SafePartitions != 16 {
		t.Errorf("20 shards on 4 partitions are near the bound and nobody says so: %q", plan.Warnings)
	}
}

func TestShardCountsAtTheirBorders(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		peak, usable partition.WriteUnits
		headroom     int64
		want         [2]int64
	}{{1, 800, 250, [2]int64{1, 3}}, {800, 800, 100, [2]int64{1, 1}}, {801, 800, 100, [2]int64{2, 2}}, {3200, 800, 250, [2]int64{4, 10}}, {3201, 800, 250, [2]int64{5, 13}}} {
		least, headroom := partition.ShardCount(test.peak, test.usable, test.headroom)
		if got := [2]int64{least, headroom}; got != test.want {
			t.Errorf("%+v: %v", test, got)
		}
	}
}

func TestTheStorysBillByItsOwnRules(t *testing.T) {
	t.Parallel()
	story := storyPlan(t).Story
	base := []string{"base storage $1.80", "base writes $3.75"}
	failed := []string{"failed index, storage $0.0004", "failed index, writes $0.07", "failed index, reads $0.0012"}
	want := []struct {
		name, printed, withReads string
		lines                    []string
	}{
		{"no index", "$5.75", "$5.75", append(base[:2:2], "reads $0.20")},
		{"KeysOnly + KeysOnly", "$13.16", "$13.16", append(append(base[:2:2], "pending index, storage $0.042", "pending index, writes $7.46", "pending index, reads $0.037"), failed...)},
		{"Include + KeysOnly", "$13.21", "$13.21", append(append(base[:2:2], "pending index, storage $0.10", "pending index, writes $7.46", "pending index, reads $0.03"), failed...)},
		{"All + KeysOnly", "$13.28", "$13.31", append(append(base[:2:2], "pending index, storage $0.20", "pending index, writes $7.46", "pending index, reads $0.03"), failed...)},
		{"All + All", "$13.28", "$13.31", append(append(base[:2:2], "pending index, storage $0.20", "pending index, writes $7.46", "pending index, reads $0.03"), "failed index, storage $0.002", "failed index, writes $0.07", "failed index, reads $0.0015")},
	}
	if len(story.Scenarios) != len(want) {
		t.Fatalf("%d scenarios", len(story.Scenarios))
	}
	for i, scenario := range story.Scenarios {
		if scenario.Name != want[i].name || scenario.Printed.Text(2) != want[i].printed || scenario.WithReads.Text(2) != want[i].withReads {
			t.Errorf("%s: %s, with reads %s; want %+v", scenario.Name, scenario.Printed, scenario.WithReads, want[i])
		}
		if diff := cmp.Diff(want[i].lines, amounts(scenario.Lines)); diff != "" {
			t.Errorf("%s: %s", scenario.Name, diff)
		}
	}
	if story.Chosen.Text(2) != "$13.28" || story.Tenfold.Text(2) != "$132.83" {
		t.Errorf("%s, ten times %s", story.Chosen, story.Tenfold)
	}
}

func TestTheCorrectedBill(t *testing.T) {
	t.Parallel()
	plan := storyPlan(t)
	var got []string
	for _, line := range plan.Corrected[partition.ChosenScenario].Lines {
		got = append(got, line.Name+" | "+line.Quantity+" | "+line.Amount.Exact())
	}
	want := []string{
		"base storage | 7.544 GB | $1.885928214",
		"base writes: new events | 3,000,000 write units | $1.875",
		"base writes: completes | 2,970,000 write units | $1.85625",
		"base writes: retries | 120,000 write units | $0.075",
		"pending index, storage | 900,000 bytes | $0.000209548",
		"pending index, writes | 6,030,000 write units | $3.76875",
		"pending index, queries | 60,000 read units | $0.0075",
		"failed index, storage | 2,700 bytes | $0.000000629",
		"failed index, writes | 59,700 write units | $0.0373125",
		"failed index, queries | 15,000 read units | $0.001875",
		"failed index, gets | 7,500 read units | $0.0009375",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var totals []string
	for i, bill := range plan.Corrected {
		totals = append(totals, bill.Scenario.Name+" "+plan.CorrectedThen[i].Total.Text(2)+" "+bill.Total.Text(2))
	}
	if diff := cmp.Diff([]string{"no index $20.49 $11.19", "KeysOnly + KeysOnly $17.20 $9.54", "Include + KeysOnly $17.14 $9.51", "All + KeysOnly $17.13 $9.51", "All + All $17.13 $9.51"}, totals); diff != "" {
		t.Error(diff)
	}
	if plan.Tenfold.Text(2) != "$94.99" {
		t.Errorf("ten times the events: %s", plan.Tenfold)
	}
}

func TestTodaysPricesAreHalfOfTheStorys(t *testing.T) {
	t.Parallel()
	now, then := prices(t)
	half := big.NewRat(1, 2)
	if !then.WritesPerMillion.Times(half).Equal(now.WritesPerMillion) || !then.ReadsPerMillion.Times(half).Equal(now.ReadsPerMillion) || !then.StoragePerGBMonth.Equal(now.StoragePerGBMonth) {
		t.Errorf("%+v, %+v", now, then)
	}
	if now.Date != "2024-11-01" || now.Region != "us-east-1" || now.Source == "" {
		t.Errorf("%+v", now)
	}
}

func TestEveryDifferenceIsAnAmountAndTheyAddUp(t *testing.T) {
	t.Parallel()
	comparison := storyPlan(t).Comparison
	var got []string
	total := comparison.Story
	for _, difference := range comparison.Differences {
		total = total.Plus(difference.Change)
		if !total.Equal(difference.Total) {
			t.Errorf("after %s: %s, want %s", difference.Name, difference.Total.Exact(), total.Exact())
		}
		if difference.Reason == "" {
			t.Errorf("%s has no reason", difference.Name)
		}
		got = append(got, difference.Name+" "+difference.Change.Text(4))
	}
	want := []string{
		"its own reads $0.0312", // point 5
		"its rounding $0.0075",
		"index storage -$0.2002", // point 1
		"completes $3.7125",      // point 2
		"retries $0.0750",        // point 2
		"retries in a transaction $0.0750",
		"retries in the index $0.0750",
		"read units -$0.0105",      // points 3 and 6
		"storage overhead $0.2250", // point 9
		"gigabytes -$0.1391",
		"prices -$7.6226", // point 4
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !total.Equal(comparison.Corrected) || len(comparison.Findings) != 9 {
		t.Errorf("%s, %d findings", total, len(comparison.Findings))
	}
	for i, part := range []string{"800,000 bytes, about $0.00021 a month, not $0.20", "$3.71", "floor of 10 read units", "2024-11-01", "$13.31", "40 shards, same cost", "midnight", "Operation dimension", "100 bytes"} {
		if !strings.Contains(comparison.Findings[i].Text, part) {
			t.Errorf("point %d: %s", i+1, comparison.Findings[i].Text)
		}
	}
}

// Two ways to the corrected total, the bill's lines and the walk from the story, agree for any workload.
func TestTheWalkEndsAtTheBill(t *testing.T) {
	t.Parallel()
	now, then := prices(t)
	rapid.Check(t, func(t *rapid.T) {
		w := partition.StoryWorkload()
		w.EventsPerDay = rapid.Int64Range(1, 500_000_000).Draw(t, "events")
		w.Item = partition.Bytes(rapid.Int64Range(1, int64(partition.MaxItemBytes)).Draw(t, "item"))
		w.IncludeEntry = partition.Bytes(rapid.Int64Range(1, int64(w.Item)).Draw(t, "include"))
		w.KeysOnlyEntry = partition.Bytes(rapid.Int64Range(1, int64(w.IncludeEntry)).Draw(t, "keys"))
		w.RetryShare, w.PendingShare = partition.PPM(rapid.Int64Range(100, 1_000_000).Draw(t, "retries")), partition.PPM(rapid.Int64Range(100, 1_000_000).Draw(t, "pending"))
		w.Pending.Rows, w.Failed.Rows = rapid.Int64Range(0, 10_000).Draw(t, "rows"), rapid.Int64Range(0, 10_000).Draw(t, "failed rows")
		w.Shards = rapid.Int64Range(1, 64).Draw(t, "shards")
		w.PlainRetry, w.StrongGets = rapid.Bool().Draw(t, "plain"), rapid.Bool().Draw(t, "strong")
		plan, err := partition.Make(w, now, then)
		if err != nil {
			t.Fatal(err)
		}
		bill := plan.Corrected[partition.ChosenScenario].Total
		if !bill.Equal(plan.Comparison.Corrected) || !bill.Equal(w.AmountWithoutFlaws(now)) {
			t.Fatalf("the bill says %s, the walk %s", bill.Exact(), plan.Comparison.Corrected.Exact())
		}
		sum := plan.Comparison.Story
		for _, difference := range plan.Comparison.Differences {
			sum = sum.Plus(difference.Change)
		}
		if !sum.Equal(bill) {
			t.Fatal("the differences don't add up")
		}
	})
}

// At the upper limits of all inputs no number overflows: every line stays positive.
func TestNothingOverflowsAtTheLimits(t *testing.T) {
	t.Parallel()
	now, then := prices(t)
	w := partition.StoryWorkload()
	w.EventsPerDay, w.DaysPerMonth, w.RetentionDays = 500_000_000, 31, 3650
	w.Item, w.KeysOnlyEntry, w.IncludeEntry = partition.MaxItemBytes, partition.MaxItemBytes, partition.MaxItemBytes
	w.PendingShare, w.FailedShare, w.RetryShare, w.IncludeFetchShare = 500_000, 500_000, 1_000_000, 1_000_000
	w.Pending.QueriesPerDay, w.Pending.Rows, w.Pending.PeakPerSecond = 2_000_000, 10_000, 1_000_000
	w.Failed = w.Pending
	w.StrongGets, w.SpikeFactor, w.PeakWrites, w.Shards, w.Partitions = true, 1000, 100_000_000, 1000, 100_000
	plan, err := partition.Make(w, now, then)
	if err != nil {
		t.Fatal(err)
	}
	for _, bill := range plan.Corrected {
		for _, line := range bill.Lines {
			if strings.HasPrefix(line.Amount.Text(2), "-") || strings.Contains(line.Quantity, "-") {
				t.Errorf("%s: %s, %s", bill.Scenario.Name, line.Name, line.Quantity)
			}
		}
	}
	for _, moment := range plan.Moments {
		for _, load := range moment.Loads {
			if load.ReadUnits < 0 || load.Requests < 0 || load.ShardUnits < 0 {
				t.Errorf("%s: %+v", moment.Name, load)
			}
		}
	}
}

func TestTheStorysLoadAndTheRightOneBesideIt(t *testing.T) {
	t.Parallel()
	moments := storyPlan(t).Moments
	var got []string
	for _, moment := range moments {
		got = append(got, fmt.Sprintf("%s: %d WU/s, %d a shard, %d %%", moment.Name, moment.Writes, moment.PerShard, moment.Percent))
		for _, load := range moment.Loads {
			got = append(got, fmt.Sprintf("%s %s: %s units, %d requests, story %s, %d", load.Index, load.Projection, load.ReadUnits, load.Requests, load.StoryUnits, load.StoryRequests))
		}
	}
	want := []string{
		"peak: 3000 WU/s, 150 a shard, 15 %",
		"pending index KeysOnly: 1100 units, 220 requests, story 485, 280",
		"pending index Include: 300 units, 210 requests, story 280, 220",
		"pending index All: 200 units, 200 requests, story 400, 200",
		"failed index KeysOnly: 75 units, 105 requests, story , 0",
		"failed index Include: 55 units, 105 requests, story , 0",
		"failed index All: 50 units, 100 requests, story , 0",
		"spike x 10: 30000 WU/s, 1500 a shard, 150 %",
		"pending index KeysOnly: 11000 units, 2200 requests, story 4850, 2800",
		"pending index Include: 3000 units, 2100 requests, story 2800, 2200",
		"pending index All: 2000 units, 2000 requests, story 4000, 2000",
		"failed index KeysOnly: 750 units, 1050 requests, story , 0",
		"failed index Include: 550 units, 1050 requests, story , 0",
		"failed index All: 500 units, 1000 requests, story , 0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(moments[0].Warnings) != 0 || len(moments[1].Warnings) != 2 || !strings.Contains(moments[1].Warnings[0], "at least 38 shards") {
		t.Errorf("%q, %q", moments[0].Warnings, moments[1].Warnings)
	}
}

func TestRecommendations(t *testing.T) {
	t.Parallel()
	now, _ := prices(t)
	for name, test := range map[string]struct {
		change          func(w *partition.Workload)
		pending, failed partition.Projection
	}{
		"the story: All where rows are many and fast, KeysOnly where they are few": {func(*partition.Workload) {}, partition.All, partition.KeysOnly},
		"many gets a day ask for a wider copy":                                     {func(w *partition.Workload) { w.Failed.QueriesPerDay = 1000 }, partition.All, partition.Include},
		"none in time: the fastest":                                                {func(w *partition.Workload) { w.Failed.TargetMillis = 5 }, partition.All, partition.All},
		"large items: All would cost 20 units a write":                             {func(w *partition.Workload) { w.Item, w.Pending.TargetMillis, w.Pending.QueriesPerDay = 20480, 200, 10 }, partition.KeysOnly, partition.KeysOnly},
		"large items, but only All is in time":                                     {func(w *partition.Workload) { w.Item = 20480 }, partition.All, partition.KeysOnly},
	} {
		w := partition.StoryWorkload()
		test.change(&w)
		choices := w.Choices(now)
		if choices[0].Recommended != test.pending || choices[1].Recommended != test.failed {
			t.Errorf("%s: %s and %s", name, choices[0].Recommended, choices[1].Recommended)
		}
		for _, choice := range choices {
			if len(choice.Reasons) < 6 || len(choice.Costs) != 3 {
				t.Errorf("%s: %s: %q", name, choice.Index, choice.Reasons)
			}
		}
	}
	story := partition.StoryWorkload().Choices(now)
	if story[0].Costs[0].GetsPerDay != 20_000 || story[1].Costs[0].GetsPerDay != 500 {
		t.Errorf("gets a day: %d and %d, want the story's 20,000 and 500", story[0].Costs[0].GetsPerDay, story[1].Costs[0].GetsPerDay)
	}
}

func TestADayOpensAndClosesWhatItSays(t *testing.T) {
	t.Parallel()
	want := partition.Flow{Puts: 100_000, Completes: 99_000, Retries: 1000, FailedCompletes: 990, PendingRows: 1000, FailedRows: 10}
	if diff := cmp.Diff(want, partition.StoryWorkload().Flow()); diff != "" {
		t.Error(diff)
	}
	rapid.Check(t, func(t *rapid.T) {
		w := partition.StoryWorkload()
		w.EventsPerDay = rapid.Int64Range(1, 500_000_000).Draw(t, "events")
		f := w.Flow()
		if f.Puts+f.Retries != f.Completes+f.Retries+f.PendingRows || f.Retries != f.FailedCompletes+f.FailedRows {
			t.Fatalf("%+v", f)
		}
	})
}

func TestEveryInputHasLimits(t *testing.T) {
	t.Parallel()
	for field, change := range map[string]func(w *partition.Workload){
		"EventsPerDay": func(w *partition.Workload) { w.EventsPerDay = 0 }, "DaysPerMonth": func(w *partition.Workload) { w.DaysPerMonth = 32 },
		"RetentionDays": func(w *partition.Workload) { w.RetentionDays = -1 }, "Item": func(w *partition.Workload) { w.Item = partition.MaxItemBytes + 1 },
		"KeysOnlyEntry": func(w *partition.Workload) { w.KeysOnlyEntry = 801 }, "IncludeEntry": func(w *partition.Workload) { w.IncludeEntry = 169 },
		"PendingShare": func(w *partition.Workload) { w.PendingShare = 1_000_001 }, "RetryShare": func(w *partition.Workload) { w.RetryShare = -1 },
		"FailedShare": func(w *partition.Workload) { w.FailedShare = 10_001 }, "Pending.Rows": func(w *partition.Workload) { w.Pending.Rows = 10_001 },
		"Pending.QueriesPerDay": func(w *partition.Workload) { w.Pending.QueriesPerDay = 2_000_001 }, "Failed.Millis": func(w *partition.Workload) { w.Failed.Millis[2] = 0 },
		"Failed.TargetMillis": func(w *partition.Workload) { w.Failed.TargetMillis = 0 }, "IncludeFetchShare": func(w *partition.Workload) { w.IncludeFetchShare = -1 },
		"PeakWrites": func(w *partition.Workload) { w.PeakWrites = 1_000_000 }, "SpikeFactor": func(w *partition.Workload) { w.SpikeFactor = 0 },
		"UsableWrites": func(w *partition.Workload) { w.UsableWrites = 1001 }, "HeadroomPercent": func(w *partition.Workload) { w.HeadroomPercent = 99 },
		"Shards": func(w *partition.Workload) { w.Shards = 1001 }, "Partitions": func(w *partition.Workload) { w.Partitions = -1 },
		"Failed.PeakPerSecond": func(w *partition.Workload) { w.Failed.PeakPerSecond = 1_000_001 },
	} {
		w := partition.StoryWorkload()
		change(&w)
		now, then := prices(t)
		_, err := partition.Make(w, now, then)
		if bad, ok := errors.AsType[*partition.InputError](err); !ok || bad.Field != field || bad.Reason == "" {
			t.Errorf("%s: %v", field, err)
		}
	}
}

func TestReadPricesNamesTheEntryAndTheField(t *testing.T) {
	t.Parallel()
	entry := `{"name":"n","region":"r","date":"2026-01-31","source":"s","storagePerGBMonth":"0.3","writesPerMillion":"0.7","readsPerMillion":"0.14"}`
	if list, err := partition.ReadPrices(strings.NewReader("[" + entry + "]")); err != nil || len(list) != 1 || list[0].WritesPerMillion.Exact() != "$0.70" {
		t.Errorf("%v, %v", list, err)
	}
	for text, want := range map[string]string{
		"":                              "EOF",
		"[]":                            "is empty",
		"[" + entry + "] x":             "more follows",
		"[" + entry + "," + entry + "]": "entry 2: name \"n\" stands twice",
		strings.Replace("["+entry+"]", `"0.7"`, `"-1"`, 1):           "no amount of dollars",
		strings.Replace("["+entry+"]", `"0.7"`, `0.7`, 1):            "writesPerMillion",
		strings.Replace("["+entry+"]", `"0.7"`, `"0"`, 1):            "entry 1: writesPerMillion: must be above $0",
		strings.Replace("["+entry+"]", `"0.14"`, `"101"`, 1):         "readsPerMillion: must be above $0 and at most $100",
		strings.Replace("["+entry+"]", `2026-01-31`, `31.1.2026`, 1): "date: must be a day",
		strings.Replace("["+entry+"]", `"r"`, `" "`, 1):              "region: is missing",
		strings.Replace("["+entry+"]", `"source"`, `"sauce"`, 1):     "sauce",
	} {
		if _, err := partition.ReadPrices(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func FuzzReadPrices(f *testing.F) {
	f.Add(`[{"name":"n","region":"r","date":"2026-01-31","source":"s","storagePerGBMonth":"0.3","writesPerMillion":"0.7","readsPerMillion":"0.14"}]`)
	f.Add(`[]`)
	f.Add(`{`)
	f.Fuzz(func(t *testing.T, text string) {
		list, err := partition.ReadPrices(strings.NewReader(text))
		if err != nil {
			return
		}
		for _, p := range list {
			if p.Validate() != nil {
				t.Errorf("%q gave %+v", text, p)
			}
		}
	})
}

func ExampleMake() {
	list, err := partition.ShippedPrices()
	if err != nil {
		fmt.Println(err)
		return
	}
	today, _ := list.Find(partition.TodaysPrices)
	then, _ := list.Find(partition.StorysPrices)
	plan, err := partition.Make(partition.StoryWorkload(), today, then)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("shards:", plan.ShardPlan.Least, plan.ShardPlan.Headroom, plan.ShardPlan.Chosen)
	fmt.Println("the story:", plan.Comparison.Story, "corrected:", plan.Comparison.Corrected, "prices of", today.Region, today.Date)
	for _, choice := range plan.Choices {
		fmt.Println(choice.Index+":", choice.Recommended)
	}
	// Output:
	// shards: 4 10 20
	// the story: $13.28 corrected: $9.51 prices of us-east-1 2024-11-01
	// pending index: All
	// failed index: KeysOnly
}
