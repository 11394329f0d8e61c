package kernel

import (
	"slices"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/partition"
)

// matrix is some consecutive rows of the base matrix, all n columns. Destinations hold one value
// per row of the tile, padded; sums hold k such columns, one after the other: sums[c*stride+r].
type matrix interface {
	// apply does what a plan says to the sums.
	apply(sums []float64, p *plan) error
	// addColumns adds columns.
	addColumns(dst []float64, columns []int32) error
	// multiply adds base * x, each row in column order.
	multiply(dst, x []float64) error
	// degrees adds each row's sum; an affinity below 0 is a fault.
	degrees(dst []float64) error
	// diagonal is the tile's own entries (i, i).
	diagonal(dst []float64) error
	bytes() int64
	// stored tells whether the entries are kept rather than computed again.
	stored() bool
}

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

func (t *graphTile) apply(sums []float64, p *plan) error {
	if p.moves != nil {
		for _, m := range p.moves {
			t.move(sums, m)
		}
		return nil
	}
	stride := padded(t.rows.Len())
	for r := range t.rows.Len() {
		neighbours, weights := t.row(t.rows.From + r)
		for at, j := range neighbours {
			if c := p.labels[j]; c >= 0 {
				sums[int(c)*stride+r] += weights[at]
			}
		}
	}
	return nil
}

// move takes column j out of one cluster's sums and into another's: it touches only neighbours.
func (t *graphTile) move(sums []float64, m Move) {
	stride := padded(t.rows.Len())
	neighbours, weights := t.column(int(m.Point))
	for at, i := range neighbours {
		r := int(i) - t.rows.From
		if m.From >= 0 {
			sums[int(m.From)*stride+r] -= weights[at]
		}
		if m.To >= 0 {
			sums[int(m.To)*stride+r] += weights[at]
		}
	}
}

func (t *graphTile) addColumns(dst []float64, columns []int32) error {
	for _, j := range columns {
		neighbours, weights := t.column(int(j))
		for at, i := range neighbours {
			dst[int(i)-t.rows.From] += weights[at]
		}
	}
	return nil
}

func (t *graphTile) multiply(dst, x []float64) error {
	for r := range t.rows.Len() {
		neighbours, weights := t.row(t.rows.From + r)
		sum := dst[r]
		for at, j := range neighbours {
			sum += float64(weights[at] * x[j])
		}
		dst[r] = sum
	}
	return nil
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

func (t *graphTile) diagonal(dst []float64) error {
	for r := range t.rows.Len() {
		i := t.rows.From + r
		neighbours, weights := t.row(i)
		if at, found := slices.BinarySearch(neighbours, int32(i)); found {
			dst[r] = weights[at]
		}
	}
	return nil
}

func (t *graphTile) bytes() int64 { return 0 }

func (t *graphTile) stored() bool { return true }

func negativeAffinity(i, j int, v float64) error {
	return fault.Invalid("NEGATIVE_AFFINITY",
		"the affinity of %d and %d is %g; cuts need affinities of at least 0 (ratio-association and kernel-kmeans allow any)", i, j, v)
}
