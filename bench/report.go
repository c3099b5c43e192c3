package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// result is one line of results.json: what ours and the peer cost, and ours / peer.
type result struct {
	Name     string  `json:"name"`
	Ours     float64 `json:"ours"`
	Peer     float64 `json:"peer"`
	PeerName string  `json:"peerName"`
	Ratio    float64 `json:"ratio"`
	Unit     string  `json:"unit"`
}

// limit is what was promised for a result. The zero limit promises nothing.
type limit struct {
	text string
	met  func(result) bool
}

// report gathers results in order.
type report struct {
	results []result
	limits  []limit
}

// add records a comparison.
func (r *report) add(name, unit string, ours float64, peerName string, peer float64, promised limit) {
	ratio := 1.0
	if ours != peer {
		ratio = ours / peer // a peer that costs nothing makes it infinite, which JSON can't say; see write
	}
	r.results = append(r.results, result{Name: name, Ours: round(ours), Peer: round(peer), PeerName: peerName, Ratio: round(ratio), Unit: unit})
	r.limits = append(r.limits, promised)
}

// pair records what two contestants of a comparison cost.
func (r *report) pair(name, unit string, of func(cost) float64, costs rounds, peerName string, peer int, promised limit) {
	ours, peers := costs.pair(0, peer, of)
	r.add(name, unit, ours, peerName, peers, promised)
}

// round keeps four significant digits: the rest is noise.
func round(value float64) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(value, 'g', 4, 64), 64)
	if err != nil {
		return value
	}
	return rounded
}

// The limits that issues state.
var none = limit{}

func atMost(ratio float64) limit {
	return limit{fmt.Sprintf("ratio <= %g", ratio), func(r result) bool { return r.Ratio <= ratio }}
}

func below(ratio float64) limit {
	return limit{fmt.Sprintf("ratio < %g", ratio), func(r result) bool { return r.Ratio < ratio }}
}

func oursAtMost(most float64) limit {
	return limit{fmt.Sprintf("ours <= %g", most), func(r result) bool { return r.Ours <= most }}
}

func peerPlus(more float64) limit {
	return limit{fmt.Sprintf("ours <= peer + %g", more), func(r result) bool { return r.Ours <= r.Peer+more }}
}

// print draws the table.
func (r *report) print(w io.Writer) {
	t := table.NewWriter()
	t.SetOutputMirror(w)
	t.SetStyle(table.StyleLight)
	t.AppendHeader(table.Row{"measured", "unit", "ours", "peer", "", "ratio", "limit", ""})
	missed := 0
	for n, result := range r.results {
		verdict := ""
		if promised := r.limits[n]; promised.met != nil {
			verdict = "met"
			if !promised.met(result) {
				verdict = "NOT MET"
				missed++
			}
		}
		t.AppendRow(table.Row{
			result.Name, result.Unit, number(result.Ours), number(result.Peer), result.PeerName, number(result.Ratio), r.limits[n].text, verdict,
		})
	}
	right := func(column int) table.ColumnConfig {
		return table.ColumnConfig{Number: column, Align: text.AlignRight, AlignHeader: text.AlignRight}
	}
	t.SetColumnConfigs([]table.ColumnConfig{right(3), right(4), right(6)})
	t.Render()
	if missed > 0 {
		_, _ = fmt.Fprintf(w, "Limits not met: %d. One run on a busy machine proves little: run it again before you look for the reason.\n", missed)
	}
}

func number(value float64) string { return strconv.FormatFloat(value, 'f', -1, 64) }

// write stores results.json.
func (r *report) write(path string) error {
	for _, result := range r.results {
		if math.IsInf(result.Ratio, 0) || math.IsNaN(result.Ratio) {
			return fmt.Errorf("%s: the peer's cost is %v", result.Name, result.Peer)
		}
	}
	encoded, err := json.MarshalIndent(r.results, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(encoded, '\n'), 0o644) //nolint:gosec // for everybody to read
}
