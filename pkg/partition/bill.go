package partition

import (
	"fmt"
	"math/big"
)

// Scenario is which indexes there are, with which projections: 0 is none, and then both are.
type Scenario struct {
	Name    string     `json:"name"`
	Pending Projection `json:"pending"`
	Failed  Projection `json:"failed"`
}

// Scenarios are the story's five.
func Scenarios() []Scenario {
	return []Scenario{
		{"no index", 0, 0},
		{"KeysOnly + KeysOnly", KeysOnly, KeysOnly},
		{"Include + KeysOnly", Include, KeysOnly},
		{"All + KeysOnly", All, KeysOnly},
		{"All + All", All, All},
	}
}

// Line of a bill, for one month.
type Line struct {
	Name string `json:"name"`
	// Quantity with its unit, and the Rule that it comes from.
	Quantity string `json:"quantity"`
	Rule     string `json:"rule"`
	Amount   Money  `json:"amount"`
}

// Bill of one month.
type Bill struct {
	Scenario Scenario `json:"scenario"`
	Lines    []Line   `json:"lines"`
	Total    Money    `json:"total"`
}

func (b *Bill) add(name, quantity, rule string, amount Money) {
	b.Lines = append(b.Lines, Line{name, quantity, rule, amount})
	b.Total = b.Total.Plus(amount)
}

// Bill of a month by DynamoDB's rules.
func (w Workload) Bill(prices Prices, scenario Scenario) Bill {
	flow, month := w.Flow(), w.DaysPerMonth
	bill := Bill{Scenario: scenario}
	writes := func(name, rule string, perDay int64, each WriteUnits) {
		units := WriteUnits(perDay*month) * each
		bill.add(name, count(units)+" write units", fmt.Sprintf("%s, %s a day x %d days x %d", rule, count(perDay), month, each), prices.Writes(units))
	}
	reads := func(name, rule string, queries int64, each ReadHalves) {
		units := ReadHalves(queries*month) * each
		bill.add(name, units.text()+" read units", fmt.Sprintf("%s, %s a day x %d days x %s", rule, count(queries), month, each.text()), prices.Reads(units))
	}
	storage := func(name string, rows int64, size Bytes) {
		stored := StorageBytes(rows, size)
		bill.add(name, gigabytes(stored), fmt.Sprintf("%s rows x (%d + %d bytes)", count(rows), size, StorageOverheadBytes), prices.Storage(stored))
	}

	item := WriteCost(w.Item, w.Item)
	storage("base storage", flow.Puts*w.RetentionDays, w.Item)
	writes("base writes: new events", "put", flow.Puts, item)
	writes("base writes: completes", "update that removes the index keys", flow.Completes, item)
	if w.PlainRetry {
		writes("base writes: retries", "update of the old, put of the new", flow.Retries, 2*item)
	} else {
		writes("base writes: retries", "update of the old, put of the new, in a transaction at twice the units", flow.Retries, 2*item.Transactional())
	}
	if scenario.Pending == 0 && scenario.Failed == 0 {
		everything := FanOutCost(flow.Puts, w.chosenShards(), w.Item, Eventual)
		reads("pending reads: the whole date", "without an index each query reads all events of the date and filters", w.Pending.QueriesPerDay, everything)
		reads("failed reads: the whole date", "as above", w.Failed.QueriesPerDay, everything)
		return bill
	}

	for _, index := range []struct {
		name        string
		projection  Projection
		rows, moves int64
		rule        string
		pattern     ReadPattern
	}{
		{"pending index", scenario.Pending, flow.PendingRows, flow.Puts + flow.Completes + 2*flow.Retries, "entered by a put, left by a complete, both by a retry", w.Pending},
		{"failed index", scenario.Failed, flow.FailedRows, flow.Retries + flow.FailedCompletes, "entered by a retry, left by a complete", w.Failed},
	} {
		if index.projection == 0 {
			continue
		}
		entry := w.Entry(index.projection)
		storage(index.name+", storage", index.rows, entry)
		writes(index.name+", writes", index.rule, index.moves, IndexChange{After: entry}.Cost())
		query, gets := w.PageCost(index.projection, index.pattern.Rows, w.chosenShards())
		reads(index.name+", queries", fmt.Sprintf("%d rows over %d shards, each rounded up to 4 KiB, at half a unit", index.pattern.Rows, w.chosenShards()), index.pattern.QueriesPerDay, query)
		if gets > 0 {
			reads(index.name+", gets", fmt.Sprintf("BatchGetItem of %d rows, each rounded up", w.Fetched(index.projection, index.pattern.Rows)), index.pattern.QueriesPerDay, gets)
		}
	}
	return bill
}

// PageCost is what one page of rows costs: the queries of the shards, and the gets of the rows whose projection isn't enough.
func (w Workload) PageCost(projection Projection, rows, shards int64) (query, gets ReadHalves) {
	query = FanOutCost(rows, shards, w.Entry(projection), Eventual)
	gets = ReadHalves(w.Fetched(projection, rows)) * ItemReadCost(w.Item, w.getConsistency())
	return query, gets
}

func gigabytes(stored Bytes) string {
	switch {
	case stored < 1000*KiB:
		return count(stored) + " bytes"
	case stored < 100*1024*KiB:
		return new(big.Rat).SetFrac64(int64(stored), 1<<20).FloatString(3) + " MB"
	default:
		return new(big.Rat).SetFrac64(int64(stored), gb).FloatString(3) + " GB"
	}
}
