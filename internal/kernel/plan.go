package kernel

import (
	"cmp"
	"slices"
)

// plan is what a sweep does to the sums: columns grouped by the cluster they leave and the cluster
// they join, so that several of a group are summed in registers before they touch memory.
type plan struct {
	full    bool    // sums are made anew
	labels  []int32 // after the sweep
	moves   []Move  // of a delta
	columns []int32
	runs    []run
	touches *touches // of a delta on a graph, which has no columns and runs
}

// run is the columns [start, end) of a plan, which leave one cluster and join another; -1: none.
type run struct {
	from, to   int32
	start, end int
}

// fullPlan adds every labelled column to its cluster, by a counting sort.
func fullPlan(labels []int32, k int) *plan {
	p := &plan{full: true, labels: labels, columns: make([]int32, len(labels)), runs: make([]run, k)}
	counts := make([]int, k)
	for _, c := range labels {
		if c >= 0 {
			counts[c]++
		}
	}
	at := 0
	for c, count := range counts {
		p.runs[c] = run{from: -1, to: int32(c), start: at, end: at}
		at += count
	}
	for j, c := range labels {
		if c >= 0 {
			p.columns[p.runs[c].end] = int32(j)
			p.runs[c].end++
		}
	}
	p.columns = p.columns[:at]
	return p
}

// deltaPlan takes moved columns out of their old clusters and into their new ones.
func deltaPlan(labels []int32, moves []Move) *plan {
	sorted := slices.Clone(moves)
	slices.SortFunc(sorted, func(a, b Move) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), cmp.Compare(a.Point, b.Point))
	})
	p := &plan{labels: labels, moves: moves, columns: make([]int32, len(sorted))}
	for at, m := range sorted {
		p.columns[at] = m.Point
		if last := len(p.runs) - 1; last >= 0 && p.runs[last].from == m.From && p.runs[last].to == m.To {
			p.runs[last].end++
			continue
		}
		p.runs = append(p.runs, run{from: m.From, to: m.To, start: at, end: at + 1})
	}
	return p
}
