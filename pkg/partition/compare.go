package partition

import (
	"fmt"
	"math/big"
)

// Difference between the story's total and the corrected one: steps from one to the other, in this order, that add up exactly.
type Difference struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
	Change Money  `json:"change"`
	// Total after the step.
	Total Money `json:"total"`
}

// Comparison of the two bills for the story's choice, All + KeysOnly.
type Comparison struct {
	Story       Money        `json:"story"`
	Corrected   Money        `json:"corrected"`
	Differences []Difference `json:"differences"`
	// Findings are the nine points in which the story's bill is wrong, with what each means for these inputs.
	Findings []Finding `json:"findings"`
}

// Finding is one thing that is wrong in the story.
type Finding struct {
	Number int    `json:"number"`
	Text   string `json:"text"`
}

// flaws of the story's rules: each is put right by one step.
type flaws struct {
	thousandfold, noCompletes, noRetries, plainRetries, bareIndexRetries, onceRounded, noOverhead, decimalGB bool
}

// compare walks from the story's total at its prices to the corrected one at the prices of today.
func (w Workload) compare(story StoryBill, then, now Prices) Comparison {
	var scenario StoryScenario
	for _, s := range story.Scenarios {
		if s.Pending == All && s.Failed == KeysOnly {
			scenario = s
		}
	}
	c := Comparison{Story: scenario.Printed}
	total := scenario.Printed
	step := func(name, reason string, to Money) {
		c.Differences = append(c.Differences, Difference{name, reason, to.Minus(total), to})
		total = to
	}
	f := flaws{true, true, true, true, true, true, true, true}
	step("its own reads", "left out of this total, though its other scenarios contain them", total.Plus(scenario.WithReads.Minus(scenario.unroundedPrinted())))
	step("its rounding", "each line and the total are rounded; its reads of the failed index are stated, its rule gives another figure", w.amount(f, then))
	f.thousandfold = false
	step("index storage", fmt.Sprintf("%s rows of %d bytes are %s, not 1,000 times that", count(w.Flow().PendingRows), w.Item, gigabytes(Bytes(w.Flow().PendingRows)*w.Item)), w.amount(f, then))
	f.noCompletes = false
	step("completes", fmt.Sprintf("each is a write of the base item too: %s a day", count(w.Flow().Completes)), w.amount(f, then))
	f.noRetries = false
	step("retries", fmt.Sprintf("each is an update and a put of the base: %s a day", count(w.Flow().Retries)), w.amount(f, then))
	if !w.PlainRetry {
		f.plainRetries = false
		step("retries in a transaction", "TransactWriteItems costs twice the units", w.amount(f, then))
	}
	f.bareIndexRetries = false
	step("retries in the index", "the old event leaves the pending index and the new one enters it", w.amount(f, then))
	f.onceRounded = false
	step("read units", fmt.Sprintf("half a unit per 4 KiB, rounded up in each of %d shards; each get rounded up for itself", w.chosenShards()), w.amount(f, then))
	f.noOverhead = false
	step("storage overhead", "100 bytes are billed beside each item and each index entry", w.amount(f, then))
	f.decimalGB = false
	step("gigabytes", "storage is billed by 2^30 bytes", w.amount(f, then))
	step("prices", fmt.Sprintf("%s: $%s and $%s a million, not $%s and $%s", now.Date, now.WritesPerMillion.decimalText(), now.ReadsPerMillion.decimalText(), then.WritesPerMillion.decimalText(), then.ReadsPerMillion.decimalText()), w.amount(f, now))
	c.Corrected = total
	c.Findings = w.findings(story, scenario, then, now)
	return c
}

// amount is the bill of All + KeysOnly with some flaws. Without any it is what [Workload.Bill] says, which a test compares.
func (w Workload) amount(f flaws, prices Prices) Money {
	flow, unit := w.Flow(), WriteCost(w.Item, w.Item)
	perGB, overhead := int64(gb), StorageOverheadBytes
	if f.decimalGB {
		perGB = storyGB
	}
	if f.noOverhead {
		overhead = 0
	}
	stored := func(rows int64, size Bytes) *big.Rat { return big.NewRat(rows*int64(size+overhead), 1) }
	indexes := new(big.Rat).Add(stored(flow.PendingRows, w.Item), stored(flow.FailedRows, w.KeysOnlyEntry))
	if f.thousandfold {
		indexes.Mul(indexes, big.NewRat(1000, 1))
	}
	total := prices.storage(indexes.Add(indexes, stored(flow.Puts*w.RetentionDays, w.Item)), perGB)

	units := flow.Puts * int64(unit)
	if !f.noCompletes {
		units += flow.Completes * int64(unit)
	}
	if !f.noRetries {
		units += 2 * flow.Retries * int64(unit)
		if !f.plainRetries && !w.PlainRetry {
			units += 2 * flow.Retries * int64(unit)
		}
	}
	pending := flow.Puts + flow.Completes
	if !f.bareIndexRetries {
		pending += 2 * flow.Retries
	}
	units += pending * int64(unit)
	units += (flow.Retries + flow.FailedCompletes) * int64(WriteCost(w.KeysOnlyEntry, 0))
	total = total.Plus(prices.Writes(WriteUnits(units * w.DaysPerMonth)))

	if f.onceRounded {
		reads := new(big.Rat).Mul(w.storyPage(All, w.Pending.Rows, storyHalf), big.NewRat(w.Pending.QueriesPerDay, 1))
		failed := new(big.Rat).Mul(w.storyPage(KeysOnly, w.Failed.Rows, storyHalf), big.NewRat(w.Failed.QueriesPerDay, 1))
		reads.Mul(reads.Add(reads, failed), big.NewRat(w.DaysPerMonth, 1_000_000))
		return total.Plus(prices.ReadsPerMillion.Times(reads))
	}
	pendingQuery, pendingGets := w.PageCost(All, w.Pending.Rows, w.chosenShards())
	failedQuery, failedGets := w.PageCost(KeysOnly, w.Failed.Rows, w.chosenShards())
	halves := (pendingQuery+pendingGets)*ReadHalves(w.Pending.QueriesPerDay) + (failedQuery+failedGets)*ReadHalves(w.Failed.QueriesPerDay)
	return total.Plus(prices.Reads(halves * ReadHalves(w.DaysPerMonth)))
}

func (w Workload) findings(story StoryBill, scenario StoryScenario, then, now Prices) []Finding {
	flow, shards := w.Flow(), w.chosenShards()
	entries := StorageBytes(flow.PendingRows, w.Item)
	query, _ := w.PageCost(All, w.Pending.Rows, shards)
	wider, _ := w.PageCost(All, w.Pending.Rows, 2*shards)
	failed, _ := w.PageCost(KeysOnly, w.Failed.Rows, shards)
	failedWider, _ := w.PageCost(KeysOnly, w.Failed.Rows, 2*shards)
	completes := WriteUnits(flow.Completes*w.DaysPerMonth) * WriteCost(w.Item, w.Item)
	texts := []string{
		fmt.Sprintf("Index storage is 1,000 times too high: %s rows of %d bytes are %s, about %s a month, not %s.", count(flow.PendingRows), w.Item, gigabytes(Bytes(flow.PendingRows)*w.Item), then.Storage(entries), scenario.Lines[2].Amount.Exact()),
		fmt.Sprintf("Completes and retries are missing from the base table's writes: %s completes a day are %s a month at its price; a retry is an update and a put, twice the units in a transaction, each in the indexes too.", count(flow.Completes), then.Writes(completes)),
		fmt.Sprintf("Index reads are eventually consistent, half a unit per 4 KiB, rounded up per query: %d shards have a floor of %s read units a page, whatever they return.", shards, ReadHalves(shards)),
		fmt.Sprintf("Its prices, $%s and $%s a million units, are those of before 2024-11-01, when on-demand was halved; here: $%s and $%s, %s of %s.", then.WritesPerMillion.decimalText(), then.ReadsPerMillion.decimalText(), now.WritesPerMillion.decimalText(), now.ReadsPerMillion.decimalText(), now.Region, now.Date),
		fmt.Sprintf("Its totals: %s leaves out %s of reads that its KeysOnly, Include and tenfold (%s) totals contain; its own lines add up to %s. Earlier it put the failed index at $0.01 (KeysOnly) and $0.06 (All), and its read times at 30, 20 and 10 ms in one place, 30, 25 and 20 in another.", scenario.Printed.Text(2), scenario.WithReads.Minus(scenario.unroundedPrinted()).Text(3), story.Tenfold.Text(2), scenario.WithReads.Text(2)),
		fmt.Sprintf("\"%d shards, same cost\" is wrong: an empty page costs %s read units with %d shards and %s with %d, one of %d failed rows %s and %s, one of %d pending rows %s and %s; each takes %d requests instead of %d.",
			2*shards, ReadHalves(shards), shards, ReadHalves(2*shards), 2*shards, w.Failed.Rows, failed, failedWider, w.Pending.Rows, query, wider, 2*shards, shards),
		"A retry keeps its date with the time of the retry: after midnight, a read bounded by that date's first and last millisecond misses it.",
		"Its success rate, (pending - failed) / pending, is none; its alarms on ThrottledRequests and SystemErrors lack the Operation dimension and stay silent.",
		fmt.Sprintf("An index row is billed %d bytes of overhead for storage, as each item is: base storage is %s, not %s.", StorageOverheadBytes, gigabytes(StorageBytes(flow.Puts*w.RetentionDays, w.Item)), gigabytes(Bytes(flow.Puts*w.RetentionDays)*w.Item)),
	}
	findings := make([]Finding, 0, len(texts))
	for i, text := range texts {
		findings = append(findings, Finding{i + 1, text})
	}
	return findings
}
