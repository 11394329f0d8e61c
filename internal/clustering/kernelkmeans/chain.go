package kernelkmeans

import (
	"cmp"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/kernel"
)

// chain is a sequence of moves of single points, each the best move of a point that has not moved, even if J rises. It
// is restricted to a few candidates, whose row sums and mutual entries of M it holds, so it needs no executor.
type chain struct {
	matrix *weightedMatrix
	points []int32 // candidates, ascending
	at     assignment
	block  BlockSums // of the candidates
	shares kernel.Shares
	moves  []labeling.Move
	// Per candidate: how much the association falls when it leaves its cluster, +Inf if it cannot, and the most that it
	// rises when it joins another, and which. The latter is -Inf if there is none, or once the candidate has moved.
	leaving, joining []float64
	to               []int32
}

// findChain follows a chain and returns its moves up to the lowest J, and that J.
func (m *method) findChain() (moves []labeling.Move, value float64, err error) {
	value = m.matrix.value(m.now)
	gains, err := m.x.Gains(m.stats())
	if err != nil {
		return nil, 0, err
	}
	points := candidates(gains, m.now.labels, m.p.Candidates())
	if len(points) == 0 {
		return nil, value, nil
	}
	block, err := m.x.Block(points)
	if err != nil {
		return nil, 0, err
	}
	c := m.matrix.newChain(points, block, m.now.clone())
	best := 0
	for len(c.moves) < m.p.chainLength() && c.step() {
		if now := m.matrix.value(c.at); now < value {
			best, value = len(c.moves), now
		}
	}
	return c.moves[:best], value, nil
}

// candidates returns the points, ascending, whose single moves gain most, at most count of them. Among equal ones it
// takes the first. Points that are alone in their clusters come last: they can move once others have joined them.
func candidates(gains []float64, labels []int32, count int) []int32 {
	var points []int32
	keepBest := func() {
		slices.SortFunc(points, func(i, j int32) int {
			return cmp.Or(cmp.Compare(gains[j], gains[i]), cmp.Compare(i, j))
		})
		points = points[:count]
	}
	limit := math.Inf(-1) // points that do not gain more cannot be among the best
	for i, c := range labels {
		if c < 0 || gains[i] <= limit && len(points) >= count {
			continue
		}
		points = append(points, int32(i))
		if len(points) == 2*count {
			keepBest()
			limit = gains[points[count-1]]
		}
	}
	if len(points) > count {
		keepBest()
	}
	slices.Sort(points)
	return points
}

// newChain starts a chain at a labeling. It takes over the block of the candidates and changes it.
func (w *weightedMatrix) newChain(points []int32, block BlockSums, at assignment) *chain {
	k := w.p.spec.K
	c := &chain{
		matrix: w, points: points, at: at, block: block,
		shares:  kernel.Shares{Weight: make([]float64, k), Share: make([]float64, k)},
		leaving: make([]float64, len(points)), joining: make([]float64, len(points)), to: make([]int32, len(points)),
	}
	for cluster := range int32(k) {
		c.setShare(cluster)
	}
	for r := range points {
		c.setLeaving(r)
		c.findJoining(r)
	}
	return c
}

func (c *chain) setShare(cluster int32) {
	if c.at.counts[cluster] > 0 {
		weight := c.matrix.weightGrid.Value(c.at.weightUnits[cluster])
		c.shares.Weight[cluster] = weight
		c.shares.Share[cluster] = c.matrix.p.Matrix.Grid.Value(c.at.selfUnits[cluster]) / weight
	}
}

// row returns what the gains of a candidate depend on: its sums, M_ii and a_i.
func (c *chain) row(r int) (sums []float64, diagonal, a float64) {
	sums, entries := c.block.Row(r)
	return sums, entries[r], c.matrix.weights[c.points[r]]
}

func (c *chain) setLeaving(r int) {
	from := c.at.labels[c.points[r]]
	sums, diagonal, a := c.row(r)
	c.leaving[r] = math.Inf(1)
	if c.at.counts[from] > 1 {
		c.leaving[r] = c.shares.Leaving(from, sums[from], diagonal, a)
	}
}

// findJoining compares all clusters.
func (c *chain) findJoining(r int) {
	c.joining[r] = math.Inf(-1)
	c.to[r] = -1
	for d := range int32(c.matrix.p.spec.K) {
		c.compareJoining(r, d)
	}
}

// compareJoining compares the best cluster of a candidate with another one. Ties go to the lowest; empty clusters stay
// empty.
func (c *chain) compareJoining(r int, d int32) {
	if d == c.at.labels[c.points[r]] || c.at.counts[d] == 0 {
		return
	}
	sums, diagonal, a := c.row(r)
	if v := c.shares.Joining(d, sums[d], diagonal, a); v > c.joining[r] || v == c.joining[r] && d < c.to[r] {
		c.joining[r], c.to[r] = v, d
	}
}

// step makes the best move; ties go to the lowest point. It returns false if there is none.
func (c *chain) step() bool {
	best := math.Inf(-1)
	row := -1
	for r, joining := range c.joining {
		if gain := joining - c.leaving[r]; gain > best {
			best, row = gain, r
		}
	}
	if row < 0 {
		return false
	}
	c.move(row)
	return true
}

// move moves a candidate exactly: Q_c loses 2 S_ic - M_ii, Q_d gains 2 S_id + M_ii, and all sums are multiples of the
// grid. It recomputes only what depends on the two clusters.
func (c *chain) move(row int) {
	point, to, grid := c.points[row], c.to[row], c.matrix.p.Matrix.Grid
	from := c.at.labels[point]
	sums, entries := c.block.Row(row)
	diagonal := grid.Units(entries[row])
	c.at.selfUnits[from] = c.at.selfUnits[from].AddInt64(diagonal - 2*grid.Units(sums[from]))
	c.at.selfUnits[to] = c.at.selfUnits[to].AddInt64(diagonal + 2*grid.Units(sums[to]))
	c.matrix.count(&c.at, point, from, -1)
	c.matrix.count(&c.at, point, to, 1)
	c.at.labels[point] = to
	c.moves = append(c.moves, labeling.Move{Point: point, From: from, To: to})
	c.setShare(from)
	c.setShare(to)
	for r, entry := range entries {
		sums, _ := c.block.Row(r)
		sums[from] -= entry
		sums[to] += entry
		if math.IsInf(c.joining[r], -1) {
			continue // it has moved
		}
		if own := c.at.labels[c.points[r]]; own == from || own == to {
			c.setLeaving(r)
		}
		if c.to[r] == from || c.to[r] == to {
			c.findJoining(r)
		} else {
			c.compareJoining(r, from)
			c.compareJoining(r, to)
		}
	}
	c.leaving[row], c.joining[row] = math.Inf(1), math.Inf(-1)
}
