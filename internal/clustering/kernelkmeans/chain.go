package kernelkmeans

import (
	"cmp"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/kernel"
)

// chain is a sequence of moves of single points, each the best of those that have not moved, even where J rises. It is
// within a few candidates, of which it has the row sums and all entries of M between them, so that it asks nobody.
type chain struct {
	*Family
	points  []int32 // the candidates, ascending
	at      labeling
	entries []float64 // M_ij of the candidates, row after row
	sums    []float64 // S_ic, row after row
	moved   []bool
	shares  kernel.Shares
	moves   []kernel.Move
}

// findChain follows a chain of at most length moves, and returns the moves up to its best point and J there.
func (m *method) findChain(length int) (moves []kernel.Move, value float64, err error) {
	value = m.value(m.labeling)
	gains, err := m.x.Gains(m.stats())
	if err != nil {
		return nil, 0, err
	}
	points := candidates(gains, m.labels, maxCandidates(length))
	if len(points) == 0 {
		return nil, value, nil
	}
	block, err := m.x.Block(points)
	if err != nil {
		return nil, 0, err
	}
	c, best := m.newChain(points, block, m.labeling.clone()), 0
	for len(c.moves) < length && c.step() {
		if now := m.value(c.at); now < value {
			best, value = len(c.moves), now
		}
	}
	return c.moves[:best], value, nil
}

// candidatesPerMove is how many points a chain chooses its moves from, for each of them.
const candidatesPerMove = 8

func maxCandidates(length int) int { return min(candidatesPerMove*length, kernel.MaxBlock) }

// candidates are the points whose single moves gain most, at most so many, ascending. Of equal ones the first are taken.
// Points that are alone in their clusters are the last: they can move once others have joined them.
func candidates(gains []float64, labels []int32, most int) []int32 {
	var points []int32
	for i, c := range labels {
		if c >= 0 {
			points = append(points, int32(i))
		}
	}
	if len(points) > most {
		slices.SortFunc(points, func(i, j int32) int { return cmp.Or(cmp.Compare(gains[j], gains[i]), cmp.Compare(i, j)) })
		points = points[:most]
		slices.Sort(points)
	}
	return points
}

// newChain begins a chain at a labeling, with the values of a block of the candidates.
func (f *Family) newChain(points []int32, values []float64, at labeling) *chain {
	k := f.p.spec.K
	c := &chain{Family: f, points: points, at: at, moved: make([]bool, len(points)), shares: kernel.Shares{
		Weight: make([]float64, k), Share: make([]float64, k),
	}}
	for row := range slices.Chunk(values, k+len(points)) {
		c.sums, c.entries = append(c.sums, row[:k]...), append(c.entries, row[k:]...)
	}
	for cluster := range k {
		c.setShare(int32(cluster))
	}
	return c
}

func (c *chain) setShare(cluster int32) {
	if c.at.counts[cluster] > 0 {
		weight := c.weightGrid.Value(c.at.weightUnits[cluster])
		c.shares.Weight[cluster], c.shares.Share[cluster] = weight, c.p.Matrix.Grid.Value(c.at.selfUnits[cluster])/weight
	}
}

// step makes the best move: of equally good ones that of the lowest point, to the lowest cluster. No move empties a cluster
// or fills an empty one. It returns false if there is no move.
func (c *chain) step() bool {
	k := c.p.spec.K
	best, row, to := math.Inf(-1), -1, int32(-1)
	for r, i := range c.points {
		from := c.at.labels[i]
		if c.moved[r] || c.at.counts[from] < 2 {
			continue
		}
		sums, diagonal, a := c.sums[r*k:(r+1)*k], c.entries[r*len(c.points)+r], c.weights[i]
		leaving := c.shares.Leaving(from, sums[from], diagonal, a)
		for d, sum := range sums {
			if d := int32(d); d != from && c.at.counts[d] > 0 {
				if gain := c.shares.Joining(d, sum, diagonal, a) - leaving; gain > best {
					best, row, to = gain, r, d
				}
			}
		}
	}
	if row < 0 {
		return false
	}
	c.move(row, to)
	return true
}

// move moves a candidate, exactly: Q_c loses 2 S_ic - M_ii, Q_d gains 2 S_id + M_ii, and all sums are multiples of the grid.
func (c *chain) move(row int, to int32) {
	k, point := c.p.spec.K, c.points[row]
	from, sums, grid := c.at.labels[point], c.sums[row*k:(row+1)*k], c.p.Matrix.Grid
	entries := c.entries[row*len(c.points) : (row+1)*len(c.points)]
	diagonal := grid.Units(entries[row])
	c.at.selfUnits[from] = c.at.selfUnits[from].AddInt64(diagonal - 2*grid.Units(sums[from]))
	c.at.selfUnits[to] = c.at.selfUnits[to].AddInt64(diagonal + 2*grid.Units(sums[to]))
	for r, entry := range entries {
		c.sums[r*k+int(from)] -= entry
		c.sums[r*k+int(to)] += entry
	}
	c.count(&c.at, point, from, -1)
	c.count(&c.at, point, to, 1)
	c.setShare(from)
	c.setShare(to)
	c.at.labels[point], c.moved[row] = to, true
	c.moves = append(c.moves, kernel.Move{Point: point, From: from, To: to})
}
