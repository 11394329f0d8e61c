package kernel

import (
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/invalid"
	"github.com/cleave-project/cleave/internal/parallel"
	"github.com/cleave-project/cleave/internal/partition"
)

// graphTile is a view of some rows of a graph. All tiles share the graph, which is never expanded to a dense matrix.
type graphTile struct {
	source *Source
	rows   partition.Range
}

func (t *graphTile) row(i int) ([]int32, []float64) { return t.source.graph.Row(i) }

// column returns the part of column j that lies in the tile: the neighbors of j among the tile's rows.
func (t *graphTile) column(j int) ([]int32, []float64) {
	neighbors, weights := t.row(j)
	return within(t.rows, neighbors, weights)
}

// within restricts a sparse row to the columns that lie in rows. The columns must be ascending. Since the matrix is
// symmetric, row j is also column j.
func within(rows partition.Range, columns []int32, values []float64) ([]int32, []float64) {
	from, _ := slices.BinarySearch(columns, int32(rows.From))
	to := from
	for to < len(columns) && int(columns[to]) < rows.To {
		to++
	}
	return columns[from:to], values[from:to]
}

// column returns the part of column j that lies in rows.
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
		for i, w := range weights {
			if w < 0 {
				return negativeAffinity(t.rows.From+r, int(neighbors[i]), w)
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

func (t *graphTile) stored() bool { return true }

func negativeAffinity(i, j int, v float64) error {
	return invalid.New(invalid.NegativeAffinity, "i", i, "j", j, "value", v)
}

// maxEntryVectors is the maximum number of vectors that an entry of a sparse row is multiplied with at a time.
const maxEntryVectors = 32

// Size of a cache line, in bytes and in float64 values.
const (
	lineBytes  = 64
	lineValues = lineBytes / 8
)

// lineWidth returns the width of a bundle of count vectors whose rows are read in random order. Narrow rows do not
// cross a cache line; wide rows start on one.
func lineWidth(count int) int {
	if count > lineValues/2 {
		return (count + lineValues - 1) / lineValues * lineValues
	}
	width := 1
	for width < count {
		width *= 2
	}
	return width
}

// rowsAtOnce is the number of rows of a bundle, or of its products, that are interleaved at a time, so that they stay
// in the first-level cache.
const rowsAtOnce = 128

// multiply reads each row once for all vectors of a bundle, first from the base matrix, then from the sparse part.
func (t *graphTile) multiply(dst [][]float64, x *vectors) error {
	w := t.source.borrowDense()
	defer t.source.returnDense(w)
	g, r := t.source.graph, &t.source.routines
	base := &Sparse{RowStart: g.RowStart, Column: g.Column, Value: g.Weight}
	for i := range x.bundles {
		b := &x.bundles[i]
		for from := t.rows.From; from < t.rows.To; from += rowsAtOnce {
			to := min(from+rowsAtOnce, t.rows.To)
			sums := parallel.Resized(w.panel.sums, (to-from)*b.width)
			clear(sums)
			for _, m := range []*Sparse{base, x.sparse} {
				if m.RowStart[from] < m.RowStart[to] {
					r.addEntries(sums, from, to, m, b)
				}
			}
			deinterleave(dst[b.first:b.first+b.count], partition.Range{From: from - t.rows.From, To: to - t.rows.From},
				sums, b.width)
			w.panel.sums = sums
		}
	}
	return nil
}

// addEntriesPortable implements routines.addEntries.
func addEntriesPortable(sums []float64, from, to int, m *Sparse, b *bundle) {
	for i := from; i < to; i++ {
		row := sums[(i-from)*b.width:][:b.count]
		columns, values := m.Row(i)
		for at, j := range columns {
			for v, factor := range b.values[int(j)*b.width:][:b.count] {
				row[v] = math.FMA(values[at], factor, row[v])
			}
		}
	}
}

func (t *graphTile) pick(dst []float64, width int, rows, columns []int32) error {
	for at, i := range rows {
		neighbors, weights := t.row(int(i))
		addCommon(dst[at*width:], columns, neighbors, weights)
	}
	return nil
}
