package shard

import (
	"math"
	"slices"
)

// plan says how many rows to ask each lane for: zero for those that are done or reach far enough. See the package's comment for the sizes.
func (m *Merger[T]) plan() []int {
	sizes := make([]int, len(m.lanes))
	if m.cost.Rounds == 0 {
		for n := range sizes {
			sizes[n] = (m.wanted+len(sizes)-1)/len(sizes) + 1
		}
		return sizes
	}
	needs, short := m.estimate()
	for n := range sizes {
		if short[n] {
			sizes[n] = max(1, int(math.Ceil(needs[n]+deviations*math.Sqrt(needs[n])+1)))
		}
	}
	return sizes
}

// deviations of a Poisson number that a read allows for: more would read more in every page, less would need a third round more often.
const deviations = 1.5

// estimate walks through the rows that have been read, in order, to where the page ends, and counts for every lane that runs dry on the way how many
// rows it may have there: of the lanes that reach as far, each row stands for 1/reaching rows of a lane that does not.
func (m *Merger[T]) estimate() (needs []float64, short []bool) {
	needs, short = make([]float64, len(m.lanes)), make([]bool, len(m.lanes))
	left, missing := make([]int, len(m.lanes)), 0
	var rows []Position
	for n := range m.lanes {
		lane := &m.lanes[n]
		left[n] = len(lane.rows)
		if left[n] == 0 && !lane.done {
			short[n] = true
			missing++
		}
		for _, row := range lane.rows {
			rows = append(rows, row.Position)
		}
	}
	slices.SortFunc(rows, func(a, b Position) int {
		if m.request.Descending {
			a, b = b, a
		}
		return a.Compare(b)
	})
	page := 0.0
	perLane := 0.0                       // what a lane that has been missing from the beginning needs by now
	since := make([]float64, len(needs)) // perLane when the lane went missing
	for _, row := range rows {
		if page >= float64(m.wanted) {
			break
		}
		reaching := len(m.lanes) - missing
		page += float64(len(m.lanes)) / float64(reaching)
		perLane += 1 / float64(reaching)
		if left[row.Shard]--; left[row.Shard] == 0 && !m.lanes[row.Shard].done {
			short[row.Shard], since[row.Shard] = true, perLane
			missing++
		}
	}
	open := 0
	for n := range m.lanes {
		if !m.lanes[n].done {
			open++
		}
	}
	for n := range m.lanes {
		if m.lanes[n].done {
			continue
		}
		if short[n] {
			needs[n] = perLane - since[n]
		}
		if page < float64(m.wanted) { // all that was read is not enough: the rest comes in even parts
			needs[n] += (float64(m.wanted) - page) / float64(open)
			short[n] = true
		}
	}
	return needs, short
}
