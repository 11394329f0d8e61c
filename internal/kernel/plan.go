package kernel

import "github.com/cleave-project/cleave/internal/labeling"

// plan is what a sweep does to the sums. A shard has one and uses its buffers again.
//
// Of a dense matrix it is a list of entries: a column that is taken out of a cluster's sums, or added
// to them, once for each lane that it changes. They are grouped by cluster, so that several columns
// are summed in registers before they touch memory; layouts say in which order.
type plan struct {
	n, k      int
	recompute []bool          // per lane: its sums are made anew
	counts    []int           // per lane: the points that moved
	labels    []int32         // after the sweep
	moves     []labeling.Move // of the lanes that are not made anew
	changes   *rowChanges
	columns   []int32 // the columns that are read, ascending
	// The entries in order of their keys.
	keys, places []int32 // a place is that of a column in columns
	distinct     int     // keys that there are
	layouts      [chunkings]layout
	// Buffers.
	place  []int32 // per column: one more than its place, or 0
	starts []int   // per key
	kept   []labeling.Move
}

// labelsOf is the labels of a lane.
func (p *plan) labelsOf(lane int) []int32 { return p.labels[lane*p.n : (lane+1)*p.n] }

// newPlan is the shard's plan, with nothing planned.
func (s *Shard) newPlan() *plan {
	p := &s.plan
	p.n, p.k, p.labels, p.moves, p.changes = s.source.Rows(), s.operands.K, s.labels, nil, nil
	p.recompute = resized(p.recompute, s.operands.lanes())
	p.counts = resized(p.counts, len(p.recompute))
	clear(p.recompute)
	clear(p.counts)
	return p
}

// planAnew makes all sums anew.
func (s *Shard) planFullSweep() *plan {
	p := s.newPlan()
	for lane := range p.recompute {
		p.recompute[lane], p.counts[lane] = true, p.n
	}
	if s.source.graph == nil {
		p.buildEntries()
	}
	return p
}

// planDense changes the sums of dense tiles by the points that moved or, in a lane where that is less
// work, makes them anew. Sums being exact, their bits are the same.
func (s *Shard) planDenseDelta(moves []labeling.Move) *plan {
	p, shape := s.newPlan(), s.shape()
	for _, m := range moves {
		p.counts[shape.Lane(m)]++
	}
	p.moves = moves
	for lane, count := range p.counts {
		if MadeAnew(p.n, count) {
			p.recompute[lane] = true
			p.moves = nil
		}
	}
	if p.moves == nil {
		p.kept = p.kept[:0]
		for _, m := range moves {
			if !p.recompute[shape.Lane(m)] {
				p.kept = append(p.kept, m)
			}
		}
		p.moves = p.kept
	}
	p.buildEntries()
	return p
}

// MadeAnew tells whether so many moves of a lane's n points make it less work to sum all columns anew
// than to move those.
func MadeAnew(n, moves int) bool { return 4*moves > 3*n }

// list makes the columns and the entries.
func (p *plan) buildEntries() {
	p.place = resized(p.place, p.n)
	clear(p.place)
	p.forEachEntry(false, func(_, column int32) { p.place[column] = 1 })
	p.columns = p.columns[:0]
	for j, used := range p.place {
		if used != 0 {
			p.columns = append(p.columns, int32(j))
			p.place[j] = int32(len(p.columns))
		}
	}
	p.sortEntries(p.pairingPays())
	for pace := range p.layouts {
		p.layouts[pace].ready = false
	}
}

// worthPairing tells whether many columns leave and join the same two clusters: then both is done at
// one reading. With few for a pair, each would touch two clusters' sums for itself.
func (p *plan) pairingPays() bool {
	const few, most = 4, 1 << 16
	if len(p.moves) == 0 || p.keyCount(true) > most {
		return false
	}
	p.starts = resized(p.starts, p.keyCount(true))
	clear(p.starts)
	entries, pairs := 0, 0
	p.forEachEntry(true, func(key, _ int32) {
		if p.starts[key] == 0 {
			pairs++
		}
		p.starts[key]++
		entries++
	})
	return entries >= few*pairs
}

// sort makes the entries, by counting.
func (p *plan) sortEntries(paired bool) {
	p.starts = resized(p.starts, p.keyCount(paired)+1)
	clear(p.starts)
	p.forEachEntry(paired, func(key, _ int32) { p.starts[key+1]++ })
	p.distinct = 0
	for key := range len(p.starts) - 1 {
		p.distinct += min(1, p.starts[key+1])
		p.starts[key+1] += p.starts[key]
	}
	total := p.starts[len(p.starts)-1]
	p.keys, p.places = resized(p.keys, total), resized(p.places, total)
	p.forEachEntry(paired, func(key, column int32) {
		at := p.starts[key]
		p.keys[at], p.places[at] = key, p.place[column]-1
		p.starts[key]++
	})
}

// The keys of entries: a cluster that is left; a cluster that is joined; a cluster that is left for
// another of its lane.

func (p *plan) keyCount(paired bool) int {
	clusters := len(p.recompute) * p.k
	if paired {
		return clusters * (2 + p.k)
	}
	return 2 * clusters
}

// clustersOf is what a key says: the cluster that is left and the one that is joined, or -1.
func (p *plan) clustersOf(key int32) (from, to int32) {
	k, clusters := int32(p.k), int32(len(p.recompute)*p.k)
	switch {
	case key < clusters:
		return key, -1
	case key < 2*clusters:
		return -1, key - clusters
	}
	from, to = (key-2*clusters)/k, (key-2*clusters)%k
	return from, from/k*k + to
}

// each calls do for every entry.
func (p *plan) forEachEntry(paired bool, do func(key, column int32)) {
	k, clusters := int32(p.k), int32(len(p.recompute)*p.k)
	for lane, anew := range p.recompute {
		if !anew {
			continue
		}
		for j, c := range p.labelsOf(lane) {
			if c >= 0 {
				do(clusters+c, int32(j))
			}
		}
	}
	for _, m := range p.moves {
		switch {
		case paired && m.From >= 0 && m.To >= 0:
			do(2*clusters+m.From*k+m.To%k, m.Point)
			continue
		case m.From >= 0:
			do(m.From, m.Point)
		}
		if m.To >= 0 {
			do(clusters+m.To, m.Point)
		}
	}
}
