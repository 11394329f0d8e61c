package kernel

import (
	"context"
	"fmt"

	"github.com/cleave-project/cleave/internal/partition"
)

// Building dense tiles. The matrix is symmetric: of the block that two tiles of this shard share, one
// half is computed and transposed into the other.

// block is the part of a tile that lies in the columns of another tile's rows.
type block struct {
	tile    *denseTile
	columns partition.Range
	mirror  *denseTile // the other tile, when it is built now too and is not the same
	source  *denseTile // the other tile, when it is here already: the block is its mirror
}

// buildFromPoints makes dense tiles of points.
func (s *Shard) buildFromPoints(ctx context.Context, numbers []int) (map[int]*denseTile, error) {
	n := s.source.Rows()
	tiles := make(map[int]*denseTile, len(numbers))
	for _, number := range numbers {
		tiles[number] = s.source.newTile(number)
		tiles[number].allocate()
	}
	var blocks []block
	for _, number := range numbers {
		for other := range partition.TileCount(n) {
			b := block{tile: tiles[number], columns: partition.Tile(n, other), mirror: tiles[other]}
			switch {
			case b.mirror != nil && other < number:
				continue // made as the mirror of the other one
			case other == number:
				b.mirror = nil
			case b.mirror == nil:
				b.source = s.storedTile(other)
			}
			blocks = append(blocks, b)
		}
	}
	return tiles, s.parallel(ctx, len(blocks), func(at int) error { return s.source.build(blocks[at]) })
}

// storedTile is a tile that this shard holds with its entries, nil when it does not.
func (s *Shard) storedTile(number int) *denseTile {
	if t := s.tiles[number]; t != nil {
		if dense, is := t.base.(*denseTile); is && dense.stored() {
			return dense
		}
	}
	return nil
}

// build computes one block, and its mirror.
func (s *Source) build(b block) error {
	if b.source != nil {
		transpose(b.tile.entries, b.source.entries, b.tile, b.source)
		transpose(b.tile.half, b.source.half, b.tile, b.source)
		return nil
	}
	m := s.maker(b.tile.rows)
	defer s.giveBack(m)
	borrowed := s.borrow(columnsPerFill * b.tile.stride)
	defer s.scratch.Put(borrowed)
	var columns [columnsPerFill]int32
	for from := b.columns.From; from < b.columns.To; from += columnsPerFill {
		some := columns[:min(columnsPerFill, b.columns.To-from)]
		for at := range some {
			some[at] = int32(from + at)
		}
		out := (*borrowed)[:len(some)*b.tile.stride]
		if b.tile.half == nil {
			out = b.tile.entries[from*b.tile.stride : (from+len(some))*b.tile.stride]
		}
		if err := m.fill(some, out); err != nil {
			return err
		}
		b.tile.keep(from, out)
	}
	if b.mirror != nil {
		transpose(b.mirror.entries, b.tile.entries, b.mirror, b.tile)
		transpose(b.mirror.half, b.tile.half, b.mirror, b.tile)
	}
	return nil
}

// transposeStep is the side of the squares that a transposition works in.
const transposeStep = 16

// transpose fills the columns of dst that are the rows of src from src's columns at dst's rows; it
// does nothing for the kind of entries that the tiles do not have.
func transpose[T any](dst, src []T, to, from *denseTile) {
	if src == nil {
		return
	}
	for r := 0; r < from.height; r += transposeStep {
		for c := 0; c < to.height; c += transposeStep {
			for i := r; i < min(r+transposeStep, from.height); i++ {
				column := dst[(from.rows.From+i)*to.stride : (from.rows.From+i+1)*to.stride]
				for j := c; j < min(c+transposeStep, to.height); j++ {
					column[j] = src[(to.rows.From+j)*from.stride+i]
				}
			}
		}
	}
}

// buildFromRows makes one dense tile of a given matrix.
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
		t.keep(j, column)
	}
	return t, nil
}
