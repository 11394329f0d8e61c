package fleet

import (
	"context"
	"fmt"
	"math"
	"slices"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/fleet/check"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/wire"
)

// Executor runs the operations of a kernel-family job on all workers. It implements kernelkmeans.Executor, its
// Matrix and its Measurer. The caller must call Release.
type Executor struct {
	job         *execution
	spec        kernel.MatrixSpec
	mean, scale *payload
	// Nil before the first SetOperands. It is replaced while holding both operating and Fleet.mu, so that either is
	// enough to read it: handovers send operands without holding operating.
	operands *packedOperands
}

// packedOperands is a kernel.Operands with its arrays as payloads. It does not change once it is made. Its id grows
// with every SetOperands of an executor.
type packedOperands struct {
	id                               uint64
	k, lanes                         int
	weights, starts, columns, values *payload
}

var _ kernelkmeans.Executor = (*Executor)(nil)

// Matrix implements kernelkmeans.Executor.
func (e *Executor) Matrix() kernelkmeans.Matrix { return e }

// NewExecutor places the tiles of a job's matrix on workers and builds them. While there is no worker it waits, until
// ctx ends.
func (f *Fleet) NewExecutor(ctx context.Context, task Task) (*Executor, error) {
	e := &Executor{spec: task.Need.Matrix.Spec}
	e.job = f.newExecution(task, e)
	e.mean = jobPayload(e.job, wire.PackFloat64s, e.spec.Mean)
	e.scale = jobPayload(e.job, wire.PackFloat64s, e.spec.Scale)
	if err := e.job.start(ctx); err != nil {
		return nil, err
	}
	return e, nil
}

// Usage returns what the job uses now, with its workers sorted by name.
func (e *Executor) Usage() *Usage { return e.job.Usage() }

// Release frees what the job holds on workers. A running operation fails with ErrReleased.
func (e *Executor) Release() { e.job.Release() }

func (e *Executor) describe(p *workerv1.Prepare) {
	p.What = &workerv1.Prepare_Matrix{Matrix: wire.MatrixSpecToProto(e.spec, e.mean.message(), e.scale.message())}
	p.SparseEntries, p.Lanes = uint64(e.job.need.Matrix.SparseEntries), uint32(e.job.need.Lanes)
	p.Products, p.Block = uint32(e.job.need.Matrix.Products), uint32(e.job.need.Matrix.Block)
}

func (e *Executor) changeBytes() int { return 0 }

// ensureOperands implements family. Operands are the weights and the sparse part.
func (e *Executor) ensureOperands(ctx context.Context, g *group) error {
	e.job.fleet.mu.Lock() // workers also get operands in the background
	a := e.operands
	e.job.fleet.mu.Unlock()
	if a == nil || g.member.operandsID == a.id {
		return nil
	}
	c := &workerv1.Command{Operation: &workerv1.Command_SetOperands{SetOperands: &workerv1.SetOperands{
		K: uint32(a.k), Lanes: uint32(a.lanes), OperandsId: a.id,
		Weights:      a.weights.message(),
		SparseStarts: a.starts.message(), SparseColumns: a.columns.message(), SparseValues: a.values.message(),
	}}}
	_, err := e.job.runCommand(ctx, g, nil, c, 0)
	if err == nil {
		g.member.operandsID = a.id
	}
	return err
}

// Degrees implements kernelkmeans.Matrix.
func (e *Executor) Degrees(ctx context.Context) ([]float64, error) {
	ask := always(&workerv1.Command{Operation: &workerv1.Command_Degrees{Degrees: &workerv1.Degrees{}}})
	return e.job.perRow(ctx, &operation{name: "degrees", wholeMatrix: true, possible: check.FiniteNonNegative,
		request: ask})
}

// Maxima implements kernelkmeans.Matrix.
func (e *Executor) Maxima(ctx context.Context) ([]float64, error) {
	ask := always(&workerv1.Command{Operation: &workerv1.Command_Maxima{Maxima: &workerv1.Maxima{}}})
	return e.job.perRow(ctx, &operation{name: "maxima", wholeMatrix: true, possible: check.FiniteNonNegative,
		request: ask})
}

// SetOperands implements kernelkmeans.Matrix. Operands are numbered, so that a worker that gets them twice keeps its
// sums.
func (e *Executor) SetOperands(ctx context.Context, a kernel.Operands) error {
	sparse := a.Sparse
	if sparse == nil {
		sparse = &kernel.Sparse{RowStart: make([]int64, e.spec.Rows+1)}
	}
	if a.K < 1 || len(a.Weights) != e.spec.Rows || len(sparse.RowStart) != e.spec.Rows+1 ||
		len(sparse.Column) != len(sparse.Value) {
		return fmt.Errorf("fleet: operands of %d clusters, %d weights and %d sparse rows for %d rows",
			a.K, len(a.Weights), len(sparse.RowStart)-1, e.spec.Rows)
	}
	need := &e.job.need
	if a.K > need.K || a.Lanes > max(1, need.Lanes) || int64(len(sparse.Column)) > need.Matrix.SparseEntries {
		return fmt.Errorf("fleet: operands of %d clusters in %d lanes and %d sparse entries, planned were "+
			"%d, %d and %d",
			a.K, a.Lanes, len(sparse.Column), need.K, need.Lanes, need.Matrix.SparseEntries)
	}
	e.job.operating <- struct{}{}
	id := uint64(1)
	if before := e.operands; before != nil {
		id = before.id + 1
		e.job.freePayloads(before.weights, before.starts, before.columns, before.values)
	}
	packed := &packedOperands{
		id: id, k: a.K, lanes: max(1, a.Lanes),
		weights: e.job.keepPayload(func() []byte { return wire.PackFloat64s(a.Weights) }),
		starts:  e.job.keepPayload(func() []byte { return wire.PackInt64s(sparse.RowStart) }),
		columns: e.job.keepPayload(func() []byte { return wire.PackInt32s(sparse.Column) }),
		values:  e.job.keepPayload(func() []byte { return wire.PackFloat64s(sparse.Value) }),
	}
	e.job.fleet.mu.Lock()
	e.operands = packed
	e.job.fleet.mu.Unlock()
	e.job.current.k, e.job.current.lanes, e.job.current.labels = a.K, packed.lanes, nil
	e.job.invalidateHandovers()
	for t := range e.job.placed.tiles {
		e.job.placed.tiles[t].held.step = 0
	}
	<-e.job.operating
	return e.job.perform(ctx, &operation{name: "set operands"})
}

// Diagonal implements kernelkmeans.Matrix.
func (e *Executor) Diagonal(ctx context.Context) ([]float64, error) {
	ask := always(&workerv1.Command{Operation: &workerv1.Command_Diagonal{Diagonal: &workerv1.Diagonal{}}})
	return e.job.perRow(ctx, &operation{name: "diagonal", request: ask})
}

// ColumnSums implements kernelkmeans.Matrix.
func (e *Executor) ColumnSums(ctx context.Context, lists [][]int32) ([][]float64, error) {
	ends := make([]int32, len(lists))
	end := 0
	for i, list := range lists {
		end += len(list)
		ends[i] = int32(end)
	}
	columns := e.job.newPayload(func() []byte { return wire.PackInt32s(slices.Concat(lists...)) })
	defer columns.free()
	packedEnds := e.job.newPayload(func() []byte { return wire.PackInt32s(ends) })
	defer packedEnds.free()
	ask := always(&workerv1.Command{Operation: &workerv1.Command_ColumnSums{
		ColumnSums: &workerv1.ColumnSums{Columns: columns.message(), Ends: packedEnds.message()},
	}})
	return e.job.severalPerRow(ctx, len(lists), &operation{name: "column sums", request: ask})
}

// Multiply implements kernelkmeans.Matrix.
func (e *Executor) Multiply(ctx context.Context, x [][]float64) ([][]float64, error) {
	for v := range x {
		if len(x[v]) != e.spec.Rows {
			return nil, fmt.Errorf("fleet: a vector of %d values for %d rows", len(x[v]), e.spec.Rows)
		}
	}
	var products [][]float64
	atOnce := max(1, e.job.need.Matrix.Products) // what workers have memory for
	for batch := range slices.Chunk(x, atOnce) {
		part, err := e.multiply(ctx, batch)
		if err != nil {
			return nil, err
		}
		products = append(products, part...)
	}
	return products, nil
}

func (e *Executor) multiply(ctx context.Context, x [][]float64) ([][]float64, error) {
	packed := e.job.newPayload(func() []byte { return wire.PackFloat64Lists(x) })
	defer packed.free()
	ask := always(&workerv1.Command{Operation: &workerv1.Command_Multiply{
		Multiply: &workerv1.Multiply{X: packed.message(), Count: uint32(len(x))},
	}})
	return e.job.severalPerRow(ctx, len(x), &operation{name: "multiply", wholeMatrix: true, request: ask})
}

// Load implements kernelkmeans.Executor.
func (e *Executor) Load(ctx context.Context, labels []int32) ([]kernel.Int128, error) {
	sums, merge := e.selfAffinities()
	if err := e.job.load(ctx, labels, merge); err != nil {
		return nil, err
	}
	return sums, nil
}

// Update implements kernelkmeans.Executor.
func (e *Executor) Update(ctx context.Context, moves []labeling.Move) ([]kernel.Int128, error) {
	sums, merge := e.selfAffinities()
	if err := e.job.update(ctx, moves, merge); err != nil {
		return nil, err
	}
	return sums, nil
}

// selfAffinities returns zeroed sums for all clusters, and the function that adds answers to them.
func (e *Executor) selfAffinities() ([]kernel.Int128, mergeFunc) {
	sums := make([]kernel.Int128, e.job.current.k*e.job.current.lanes)
	return sums, func(tiles []int, answer *reply) error {
		parts, err := wire.UnpackInt128s(answer.selfAffinity)
		if err != nil {
			return err
		}
		if len(parts) != len(sums) {
			return fmt.Errorf("sums of %d clusters instead of %d", len(parts), len(sums))
		}
		if err := check.SelfAffinities(e.job.rowsOf(tiles), parts); err != nil {
			return err
		}
		for c := range sums {
			sums[c] = sums[c].Add(parts[c])
		}
		return nil
	}
}

// Assign implements kernelkmeans.Executor.
func (e *Executor) Assign(ctx context.Context, stats []kernel.ClusterStats) ([]labeling.Move, error) {
	return e.job.assign(ctx, lanesOf(stats, statsLane),
		&operation{request: always(&workerv1.Command{Operation: &workerv1.Command_MatrixAssign{
			MatrixAssign: &workerv1.MatrixAssign{Step: e.job.current.step, Stats: wire.StatsToProto(stats)},
		}})})
}

// Farthest implements kernelkmeans.Executor.
func (e *Executor) Farthest(ctx context.Context, stats []kernel.ClusterStats) ([]labeling.Candidate, error) {
	return e.job.farthest(ctx, lanesOf(stats, statsLane),
		&operation{request: always(&workerv1.Command{Operation: &workerv1.Command_MatrixFarthest{
			MatrixFarthest: &workerv1.MatrixFarthest{Step: e.job.current.step, Stats: wire.StatsToProto(stats)},
		}})})
}

// statsLane returns the lane that statistics belong to.
func statsLane(s kernel.ClusterStats) int { return s.Lane }

// Measure implements kernelkmeans.Executor.
func (e *Executor) Measure() kernelkmeans.Measurer { return e }

// Gains implements kernelkmeans.Measurer. It asks workers for no more values than are needed.
func (e *Executor) Gains(ctx context.Context, stats []kernel.ClusterStats, needed int) ([][]float64, error) {
	needed = max(1, needed)
	values := make([][]float64, len(stats))
	for at := range values {
		values[at] = slices.Repeat([]float64{math.Inf(-1)}, e.job.rows)
	}
	op := &operation{name: "gains", maxBytes: e.job.perRowBytes(wire.LargestBytes * len(stats))}
	op.request = always(&workerv1.Command{Operation: &workerv1.Command_Gains{
		Gains: &workerv1.Gains{Step: e.job.current.step, Stats: wire.StatsToProto(stats), Most: uint32(needed)},
	}})
	op.merge = func(tiles []int, answer *reply) error {
		lists, err := wire.UnpackLargest(answer.values, len(stats), e.job.rowsOf(tiles), needed)
		if err != nil {
			return err
		}
		for at, list := range lists {
			for _, t := range tiles {
				rows := partition.Tile(e.job.rows, t)
				list = list[copy(values[at][rows.From:rows.To], list):]
			}
		}
		return nil
	}
	return values, e.job.atStep(ctx, op)
}

// Fits implements kernelkmeans.Measurer.
func (e *Executor) Fits(ctx context.Context, stats []kernel.ClusterStats) ([]kernelkmeans.Fit, error) {
	ask := always(&workerv1.Command{Operation: &workerv1.Command_Fits{
		Fits: &workerv1.Fits{Step: e.job.current.step, Stats: wire.StatsToProto(stats)},
	}})
	values, op := e.job.rowLists(2*len(stats), &operation{name: "fits", possible: check.Number, request: ask})
	err := e.job.atStep(ctx, op)
	return kernelkmeans.NewFits(values), err
}

// Blocks implements kernelkmeans.Measurer. It asks for each pair of points once.
func (e *Executor) Blocks(ctx context.Context, blocks []kernel.Block) ([]kernelkmeans.BlockSums, error) {
	values := make([][]float64, len(blocks))
	for at, b := range blocks {
		if len(b.Points) > e.job.need.Matrix.Block {
			return nil, fmt.Errorf("fleet: a block of %d points, planned were %d", len(b.Points),
				e.job.need.Matrix.Block)
		}
		values[at] = make([]float64, len(b.Points)*b.Width(e.job.current.k))
	}
	err := e.job.atStep(ctx, &operation{
		name: "blocks",
		// with each pair twice
		maxBytes: func([]int) int {
			return 8 * len(blocks) * e.job.need.Matrix.Block * (e.job.current.k + e.job.need.Matrix.Block)
		},
		request: always(&workerv1.Command{Operation: &workerv1.Command_Blocks{
			Blocks: &workerv1.Blocks{Step: e.job.current.step, Blocks: wire.BlocksToProto(blocks)},
		}}),
		merge: func(tiles []int, answer *reply) error {
			parts := e.blockParts(blocks, values, tiles)
			rest := answer.values
			bytes := 0
			for _, part := range parts {
				bytes += 8 * len(part)
			}
			if len(rest) != bytes {
				return fmt.Errorf("%d bytes instead of %d", len(rest), bytes)
			}
			for _, part := range parts {
				if err := unpackPossible(part, rest[:8*len(part)], check.Finite); err != nil {
					return err
				}
				rest = rest[8*len(part):]
			}
			return nil
		},
	})
	for at, b := range blocks {
		b.Mirror(values[at], e.job.current.k)
	}
	return kernelkmeans.NewBlockSums(e.job.current.k, blocks, values), err
}

// blockParts returns the parts of the values of blocks that an answer for some tiles has, in its order: for each
// point in the tiles, its sums and its entries from its own on.
func (e *Executor) blockParts(blocks []kernel.Block, values [][]float64, tiles []int) (parts [][]float64) {
	for at, b := range blocks {
		for _, rows := range partition.TileRanges(e.job.rows, tiles) {
			from, to := b.Within(rows)
			for place := from; place < to; place++ {
				row := values[at][place*b.Width(e.job.current.k):][:b.Width(e.job.current.k)]
				parts = append(parts, row[:e.job.current.k], row[e.job.current.k+place:])
			}
		}
	}
	return parts
}
