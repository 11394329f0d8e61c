package kernel

import (
	"context"
	"fmt"

	"github.com/cleave-project/cleave/internal/partition"
)

// Building dense tiles. The matrix is symmetric: the block where the rows of one tile meet the rows of
// another is computed once and transposed into the other tile.

// buildBlock is the part of a tile in the columns that are another tile's rows.
type buildBlock struct {
	tile     *denseTile
	columns  partition.Range
	mirrorTo *denseTile // the other tile, if it is being built too: it gets the transposed block
	copyFrom *denseTile // the other tile, if it is stored already: the block is copied from it, transposed
}

// buildFromPoints computes stored tiles of points.
func (s *Shard) buildFromPoints(ctx context.Context, numbers []int) (map[int]*denseTile, error) {
	n := s.source.Rows()
	tiles := make(map[int]*denseTile, len(numbers))
	for _, number := range numbers {
		tiles[number] = s.source.newTile(number)
		tiles[number].allocate()
	}
	var blocks []buildBlock
	for _, number := range numbers {
		for other := range partition.TileCount(n) {
			b := buildBlock{tile: tiles[number], columns: partition.Tile(n, other), mirrorTo: tiles[other]}
			switch {
			case b.mirrorTo != nil && other < number:
				continue // the other tile's block is mirrored into this one
			case other == number:
				b.mirrorTo = nil
			case b.mirrorTo == nil:
				b.copyFrom = s.storedTile(other)
			}
			blocks = append(blocks, b)
		}
	}
	return tiles, s.parallel(ctx, len(blocks), func(at int) error { return s.source.build(blocks[at]) })
}

// storedTile returns a tile whose entries this shard has stored, or nil.
func (s *Shard) storedTile(number int) *denseTile {
	if t := s.tiles[number]; t != nil {
		if dense, is := t.base.(*denseTile); is && dense.stored() {
			return dense
		}
	}
	return nil
}

// build computes one block, and its mirror.
func (s *Source) build(b buildBlock) error {
	if b.copyFrom != nil {
		mirror(b.tile, b.copyFrom, b.tile.rows, 0)
		return nil
	}
	w := s.borrowWindow()
	defer s.returnWindow(w)
	m := w.entryMakerFor(b.tile)
	var columns [columnsPerFill]int32
	for from := b.columns.From; from < b.columns.To; from += columnsPerFill {
		some := columns[:min(columnsPerFill, b.columns.To-from)]
		for at := range some {
			some[at] = int32(from + at)
		}
		var out []float32
		if b.tile.half == nil {
			out = b.tile.entries[from*b.tile.stride : (from+len(some))*b.tile.stride]
		} else {
			w.values = resized(w.values, len(some)*b.tile.stride)
			out = w.values
		}
		// A block on the diagonal is its own mirror: only its lower triangle is computed.
		top, to, first := 0, b.mirrorTo, 0
		if b.columns == b.tile.rows {
			top = from - b.tile.rows.From
			to, first = b.tile, top+columnsPerFill
			top -= top % s.routines.blockRows
		}
		if err := m.fillFrom(top, some, out); err != nil {
			return err
		}
		b.tile.save(from, top, out)
		if to != nil {
			mirror(to, b.tile, partition.Range{From: from, To: from + len(some)}, first)
		}
	}
	return nil
}

// transposeStep is the side of the square blocks that are transposed at a time.
const transposeStep = 16

// mirror transposes a block of src into dst. The given columns of src are rows of dst; the rows of src, from
// row first on (a multiple of transposeStep), are columns of dst.
func mirror(dst, src *denseTile, columns partition.Range, first int) {
	if src.half != nil {
		for r := first; r < src.height; r++ {
			mirrorRow(dst.half, src.half, dst, src, columns, r)
		}
		return
	}
	squares := columns.Len() / transposeStep
	rest := partition.Range{From: columns.From + squares*transposeStep, To: columns.To}
	whole := src.height / transposeStep * transposeStep
	for r := first; r < src.height; r++ {
		switch {
		case r >= whole:
			mirrorRow(dst.entries, src.entries, dst, src, columns, r)
			continue
		case r%transposeStep == 0 && squares > 0:
			to := dst.entries[(src.rows.From+r)*dst.stride+columns.From-dst.rows.From:]
			from := src.entries[columns.From*src.stride+r:]
			src.source.routines.transpose(to, dst.stride, from, src.stride, squares)
		}
		mirrorRow(dst.entries, src.entries, dst, src, rest, r)
	}
}

// mirrorRow copies one row of src at the given columns into a column of dst.
func mirrorRow[T any](to, from []T, dst, src *denseTile, columns partition.Range, r int) {
	column := to[(src.rows.From+r)*dst.stride : (src.rows.From+r+1)*dst.stride]
	for j := columns.From; j < columns.To; j++ {
		column[j-dst.rows.From] = from[j*src.stride+r]
	}
}

// buildFromRows fetches the rows of a given matrix and stores them as a dense tile.
func (s *Source) buildFromRows(ctx context.Context, number int) (*denseTile, error) {
	t := s.newTile(number)
	t.allocate()
	given, err := s.rows(ctx, t.rows.From, t.rows.To)
	if err != nil {
		return nil, err
	}
	if len(given) != t.height*t.n {
		return nil, fmt.Errorf("kernel: got %d values for %d rows of %d", len(given), t.height, t.n)
	}
	values, column := make([]float64, t.height), make([]float32, t.stride)
	for j := range t.n {
		for r := range values {
			values[r] = given[r*t.n+j]
		}
		if t.half == nil {
			column = t.column(j)
		}
		if err := s.spec.store(column, t.rows, j, values); err != nil {
			return nil, err
		}
		t.save(j, 0, column)
	}
	return t, nil
}
