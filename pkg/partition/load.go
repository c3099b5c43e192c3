package partition

import (
	"fmt"
	"math/big"
)

// Load is the reads of one index with one projection in one second.
type Load struct {
	Index      string     `json:"index"`
	Projection Projection `json:"projection"`
	// Pages asked for in a second.
	Pages int64 `json:"pagesPerSecond"`
	// ReadUnits and Requests a second; ShardUnits the read units of the busiest shard of the index.
	ReadUnits  ReadHalves `json:"readUnits"`
	Requests   int64      `json:"requests"`
	ShardUnits ReadHalves `json:"readUnitsPerShard"`
	// StoryUnits and StoryRequests by the story's rules, for the pending index.
	StoryUnits    string `json:"storyReadUnits,omitempty"`
	StoryRequests int64  `json:"storyRequests,omitempty"`
}

// Moment is what happens at once, at peak or in a spike.
type Moment struct {
	Name string `json:"name"`
	// Writes of the table a second, in write units; the pending index takes as many. PerShard of them, rounded up; Percent of a partition's 1,000,
	// rounded up.
	Writes   WriteUnits `json:"writeUnits"`
	PerShard WriteUnits `json:"writeUnitsPerShard"`
	Percent  int64      `json:"percentOfPartition"`
	Loads    []Load     `json:"reads"`
	Warnings []string   `json:"warnings,omitempty"`
}

// Moments are the peak and the spike.
func (w Workload) Moments() []Moment {
	return []Moment{w.moment("peak", 1), w.moment(fmt.Sprintf("spike x %d", w.SpikeFactor), w.SpikeFactor)}
}

func (w Workload) moment(name string, factor int64) Moment {
	shards := w.chosenShards()
	m := Moment{Name: name, Writes: w.PeakWrites * WriteUnits(factor)}
	m.PerShard = WriteUnits(ceilDiv(int64(m.Writes), shards))
	m.Percent = ceilDiv(int64(m.PerShard)*100, int64(PartitionWrites))
	if m.PerShard > PartitionWrites {
		least, _ := ShardCount(m.Writes, w.UsableWrites, w.HeadroomPercent)
		m.Warnings = append(m.Warnings, fmt.Sprintf("a shard would get %s write units a second, more than the %s that a partition takes: writers must slow down, or have at least %s shards", count(m.PerShard), count(PartitionWrites), count(least)))
	}
	if factor > OnDemandGrowthLimit {
		m.Warnings = append(m.Warnings, fmt.Sprintf("an on-demand table takes at once %d times its former peak; a spike of %d times may be throttled for 30 minutes unless the table is warmed up", OnDemandGrowthLimit, factor))
	}
	for _, index := range []struct {
		name    string
		pattern ReadPattern
		story   bool
	}{{"pending index", w.Pending, true}, {"failed index", w.Failed, false}} {
		pages := index.pattern.PeakPerSecond * factor
		for _, projection := range Projections() {
			query, gets := w.PageCost(projection, index.pattern.Rows, shards)
			busiest := QueryCost(ceilDiv(index.pattern.Rows, shards), w.Entry(projection), Eventual)
			load := Load{
				Index: index.name, Projection: projection, Pages: pages, ReadUnits: (query + gets) * ReadHalves(pages),
				Requests: w.requests(projection, index.pattern.Rows) * pages, ShardUnits: busiest * ReadHalves(pages),
			}
			if index.story {
				load.StoryUnits, load.StoryRequests = w.storyLoad(projection, index.pattern.Rows, pages)
			}
			if int64(load.ShardUnits) > 2*PartitionReads {
				m.Warnings = append(m.Warnings, fmt.Sprintf("%s, %s: a shard would get %s read units a second, more than the %s that a partition takes", index.name, projection, load.ShardUnits.text(), count(PartitionReads)))
			}
			m.Loads = append(m.Loads, load)
		}
	}
	return m
}

// storyLoad counts bytes without rounding, strong reads, and batches of 25.
func (w Workload) storyLoad(projection Projection, rows, pages int64) (units string, requests int64) {
	fetched := storyFetched(projection, rows, storyFifth)
	read := big.NewRat(pages*(rows*int64(w.Entry(projection))+fetched*int64(w.Item)), storyReadUnit)
	text := read.FloatString(0)
	if !read.IsInt() {
		text = read.FloatString(1)
	}
	return text, pages * (w.chosenShards() + ceilDiv(fetched, storyGetsBatch))
}
