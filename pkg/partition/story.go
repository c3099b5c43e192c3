package partition

import (
	"fmt"
	"math/big"
	"strings"
)

// The story's own rules, flaws included. They stand here to be shown beside the right ones; use [Workload.Bill] for a plan.

// StoryScenario is one of the story's five, as it printed them.
type StoryScenario struct {
	Scenario
	Lines []Line `json:"lines"`
	// Printed is the story's total of the scenario; WithReads the sum of all its lines.
	Printed   Money `json:"printed"`
	WithReads Money `json:"withReads"`
}

// StoryBill is the whole of the story's bill.
type StoryBill struct {
	Scenarios []StoryScenario `json:"scenarios"`
	// Chosen is its All + KeysOnly, Tenfold that at ten times the events.
	Chosen  Money `json:"chosen"`
	Tenfold Money `json:"tenfold"`
}

// Sizes and units as the story takes them.
const (
	storyKB        = 1000
	storyGB        = 1_000_000_000
	storyReadUnit  = 4 * storyKB
	storyGetsBatch = 25 // keys of a BatchGetItem in its requests; the limit is 100
)

// What the story states without a rule that gives it.
var (
	storyScans       = Money{big.NewRat(20, 100)}                                                             // "no index": reads a month
	storyFailedReads = [3]Money{{big.NewRat(12, 10_000)}, {big.NewRat(10, 10_000)}, {big.NewRat(15, 10_000)}} // KeysOnly, Include, All a month
	storyHalf        = PPM(500_000)                                                                           // of an Include page is fetched in its bill,
	storyFifth       = PPM(200_000)                                                                           // and in its load model
)

// StoryRules computes the bill of a workload as the story did, rounded line by line as it printed them: amounts to the cent, pending storage
// and reads to three places, those of the failed index to four.
func (w Workload) StoryRules(prices Prices) StoryBill {
	var bill StoryBill
	for _, scenario := range Scenarios() {
		s := w.storyScenario(prices, scenario)
		bill.Scenarios = append(bill.Scenarios, s)
		if scenario.Pending == All && scenario.Failed == KeysOnly {
			bill.Chosen = s.Printed
			// Ten times the events, but the same queries: its reads stay, and here they are counted.
			bill.Tenfold = s.Printed.Times(big.NewRat(10, 1)).Plus(s.WithReads.Minus(s.unroundedPrinted())).Round(2)
		}
	}
	return bill
}

func (w Workload) storyScenario(prices Prices, scenario Scenario) StoryScenario {
	flow, unit := w.Flow(), WriteCost(w.Item, w.Item)
	s := StoryScenario{Scenario: scenario}
	var all, printed Money
	add := func(inTotal bool, places int, name, quantity, rule string, amount Money) {
		amount = amount.Round(places)
		s.Lines = append(s.Lines, Line{name, quantity, rule, amount})
		all = all.Plus(amount)
		if inTotal {
			printed = printed.Plus(amount)
		}
	}
	base := big.NewRat(flow.Puts*w.RetentionDays*int64(w.Item), 1)
	add(true, 2, "base storage", new(big.Rat).Quo(base, big.NewRat(storyGB, 1)).FloatString(1)+" GB", "events x days kept x size", prices.storage(base, storyGB))
	puts := WriteUnits(flow.Puts*w.DaysPerMonth) * unit
	add(true, 2, "base writes", count(puts)+" write units", "new events alone", prices.Writes(puts))
	if scenario.Pending == 0 {
		add(true, 2, "reads", "", "stated, put down to scans", storyScans)
		s.Printed, s.WithReads = printed.Round(2), all
		return s
	}
	// Its reads are in the totals only where GetItems are: it left them out of All + KeysOnly and All + All.
	counted := scenario.Pending != All
	storage := func(places int, name string, rows int64, entry Bytes) {
		thousandfold := big.NewRat(rows*int64(entry)*1000, 1)
		add(true, places, name+", storage", trimmed(new(big.Rat).Quo(thousandfold, big.NewRat(storyGB, 1)).FloatString(4))+" GB", fmt.Sprintf("%s rows x %d bytes, taken for 1,000 times as much", count(rows), entry), prices.storage(thousandfold, storyGB))
	}
	writes := func(name, rule string, perDay int64, entry Bytes) {
		units := WriteUnits(perDay*w.DaysPerMonth) * WriteCost(0, entry)
		add(true, 2, name+", writes", count(units)+" write units", fmt.Sprintf("%s, %s a day", rule, count(perDay)), prices.Writes(units))
	}
	storage(3, "pending index", flow.PendingRows, w.Entry(scenario.Pending))
	writes("pending index", "entered by a put, left by a complete", flow.Puts+flow.Completes, w.Entry(scenario.Pending))
	each := w.storyPage(scenario.Pending, w.Pending.Rows, storyHalf)
	units := new(big.Rat).Mul(each, big.NewRat(w.Pending.QueriesPerDay*w.DaysPerMonth, 1))
	add(counted, 3, "pending index, reads", wholeText(units)+" read units", "strong, rounded up once a query, with its gets: "+each.FloatString(0)+" a query", prices.ReadsPerMillion.Times(units.Quo(units, big.NewRat(1_000_000, 1))))

	storage(4, "failed index", flow.FailedRows, w.Entry(scenario.Failed))
	writes("failed index", "entered by a retry, left by a complete", flow.Retries+flow.FailedCompletes, w.Entry(scenario.Failed))
	stated := storyFailedReads[scenario.Failed-1].Times(big.NewRat(w.Failed.QueriesPerDay*w.Failed.Rows, 500))
	add(counted, 4, "failed index, reads", "", "stated for 50 queries of 10 rows a day; no rule of the story gives it", stated)
	s.Printed, s.WithReads = printed.Round(2), all
	return s
}

// unroundedPrinted is the sum of the lines that its total contains.
func (s StoryScenario) unroundedPrinted() Money {
	var sum Money
	for _, line := range s.Lines {
		if s.Pending == All && (line.Name == "pending index, reads" || line.Name == "failed index, reads") {
			continue
		}
		sum = sum.Plus(line.Amount)
	}
	return sum
}

// storyPage is the read units of a page by the story: the rows together rounded up to 4 KB, and what is fetched by its bytes alone.
func (w Workload) storyPage(projection Projection, rows int64, share PPM) *big.Rat {
	query := ceilDiv(rows*int64(w.Entry(projection)), storyReadUnit)
	return new(big.Rat).Add(big.NewRat(query, 1), big.NewRat(storyFetched(projection, rows, share)*int64(w.Item), storyReadUnit))
}

func storyFetched(projection Projection, rows int64, share PPM) int64 {
	switch projection {
	case KeysOnly:
		return rows
	case Include:
		return share.Of(rows)
	case All:
		return 0
	default:
		return 0
	}
}

// trimmed takes the trailing zeros off a decimal number.
func trimmed(text string) string {
	if !strings.Contains(text, ".") {
		return text
	}
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// wholeText prints a rational rounded to a whole number, with commas.
func wholeText(r *big.Rat) string {
	rounded, ok := new(big.Int).SetString(r.FloatString(0), 10)
	if !ok || !rounded.IsInt64() {
		return r.FloatString(0)
	}
	return count(rounded.Int64())
}
