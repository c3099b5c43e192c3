package partition

// Plan is everything that is computed from a workload.
type Plan struct {
	Workload Workload `json:"workload"`
	// Shards is the chosen count.
	Shards    int64     `json:"shards"`
	ShardPlan ShardPlan `json:"shardPlan"`
	// Partitions that size and throughput need.
	Partitions Partitions `json:"partitions"`
	Flow       Flow       `json:"flowPerDay"`
	// Prices of the corrected bills, and those that the story reckoned with.
	Prices      Prices `json:"prices"`
	StoryPrices Prices `json:"storyPrices"`
	// Story is the bill by the story's rules; Corrected, in the same order, by DynamoDB's at today's prices, and CorrectedThen at the story's.
	Story         StoryBill  `json:"story"`
	Corrected     []Bill     `json:"corrected"`
	CorrectedThen []Bill     `json:"correctedAtStoryPrices"`
	Tenfold       Money      `json:"correctedTenfold"`
	Comparison    Comparison `json:"comparison"`
	Choices       []Choice   `json:"choices"`
	Moments       []Moment   `json:"load"`
}

// Partitions of the base table.
type Partitions struct {
	StoredBytes  Bytes `json:"storedBytes"`
	BySize       int64 `json:"bySize"`
	ByThroughput int64 `json:"byThroughput"`
	// Assumed is the larger, and at least what a new on-demand table has; or as given.
	Assumed int64 `json:"assumed"`
}

// Make computes the plan. The error is an [*InputError] of the workload or of prices.
func Make(w Workload, prices, storyPrices Prices) (Plan, error) {
	if err := w.Validate(); err != nil {
		return Plan{}, err
	}
	for _, p := range []Prices{prices, storyPrices} {
		if err := p.Validate(); err != nil {
			return Plan{}, err
		}
	}
	p := Plan{Workload: w, Shards: w.chosenShards(), Flow: w.Flow(), Prices: prices, StoryPrices: storyPrices, Partitions: w.partitions()}
	p.ShardPlan = w.withRisks(w.ShardPlan(), p.Partitions.Assumed)
	p.Story = w.StoryRules(storyPrices)
	for _, scenario := range Scenarios() {
		p.Corrected = append(p.Corrected, w.Bill(prices, scenario))
		p.CorrectedThen = append(p.CorrectedThen, w.Bill(storyPrices, scenario))
	}
	tenfold := w
	tenfold.EventsPerDay *= 10
	tenfold.Shards = p.Shards
	p.Tenfold = tenfold.Bill(prices, Scenario{Name: "All + KeysOnly", Pending: All, Failed: KeysOnly}).Total
	p.Comparison = w.compare(p.Story, storyPrices, prices)
	p.Choices = w.Choices(prices)
	p.Moments = w.Moments()
	return p, nil
}

func (w Workload) partitions() Partitions {
	p := Partitions{StoredBytes: Bytes(w.Flow().Puts*w.RetentionDays) * w.Item}
	p.BySize, p.ByThroughput = PartitionsBySize(p.StoredBytes), PartitionsByThroughput(w.PeakWrites, 0)
	p.Assumed = max(p.BySize, p.ByThroughput, NewOnDemandTable)
	if w.Partitions > 0 {
		p.Assumed = w.Partitions
	}
	return p
}
