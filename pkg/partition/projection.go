package partition

import (
	"fmt"
	"math/big"
)

// Limits of one BatchGetItem (https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchGetItem.html).
const (
	batchGetItems       = 100
	batchGetBytes Bytes = 16 << 20
)

// manyGets is how many gets a day matter: below, an index may send its readers to the table for each row.
const manyGets = 10_000

// ProjectionCost is one index with one projection.
type ProjectionCost struct {
	Projection Projection `json:"projection"`
	// EntryBytes of a row; StoredBytes of all rows, with overhead.
	EntryBytes  Bytes `json:"entryBytes"`
	StoredBytes Bytes `json:"storedBytes"`
	// WriteUnits of one entry; QueryUnits and GetUnits of one page, in read units; GetsPerDay items fetched from the table.
	WriteUnits WriteUnits `json:"writeUnitsPerEntry"`
	QueryUnits ReadHalves `json:"queryReadUnits"`
	GetUnits   ReadHalves `json:"getReadUnits"`
	GetsPerDay int64      `json:"getsPerDay"`
	// Requests of one page and RoundTrips that follow each other.
	Requests   int64 `json:"requestsPerPage"`
	RoundTrips int64 `json:"roundTrips"`
	// Millis as given in the workload, and whether it keeps the target.
	Millis      int64 `json:"millis"`
	KeepsTarget bool  `json:"keepsTarget"`
	// A month's costs.
	Storage Money `json:"storage"`
	Writes  Money `json:"writes"`
	Reads   Money `json:"reads"`
	Total   Money `json:"total"`
}

// Choice is the three projections of one index, and the one to take.
type Choice struct {
	Index       string           `json:"index"`
	Costs       []ProjectionCost `json:"costs"`
	Recommended Projection       `json:"recommended"`
	Reasons     []string         `json:"reasons"`
}

// Choices compares the projections of both indexes.
func (w Workload) Choices(prices Prices) []Choice {
	flow := w.Flow()
	return []Choice{
		w.choice(prices, "pending index", flow.PendingRows, flow.Puts+flow.Completes+2*flow.Retries, w.Pending),
		w.choice(prices, "failed index", flow.FailedRows, flow.Retries+flow.FailedCompletes, w.Failed),
	}
}

func (w Workload) choice(prices Prices, index string, rows, moves int64, pattern ReadPattern) Choice {
	choice := Choice{Index: index}
	for i, projection := range Projections() {
		entry, fetched := w.Entry(projection), w.Fetched(projection, pattern.Rows)
		query, gets := w.PageCost(projection, pattern.Rows, w.chosenShards())
		c := ProjectionCost{
			Projection: projection, EntryBytes: entry, StoredBytes: StorageBytes(rows, entry), WriteUnits: WriteCost(0, entry),
			QueryUnits: query, GetUnits: gets, GetsPerDay: fetched * pattern.QueriesPerDay,
			Requests: w.requests(projection, pattern.Rows), RoundTrips: 1, Millis: pattern.Millis[i], KeepsTarget: pattern.Millis[i] <= pattern.TargetMillis,
			Writes: prices.Writes(WriteUnits(moves*w.DaysPerMonth) * WriteCost(0, entry)),
			Reads:  prices.Reads((query + gets) * ReadHalves(pattern.QueriesPerDay*w.DaysPerMonth)),
		}
		if fetched > 0 {
			c.RoundTrips = 2
		}
		c.Storage = prices.Storage(c.StoredBytes)
		c.Total = c.Storage.Plus(c.Writes).Plus(c.Reads)
		choice.Costs = append(choice.Costs, c)
	}
	choice.recommend(pattern)
	return choice
}

// requests of one page: a query per shard and its further pages, and the batches of gets.
func (w Workload) requests(projection Projection, rows int64) int64 {
	shards := w.chosenShards()
	perPage := max(1, int64(QueryPageBytes/w.Entry(projection)))
	more := rows % shards
	requests := more*max(1, ceilDiv(rows/shards+1, perPage)) + (shards-more)*max(1, ceilDiv(rows/shards, perPage))
	perBatch := min(batchGetItems, int64(batchGetBytes/w.Item))
	return requests + ceilDiv(w.Fetched(projection, rows), perBatch)
}

// recommend takes, of the projections that keep the target, the smallest copy that does not send readers to the table too often and is not notably dearer than the
// cheapest: a cent a month, or 5 %.
func (c *Choice) recommend(pattern ReadPattern) {
	var fits []ProjectionCost
	for _, cost := range c.Costs {
		if cost.KeepsTarget {
			fits = append(fits, cost)
		}
	}
	if len(fits) == 0 {
		fastest := c.Costs[0]
		for _, cost := range c.Costs {
			if cost.Millis < fastest.Millis {
				fastest = cost
			}
		}
		fits = []ProjectionCost{fastest}
	}
	cheapest := fits[0]
	for _, cost := range fits {
		if cost.Total.Cmp(cheapest.Total) < 0 {
			cheapest = cost
		}
	}
	cent, twentieth := Money{big.NewRat(1, 100)}, cheapest.Total.Times(big.NewRat(1, 20))
	slack := cent
	if twentieth.Cmp(cent) > 0 {
		slack = twentieth
	}
	chosen := cheapest
	for _, cost := range fits {
		if cost.GetsPerDay < manyGets && cost.Total.Cmp(cheapest.Total.Plus(slack)) <= 0 {
			chosen = cost
			break
		}
	}
	c.Recommended = chosen.Projection
	c.Reasons = c.reasons(chosen, cheapest, pattern)
}

func (c *Choice) reasons(chosen, cheapest ProjectionCost, pattern ReadPattern) []string {
	keys, all := c.Costs[0], c.Costs[2]
	reasons := []string{fmt.Sprintf("frequency and rows: %s queries a day of %s rows; KeysOnly fetches %s items a day from the table, %s fetches %s", count(pattern.QueriesPerDay), count(pattern.Rows), count(keys.GetsPerDay), chosen.Projection, count(chosen.GetsPerDay))}
	if chosen.Projection == KeysOnly {
		reasons[0] = fmt.Sprintf("frequency and rows: %s queries a day of %s rows; fetching %s items a day from the table doesn't matter (below %s)", count(pattern.QueriesPerDay), count(pattern.Rows), count(keys.GetsPerDay), count(int64(manyGets)))
	}
	latency := fmt.Sprintf("latency: %d ms in %s keep the target of %d ms", chosen.Millis, trips(chosen.RoundTrips), pattern.TargetMillis)
	if !chosen.KeepsTarget {
		latency = fmt.Sprintf("latency: none keeps the target of %d ms; this is the fastest, %d ms", pattern.TargetMillis, chosen.Millis)
	}
	for _, cost := range c.Costs {
		if chosen.KeepsTarget && !cost.KeepsTarget {
			latency += fmt.Sprintf("; %s takes %d ms in %s", cost.Projection, cost.Millis, trips(cost.RoundTrips))
		}
	}
	reasons = append(reasons, latency,
		fmt.Sprintf("storage: %s a month; KeysOnly %s, All %s", chosen.Storage, keys.Storage, all.Storage))
	if all.WriteUnits == keys.WriteUnits {
		reasons = append(reasons, fmt.Sprintf("writes: %s an entry with each projection", unitsText(all.WriteUnits, "write unit")))
	} else {
		reasons = append(reasons, fmt.Sprintf("writes: %d units an entry with All, %d with KeysOnly: %s and %s a month", all.WriteUnits, keys.WriteUnits, all.Writes, keys.Writes))
	}
	if chosen.Projection == cheapest.Projection {
		reasons = append(reasons, fmt.Sprintf("cost: %s a month in all, the lowest of those that keep the target", chosen.Total))
	} else {
		reasons = append(reasons, fmt.Sprintf("cost: %s a month more than %s, for a smaller copy whose rows are read again from the table anyway, where their state is current", chosen.Total.Minus(cheapest.Total), cheapest.Projection))
	}
	return append(reasons, "a projection can't be changed afterwards: a new index is built and the old one dropped")
}

func trips(n int64) string {
	if n == 1 {
		return "1 round trip"
	}
	return fmt.Sprintf("%d round trips", n)
}

func unitsText(n WriteUnits, unit string) string {
	if n == 1 {
		return "1 " + unit
	}
	return count(n) + " " + unit + "s"
}
