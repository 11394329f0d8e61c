package inference

import (
	"context"
	"math"
	"slices"
)

// blockCholesky factors a symmetric positive definite matrix of blocks, one row and column of blocks
// for each point. Consecutive points whose columns have the same rows below form one panel, stored
// densely by rows, so that most of the work is long inner products.
type blockCholesky struct {
	width  []int32 // of each point's block
	panels []panel
	panel  []int32 // of each point
	column []int32 // of each point: its first column in its panel
	row    []int32 // scratch: the first row of each point in the panel at hand
}

// panel is some columns of the factor: own points first, then those below.
type panel struct {
	own, below []int32
	rows, cols int
	entry      []float64 // rows x cols
	given      []float64 // cols: the diagonal before the factorisation
}

const widestPanel = 64

// A pivot that has lost all its digits stands for a direction that the matrix does not feel: a huge
// one in its place leaves the direction alone (Wright 1999).
const (
	lostPivot = 1e-14
	hugePivot = 1e128
)

func newBlockCholesky(e *elimination, width []int32) *blockCholesky {
	n := len(e.order)
	c := &blockCholesky{width: width, panel: make([]int32, n), column: make([]int32, n), row: make([]int32, n)}
	place := make([]int32, n)
	for at, i := range e.order {
		place[i] = int32(at)
	}
	for at, i := range e.order {
		below := slices.Clone(e.later[i])
		slices.SortFunc(below, func(a, b int32) int { return int(place[a] - place[b]) })
		if at > 0 && c.joins(i, below) {
			last := &c.panels[len(c.panels)-1]
			c.column[i] = int32(last.cols)
			last.own, last.below, last.cols = append(last.own, i), below, last.cols+int(width[i])
		} else {
			c.panels = append(c.panels, panel{own: []int32{i}, below: below, cols: int(width[i])})
		}
		c.panel[i] = int32(len(c.panels) - 1)
	}
	for at := range c.panels {
		p := &c.panels[at]
		p.rows = p.cols + int(totalWidth(p.below, width))
		p.entry, p.given = make([]float64, p.rows*p.cols), make([]float64, p.cols)
	}
	return c
}

// joins tells whether a point may extend the last panel: it is the first row below, and the rows below
// it are the rest.
func (c *blockCholesky) joins(i int32, below []int32) bool {
	last := &c.panels[len(c.panels)-1]
	return len(last.below) == len(below)+1 && last.below[0] == i && last.cols+int(c.width[i]) <= widestPanel
}

func (c *blockCholesky) clear() {
	for at := range c.panels {
		clear(c.panels[at].entry)
	}
}

// place finds the rows of the points in a panel.
func (c *blockCholesky) place(p *panel) {
	row := int32(0)
	for _, i := range p.own {
		c.row[i] = row
		row += c.width[i]
	}
	for _, i := range p.below {
		c.row[i] = row
		row += c.width[i]
	}
}

// block is where the block of two points is kept: the entries from its corner on, the width of its
// panel, and whether it is kept transposed, with rows for j.
func (c *blockCholesky) block(i, j int32) (entry []float64, stride int, transposed bool) {
	if c.panel[i] < c.panel[j] || c.panel[i] == c.panel[j] && c.column[i] < c.column[j] {
		i, j, transposed = j, i, true
	}
	p := &c.panels[c.panel[j]]
	c.place(p)
	return p.entry[int(c.row[i])*p.cols+int(c.column[j]):], p.cols, transposed
}

// factor replaces the matrix by its lower triangular factor.
func (c *blockCholesky) factor(ctx context.Context) error {
	for at := range c.panels {
		p := &c.panels[at]
		for col := range p.cols {
			p.given[col] = p.entry[col*p.cols+col]
		}
	}
	for at := range c.panels {
		if err := ctx.Err(); err != nil {
			return err
		}
		p := &c.panels[at]
		p.factor()
		c.update(p)
	}
	return nil
}

// factor of one panel, whose earlier columns have been applied: column by column.
func (p *panel) factor() {
	for col := range p.cols {
		pivotRow := p.entry[col*p.cols : col*p.cols+col]
		pivot := p.entry[col*p.cols+col] - dot(pivotRow, pivotRow)
		if !(pivot > lostPivot*p.given[col]) {
			pivot = hugePivot
		}
		root := math.Sqrt(pivot)
		p.entry[col*p.cols+col] = root
		for row := col + 1; row < p.rows; row++ {
			entries := p.entry[row*p.cols : row*p.cols+col+1]
			entries[col] = (entries[col] - dot(entries[:col], pivotRow)) / root
		}
	}
}

// update subtracts the outer product of a panel's lower rows from the panels to which they belong.
func (c *blockCholesky) update(p *panel) {
	top := p.cols // of the rows of the point at hand
	for at, i := range p.below {
		target := &c.panels[c.panel[i]]
		if at == 0 || c.panel[p.below[at-1]] != c.panel[i] {
			c.place(target)
		}
		wide := int(c.width[i])
		right := p.entry[top*p.cols : (top+wide)*p.cols]
		row := top
		for _, j := range p.below[at:] {
			high := int(c.width[j])
			left := p.entry[row*p.cols : (row+high)*p.cols]
			into := target.entry[int(c.row[j])*target.cols+int(c.column[i]):]
			subtractProduct(into, target.cols, left, right, high, wide, p.cols)
			row += high
		}
		top += wide
	}
}

// subtractProduct does into -= left right' for rows of the given length, four products at a time.
func subtractProduct(into []float64, stride int, left, right []float64, high, wide, length int) {
	for r := range high {
		a := left[r*length : (r+1)*length]
		out := into[r*stride : r*stride+wide]
		col := 0
		for ; col+4 <= wide; col += 4 {
			b0 := right[col*length:][:len(a)]
			b1 := right[(col+1)*length:][:len(a)]
			b2 := right[(col+2)*length:][:len(a)]
			b3 := right[(col+3)*length:][:len(a)]
			var s0, s1, s2, s3 float64
			for t, x := range a {
				s0 += float64(x * b0[t])
				s1 += float64(x * b1[t])
				s2 += float64(x * b2[t])
				s3 += float64(x * b3[t])
			}
			out[col] -= s0
			out[col+1] -= s1
			out[col+2] -= s2
			out[col+3] -= s3
		}
		for ; col < wide; col++ {
			out[col] -= dot(a, right[col*length:(col+1)*length])
		}
	}
}

// solve replaces the right-hand side, in which each point's numbers start at its offset, by the
// solution.
func (c *blockCholesky) solve(x []float64, offset []int32) {
	var local []float64
	for at := range c.panels {
		p := &c.panels[at]
		local = c.gather(local[:0], p, x, offset)
		for row := range p.rows {
			entries := p.entry[row*p.cols : (row+1)*p.cols]
			if row < p.cols {
				local[row] = (local[row] - dot(entries[:row], local[:row])) / entries[row]
			} else {
				local[row] -= dot(entries, local[:p.cols])
			}
		}
		c.scatter(local, p, x, offset)
	}
	for at := len(c.panels) - 1; at >= 0; at-- {
		p := &c.panels[at]
		local = c.gather(local[:0], p, x, offset)
		for row := p.rows - 1; row >= 0; row-- {
			entries := p.entry[row*p.cols : (row+1)*p.cols]
			if row < p.cols {
				local[row] /= entries[row]
				entries = entries[:row]
			}
			for col, entry := range entries {
				local[col] -= float64(entry * local[row])
			}
		}
		c.scatter(local, p, x, offset)
	}
}

func (c *blockCholesky) gather(local []float64, p *panel, x []float64, offset []int32) []float64 {
	for _, points := range [][]int32{p.own, p.below} {
		for _, i := range points {
			local = append(local, x[offset[i]:offset[i]+c.width[i]]...)
		}
	}
	return local
}

func (c *blockCholesky) scatter(local []float64, p *panel, x []float64, offset []int32) {
	for _, points := range [][]int32{p.own, p.below} {
		for _, i := range points {
			copy(x[offset[i]:offset[i]+c.width[i]], local)
			local = local[c.width[i]:]
		}
	}
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for t, x := range a[:len(b)] {
		sum += float64(x * b[t])
	}
	return sum
}
