package kernel

import (
	"slices"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/partition"
)

// matrix is some consecutive rows of the base matrix, all n columns. Destinations hold one value
// per row of the tile; sums hold k such columns, one after the other: sums[c*height+r].
type matrix interface {
	// sweep adds every labelled column j into the sums of its cluster.
	sweep(sums []float64, labels []int32)
	// move takes column j out of one cluster's sums and into another's; -1 stands for none.
	move(sums []float64, m Move)
	// addColumn adds column j.
	addColumn(dst []float64, j int)
	// multiply adds base * x, each row in column order.
	multiply(dst, x []float64)
	// degrees adds each row's sum; an affinity below 0 is a fault.
	degrees(dst []float64) error
	// diagonal is the tile's own entry (i, i) for row r of the tile.
	diagonal(r int) float64
	bytes() int64
}

// denseTile stores its rows column by column, so that a sweep is a stream of additions into
// float64 accumulators and a delta touches only the columns of points that moved.
type denseTile struct {
	rows    partition.Range
	n       int
	height  int
	entries []float32
}

func (t *denseTile) column(j int) []float32 {
	return t.entries[j*t.height : (j+1)*t.height : (j+1)*t.height]
}

func (t *denseTile) sweep(sums []float64, labels []int32) {
	for j, c := range labels {
		if c >= 0 {
			add(sums[int(c)*t.height:(int(c)+1)*t.height], t.column(j))
		}
	}
}

func (t *denseTile) move(sums []float64, m Move) {
	column := t.column(int(m.Point))
	if m.From >= 0 {
		subtract(sums[int(m.From)*t.height:(int(m.From)+1)*t.height], column)
	}
	if m.To >= 0 {
		add(sums[int(m.To)*t.height:(int(m.To)+1)*t.height], column)
	}
}

func (t *denseTile) addColumn(dst []float64, j int) { add(dst, t.column(j)) }

func (t *denseTile) multiply(dst, x []float64) {
	for j, v := range x {
		addScaled(dst, t.column(j), v)
	}
}

func (t *denseTile) degrees(dst []float64) error {
	for j := range t.n {
		column := t.column(j)
		for r, v := range column {
			if v < 0 {
				return negativeAffinity(t.rows.From+r, j, float64(v))
			}
		}
		add(dst, column)
	}
	return nil
}

func (t *denseTile) diagonal(r int) float64 { return float64(t.column(t.rows.From + r)[r]) }

func (t *denseTile) bytes() int64 { return 4 * int64(len(t.entries)) }

// graphTile is a view of some rows of a graph; the graph itself is shared and never densified.
type graphTile struct {
	source *Source
	rows   partition.Range
}

func (t *graphTile) row(i int) ([]int32, []float64) {
	g := t.source.graph
	from, to := g.RowStart[i], g.RowStart[i+1]
	return g.Column[from:to:to], t.source.weights[from:to:to]
}

// column is the part of column j that lies in the tile: the neighbours of j among its rows.
func (t *graphTile) column(j int) ([]int32, []float64) {
	neighbours, weights := t.row(j)
	from, _ := slices.BinarySearch(neighbours, int32(t.rows.From))
	to := from
	for to < len(neighbours) && int(neighbours[to]) < t.rows.To {
		to++
	}
	return neighbours[from:to], weights[from:to]
}

func (t *graphTile) sweep(sums []float64, labels []int32) {
	height := t.rows.Len()
	for r := range height {
		neighbours, weights := t.row(t.rows.From + r)
		for at, j := range neighbours {
			if c := labels[j]; c >= 0 {
				sums[int(c)*height+r] += weights[at]
			}
		}
	}
}

func (t *graphTile) move(sums []float64, m Move) {
	height := t.rows.Len()
	neighbours, weights := t.column(int(m.Point))
	for at, i := range neighbours {
		r := int(i) - t.rows.From
		if m.From >= 0 {
			sums[int(m.From)*height+r] -= weights[at]
		}
		if m.To >= 0 {
			sums[int(m.To)*height+r] += weights[at]
		}
	}
}

func (t *graphTile) addColumn(dst []float64, j int) {
	neighbours, weights := t.column(j)
	for at, i := range neighbours {
		dst[int(i)-t.rows.From] += weights[at]
	}
}

func (t *graphTile) multiply(dst, x []float64) {
	for r := range t.rows.Len() {
		neighbours, weights := t.row(t.rows.From + r)
		sum := dst[r]
		for at, j := range neighbours {
			sum += float64(weights[at] * x[j])
		}
		dst[r] = sum
	}
}

func (t *graphTile) degrees(dst []float64) error {
	for r := range t.rows.Len() {
		neighbours, weights := t.row(t.rows.From + r)
		for at, w := range weights {
			if w < 0 {
				return negativeAffinity(t.rows.From+r, int(neighbours[at]), w)
			}
			dst[r] += w
		}
	}
	return nil
}

func (t *graphTile) diagonal(r int) float64 {
	i := t.rows.From + r
	neighbours, weights := t.row(i)
	if at, found := slices.BinarySearch(neighbours, int32(i)); found {
		return weights[at]
	}
	return 0
}

func (t *graphTile) bytes() int64 { return 0 }

func negativeAffinity(i, j int, v float64) error {
	return fault.Invalid("NEGATIVE_AFFINITY",
		"the affinity of %d and %d is %g; cuts need affinities of at least 0 (ratio-association and kernel-kmeans allow any)", i, j, v)
}
