package worker

import (
	"errors"
	"fmt"
	"slices"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/wire"
)

var errUnprepared = errors.New("the job is not prepared on this worker")

// dispatch runs one command on the shard.
func (j *job) dispatch(c *workerv1.Command) (*workerv1.Done, error) {
	if prepare := c.GetPrepare(); prepare != nil {
		return &workerv1.Done{}, j.prepare(prepare)
	}
	if j.shard == nil {
		return nil, errUnprepared
	}
	if c.GetDrop() != nil {
		j.drop(c.GetTiles())
		return &workerv1.Done{}, nil
	}
	tiles, err := j.admit(c.GetTiles())
	if err != nil {
		return nil, err
	}
	switch op := c.GetOperation().(type) {
	case *workerv1.Command_Build:
		return j.build(tiles, !op.Build.GetMatrixFree())
	case *workerv1.Command_Arm:
		return &workerv1.Done{}, j.arm(op.Arm)
	case *workerv1.Command_Degrees:
		return j.rowsOf(c)(j.shard.Degrees(j.ctx, tiles))
	case *workerv1.Command_Diagonal:
		return j.rowsOf(c)(j.shard.Diagonal(j.ctx, tiles))
	case *workerv1.Command_ColumnSums:
		lists, err := j.columnLists(op.ColumnSums)
		if err != nil {
			return nil, err
		}
		sums, err := j.shard.ColumnSums(j.ctx, tiles, lists)
		return j.rowsOf(c)(slices.Concat(sums...), err)
	case *workerv1.Command_Multiply:
		x, err := j.floats(op.Multiply.GetX(), j.rows)
		if err != nil {
			return nil, err
		}
		return j.rowsOf(c)(j.shard.Multiply(j.ctx, tiles, x))
	case *workerv1.Command_Load:
		labels, err := unpack(j, op.Load.GetLabels(), wire.UnpackInt32s)
		if err != nil {
			return nil, err
		}
		return selfAffinity(j.shard.Load(j.ctx, tiles, op.Load.GetStep(), labels))
	case *workerv1.Command_Update:
		moves, err := unpack(j, op.Update.GetMoves(), wire.UnpackMoves)
		if err != nil {
			return nil, err
		}
		return selfAffinity(j.shard.Update(j.ctx, tiles, op.Update.GetStep(), moves))
	case *workerv1.Command_Assign:
		stats, err := j.stats(op.Assign.GetStats())
		if err != nil {
			return nil, err
		}
		moves, err := j.shard.Assign(j.ctx, tiles, op.Assign.GetStep(), stats)
		if err != nil {
			return nil, err
		}
		values, err := j.result(c, wire.PackMoves(moves))
		return &workerv1.Done{Values: values}, err
	case *workerv1.Command_Farthest:
		stats, err := j.stats(op.Farthest.GetStats())
		if err != nil {
			return nil, err
		}
		far, err := j.shard.Farthest(j.ctx, tiles, op.Farthest.GetStep(), stats)
		return &workerv1.Done{Farthest: wire.CandidatesToProto(far)}, err
	}
	return nil, fmt.Errorf("worker: unknown command %T", c.GetOperation())
}

// admit turns the tiles of a command into numbers and refuses placements that are out of date.
func (j *job) admit(placed []*workerv1.Tile) ([]int, error) {
	tiles := make([]int, len(placed))
	for i, t := range placed {
		if int64(t.GetTile()) >= int64(partition.TileCount(j.rows)) {
			return nil, fmt.Errorf("worker: there is no tile %d of %d rows", t.GetTile(), j.rows)
		}
		if t.GetEpoch() < j.epochs[t.GetTile()] {
			return nil, fmt.Errorf("%w: tile %d has been placed anew", kernel.ErrNotReady, t.GetTile())
		}
		j.epochs[t.GetTile()] = t.GetEpoch()
		tiles[i] = int(t.GetTile())
	}
	return tiles, nil
}

func (j *job) arm(a *workerv1.Arm) error {
	weights, err := j.floats(a.GetWeights(), j.rows)
	if err != nil {
		return err
	}
	sparse := &kernel.Sparse{}
	if sparse.RowStart, err = unpack(j, a.GetSparseStarts(), wire.UnpackInt64s); err != nil {
		return err
	}
	if sparse.Column, err = unpack(j, a.GetSparseColumns(), wire.UnpackInt32s); err != nil {
		return err
	}
	if sparse.Value, err = j.floats(a.GetSparseValues(), len(sparse.Column)); err != nil {
		return err
	}
	if a.GetK() < 1 || int64(a.GetK()) > int64(j.need.K) || int64(a.GetLanes()) > int64(max(1, j.need.Lanes)) || int64(len(sparse.Column)) > j.need.SparseEntries {
		return fmt.Errorf("worker: armed with %d clusters in %d lanes and %d sparse entries, prepared for %d, %d and %d",
			a.GetK(), a.GetLanes(), len(sparse.Column), j.need.K, j.need.Lanes, j.need.SparseEntries)
	}
	if err := checkSparse(sparse, j.rows); err != nil {
		return err
	}
	j.k = int(a.GetK())
	return j.shard.Arm(kernel.Armament{ID: a.GetArmament(), K: j.k, Lanes: int(a.GetLanes()), Weights: weights, Sparse: sparse})
}

func checkSparse(s *kernel.Sparse, rows int) error {
	if len(s.RowStart) != rows+1 || s.RowStart[0] != 0 || s.RowStart[rows] != int64(len(s.Column)) {
		return fmt.Errorf("worker: the rows of the sparse part do not span its %d entries", len(s.Column))
	}
	for i := range rows {
		if s.RowStart[i] > s.RowStart[i+1] {
			return fmt.Errorf("worker: row %d of the sparse part ends before it starts", i)
		}
	}
	for _, column := range s.Column {
		if column < 0 || int(column) >= rows {
			return fmt.Errorf("worker: column %d of the sparse part is out of range", column)
		}
	}
	return nil
}

// rowsOf makes the answer of an operation that gives a value per row.
func (j *job) rowsOf(c *workerv1.Command) func([]float64, error) (*workerv1.Done, error) {
	return func(values []float64, err error) (*workerv1.Done, error) {
		if err != nil {
			return nil, err
		}
		payload, err := j.result(c, wire.PackFloat64s(values))
		return &workerv1.Done{Values: payload}, err
	}
}

func selfAffinity(sums []kernel.Int128, err error) (*workerv1.Done, error) {
	return &workerv1.Done{SelfAffinity: wire.PackInt128s(sums)}, err
}

// unpack fetches and unpacks an operand.
func unpack[T any](j *job, p *workerv1.Payload, as func([]byte) ([]T, error)) ([]T, error) {
	data, err := j.operand(p)
	if err != nil {
		return nil, err
	}
	return as(data)
}

func (j *job) floats(p *workerv1.Payload, count int) ([]float64, error) {
	values, err := unpack(j, p, wire.UnpackFloat64s)
	if err == nil && len(values) != count {
		err = fmt.Errorf("worker: an operand of %d values instead of %d", len(values), count)
	}
	return values, err
}

func (j *job) optionalFloats(p *workerv1.Payload) ([]float64, error) {
	if p == nil {
		return nil, nil
	}
	return unpack(j, p, wire.UnpackFloat64s)
}

// columnLists are the lists of columns to sum up.
func (j *job) columnLists(op *workerv1.ColumnSums) ([][]int32, error) {
	columns, err := unpack(j, op.GetColumns(), wire.UnpackInt32s)
	if err != nil {
		return nil, err
	}
	for _, c := range columns {
		if c < 0 || int(c) >= j.rows {
			return nil, fmt.Errorf("worker: column %d of %d", c, j.rows)
		}
	}
	ends, err := unpack(j, op.GetEnds(), wire.UnpackInt32s)
	if err != nil {
		return nil, err
	}
	lists, start := make([][]int32, len(ends)), int32(0)
	for i, end := range ends {
		if end < start || int(end) > len(columns) {
			return nil, fmt.Errorf("worker: list %d ends at column %d of %d", i, end, len(columns))
		}
		lists[i], start = columns[start:end], end
	}
	return lists, nil
}

func (j *job) stats(p []*workerv1.ClusterStats) ([]kernel.Stats, error) {
	all, err := wire.StatsFromProto(p)
	for _, stats := range all {
		if len(stats.Count) != j.k {
			return nil, fmt.Errorf("%w: statistics of %d clusters instead of %d", kernel.ErrNotReady, len(stats.Count), j.k)
		}
	}
	return all, err
}
