package kernel

import (
	"slices"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/partition"
)

// matrix is some consecutive rows of the base matrix with all n columns. Destinations have one value
// per row of the tile, padded.
type matrix interface {
	// newSums allocates sums in the layout that suits the matrix; a full sweep computes them.
	newSums(a *Operands) rowSums
	// addColumns adds the given columns to dst.
	addColumns(dst []float64, columns []int32) error
	// multiply computes the rows' products with vectors, each row in column order.
	multiply(dst [][]float64, x *vectors) error
	// degrees adds each row's sum to dst; a negative affinity is an error.
	degrees(dst []float64) error
	// maxima raises dst to each row's largest entry.
	maxima(dst []float64) error
	// diagonal writes the entries (i, i) of the tile's rows.
	diagonal(dst []float64) error
	// pick writes the entries of some rows at some columns, both ascending; dst is 0 and has width values from row to row.
	pick(dst []float64, width int, rows, columns []int32) error
	bytes() int64
	// stored tells whether the entries are kept, rather than computed whenever they are needed.
	stored() bool
}

// graphTile is a view of some rows of a graph. The graph is shared by all tiles and never made dense.
type graphTile struct {
	source *Source
	rows   partition.Range
}

func (t *graphTile) row(i int) ([]int32, []float64) { return t.source.graphRow(i) }

// graphRow returns the neighbors of a vertex and the weights of its edges to them, on the grid.
func (s *Source) graphRow(i int) ([]int32, []float64) {
	from, to := s.graph.RowStart[i], s.graph.RowStart[i+1]
	return s.graph.Column[from:to:to], s.weights[from:to:to]
}

// column returns the part of column j that lies in the tile: the neighbors of j among its rows.
func (t *graphTile) column(j int) ([]int32, []float64) {
	neighbors, weights := t.row(j)
	return within(t.rows, neighbors, weights)
}

// within cuts a sparse row to the columns, which are ascending, that are among some rows. The matrix is
// symmetric, so that row j is also column j.
func within(rows partition.Range, columns []int32, values []float64) ([]int32, []float64) {
	from, _ := slices.BinarySearch(columns, int32(rows.From))
	to := from
	for to < len(columns) && int(columns[to]) < rows.To {
		to++
	}
	return columns[from:to], values[from:to]
}

// column returns the part of column j that lies among some rows.
func (s *Sparse) column(j int32, rows partition.Range) ([]int32, []float64) {
	columns, values := s.Row(int(j))
	return within(rows, columns, values)
}

func (t *graphTile) addColumns(dst []float64, columns []int32) error {
	for _, j := range columns {
		neighbors, weights := t.column(int(j))
		for at, i := range neighbors {
			dst[int(i)-t.rows.From] += weights[at]
		}
	}
	return nil
}

func (t *graphTile) degrees(dst []float64) error {
	for r := range t.rows.Len() {
		neighbors, weights := t.row(t.rows.From + r)
		for at, w := range weights {
			if w < 0 {
				return negativeAffinity(t.rows.From+r, int(neighbors[at]), w)
			}
			dst[r] += w
		}
	}
	return nil
}

func (t *graphTile) maxima(dst []float64) error {
	for r := range t.rows.Len() {
		_, weights := t.row(t.rows.From + r)
		for _, w := range weights {
			dst[r] = max(dst[r], w)
		}
	}
	return nil
}

func (t *graphTile) diagonal(dst []float64) error {
	for r := range t.rows.Len() {
		i := t.rows.From + r
		neighbors, weights := t.row(i)
		if at, found := slices.BinarySearch(neighbors, int32(i)); found {
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
