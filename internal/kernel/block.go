package kernel

import (
	"context"
	"fmt"
	"slices"

	"github.com/cleave-project/cleave/internal/partition"
)

// Block is a few points of one lane, in ascending order.
type Block struct {
	Lane   int
	Points []int32
}

// MaxBlock is the maximum number of points in a block.
const MaxBlock = 1024

// Width returns how many values Blocks computes for each point of the block: k sums and one entry per point.
func (b Block) Width(k int) int { return k + len(b.Points) }

// Within returns the range of the block's points that lie in rows.
func (b Block) Within(rows partition.Range) (from, to int) {
	from, _ = slices.BinarySearch(b.Points, int32(rows.From))
	to, _ = slices.BinarySearch(b.Points, int32(rows.To))
	return from, to
}

// DropRepeated removes M_ij of points j before i from the values that Blocks returned for the block in some tiles,
// given by their rows, and returns the rest. M is symmetric to the bit, so the values of j have it.
func (b Block) DropRepeated(values []float64, k int, tiles []partition.Range) []float64 {
	kept := values[:0]
	for _, rows := range tiles {
		from, to := b.Within(rows)
		for place := from; place < to; place++ {
			row := values[:b.Width(k)]
			values = values[len(row):]
			kept = append(append(kept, row[:k]...), row[k+place:]...)
		}
	}
	return kept
}

// Mirror fills in what DropRepeated removes, in the values of all points of the block.
func (b Block) Mirror(values []float64, k int) {
	width := b.Width(k)
	for i := range b.Points {
		for j := range i {
			values[i*width+k+j] = values[j*width+k+i]
		}
	}
}

// Blocks returns, for each block and each of its points i in the given tiles, the sums S_ic over the k clusters of the
// lane, followed by M_ij for all points j of the block.
func (s *Shard) Blocks(ctx context.Context, numbers []int, step uint64, blocks []Block) ([][]float64, error) {
	tiles, err := s.ready(numbers, step, nil)
	if err != nil {
		return nil, err
	}
	k := s.operands.K
	values := make([][]float64, len(blocks))
	starts := make([]int, len(blocks)*len(tiles))
	for at, b := range blocks {
		if err := s.checkBlock(b); err != nil {
			return nil, err
		}
		size := 0
		for number, t := range tiles {
			starts[at*len(tiles)+number] = size
			from, to := b.Within(t.rows)
			size += (to - from) * b.Width(k)
		}
		values[at] = make([]float64, size)
	}
	err = s.parallel(ctx, len(starts), func(piece int) error {
		at, t := piece/len(tiles), tiles[piece%len(tiles)]
		return s.blockInTile(values[at][starts[piece]:], t, blocks[at])
	})
	return values, err
}

// checkBlock refuses a block with too many points, points that are not ascending, or a lane that does not exist.
func (s *Shard) checkBlock(b Block) error {
	if b.Lane < 0 || b.Lane >= s.operands.lanes() || len(b.Points) > MaxBlock {
		return fmt.Errorf("kernel: a block has %d points in lane %d; want at most %d points and a lane below %d",
			len(b.Points), b.Lane, MaxBlock, s.operands.lanes())
	}
	last := int32(-1)
	for _, i := range b.Points {
		if i <= last || int(i) >= s.source.Rows() {
			return fmt.Errorf("kernel: point %d of a block is out of order or out of range", i)
		}
		last = i
	}
	return nil
}

// blockInTile writes the values of the block's points that lie in one tile.
func (s *Shard) blockInTile(dst []float64, t *tile, b Block) error {
	from, to := b.Within(t.rows)
	if from == to {
		return nil
	}
	k, width := s.operands.K, b.Width(s.operands.K)
	dst = dst[:(to-from)*width]
	if err := t.base.pick(dst[k:], width, b.Points[from:to], b.Points); err != nil {
		return err
	}
	for at, i := range b.Points[from:to] {
		row := dst[at*width : (at+1)*width]
		for c := range k {
			row[c] = t.sums.of(int(i)-t.rows.From, int32(b.Lane*k+c))
		}
		columns, values := s.operands.Sparse.Row(int(i))
		addCommon(row[k:], b.Points, columns, values)
	}
	return nil
}

// addCommon adds the values of a sparse row at the wanted columns to dst. wanted and columns must be ascending.
func addCommon(dst []float64, wanted, columns []int32, values []float64) {
	at := 0
	for place, j := range columns {
		for at < len(wanted) && wanted[at] < j {
			at++
		}
		if at < len(wanted) && wanted[at] == j {
			dst[at] += values[place]
		}
	}
}
