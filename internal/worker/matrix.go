package worker

import (
	"context"
	"fmt"
	"slices"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/wire"
)

// matrix holds the tiles of a kernel-family job.
type matrix struct {
	*kernel.Shard
	k          int    // clusters per lane, from SetOperands; 0 without operands
	operandsID uint64 // of the current operands
}

func (m *matrix) build(ctx context.Context, tiles []int, stored bool) error {
	return m.Build(ctx, tiles, stored)
}

func (m *matrix) Reset() {
	m.k, m.operandsID = 0, 0
	m.Shard.Reset()
}

func (m *matrix) perform(j *job, c *workerv1.Command, tiles []int) (*workerv1.Done, error) {
	var stats []kernel.ClusterStats
	if given, is := wire.Operation(c).(interface {
		GetStats() []*workerv1.ClusterStats
	}); is {
		var err error
		if stats, err = m.stats(given.GetStats()); err != nil {
			return nil, err
		}
	}
	switch op := c.GetOperation().(type) {
	case *workerv1.Command_SetOperands:
		return &workerv1.Done{}, m.setOperands(j, op.SetOperands)
	case *workerv1.Command_Degrees:
		return j.valuesOf(c)(m.Degrees(j.ctx, tiles))
	case *workerv1.Command_Maxima:
		return j.valuesOf(c)(m.Maxima(j.ctx, tiles))
	case *workerv1.Command_Diagonal:
		return j.valuesOf(c)(m.Diagonal(j.ctx, tiles))
	case *workerv1.Command_ColumnSums:
		lists, err := j.columnLists(op.ColumnSums)
		if err != nil {
			return nil, err
		}
		return j.listsOf(c)(m.ColumnSums(j.ctx, tiles, lists))
	case *workerv1.Command_Multiply:
		return m.multiply(j, c, tiles, op.Multiply)
	case *workerv1.Command_Load:
		labels, err := unpackPayload(j, op.Load.GetLabels(), wire.UnpackInt32s)
		if err != nil {
			return nil, err
		}
		return selfAffinity(m.Load(j.ctx, tiles, op.Load.GetStep(), labels))
	case *workerv1.Command_Update:
		moves, err := j.movesToApply(op.Update)
		if err != nil {
			return nil, err
		}
		j.observeSweep(c, tiles, len(moves))
		return selfAffinity(m.Update(j.ctx, tiles, op.Update.GetStep(), moves))
	case *workerv1.Command_MatrixAssign:
		return j.movesOf(c, m.k)(m.Assign(j.ctx, tiles, op.MatrixAssign.GetStep(), stats))
	case *workerv1.Command_MatrixFarthest:
		far, err := m.Farthest(j.ctx, tiles, op.MatrixFarthest.GetStep(), stats)
		return &workerv1.Done{Farthest: wire.CandidatesToProto(far)}, err
	case *workerv1.Command_Gains:
		return m.gains(j, c, tiles, op.Gains, stats)
	case *workerv1.Command_Fits:
		return j.listsOf(c)(m.Fits(j.ctx, tiles, op.Fits.GetStep(), stats))
	case *workerv1.Command_Blocks:
		return m.blocks(j, c, tiles, op.Blocks)
	}
	return nil, unknownCommand(c)
}

// multiply multiplies the matrix by vectors.
func (m *matrix) multiply(j *job, c *workerv1.Command, tiles []int, op *workerv1.Multiply) (*workerv1.Done, error) {
	x, err := j.vectorsOf(op)
	if err != nil {
		return nil, err
	}
	products, err := m.Multiply(j.ctx, tiles, x)
	if err != nil {
		return nil, err
	}
	payload, err := j.productsOf(c, products)
	return &workerv1.Done{Values: payload}, err
}

// gains returns the largest gains.
func (m *matrix) gains(j *job, c *workerv1.Command, tiles []int, op *workerv1.Gains,
	stats []kernel.ClusterStats) (*workerv1.Done, error) {
	gains, err := m.Gains(j.ctx, tiles, op.GetStep(), stats)
	return packedAs(func(gains [][]float64) []byte { return wire.PackLargest(gains, int(op.GetMost())) }, j, c)(gains,
		err)
}

// blocks returns the entries among some points, each pair once.
func (m *matrix) blocks(j *job, c *workerv1.Command, tiles []int, op *workerv1.Blocks) (*workerv1.Done, error) {
	blocks, err := j.blocksOf(op)
	if err != nil {
		return nil, err
	}
	values, err := m.Blocks(j.ctx, tiles, op.GetStep(), blocks)
	if err != nil {
		return nil, err
	}
	for at, b := range blocks {
		values[at] = b.DropRepeated(values[at], m.k, partition.TileRanges(j.rows, tiles))
	}
	return j.listsOf(c)(values, nil)
}

// setOperands sets the weights and the sparse part. The same operands again change nothing, so it is safe to retry.
func (m *matrix) setOperands(j *job, a *workerv1.SetOperands) error {
	in := &payloads{job: j}
	weights := in.floatsOf(a.GetWeights(), j.rows)
	sparse := &kernel.Sparse{RowStart: in.int64s(a.GetSparseStarts()), Column: in.int32s(a.GetSparseColumns())}
	sparse.Value = in.floatsOf(a.GetSparseValues(), len(sparse.Column))
	if in.err != nil {
		return in.err
	}
	if a.GetK() < 1 || int64(a.GetK()) > int64(j.need.K) || int64(a.GetLanes()) > int64(max(1, j.need.Lanes)) ||
		int64(len(sparse.Column)) > j.need.Matrix.SparseEntries {
		return fmt.Errorf("worker: operands of %d clusters in %d lanes and %d sparse entries, prepared for "+
			"%d, %d and %d",
			a.GetK(), a.GetLanes(), len(sparse.Column), j.need.K, j.need.Lanes, j.need.Matrix.SparseEntries)
	}
	if err := checkSparse(sparse, j.rows); err != nil {
		return err
	}
	if m.k > 0 && m.operandsID == a.GetOperandsId() {
		return nil
	}
	m.k = int(a.GetK())
	err := m.SetOperands(kernel.Operands{K: m.k, Lanes: int(a.GetLanes()), Weights: weights, Sparse: sparse})
	if err == nil {
		m.operandsID = a.GetOperandsId()
	}
	return err
}

func checkSparse(s *kernel.Sparse, rows int) error {
	if len(s.RowStart) != rows+1 || s.RowStart[0] != 0 || s.RowStart[rows] != int64(len(s.Column)) ||
		!slices.IsSorted(s.RowStart) {
		return fmt.Errorf("worker: the rows of the sparse part do not span its %d entries in ascending order",
			len(s.Column))
	}
	for _, column := range s.Column {
		if column < 0 || int(column) >= rows {
			return fmt.Errorf("worker: column %d of the sparse part is out of range", column)
		}
	}
	return nil
}

func selfAffinity(sums []kernel.Int128, err error) (*workerv1.Done, error) {
	return &workerv1.Done{SelfAffinity: wire.PackInt128s(sums)}, err
}

// columnLists unpacks the lists of columns to sum.
func (j *job) columnLists(op *workerv1.ColumnSums) ([][]int32, error) {
	in := &payloads{job: j}
	columns := in.int32s(op.GetColumns())
	ends := in.int32s(op.GetEnds())
	if in.err != nil {
		return nil, in.err
	}
	for _, c := range columns {
		if c < 0 || int(c) >= j.rows {
			return nil, fmt.Errorf("worker: column %d of %d", c, j.rows)
		}
	}
	lists := make([][]int32, len(ends))
	start := int32(0)
	for i, end := range ends {
		if end < start || int(end) > len(columns) {
			return nil, fmt.Errorf("worker: list %d ends at column %d of %d", i, end, len(columns))
		}
		lists[i], start = columns[start:end], end
	}
	return lists, nil
}

// blocksOf decodes blocks, and rejects more points than memory was reserved for.
func (j *job) blocksOf(op *workerv1.Blocks) ([]kernel.Block, error) {
	blocks, err := wire.BlocksFromProto(op.GetBlocks())
	if err == nil && len(blocks) > max(1, j.need.Lanes) {
		err = fmt.Errorf("worker: %d blocks, prepared for %d lanes", len(blocks), j.need.Lanes)
	}
	for _, b := range blocks {
		if len(b.Points) > j.need.Matrix.Block {
			err = fmt.Errorf("worker: a block of %d points, prepared for %d", len(b.Points), j.need.Matrix.Block)
		}
	}
	return blocks, err
}

func (m *matrix) stats(p []*workerv1.ClusterStats) ([]kernel.ClusterStats, error) {
	all, err := wire.StatsFromProto(p)
	for _, stats := range all {
		if len(stats.Count) != m.k {
			return nil, fmt.Errorf("%w: statistics of %d clusters instead of %d", kernel.ErrNotReady,
				len(stats.Count), m.k)
		}
	}
	return all, err
}

// vectorsOf fetches the vectors to multiply by.
func (j *job) vectorsOf(op *workerv1.Multiply) ([][]float64, error) {
	count := max(1, int64(op.GetCount()))
	if limit := int64(max(1, j.need.Matrix.Products)); count > limit {
		return nil, fmt.Errorf("worker: %d vectors to multiply, prepared for %d", count, limit)
	}
	values, err := j.payloadFloats(op.GetX(), int(count)*j.rows)
	if err != nil {
		return nil, err
	}
	return slices.Collect(slices.Chunk(values, j.rows)), nil
}

// productsOf returns a payload of products, one after the other. Large ones are packed chunk by chunk while they are
// sent.
func (j *job) productsOf(c *workerv1.Command, products [][]float64) (*workerv1.Payload, error) {
	if 8*len(products)*len(products[0]) <= wire.InlineBytes {
		return j.resultPayload(c, wire.PackFloat64Lists(products))
	}
	return j.sendResult(c, func(yield func([]byte) bool) {
		for _, values := range products {
			for chunk := range slices.Chunk(values, wire.ChunkBytes/8) {
				if !yield(wire.PackFloat64s(chunk)) {
					return
				}
			}
		}
	})
}

// maxProducts limits the vectors of one Multiply.
const maxProducts = 1024
