package query

import "math"

// sizer says how many rows the next read of a walk should evaluate. Too few cost another request, too many are read again by the next page.
type sizer struct {
	first                  int // rows of the first read
	reads, evaluated, live int // so far
	last                   int // rows that the last read was to evaluate
}

const (
	// growth is by how much reads grow while they find nothing live, and the most that one may be of what was read before: an estimate from few rows is poor.
	growth = 10
	// maxRead is beyond what 1 MB can hold.
	maxRead = 1_000_000
)

// next is the size of the next read, where wanted live rows are still needed: the rows that hold so many at the live ratio so far.
func (s *sizer) next(wanted int) int {
	size := s.first
	switch {
	case s.reads == 0:
	case s.live == 0:
		size = s.last * growth
	default:
		need := float64(wanted)
		if s.reads > 1 && wanted <= s.live/4 {
			// Close to the end, where falling short costs a request each time and going past costs little: ask for what holds them in most cases.
			need += math.Sqrt(need * (1 - float64(s.live)/float64(s.evaluated)))
		}
		size = min(int(math.Ceil(need*float64(s.evaluated)/float64(s.live))), s.evaluated*growth)
	}
	s.last = min(max(size, 1), maxRead)
	return s.last
}

// saw records an answer.
func (s *sizer) saw(evaluated, live int) {
	s.reads++
	s.evaluated += evaluated
	s.live += live
}
