package kernel

import (
	"context"
	"errors"
	"fmt"

	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/parallel"
	"github.com/cleave-project/cleave/internal/partition"
)

// ClusterStats describes the clusters of one lane: what distances need in addition to the row sums. All slices are
// indexed by cluster.
type ClusterStats struct {
	Lane         int
	Sigma        float64   // the diagonal shift
	Weight       []float64 // s_c, the sum of a_i over the cluster
	SelfAffinity []float64 // Q_c, the sum of S_ic over the points i of the cluster, without shift
	Count        []int32   // points in the cluster
}

// Sparse is a symmetric matrix in compressed rows, with ascending columns and values on the grid. Row i has the entries
// RowStart[i] to RowStart[i+1].
type Sparse struct {
	RowStart []int64
	Column   []int32
	Value    []float64
}

// Row returns the columns and values of row i. Both alias the matrix and must not be changed.
func (s *Sparse) Row(i int) ([]int32, []float64) {
	from, to := s.RowStart[i], s.RowStart[i+1]
	return s.Column[from:to:to], s.Value[from:to:to]
}

// Operands turn the base matrix into a clustering problem.
//
// Lanes are independent labelings, such as restarts, that share the matrix: a column is read once for all of
// them. Clusters and labels are numbered as in labeling.Shape.
type Operands struct {
	K       int       // clusters per lane
	Lanes   int       // 0 means 1; a graph allows only 1
	Weights []float64 // a_i per row, positive
	Sparse  *Sparse   // the sparse part of M
}

// MaxLanes is the maximum number of lanes of a shard. More would gain nothing.
const MaxLanes = 16

// lanes returns the number of lanes, at least 1.
func (a *Operands) lanes() int { return max(1, a.Lanes) }

// clusters returns the number of clusters of all lanes together.
func (a *Operands) clusters() int { return a.lanes() * a.K }

// ErrNotReady reports that a tile is not built, has no operands, or is at a different step than the operation expects.
// The caller should rebuild it and try again.
var ErrNotReady = errors.New("kernel: tile is not ready")

// Shard holds tiles of one problem with their sums: the part of one worker or, with all tiles, a whole problem in one
// process.
//
// Its methods take the numbers of the tiles to work on, and return values for their rows in that order. Only one method
// may run at a time; each distributes its tiles over the threads. The results of Load, Update and Assign belong to the
// shard and are valid until the next call of one of them, so that they need not allocate. Products are valid until the
// next Multiply.
//
// The sums of a tile carry the step that they belong to. Load sets a step, Update advances to the next one, and
// repeating either changes nothing, so every operation is safe to retry.
type Shard struct {
	source     *Source
	tiles      map[int]*tile
	operands   Operands
	labels     []int32 // lane after lane
	labelsStep uint64
	loaded     bool
	pool       *parallel.Pool
	// The functions that threads run on one tile of the operation, created once so that calls do not allocate.
	sweepTile, assignTile func(at int) error
	operation             operation
	// Buffers reused by later calls.
	totals       []Int128
	moves        []labeling.Move
	terms        []clusterTerms // one per lane with stats
	plan         plan
	changes      rowChanges
	workspaces   workspaces
	bundles      []bundle  // of the vectors of the current Multiply
	bundleValues []float64 // their values
	products     []float64 // one after the other
}

// operation is what the threads of a method work on.
type operation struct {
	tiles []*tile
	step  uint64         // of a sweep: where it brings the tiles
	plan  *plan          // of a sweep
	stats []ClusterStats // of an assignment
}

// NewShard returns a shard without tiles that uses the given number of threads, at least one.
func NewShard(source *Source, threads int) *Shard {
	s := &Shard{source: source, tiles: map[int]*tile{}, pool: parallel.NewPool(threads)}
	s.sweepTile = func(at int) error { return s.sweepOne(s.operation.tiles[at]) }
	s.assignTile = func(at int) error { return s.assignOne(s.operation.tiles[at]) }
	return s
}

// Build creates the given tiles, unless they exist. A tile of points is stored, or computes its columns on each use. An
// existing tile with the other kind of storage is converted and keeps its sums, because the bits are the same.
func (s *Shard) Build(ctx context.Context, numbers []int, stored bool) error {
	var missing []int
	for _, number := range numbers {
		if number < 0 || number >= partition.TileCount(s.source.Rows()) {
			return fmt.Errorf("kernel: there is no tile %d", number)
		}
		if t := s.tiles[number]; t == nil || s.source.canRecompute() && t.base.stored() != stored {
			missing = append(missing, number)
		}
	}
	bases, err := s.buildBases(ctx, missing, stored)
	if err != nil {
		return err
	}
	for i, number := range missing {
		if t := s.tiles[number]; t != nil {
			t.base = bases[i]
			continue
		}
		rows := partition.Tile(s.source.Rows(), number)
		s.tiles[number] = &tile{rows: rows, stride: padded(rows.Len()), base: bases[i]}
	}
	return nil
}

// buildBases returns the matrices of tiles: stored entries, or what recomputes them on each use.
func (s *Shard) buildBases(ctx context.Context, numbers []int, stored bool) ([]matrix, error) {
	bases := make([]matrix, len(numbers))
	switch {
	case s.source.graph != nil:
		for at, number := range numbers {
			bases[at] = &graphTile{source: s.source, rows: partition.Tile(s.source.Rows(), number)}
		}
		return bases, nil
	case s.source.points != nil && !stored:
		for at, number := range numbers {
			bases[at] = s.source.newTile(number)
		}
		return bases, nil
	case s.source.points != nil:
		tiles, err := s.buildFromPoints(ctx, numbers)
		for at, number := range numbers {
			bases[at] = tiles[number]
		}
		return bases, err
	}
	return bases, s.parallel(ctx, len(numbers), func(at int) error {
		base, err := s.source.buildFromRows(ctx, numbers[at])
		bases[at] = base
		return err
	})
}

// Drop removes tiles and frees their memory. Unknown numbers are ignored.
func (s *Shard) Drop(numbers []int) {
	for _, number := range numbers {
		delete(s.tiles, number)
	}
}

// SetOperands sets the weights and the sparse part. It drops labels and sums, which belong to the operands before.
func (s *Shard) SetOperands(a Operands) error {
	if limit := s.source.maxLanes(); a.lanes() > limit {
		return fmt.Errorf("kernel: there are %d lanes, want at most %d", a.Lanes, limit)
	}
	s.Reset()
	s.operands = a
	return nil
}

// Reset drops operands, labels and sums, so that only the base matrix remains, as after Build.
func (s *Shard) Reset() {
	s.operands, s.loaded = Operands{}, false
	for _, t := range s.tiles {
		t.sums, t.diagonal, t.loaded = nil, nil, false
	}
}

// Degrees returns the row sums of the base matrix. It fails if an affinity is negative.
func (s *Shard) Degrees(ctx context.Context, numbers []int) ([]float64, error) {
	return s.perRow(ctx, numbers, func(t *tile, dst []float64) error { return t.base.degrees(dst) })
}

// Maxima returns the largest entry of each row of the base matrix, or 0 if all are negative.
func (s *Shard) Maxima(ctx context.Context, numbers []int) ([]float64, error) {
	return s.perRow(ctx, numbers, func(t *tile, dst []float64) error { return t.base.maxima(dst) })
}

// Diagonal returns M_ii for each row, without shift. It requires operands.
func (s *Shard) Diagonal(ctx context.Context, numbers []int) ([]float64, error) {
	if s.operands.K == 0 {
		return nil, ErrNotReady
	}
	return s.perRow(ctx, numbers, func(t *tile, dst []float64) error {
		if err := s.loadDiagonal(t); err != nil {
			return err
		}
		copy(dst, t.diagonal)
		return nil
	})
}

// ColumnSums returns, for each list of columns, the sum of M_ij over the columns j of the list.
func (s *Shard) ColumnSums(ctx context.Context, numbers []int, lists [][]int32) ([][]float64, error) {
	if s.operands.K == 0 {
		return nil, ErrNotReady
	}
	tiles, err := s.tilesOf(numbers)
	if err != nil {
		return nil, err
	}
	return s.listsPerRow(ctx, tiles, len(lists), func(t *tile, list int, dst []float64) error {
		if err := t.base.addColumns(dst, lists[list]); err != nil {
			return err
		}
		for _, j := range lists[list] {
			rows, values := s.operands.Sparse.column(j, t.rows)
			for at, i := range rows {
				dst[int(i)-t.rows.From] += values[at]
			}
		}
		return nil
	})
}

// startsOf returns where each tile's rows begin in a list with one value per row, followed by the length of the list.
func startsOf(tiles []*tile) []int {
	starts := make([]int, len(tiles)+1)
	for i, t := range tiles {
		starts[i+1] = starts[i] + t.rows.Len()
	}
	return starts
}

// perRow computes one value per row of the given tiles. compute receives a zeroed, padded buffer.
func (s *Shard) perRow(ctx context.Context, numbers []int,
	compute func(t *tile, dst []float64) error) ([]float64, error) {
	tiles, err := s.tilesOf(numbers)
	if err != nil {
		return nil, err
	}
	values, err := s.listsPerRow(ctx, tiles, 1, func(t *tile, _ int, dst []float64) error { return compute(t, dst) })
	if err != nil {
		return nil, err
	}
	return values[0], nil
}

// listsPerRow computes several lists with one value per row of the given tiles. compute receives a zeroed, padded
// buffer.
func (s *Shard) listsPerRow(ctx context.Context, tiles []*tile, lists int,
	compute func(t *tile, list int, dst []float64) error) ([][]float64, error) {
	starts := startsOf(tiles)
	values := make([][]float64, lists)
	for list := range values {
		values[list] = make([]float64, starts[len(tiles)])
	}
	err := s.parallel(ctx, len(tiles), func(at int) error {
		dst := make([]float64, tiles[at].stride)
		for list := range values {
			clear(dst)
			if err := compute(tiles[at], list, dst); err != nil {
				return err
			}
			copy(values[list][starts[at]:starts[at+1]], dst)
		}
		return nil
	})
	return values, err
}

// tilesOf returns the tiles with the given numbers, or ErrNotReady if one is missing. The slice is valid until the next
// call.
func (s *Shard) tilesOf(numbers []int) ([]*tile, error) {
	tiles := s.operation.tiles[:0]
	for _, number := range numbers {
		t := s.tiles[number]
		if t == nil {
			return nil, ErrNotReady
		}
		tiles = append(tiles, t)
	}
	s.operation.tiles = tiles
	return tiles, nil
}

// parallel calls do for 0..count-1 on the shard's threads and returns the first error by index.
func (s *Shard) parallel(ctx context.Context, count int, do func(at int) error) error {
	return s.pool.Run(ctx, count, do)
}
