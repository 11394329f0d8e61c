// Package runner makes one attempt at a job. problem.go and input.go turn the stored spec and data into a problem. A
// Runner, one for each kind of algorithm, knows what the problem needs, places it on the workers, and
// returns its result. checkpoint.go stores and loads the snapshots from which another attempt resumes. Package runner
// knows nothing of queues, job records or clients.
package runner

import (
	"cmp"
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

// Runner runs one prepared job on the workers.
type Runner interface {
	// Objective returns the name of what is minimized or maximized.
	Objective() string
	// Need returns what the job needs from the workers and the coordinator. For a job with several executors it is
	// what the first one needs.
	Need() planning.Workload
	// OtherNeeds returns what the other executors need.
	OtherNeeds() []planning.Workload
	// LimitLanes limits the number of restarts that run side by side.
	LimitLanes(lanes int)
	// Execute places the job on workers, runs it and releases them. It also returns what they held at the end, or
	// nil if they never held anything.
	Execute(ctx context.Context, f *fleet.Fleet, task fleet.Task,
		o clustering.Observer) (*clustering.Result, *fleet.Usage, error)
}

// Graphs lets workers open a data set that exists only while a job needs it.
type Graphs interface {
	// AddTemporary lets workers open a data set until it is released, and returns its id and its size in bytes.
	AddTemporary(data dataset.Dataset) (id string, size int64, err error)
	// Release undoes one AddTemporary.
	Release(id string)
}

// New prepares a job on a data set of the given size in bytes. Graphs of nearest neighbors are handed to workers
// by way of graphs.
func New(ctx context.Context, data dataset.Dataset, spec clustering.Spec, bytes int64, graphs Graphs) (Runner, error) {
	if spec.Neighbors.Count > 0 {
		return newNeighborRunner(ctx, data, spec, bytes, graphs)
	}
	return runnerOf(ctx, data, spec, bytes)
}

// runnerOf prepares a job that clusters the data as they are.
func runnerOf(ctx context.Context, data dataset.Dataset, spec clustering.Spec, bytes int64) (Runner, error) {
	if spec.MaxK > 0 {
		return newRangeRunner(ctx, data, spec, bytes)
	}
	switch options := spec.Algorithm.(type) {
	case *auto.Options:
		return newAutoRunner(data, spec, bytes)
	case *kmeans.Options:
		problem, err := kmeans.Prepare(data, spec)
		if err != nil {
			return nil, err
		}
		return &kmeansRunner{problem: problem, run: problem.RunAndScore, spec: spec, bytes: bytes,
			entries: planning.TileEntries(data), fullMetric: options.Metric == metric.Full}, nil
	case *spectral.Options:
		problem, err := spectral.Prepare(data, spec)
		if err != nil {
			return nil, err
		}
		return &spectralRunner{matrixRunner{problem.Problem, problem.RunAndScore}, problem, spec, options, bytes}, nil
	}
	if landmark.Is(spec) {
		problem, err := landmark.Prepare(ctx, data, spec)
		if err != nil {
			return nil, err
		}
		return &kmeansRunner{problem: problem.Problem, run: problem.RunAndScore, spec: spec, bytes: bytes}, nil
	}
	problem, err := kernelkmeans.Prepare(data, spec)
	if err != nil {
		return nil, err
	}
	r := &kernelRunner{matrixRunner{problem, problem.RunAndScore}, spec, bytes}
	if proposal := planning.LandmarkProposal(r.Need()); proposal != "" {
		problem.Warnings = append(problem.Warnings, clustering.Notice{Code: "LARGE_MATRIX", Message: proposal})
	}
	return r, nil
}

// placed is an executor whose tiles are placed on workers.
type placed interface {
	Usage() *fleet.Usage
	Release()
}

// runOn runs a job on the executor that was made for it; err is why there is none.
func runOn(x placed, err error, run func() (*clustering.Result, error)) (*clustering.Result, *fleet.Usage, error) {
	if err != nil {
		return nil, nil, err
	}
	defer x.Release()
	result, err := run()
	return result, x.Usage(), err
}

// matrixRunner runs a job on a matrix, whose executor jobs with the same matrix may share. Runners embed it and add
// their needs.
type matrixRunner struct {
	problem *kernelkmeans.Problem
	run     func(ctx context.Context, x kernelkmeans.Executor, o clustering.Observer) (*clustering.Result, error)
}

func (r *matrixRunner) onMatrix() *matrixRunner { return r }

func (r *matrixRunner) Objective() string { return r.problem.Objective.String() }

func (r *matrixRunner) OtherNeeds() []planning.Workload { return nil }

func (r *matrixRunner) LimitLanes(lanes int) { r.problem.MaxLanes = lanes }

func (r *matrixRunner) Execute(ctx context.Context, f *fleet.Fleet, task fleet.Task,
	o clustering.Observer) (*clustering.Result, *fleet.Usage, error) {
	task.Units = r.problem.Units
	x, err := f.NewExecutor(ctx, task)
	return runOn(x, err, func() (*clustering.Result, error) { return r.run(ctx, x, o) })
}

// kernelRunner runs kernel k-means.
type kernelRunner struct {
	matrixRunner
	spec  clustering.Spec
	bytes int64
}

func (r *kernelRunner) Need() planning.Workload {
	n := planning.Workload{
		DatasetBytes: r.bytes,
		Scaled:       r.problem.Units != nil,
		K:            r.spec.K,
		Lanes:        r.problem.Lanes(),
		Restarts:     r.problem.Runs(),
		Matrix: &planning.Matrix{
			Spec:          r.problem.Matrix,
			Products:      r.problem.VectorsPerProduct(),
			Block:         r.problem.Candidates(),
			SparseEntries: 2 * int64(r.problem.Constraints.Len()),
			Shift:         r.spec.Algorithm.(*kernelkmeans.Options).SigmaAuto,
			Landmarkable:  r.problem.Landmarkable(),
		},
	}
	if r.problem.StartsSpectral() {
		n.Eigen = &planning.Eigensolver{Pairs: r.spec.K, OnlyForStart: true, Columns: r.spec.K,
			Restarts: embedding.DefaultRestarts}
	}
	if g := r.problem.Graph(); r.problem.StartsMultilevel() {
		n.Levels = &planning.Levels{Vertices: g.N, Entries: int64(len(g.Column)), K: r.spec.K, Fits: r.problem.Runs(),
			Copied: r.problem.Constraints.Len() > 0}
	}
	switch r.problem.Objective {
	case kernelkmeans.ObjectiveRatioCut:
		n.Matrix.Degrees = true
		n.Matrix.SparseEntries += int64(r.problem.Rows()) // the negative degrees
	case kernelkmeans.ObjectiveNormalizedCut:
		n.Matrix.Degrees = true
	}
	return n
}

// kmeansRunner runs k-means or one of its relatives, or kernel k-means by landmarks: k-means on features that workers
// compute from the points.
type kmeansRunner struct {
	problem    *kmeans.Problem
	run        func(ctx context.Context, x kmeans.Executor, o clustering.Observer) (*clustering.Result, error)
	spec       clustering.Spec
	bytes      int64
	entries    []int64 // of each tile, for sparse points
	fullMetric bool
}

// Objective returns the name of the algorithm, which is also that of the objective.
func (r *kmeansRunner) Objective() string { return r.spec.Algorithm.Name() }

func (r *kmeansRunner) Need() planning.Workload {
	vectors := r.problem.Vectors
	need := planning.Workload{
		Vectors: &planning.Vectors{
			Rows: vectors.Rows, Columns: vectors.Columns, Width: vectors.Width(),
			FullMetric: r.fullMetric, Entries: r.entries, RaceRows: r.problem.RaceRows(),
			JointBytes: r.problem.JointBytes(),
		},
		DatasetBytes: r.bytes,
		Scaled:       r.problem.Units != nil,
		K:            r.spec.K,
		Lanes:        kmeans.Lanes(r.problem),
		Restarts:     r.problem.Runs(),
	}
	if f := vectors.Features; f != nil {
		need.Vectors.Features = &planning.Features{Function: f.Matrix.Function, Columns: f.Matrix.Columns,
			Landmarks: len(f.Landmarks)}
	}
	return need
}

func (r *kmeansRunner) OtherNeeds() []planning.Workload { return nil }

func (r *kmeansRunner) LimitLanes(lanes int) { r.problem.MaxLanes = lanes }

func (r *kmeansRunner) Execute(ctx context.Context, f *fleet.Fleet, task fleet.Task,
	o clustering.Observer) (*clustering.Result, *fleet.Usage, error) {
	task.Vectors, task.Units = r.problem.Vectors, r.problem.Units
	x, err := f.NewKMeansExecutor(ctx, task)
	return runOn(x, err, func() (*clustering.Result, error) { return r.run(ctx, x, o) })
}

// spectralRunner runs spectral clustering: the workers hold the matrix, as for kernel k-means, and
// multiply it with the vectors of an eigensolver, which runs in the coordinator.
type spectralRunner struct {
	matrixRunner
	cuts    *spectral.Problem
	spec    clustering.Spec
	options *spectral.Options
	bytes   int64
}

func (r *spectralRunner) Need() planning.Workload {
	return planning.Workload{
		DatasetBytes: r.bytes,
		Scaled:       r.cuts.Units != nil,
		K:            r.spec.K,
		Matrix: &planning.Matrix{
			Spec:          r.cuts.Matrix,
			Products:      r.cuts.VectorsPerProduct(),
			SparseEntries: r.cuts.SparseEntries(),
			Degrees:       true,
		},
		Eigen: &planning.Eigensolver{
			Pairs:         r.cuts.Eigenpairs(),
			Generalized:   r.cuts.Generalized(),
			Dense:         r.cuts.SolvesDense(),
			SparseEntries: r.cuts.CoordinatorEntries(),
			Columns:       r.cuts.EmbeddingColumns(),
			Restarts:      cmp.Or(r.options.Eigenvectors.KmeansRestarts, embedding.DefaultRestarts),
		},
	}
}
