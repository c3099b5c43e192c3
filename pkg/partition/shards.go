package partition

import (
	"fmt"
	"math/big"
)

// Step of an arithmetic, with its reason.
type Step struct {
	Value  int64  `json:"value"`
	Rule   string `json:"rule"`
	Reason string `json:"reason"`
}

// ShardPlan is how many shards a date needs, and why.
type ShardPlan struct {
	Steps []Step `json:"steps"`
	// Least is ceil(peak/usable), Headroom that times the headroom, Chosen what is used.
	Least    int64 `json:"least"`
	Headroom int64 `json:"headroom"`
	Chosen   int64 `json:"chosen"`
	// Risks at peak, for the three counts and others, on the partitions of the table.
	Partitions int64  `json:"partitions"`
	Risks      []Risk `json:"risks"`
	// SafePartitions is how many partitions to warm the table up to, so that the risk at peak is below 1 %: 0 if none is enough.
	SafePartitions int64    `json:"safePartitions"`
	Warnings       []string `json:"warnings,omitempty"`
}

// Risk of a shard count.
type Risk struct {
	Shards     int64 `json:"shards"`
	Partitions int64 `json:"partitions"`
	// Overload is the probability, a decimal of 4 places, that some partition gets more than 1,000 write units a second at peak.
	Overload string `json:"overload"`
	// PerShard is write units a second of a shard at peak, rounded up, and PercentOfPartition what that is of a partition, rounded up.
	PerShard           WriteUnits `json:"writeUnitsPerShard"`
	PercentOfPartition int64      `json:"percentOfPartition"`
	// PendingReads is what one page of pending events costs: more shards cost reads.
	PendingReads ReadHalves `json:"pendingReadUnits"`

	probability *big.Rat
}

// Percent of the probability, one digit.
func (r Risk) Percent() string { return percent(r.probability) }

var onePercent = big.NewRat(1, 100)

// ShardCount is the story's rule: ceil(peak/usable), then times the headroom, rounded up.
func ShardCount(peak, usable WriteUnits, headroomPercent int64) (least, headroom int64) {
	least = max(1, ceilDiv(int64(peak), int64(usable)))
	return least, ceilDiv(least*headroomPercent, 100)
}

// ShardPlan computes the shards with each step's reason, without the risks.
func (w Workload) ShardPlan() ShardPlan {
	var p ShardPlan
	p.Least, p.Headroom = ShardCount(w.PeakWrites, w.UsableWrites, w.HeadroomPercent)
	chosenRule, chosenReason := fmt.Sprintf("2 x %d", p.Headroom), "room to double: growth, spikes, and a more even spread over partitions"
	p.Chosen = 2 * p.Headroom
	if w.Shards > 0 {
		p.Chosen, chosenRule, chosenReason = w.Shards, "as given", "chosen by hand"
	}
	p.Steps = []Step{
		{int64(w.PeakWrites), "peak", "write units a second when most is written at once: one per event and KiB of it"},
		{int64(w.UsableWrites), "usable of a partition's " + count(PartitionWrites), "the rest is kept for retries and uneven seconds"},
		{p.Least, fmt.Sprintf("ceil(%s / %s)", count(w.PeakWrites), count(w.UsableWrites)), "the least that could do, if every shard had a partition of its own and got its even share"},
		{p.Headroom, fmt.Sprintf("ceil(%d x %d.%02d)", p.Least, w.HeadroomPercent/100, w.HeadroomPercent%100), "headroom: shards are hashed to partitions independently, some share one"},
		{p.Chosen, chosenRule, chosenReason},
	}
	return p
}

// chosenShards is the count alone.
func (w Workload) chosenShards() int64 {
	if w.Shards > 0 {
		return w.Shards
	}
	_, headroom := ShardCount(w.PeakWrites, w.UsableWrites, w.HeadroomPercent)
	return 2 * headroom
}

// withRisks adds the risks of the counts to the plan.
func (w Workload) withRisks(p ShardPlan, partitions int64) ShardPlan {
	p.Partitions = partitions
	counts := []int64{p.Least, p.Headroom, p.Chosen, 2 * p.Chosen}
	seen := map[int64]bool{}
	for _, shards := range counts {
		if seen[shards] || shards > MaxShards {
			continue
		}
		seen[shards] = true
		p.Risks = append(p.Risks, w.risk(shards, partitions))
	}
	p.SafePartitions = SafePartitions(w.PeakWrites, p.Chosen, partitions, onePercent)
	now := w.risk(p.Chosen, partitions)
	if now.probability.Cmp(onePercent) > 0 {
		warning := fmt.Sprintf("with %d shards on %d partitions, some partition is overloaded at peak with a probability of %s (until it splits, which takes minutes)",
			p.Chosen, partitions, now.Percent())
		if p.SafePartitions > 0 {
			warning += fmt.Sprintf("; warm the table and its pending index up to %s write units a second, so that there are about %d partitions: %s",
				count(p.SafePartitions*int64(PartitionWrites)), p.SafePartitions, w.risk(p.Chosen, p.SafePartitions).Percent())
		}
		p.Warnings = append(p.Warnings, warning)
	}
	if per := ceilDiv(int64(w.PeakWrites), p.Chosen); per > int64(w.UsableWrites) {
		p.Warnings = append(p.Warnings, fmt.Sprintf("a shard gets %s write units a second at peak, more than the usable %d: at least %d shards are needed", count(per), w.UsableWrites, p.Least))
	}
	if w.PeakWrites > DefaultTableQuota {
		p.Warnings = append(p.Warnings, fmt.Sprintf("the peak is above the default quota of a table, %s write units a second: ask AWS to raise it", count(DefaultTableQuota)))
	}
	return p
}

func (w Workload) risk(shards, partitions int64) Risk {
	probability := OverloadRisk(w.PeakWrites, shards, partitions)
	per := ceilDiv(int64(w.PeakWrites), shards)
	return Risk{
		Shards: shards, Partitions: partitions, Overload: probability.FloatString(4), probability: probability,
		PerShard: WriteUnits(per), PercentOfPartition: ceilDiv(per*100, int64(PartitionWrites)),
		PendingReads: FanOutCost(w.Pending.Rows, shards, w.Entry(All), Eventual),
	}
}
