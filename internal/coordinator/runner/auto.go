package runner

import (
	"cmp"
	"context"
	"runtime"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/auto"
	"github.com/cleave-project/cleave/internal/clustering/embedding"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/numeric/neighbor"
	"github.com/cleave-project/cleave/internal/planning"
)

// autoRunner runs a job of auto, which tries several methods. The workers hold rows in both units, find neighbors,
// and multiply a given matrix with the vectors of eigensolvers, which run in the coordinator.
type autoRunner struct {
	problem  *auto.Problem
	spec     clustering.Spec
	data     dataset.Dataset
	bytes    int64
	parts    []planning.Workload // in the order of the spaces
	maxLanes int
}

func newAutoRunner(
	problem *auto.Problem, data dataset.Dataset, spec clustering.Spec, bytes int64,
) (*autoRunner, error) {
	r := &autoRunner{problem: problem, spec: spec, data: data, bytes: bytes}
	levels := r.levels()
	for _, space := range problem.Spaces() {
		if space == clustering.SpaceLevels {
			continue // needs no workers
		}
		part, err := r.partOf(space)
		if err != nil {
			return nil, err
		}
		r.parts = append(r.parts, part)
	}
	if len(r.parts) == 0 {
		r.parts = []planning.Workload{{Coordinator: planning.Coordinator{Levels: levels}}}
		return r, nil
	}
	if fitted := problem.Fitted(); fitted > 0 {
		r.parts = append(r.parts, r.scoresNeed(fitted))
	}
	r.parts[0].Levels = levels
	// All searches for eigenvectors are made in the coordinator, one space after the other.
	if at := slices.IndexFunc(r.parts, func(p planning.Workload) bool { return p.Vectors == nil }); at >= 0 {
		r.parts[at].Eigen = r.eigensolver()
	}
	return r, nil
}

// partOf returns what a space needs.
func (r *autoRunner) partOf(space clustering.Space) (planning.Workload, error) {
	_, given := r.data.(*dataset.Kernel)
	switch {
	case space == clustering.SpaceNeighbors || space == clustering.SpaceStandardizedNeighbors:
		need := planning.NeighborWorkload(r.data, r.bytes, r.problem.Neighbors())
		units, err := r.problem.Units(space)
		need.Scaled = units != nil
		return need, err
	case space == clustering.SpaceGraph || given:
		p, err := auto.MatrixProblem(r.data)
		if err != nil {
			return planning.Workload{}, err
		}
		return r.matrixNeed(p), nil
	}
	p, err := r.problem.Rows(space)
	if err != nil {
		return planning.Workload{}, err
	}
	return r.rowsNeed(p), nil
}

func (r *autoRunner) Objective() string { return r.spec.Algorithm.Name() }

func (r *autoRunner) Need() planning.Workload { return r.parts[0] }

func (r *autoRunner) OtherNeeds() []planning.Workload {
	others := slices.Clone(r.parts[1:])
	for at := range others {
		if r.maxLanes > 0 {
			others[at].Lanes = min(others[at].Lanes, r.maxLanes)
		}
	}
	return others
}

func (r *autoRunner) rowsNeed(p *kmeans.Problem) planning.Workload {
	if features := p.Vectors.Features; features != nil {
		return r.scoresNeed(len(features.Landmarks))
	}
	return planning.Workload{
		Vectors: &planning.Vectors{Rows: p.Vectors.Rows, Columns: p.Vectors.Columns, Width: p.Vectors.Width(),
			Entries: planning.TileEntries(r.data), RaceRows: p.RaceRows()},
		DatasetBytes: r.bytes,
		Scaled:       p.Units != nil,
		K:            r.spec.K,
		Lanes:        kmeans.Lanes(p),
		Restarts:     r.problem.Fits(p),
	}
}

// scoresNeed returns what scoring all rows by a classifier needs, given the number of rows that it is fitted to.
func (r *autoRunner) scoresNeed(fitted int) planning.Workload {
	points := r.data.(*dataset.Points)
	return planning.Workload{
		Vectors: &planning.Vectors{
			Rows: points.N, Columns: r.spec.K, Width: r.spec.K,
			Features: &planning.Features{Function: kernel.Gaussian, Columns: points.D, Landmarks: fitted},
		},
		DatasetBytes: r.bytes, Scaled: true, K: r.spec.K, Lanes: 1, Restarts: 1,
	}
}

func (r *autoRunner) matrixNeed(p *kernelkmeans.Problem) planning.Workload {
	return planning.Workload{DatasetBytes: r.bytes, K: 1,
		Matrix:      &planning.Matrix{Spec: p.Matrix, Products: embedding.ProductsAtOnce},
		Coordinator: planning.Coordinator{Eigen: r.eigensolver()}}
}

// eigensolver describes the searches for eigenvectors, which run in this process.
func (r *autoRunner) eigensolver() *planning.Eigensolver {
	search := r.problem.Search(runtime.GOMAXPROCS(0))
	return &planning.Eigensolver{Pairs: search.Pairs, Searches: search.AtOnce, SparseEntries: search.Entries,
		Columns: r.spec.K, Restarts: search.Restarts}
}

// levels describes the cuts of the graph, nil if the graph itself is not cut.
func (r *autoRunner) levels() *planning.Levels {
	cuts := r.problem.Cuts()
	if cuts == 0 {
		return nil
	}
	g := r.data.(*dataset.Graph)
	return &planning.Levels{Vertices: g.N, Entries: int64(len(g.Column)), K: r.spec.K, Fits: cuts}
}

func (r *autoRunner) LimitLanes(lanes int) { r.maxLanes = lanes }

func (r *autoRunner) Execute(ctx context.Context, f *fleet.Fleet, task fleet.Task,
	o clustering.Observer) (*clustering.Result, *fleet.Usage, error) {
	x := &autoExecutors{job: r, fleet: f, task: task}
	result, err := auto.Run(ctx, r.problem, x, o)
	return result, cmp.Or(x.used, x.searched), err
}

// autoExecutors implements auto.Executors on the workers.
type autoExecutors struct {
	job   *autoRunner
	fleet *fleet.Fleet
	task  fleet.Task
	// Usage of the first executor, which is the largest, and of the last search for neighbors.
	used, searched *fleet.Usage
}

// release releases an executor and records the usage of the first one.
func (e *autoExecutors) release(done placed) {
	if e.used == nil {
		e.used = done.Usage()
	}
	done.Release()
}

func (e *autoExecutors) Rows(ctx context.Context, p *kmeans.Problem) (kmeans.Executor, func(), error) {
	p.MaxLanes = e.job.maxLanes
	task := e.task
	task.Need = e.job.rowsNeed(p)
	task.Vectors = p.Vectors
	task.Units = p.Units
	x, err := e.fleet.NewKMeansExecutor(ctx, task)
	if err != nil {
		return nil, nil, err
	}
	return x, func() { e.release(x) }, nil
}

func (e *autoExecutors) Neighbors(ctx context.Context, units *dataset.Units, count int) ([]int32, error) {
	task := e.task
	task.Need = planning.NeighborWorkload(e.job.data, e.job.bytes, count)
	task.Units = units
	if kernel, given := e.job.data.(*dataset.Kernel); given {
		task.Diagonal = neighbor.KernelDiagonal(kernel)
	}
	found, used, err := e.fleet.Neighbors(ctx, task)
	e.searched = cmp.Or(used, e.searched)
	return found, err
}

func (e *autoExecutors) Matrix(ctx context.Context) (embedding.Multiplier, func(), error) {
	p, err := auto.MatrixProblem(e.job.data)
	if err != nil {
		return nil, nil, err
	}
	task := e.task
	task.Need = e.job.matrixNeed(p)
	x, err := e.fleet.NewExecutor(ctx, task)
	if err != nil {
		return nil, nil, err
	}
	if _, err := kernelkmeans.NewSetup(ctx, p, x, clustering.NopObserver{}); err != nil {
		x.Release()
		return nil, nil, err
	}
	return x, func() { e.release(x) }, nil
}
