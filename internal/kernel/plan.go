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

// fewPerRun is how many columns a run of a delta must have on average to be worth reading them once:
// with fewer, each would touch two clusters' sums for itself.
const fewPerRun = 3

// deltaPlan takes moved columns out of their old clusters and into their new ones: both at one reading
// of a column where many go the same way, else first out of the old clusters, then into the new ones.
func deltaPlan(labels []int32, moves []Move) *plan {
	p := &plan{labels: labels, moves: moves}
	p.append(moves, func(m Move) (int32, int32) { return m.From, m.To })
	if len(moves) >= fewPerRun*len(p.runs) {
		return p
	}
	p.columns, p.runs = p.columns[:0], p.runs[:0]
	p.append(moves, func(m Move) (int32, int32) { return m.From, -1 })
	p.append(moves, func(m Move) (int32, int32) { return -1, m.To })
	return p
}

// append adds the moves as runs of those that leave and join the same clusters.
func (p *plan) append(moves []Move, way func(Move) (from, to int32)) {
	sorted := slices.Clone(moves)
	slices.SortFunc(sorted, func(a, b Move) int {
		fromA, toA := way(a)
		fromB, toB := way(b)
		return cmp.Or(cmp.Compare(fromA, fromB), cmp.Compare(toA, toB), cmp.Compare(a.Point, b.Point))
	})
	first := len(p.runs)
	for _, m := range sorted {
		from, to := way(m)
		if last := len(p.runs) - 1; last < first || p.runs[last].from != from || p.runs[last].to != to {
			p.runs = append(p.runs, run{from: from, to: to, start: len(p.columns), end: len(p.columns)})
		}
		p.columns = append(p.columns, m.Point)
		p.runs[len(p.runs)-1].end++
	}
}
