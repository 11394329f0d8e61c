package kernel

import (
	"cmp"
	"slices"
)

// plan is what a sweep does to the sums: columns grouped by the cluster they leave and the cluster
// they join, so that several of a group are summed in registers before they touch memory.
type plan struct {
	n, k    int
	anew    []bool  // per lane: its sums are made anew
	labels  []int32 // after the sweep
	moves   []Move  // of the lanes that are not made anew
	columns []int32
	runs    []run
	touches *touches // of a delta on a graph, which has no columns and runs
}

// run is the columns [start, end) of a plan, which leave one cluster and join another; -1: none.
type run struct {
	from, to   int32
	start, end int
}

// labelsOf is the labels of a lane.
func (p *plan) labelsOf(lane int) []int32 { return p.labels[lane*p.n : (lane+1)*p.n] }

// planAnew makes all sums anew.
func (s *Shard) planAnew() *plan {
	p := &plan{n: s.source.Rows(), k: s.armament.K, anew: make([]bool, s.armament.lanes()), labels: s.labels}
	for lane := range p.anew {
		p.anew[lane] = true
		if s.source.graph == nil {
			p.addAll(lane)
		}
	}
	return p
}

// planDense changes the sums of dense tiles by the points that moved or, in a lane where that is less
// work, makes them anew. Sums being exact, their bits are the same.
func (s *Shard) planDense(moves []Move) *plan {
	p := &plan{n: s.source.Rows(), k: s.armament.K, anew: make([]bool, s.armament.lanes()), labels: s.labels}
	counts := make([]int, len(p.anew))
	for _, m := range moves {
		counts[s.armament.laneOf(m)]++
	}
	rest := moves
	for lane, count := range counts {
		// A delta reads the columns that moved and writes two sums for each, a full sweep reads them all.
		if 4*count > 3*p.n {
			p.anew[lane] = true
			p.addAll(lane)
			rest = nil
		}
	}
	if rest == nil {
		for _, m := range moves {
			if !p.anew[s.armament.laneOf(m)] {
				rest = append(rest, m)
			}
		}
	}
	p.move(rest)
	return p
}

// addAll adds every labelled column of a lane to its cluster, by a counting sort.
func (p *plan) addAll(lane int) {
	labels, first := p.labelsOf(lane), int32(lane*p.k)
	counts := make([]int, p.k)
	for _, c := range labels {
		if c >= 0 {
			counts[c-first]++
		}
	}
	at, runs := len(p.columns), len(p.runs)
	for c, count := range counts {
		p.runs = append(p.runs, run{from: -1, to: first + int32(c), start: at, end: at})
		at += count
	}
	p.columns = slices.Grow(p.columns, at-len(p.columns))[:at]
	for j, c := range labels {
		if c >= 0 {
			r := &p.runs[runs+int(c-first)]
			p.columns[r.end] = int32(j)
			r.end++
		}
	}
}

// fewPerRun is how many columns a run of a delta must have on average to be worth reading them once:
// with fewer, each would touch two clusters' sums for itself.
const fewPerRun = 3

// move takes moved columns out of their old clusters and into their new ones: both at one reading
// of a column where many go the same way, else first out of the old clusters, then into the new ones.
func (p *plan) move(moves []Move) {
	p.moves = moves
	columns, runs := len(p.columns), len(p.runs)
	p.append(moves, func(m Move) (int32, int32) { return m.From, m.To })
	if len(moves) >= fewPerRun*(len(p.runs)-runs) {
		return
	}
	p.columns, p.runs = p.columns[:columns], p.runs[:runs]
	p.append(moves, func(m Move) (int32, int32) { return m.From, -1 })
	p.append(moves, func(m Move) (int32, int32) { return -1, m.To })
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
