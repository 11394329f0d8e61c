// Package runner makes one attempt at a job. problem.go and input.go turn the stored spec and data into a problem. A
// Runner, one for each kind of executor, knows what the problem needs, places it on the workers, and
// returns its result. checkpoint.go stores and loads the snapshots from which another attempt resumes. Package runner
// knows nothing of queues, job records or clients.
package runner

import (
	"context"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/prepare"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fleet"
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
	return newOneRunner(ctx, data, spec, bytes)
}

// newOneRunner prepares a job that clusters the data as they are, for one k.
func newOneRunner(ctx context.Context, data dataset.Dataset, spec clustering.Spec, bytes int64) (*oneRunner, error) {
	job, err := prepare.New(ctx, data, spec)
	if err != nil {
		return nil, err
	}
	r := &oneRunner{job: job}
	switch {
	case job.Auto != nil:
		r.Runner, err = newAutoRunner(job.Auto, data, spec, bytes)
	case job.Rows != nil:
		r.Runner = &rowsRunner{job.Rows, bytes}
	default:
		r.Runner = newMatrixRunner(job.Matrix, bytes)
	}
	return r, err
}

// oneRunner runs a job for one k by the runner of its executor.
type oneRunner struct {
	Runner
	job prepare.Job
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

// matrixRunner runs a job on a matrix, whose executor jobs with the same matrix may share.
type matrixRunner struct {
	job   *prepare.Matrix
	bytes int64
}

func newMatrixRunner(job *prepare.Matrix, bytes int64) *matrixRunner {
	r := &matrixRunner{job, bytes}
	if proposal := planning.LandmarkProposal(r.Need()); proposal != "" {
		notice := clustering.Notice{Code: "LARGE_MATRIX", Message: proposal}
		job.Problem.Warnings = append(job.Problem.Warnings, notice)
	}
	return r
}

func (r *matrixRunner) Objective() string { return r.job.Objective() }

func (r *matrixRunner) Need() planning.Workload { return r.job.Need(r.bytes) }

func (r *matrixRunner) OtherNeeds() []planning.Workload { return nil }

func (r *matrixRunner) LimitLanes(lanes int) { r.job.Problem.MaxLanes = lanes }

func (r *matrixRunner) Execute(ctx context.Context, f *fleet.Fleet, task fleet.Task,
	o clustering.Observer) (*clustering.Result, *fleet.Usage, error) {
	task.Units = r.job.Problem.Units
	x, err := f.NewExecutor(ctx, task)
	return runOn(x, err, func() (*clustering.Result, error) { return r.job.Run(ctx, x, o) })
}

// rowsRunner runs a job on rows, or on features that workers compute from them.
type rowsRunner struct {
	job   *prepare.Rows
	bytes int64
}

func (r *rowsRunner) Objective() string { return r.job.Objective() }

func (r *rowsRunner) Need() planning.Workload { return r.job.Need(r.bytes) }

func (r *rowsRunner) OtherNeeds() []planning.Workload { return nil }

func (r *rowsRunner) LimitLanes(lanes int) { r.job.Problem.MaxLanes = lanes }

func (r *rowsRunner) Execute(ctx context.Context, f *fleet.Fleet, task fleet.Task,
	o clustering.Observer) (*clustering.Result, *fleet.Usage, error) {
	task.Vectors = r.job.Problem.Vectors
	task.Units = r.job.Problem.Units
	x, err := f.NewKMeansExecutor(ctx, task)
	return runOn(x, err, func() (*clustering.Result, error) { return r.job.Run(ctx, x, o) })
}
