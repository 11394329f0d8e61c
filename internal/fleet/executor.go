package fleet

import (
	"context"
	"fmt"
	"slices"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/wire"
)

// Executor runs the operations of a job of the kernel family over all workers: kernelkmeans.Executor.
type Executor struct {
	*job
	spec        kernel.Spec
	mean, scale *operand
	armed       *armament // belongs to the turn
}

// armament is kernel.Armament as operands.
type armament struct {
	id                              uint64
	k, lanes                        int
	weights, starts, columns, value *operand
}

var _ kernelkmeans.Executor = (*Executor)(nil)

// NewExecutor places the tiles of a job's matrix on workers and builds them. It waits as long as
// there is no worker, until ctx ends.
func (f *Fleet) NewExecutor(ctx context.Context, task Task) (*Executor, error) {
	e := &Executor{job: f.newJob(task), spec: task.Need.Matrix}
	e.opening, e.equip = e.open, e.arm
	if e.spec.Mean != nil {
		e.mean = e.keep(func() []byte { return wire.PackFloat64s(e.spec.Mean) })
	}
	if e.spec.Scale != nil {
		e.scale = e.keep(func() []byte { return wire.PackFloat64s(e.spec.Scale) })
	}
	if err := e.begin(ctx); err != nil {
		return nil, err
	}
	return e, nil
}

// Release frees what the job holds on workers. An operation under way fails with ErrReleased.
func (e *Executor) Release() {
	e.job.Release()
	e.turn.Lock()
	defer e.turn.Unlock()
	e.armed.drop()
}

// open says what a worker is to make of the data.
func (e *Executor) open(p *workerv1.Prepare) {
	p.What = &workerv1.Prepare_Matrix{Matrix: wire.MatrixSpecToProto(e.spec, e.mean.payload(), e.scale.payload())}
	p.SparseEntries, p.Lanes, p.Products = uint64(e.need.SparseEntries), uint32(e.need.Lanes), uint32(e.need.Products)
}

// arm gives the worker the weights and the sparse part, if it lacks them.
func (e *Executor) arm(ctx context.Context, g *group) error {
	if e.armed == nil || g.seat.armed == e.armed.id {
		return nil
	}
	a := e.armed
	_, err := e.ask(ctx, g.session, nil, 0, func(c *workerv1.Command) {
		c.Operation = &workerv1.Command_SetOperands{SetOperands: &workerv1.SetOperands{
			K: uint32(a.k), Lanes: uint32(a.lanes), OperandsId: a.id,
			Weights:      a.weights.payload(),
			SparseStarts: a.starts.payload(), SparseColumns: a.columns.payload(), SparseValues: a.value.payload(),
		}}
	})
	if err == nil {
		g.seat.armed = a.id
	}
	return err
}

// Degrees implements kernelkmeans.Executor.
func (e *Executor) Degrees(ctx context.Context) ([]float64, error) {
	return e.perRow(ctx, &operation{name: "degrees", whole: true, request: func(c *workerv1.Command) {
		c.Operation = &workerv1.Command_Degrees{Degrees: &workerv1.Degrees{}}
	}})
}

// Maxima implements kernelkmeans.Executor.
func (e *Executor) Maxima(ctx context.Context) ([]float64, error) {
	return e.perRow(ctx, &operation{name: "maxima", whole: true, request: func(c *workerv1.Command) {
		c.Operation = &workerv1.Command_Maxima{Maxima: &workerv1.Maxima{}}
	}})
}

// Arm implements kernelkmeans.Executor. Each armament gets a number of our own, so that no two of a
// job are ever mistaken for each other.
func (e *Executor) Arm(ctx context.Context, a kernel.Armament) error {
	sparse := a.Sparse
	if sparse == nil {
		sparse = &kernel.Sparse{RowStart: make([]int64, e.spec.Rows+1)}
	}
	if a.K < 1 || len(a.Weights) != e.spec.Rows || len(sparse.RowStart) != e.spec.Rows+1 || len(sparse.Column) != len(sparse.Value) {
		return fmt.Errorf("fleet: an armament of %d clusters, %d weights and %d sparse rows for %d rows",
			a.K, len(a.Weights), len(sparse.RowStart)-1, e.spec.Rows)
	}
	if a.K > e.need.K || a.Lanes > max(1, e.need.Lanes) || int64(len(sparse.Column)) > e.need.SparseEntries {
		return fmt.Errorf("fleet: an armament of %d clusters in %d lanes and %d sparse entries, planned were %d, %d and %d",
			a.K, a.Lanes, len(sparse.Column), e.need.K, e.need.Lanes, e.need.SparseEntries)
	}
	e.turn.Lock()
	id := uint64(1)
	if e.armed != nil {
		id = e.armed.id + 1
		e.armed.drop()
	}
	e.armed = &armament{
		id: id, k: a.K, lanes: max(1, a.Lanes),
		weights: e.fleet.operand(func() []byte { return wire.PackFloat64s(a.Weights) }),
		starts:  e.fleet.operand(func() []byte { return wire.PackInt64s(sparse.RowStart) }),
		columns: e.fleet.operand(func() []byte { return wire.PackInt32s(sparse.Column) }),
		value:   e.fleet.operand(func() []byte { return wire.PackFloat64s(sparse.Value) }),
	}
	e.k, e.lanes, e.labels = a.K, e.armed.lanes, nil
	for t := range e.tiles {
		e.tiles[t].step = 0
	}
	e.turn.Unlock()
	return e.perform(ctx, &operation{name: "arm"})
}

// Diagonal implements kernelkmeans.Executor.
func (e *Executor) Diagonal(ctx context.Context) ([]float64, error) {
	return e.perRow(ctx, &operation{name: "diagonal", request: func(c *workerv1.Command) {
		c.Operation = &workerv1.Command_Diagonal{Diagonal: &workerv1.Diagonal{}}
	}})
}

// ColumnSums implements kernelkmeans.Executor.
func (e *Executor) ColumnSums(ctx context.Context, lists [][]int32) ([][]float64, error) {
	ends, end := make([]int32, len(lists)), 0
	for i, list := range lists {
		end += len(list)
		ends[i] = int32(end)
	}
	columns := e.fleet.operand(func() []byte { return wire.PackInt32s(slices.Concat(lists...)) })
	defer columns.drop()
	packedEnds := e.fleet.operand(func() []byte { return wire.PackInt32s(ends) })
	defer packedEnds.drop()
	return e.severalPerRow(ctx, len(lists), &operation{name: "column sums", request: func(c *workerv1.Command) {
		c.Operation = &workerv1.Command_ColumnSums{ColumnSums: &workerv1.ColumnSums{Columns: columns.payload(), Ends: packedEnds.payload()}}
	}})
}

// Multiply implements kernelkmeans.Executor.
func (e *Executor) Multiply(ctx context.Context, x [][]float64) ([][]float64, error) {
	for v := range x {
		if len(x[v]) != e.spec.Rows {
			return nil, fmt.Errorf("fleet: a vector of %d values for %d rows", len(x[v]), e.spec.Rows)
		}
	}
	var products [][]float64
	for some := range slices.Chunk(x, max(1, e.need.Products)) { // as many as workers have memory for
		part, err := e.multiply(ctx, some)
		if err != nil {
			return nil, err
		}
		products = append(products, part...)
	}
	return products, nil
}

func (e *Executor) multiply(ctx context.Context, x [][]float64) ([][]float64, error) {
	packed := e.fleet.operand(func() []byte { return wire.PackFloat64Lists(x) })
	defer packed.drop()
	return e.severalPerRow(ctx, len(x), &operation{name: "multiply", whole: true, request: func(c *workerv1.Command) {
		c.Operation = &workerv1.Command_Multiply{Multiply: &workerv1.Multiply{X: packed.payload(), Count: uint32(len(x))}}
	}})
}

// Load implements kernelkmeans.Executor.
func (e *Executor) Load(ctx context.Context, labels []int32) ([]kernel.Int128, error) {
	sums, merge := e.selfAffinities()
	if err := e.load(ctx, labels, merge); err != nil {
		return nil, err
	}
	return sums, nil
}

// Update implements kernelkmeans.Executor.
func (e *Executor) Update(ctx context.Context, moves []kernel.Move) ([]kernel.Int128, error) {
	sums, merge := e.selfAffinities()
	if err := e.update(ctx, moves, merge); err != nil {
		return nil, err
	}
	return sums, nil
}

// selfAffinities are sums that the answers of tiles are merged into.
func (e *Executor) selfAffinities() ([]kernel.Int128, merging) {
	sums := make([]kernel.Int128, e.k*e.lanes)
	return sums, func(_ []int, done *reply) error {
		parts, err := wire.UnpackInt128s(done.selfAffinity)
		if err != nil {
			return err
		}
		if len(parts) != len(sums) {
			return fmt.Errorf("sums of %d clusters instead of %d", len(parts), len(sums))
		}
		for c := range sums {
			sums[c] = sums[c].Add(parts[c])
		}
		return nil
	}
}

// Assign implements kernelkmeans.Executor.
func (e *Executor) Assign(ctx context.Context, stats []kernel.Stats) ([]kernel.Move, error) {
	packed := wire.StatsToProto(stats)
	return e.assign(ctx, 12*len(stats), func(c *workerv1.Command) {
		c.Operation = &workerv1.Command_MatrixAssign{MatrixAssign: &workerv1.MatrixAssign{Step: e.step, Stats: packed}}
	})
}

// Farthest implements kernelkmeans.Executor.
func (e *Executor) Farthest(ctx context.Context, stats []kernel.Stats) ([]kernel.Candidate, error) {
	packed := wire.StatsToProto(stats)
	return e.farthest(ctx, len(stats), func(c *workerv1.Command) {
		c.Operation = &workerv1.Command_MatrixFarthest{MatrixFarthest: &workerv1.MatrixFarthest{Step: e.step, Stats: packed}}
	})
}

func (a *armament) drop() {
	if a != nil {
		a.weights.drop()
		a.starts.drop()
		a.columns.drop()
		a.value.drop()
	}
}
