package kernel

import (
	"math"

	"github.com/cleave-project/cleave/internal/partition"
)

// maxEntryVectors is how many vectors an entry of a sparse row is multiplied with at a time.
const maxEntryVectors = 32

// A cache line, in bytes and in float64 values.
const (
	lineBytes  = 64
	lineValues = lineBytes / 8
)

// lineWidth returns the width of a bundle of count vectors whose rows are read in random order: rows of few
// vectors do not cross a cache line, rows of many begin on one.
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

// rowsPerBlock is how many rows of a bundle, or of its products, are interleaved at a time, so that they
// stay in the first-level cache.
const rowsPerBlock = 128

// multiply reads each row once for all vectors of a bundle, first of the base matrix, then of the sparse
// part.
func (t *graphTile) multiply(dst [][]float64, x *vectors) error {
	w := t.source.borrowWindow()
	defer t.source.returnWindow(w)
	g, r := t.source.graph, &t.source.routines
	base := &Sparse{RowStart: g.RowStart, Column: g.Column, Value: t.source.weights}
	for at := range x.bundles {
		b := &x.bundles[at]
		for from := t.rows.From; from < t.rows.To; from += rowsPerBlock {
			to := min(from+rowsPerBlock, t.rows.To)
			sums := resized(w.panel.sums, (to-from)*b.width)
			clear(sums)
			for _, m := range []*Sparse{base, x.sparse} {
				if m.RowStart[from] < m.RowStart[to] {
					r.addEntries(sums, from, to, m, b)
				}
			}
			deinterleave(dst[b.first:b.first+b.count], partition.Range{From: from - t.rows.From, To: to - t.rows.From}, sums, b.width)
			w.panel.sums = sums
		}
	}
	return nil
}

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
