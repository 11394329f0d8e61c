package coordinator

import (
	"context"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/auto"
	"github.com/cleave-project/cleave/internal/clustering/embedding"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/clustering/landmark"
	"github.com/cleave-project/cleave/internal/clustering/spectral"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/planning"
)

// runner runs a job of one of the families, once its problem is prepared.
type runner interface {
	// objective is the name of what is minimized or maximized.
	objective() string
	// need is what the job needs of the workers and the coordinator; of a job that has several executors, the first.
	need() planning.Workload
	// beside is what the other executors need.
	beside() []planning.Workload
	// limitLanes limits how many restarts run side by side.
	limitLanes(lanes int)
	// execute places the job on workers, runs it and releases them. It returns what they held in the end,
	// nil if they never held anything.
	execute(ctx context.Context, f *fleet.Fleet, task fleet.Task, o clustering.Observer) (*clustering.Result, *fleet.Usage, error)
}

// newRunner prepares a job; bytes is the size of the data set.
func (c *Coordinator) newRunner(data dataset.Dataset, spec clustering.Spec, bytes int64) (runner, error) {
	if spec.Neighbors > 0 {
		return newNeighborRunner(data, spec, bytes, c.datasets)
	}
	return runnerOf(data, spec, bytes)
}

// runnerOf prepares a job that clusters the data as they are.
func runnerOf(data dataset.Dataset, spec clustering.Spec, bytes int64) (runner, error) {
	if spec.MaxK > 0 {
		return newRangeRunner(data, spec, bytes)
	}
	switch options := spec.Algorithm.(type) {
	case *auto.Options:
		return newAutoRunner(data, spec, bytes)
	case *kmeans.Options:
		problem, err := kmeans.Prepare(data, spec)
		if err != nil {
			return nil, err
		}
		return &vectorRunner{problem: problem, spec: spec, bytes: bytes, entries: planning.TileEntries(data), fullMetric: options.Metric == metric.Full}, nil
	case *spectral.Options:
		problem, err := spectral.Prepare(data, spec)
		if err != nil {
			return nil, err
		}
		return &spectralRunner{problem: problem, spec: spec, options: options, bytes: bytes}, nil
	}
	if landmark.Is(spec) {
		return newLandmarkRunner(data, spec, bytes)
	}
	problem, err := kernelkmeans.Prepare(data, spec)
	if err != nil {
		return nil, err
	}
	r := &kernelRunner{problem: problem, spec: spec, bytes: bytes}
	if says := planning.LandmarkProposal(r.need()); says != "" {
		problem.Warnings = append(problem.Warnings, clustering.Notice{Code: "LARGE_MATRIX", Message: says})
	}
	return r, nil
}

// kernelRunner runs a job of the kernel family.
type kernelRunner struct {
	problem *kernelkmeans.Problem
	spec    clustering.Spec
	bytes   int64
}

func (r *kernelRunner) objective() string { return r.problem.Objective.String() }

func (r *kernelRunner) need() planning.Workload {
	n := planning.Workload{
		Matrix:        r.problem.Matrix,
		DatasetBytes:  r.bytes,
		Scaled:        r.problem.Units != nil,
		K:             r.spec.K,
		Lanes:         r.problem.Lanes(),
		Products:      r.problem.VectorsPerProduct(),
		Block:         r.problem.Candidates(),
		SparseEntries: 2 * int64(r.problem.Constraints.Len()),
		Restarts:      r.problem.Runs(),
		Shift:         r.spec.Algorithm.(*kernelkmeans.Options).SigmaAuto,
		Landmarkable:  r.problem.Landmarkable(),
	}
	if r.problem.StartsSpectral() {
		n.Eigen = &planning.Eigensolver{Pairs: r.spec.K, OnlyForStart: true, Columns: r.spec.K, Restarts: embedding.DefaultRestarts}
	}
	if g := r.problem.Graph(); r.problem.StartsMultilevel() {
		n.Levels = &planning.Levels{Vertices: g.N, Entries: int64(len(g.Column)), K: r.spec.K, Fits: r.problem.Runs(), Copied: r.problem.Constraints.Len() > 0}
	}
	switch r.problem.Objective {
	case kernelkmeans.ObjectiveRatioCut:
		n.Degrees = true
		n.SparseEntries += int64(r.problem.Rows()) // the negative degrees
	case kernelkmeans.ObjectiveNormalizedCut:
		n.Degrees = true
	}
	return n
}

func (r *kernelRunner) beside() []planning.Workload { return nil }

func (r *kernelRunner) limitLanes(lanes int) { r.problem.MaxLanes = lanes }

// runOn runs a job on the executor that was made for it; err is why there is none.
func runOn(x interface {
	Usage() fleet.Usage
	Release()
}, err error, run func() (*clustering.Result, error)) (*clustering.Result, *fleet.Usage, error) {
	if err != nil {
		return nil, nil, err
	}
	defer x.Release()
	result, err := run()
	used := x.Usage()
	return result, &used, err
}

func (r *kernelRunner) execute(ctx context.Context, f *fleet.Fleet, task fleet.Task, o clustering.Observer) (*clustering.Result, *fleet.Usage, error) {
	task.Units = r.problem.Units
	x, err := f.NewExecutor(ctx, task)
	return runOn(x, err, func() (*clustering.Result, error) { return r.executeOn(ctx, x, o) })
}

func (r *kernelRunner) units() *dataset.Units { return r.problem.Units }

func (r *kernelRunner) executeOn(ctx context.Context, x *fleet.Executor, o clustering.Observer) (*clustering.Result, error) {
	return kernelkmeans.RunAndScore(ctx, r.problem, x, o)
}

// vectorRunner runs a job of the vector family.
type vectorRunner struct {
	problem    *kmeans.Problem
	spec       clustering.Spec
	bytes      int64
	entries    []int64 // of each tile, for sparse points
	fullMetric bool
}

func (r *vectorRunner) objective() string { return r.spec.Algorithm.Name() }

func (r *vectorRunner) need() planning.Workload {
	vectors := r.problem.Vectors
	return planning.Workload{
		Vectors: &planning.Vectors{
			Rows: vectors.Rows, Columns: vectors.Columns, Width: vectors.Width(),
			FullMetric: r.fullMetric, Entries: r.entries, RaceRows: r.problem.RaceRows(),
		},
		DatasetBytes: r.bytes,
		Scaled:       r.problem.Units != nil,
		K:            r.spec.K,
		Lanes:        kmeans.Lanes(r.problem),
		Restarts:     r.problem.Runs(),
	}
}

func (r *vectorRunner) beside() []planning.Workload { return nil }

func (r *vectorRunner) limitLanes(lanes int) { r.problem.MaxLanes = lanes }

func (r *vectorRunner) execute(ctx context.Context, f *fleet.Fleet, task fleet.Task, o clustering.Observer) (*clustering.Result, *fleet.Usage, error) {
	task.Vectors, task.Units = r.problem.Vectors, r.problem.Units
	x, err := f.NewVectorExecutor(ctx, task)
	return runOn(x, err, func() (*clustering.Result, error) { return kmeans.RunAndScore(ctx, r.problem, x, o) })
}
