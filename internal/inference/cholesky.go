package inference

import (
	"context"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/numeric/elementary"
)

// blockCholesky factors a symmetric positive definite matrix of blocks, with one row and column of blocks for each
// point. Consecutive points whose columns have the same rows below the diagonal form one panel, which is stored
// densely by rows, so that most of the work is long inner products.
type blockCholesky struct {
	width  []int32 // of each point's block
	panels []panel
	panel  []int32 // per point: its panel
	column []int32 // per point: its first column in its panel
	row    []int32 // scratch, per point: its first row in the current panel
}

// panel is some columns of the factor. Its rows are those of its own points, then those of the points below.
type panel struct {
	own, below []int32
	rows, cols int
	entry      []float64 // rows x cols
	given      []float64 // the diagonal before the factorization
}

const maxPanelWidth = 64

// A pivot that has lost all its digits belongs to a direction in which the matrix is singular. Replacing it by a huge
// one leaves that direction alone (Wright 1999).
const (
	lostPivot = 1e-14
	hugePivot = 1e128
)

// newBlockCholesky lays out the factor for an order of elimination. Consecutive points with the same later neighbors
// share a panel, which is factored as one dense matrix.
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
			last.own = append(last.own, i)
			last.below = below
			last.cols += int(width[i])
		} else {
			c.panels = append(c.panels, panel{own: []int32{i}, below: below, cols: int(width[i])})
		}
		c.panel[i] = int32(len(c.panels) - 1)
	}
	for at := range c.panels {
		p := &c.panels[at]
		p.rows = p.cols + int(totalWidth(p.below, width))
		p.entry = make([]float64, p.rows*p.cols)
		p.given = make([]float64, p.cols)
	}
	return c
}

// joins reports whether a point may extend the last panel: it is the first point below it, and the points below this
// point are the others.
func (c *blockCholesky) joins(i int32, below []int32) bool {
	last := &c.panels[len(c.panels)-1]
	return len(last.below) == len(below)+1 && last.below[0] == i && last.cols+int(c.width[i]) <= maxPanelWidth
}

func (c *blockCholesky) clear() {
	for i := range c.panels {
		clear(c.panels[i].entry)
	}
}

// place sets row to the rows of the points in a panel.
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

// block returns where the block of two points is stored: the entries from its corner on, the width of its panel, and
// whether it is stored transposed, with rows for j.
func (c *blockCholesky) block(i, j int32) (entry []float64, stride int, transposed bool) {
	if c.panel[i] < c.panel[j] || c.panel[i] == c.panel[j] && c.column[i] < c.column[j] {
		i, j, transposed = j, i, true
	}
	p := &c.panels[c.panel[j]]
	row := c.column[i] // in a point's own panel, its rows have the numbers of its columns
	if c.panel[i] != c.panel[j] {
		c.place(p)
		row = c.row[i]
	}
	return p.entry[int(row)*p.cols+int(c.column[j]):], p.cols, transposed
}

// factor replaces the matrix by its lower triangular factor.
func (c *blockCholesky) factor(ctx context.Context) error {
	for i := range c.panels {
		p := &c.panels[i]
		for col := range p.cols {
			p.given[col] = p.entry[col*p.cols+col]
		}
	}
	for i := range c.panels {
		if err := ctx.Err(); err != nil {
			return err
		}
		p := &c.panels[i]
		p.factor()
		c.update(p)
	}
	return nil
}

// factor factors one panel, to which all earlier panels have been applied, column by column.
func (p *panel) factor() {
	for col := range p.cols {
		pivotRow := p.entry[col*p.cols : col*p.cols+col]
		pivot := p.entry[col*p.cols+col] - elementary.Dot(pivotRow, pivotRow)
		if !(pivot > lostPivot*p.given[col]) {
			pivot = hugePivot
		}
		root := math.Sqrt(pivot)
		p.entry[col*p.cols+col] = root
		for row := col + 1; row < p.rows; row++ {
			entries := p.entry[row*p.cols : row*p.cols+col+1]
			entries[col] = (entries[col] - elementary.Dot(entries[:col], pivotRow)) / root
		}
	}
}

// update subtracts the outer product of a panel's lower rows from the panels that they belong to. Points whose rows
// are consecutive there too are taken together.
func (c *blockCholesky) update(p *panel) {
	top := p.cols // the first row of the current points
	for from := 0; from < len(p.below); {
		target := &c.panels[c.panel[p.below[from]]]
		c.place(target)
		until, wide := c.run(p.below, from, c.panel[p.below[from]])
		right := p.entry[top*p.cols : (top+wide)*p.cols]
		for at, row := from, top; at < len(p.below); {
			next, high := c.run(p.below, at, -1)
			left := p.entry[row*p.cols : (row+high)*p.cols]
			into := target.entry[int(c.row[p.below[at]])*target.cols+int(c.column[p.below[from]]):]
			subtractProduct(into, target.cols, left, right, high, wide, p.cols)
			at, row = next, row+high
		}
		from, top = until, top+wide
	}
}

// run returns how far the points, starting at from, have consecutive rows in the current panel and, if panel is not
// negative, are that panel's own, and how many rows they have.
func (c *blockCholesky) run(points []int32, from int, panel int32) (until, rows int) {
	for until = from; until < len(points); until++ {
		i := points[until]
		if panel >= 0 && c.panel[i] != panel || int(c.row[i]) != int(c.row[points[from]])+rows {
			break
		}
		rows += int(c.width[i])
	}
	return until, rows
}

// subtractProduct computes into -= left right' for rows of the given length, two rows by four at a time. Each inner
// product is summed in order, no matter how it is grouped with others.
func subtractProduct(into []float64, stride int, left, right []float64, high, wide, length int) {
	row := 0
	for ; row+2 <= high; row += 2 {
		a0 := left[row*length:][:length]
		a1 := left[(row+1)*length:][:length]
		out0, out1 := into[row*stride:][:wide], into[(row+1)*stride:][:wide]
		col := 0
		for ; col+4 <= wide; col += 4 {
			b0 := right[col*length:][:length]
			b1 := right[(col+1)*length:][:length]
			b2 := right[(col+2)*length:][:length]
			b3 := right[(col+3)*length:][:length]
			var s00, s01, s02, s03, s10, s11, s12, s13 float64
			for t := range length {
				x, y := a0[t], a1[t]
				s00 += float64(x * b0[t])
				s10 += float64(y * b0[t])
				s01 += float64(x * b1[t])
				s11 += float64(y * b1[t])
				s02 += float64(x * b2[t])
				s12 += float64(y * b2[t])
				s03 += float64(x * b3[t])
				s13 += float64(y * b3[t])
			}
			out0[col] -= s00
			out0[col+1] -= s01
			out0[col+2] -= s02
			out0[col+3] -= s03
			out1[col] -= s10
			out1[col+1] -= s11
			out1[col+2] -= s12
			out1[col+3] -= s13
		}
		for ; col < wide; col++ {
			b := right[col*length:][:length]
			out0[col] -= elementary.Dot(a0, b)
			out1[col] -= elementary.Dot(a1, b)
		}
	}
	for ; row < high; row++ {
		a := left[row*length:][:length]
		out := into[row*stride:][:wide]
		for col := range wide {
			out[col] -= elementary.Dot(a, right[col*length:][:length])
		}
	}
}

// solve replaces the right-hand side, in which each point's values start at its offset, by the solution.
func (c *blockCholesky) solve(x []float64, offset []int32) {
	var local []float64
	for at := range c.panels {
		p := &c.panels[at]
		local = c.gather(local[:0], p, x, offset)
		for row := range p.rows {
			entries := p.entry[row*p.cols : (row+1)*p.cols]
			if row < p.cols {
				local[row] = (local[row] - elementary.Dot(entries[:row], local[:row])) / entries[row]
			} else {
				local[row] -= elementary.Dot(entries, local[:p.cols])
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
