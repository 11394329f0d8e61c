package runner

import (
	"cmp"
	"context"
	"reflect"
	"runtime"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/krange"
	inprocess "github.com/cleave-project/cleave/internal/clustering/local"
	"github.com/cleave-project/cleave/internal/clustering/prepare"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/planning"
)

// rangeRunner runs a job with every k of a range, one after the other, and proposes one of them. Workers keep the
// data set, and the matrix where there is one, from one k to the next.
type rangeRunner struct {
	data     dataset.Dataset
	spec     clustering.Spec
	bytes    int64
	origin   krange.Job // see krange.Run
	largest  Runner     // of the last k, which needs the most
	maxLanes int
}

// newRangeRunner checks the job for the first and the last k only: a k in between is valid if both of these are.
func newRangeRunner(ctx context.Context, data dataset.Dataset, spec clustering.Spec,
	bytes int64) (*rangeRunner, error) {
	if err := clustering.Validate(data.Rows(), spec); err != nil {
		return nil, err
	}
	if _, err := runnerOf(ctx, data, withK(spec, spec.K), bytes); err != nil {
		return nil, err
	}
	largest, err := runnerOf(ctx, data, withK(spec, spec.MaxK), bytes)
	if err != nil {
		return nil, err
	}
	return &rangeRunner{data: data, spec: spec, bytes: bytes, origin: krange.Job{Data: data, Spec: spec},
		largest: largest}, nil
}

// withK returns the spec for one k.
func withK(spec clustering.Spec, k int) clustering.Spec {
	spec.K, spec.MaxK = k, 0
	return spec
}

func (r *rangeRunner) Objective() string { return r.largest.Objective() }

func (r *rangeRunner) Need() planning.Workload {
	need := r.forAllK(r.largest.Need())
	kept := &planning.Range{Numbers: r.spec.MaxK - r.spec.K + 1, Labelings: need.Restarts}
	for _, part := range append(r.largest.OtherNeeds(), need) {
		kept.Labelings = max(kept.Labelings, part.Restarts)
		if e := part.Eigen; e != nil && !e.OnlyForStart {
			kept.Columns = max(kept.Columns, e.Columns)
			kept.Labelings = max(kept.Labelings, e.Restarts)
		}
	}
	kept.PartBytes = krange.PartBytes(r.data, r.bytes, kept.Columns)
	need.Range = kept
	return need
}

func (r *rangeRunner) OtherNeeds() []planning.Workload {
	others := r.largest.OtherNeeds()
	for at, need := range others {
		others[at] = r.forAllK(need)
	}
	return others
}

// forAllK returns what all k need together. Neighbors are searched for only once.
func (r *rangeRunner) forAllK(need planning.Workload) planning.Workload {
	if need.Neighbors == nil {
		need.Times = r.spec.MaxK - r.spec.K + 1
	}
	return need
}

func (r *rangeRunner) LimitLanes(lanes int) {
	r.maxLanes = lanes
	r.largest.LimitLanes(lanes)
}

func (r *rangeRunner) Execute(ctx context.Context, f *fleet.Fleet, task fleet.Task,
	o clustering.Observer) (*clustering.Result, *fleet.Usage, error) {
	s := &rangeSolver{job: r, fleet: f, task: task, shared: prepare.NewShared(r.spec.MaxK),
		Parts: inprocess.NewParts(r.spec.MaxK)}
	defer s.release() // after a panic
	result, err := krange.Run(ctx, krange.Job{Data: r.data, Spec: r.spec}, r.origin, s, runtime.GOMAXPROCS(0), o)
	s.release() // which finds out what was used
	return result, s.used, err
}

// rangeSolver implements krange.Solver on the workers.
type rangeSolver struct {
	*inprocess.Parts // solve the small jobs

	job    *rangeRunner
	fleet  *fleet.Fleet
	task   fleet.Task
	shared *prepare.Shared
	used   *fleet.Usage    // of the matrix, or of the first k
	matrix *fleet.Executor // nil if there is none yet
	built  fleet.Task      // what it was built for
}

func (s *rangeSolver) Solve(ctx context.Context, spec clustering.Spec,
	o clustering.Observer) (*clustering.Result, error) {
	one, err := newOneRunner(ctx, s.job.data, spec, s.job.bytes)
	if err != nil {
		return nil, err
	}
	if lanes := cmp.Or(s.job.maxLanes, s.job.largest.Need().Lanes); lanes > 0 {
		one.LimitLanes(lanes)
	}
	task := s.task
	task.Need = one.Need()
	task.Need.Storage = s.task.Need.Storage
	one.job.Share(s.shared)
	if onMatrix := one.job.Matrix; onMatrix != nil {
		task.Units = onMatrix.Problem.Units
		if err := s.open(ctx, task); err != nil {
			return nil, err
		}
		return onMatrix.Run(ctx, s.matrix, o)
	}
	result, used, err := one.Execute(ctx, s.fleet, task, o)
	s.used = cmp.Or(s.used, used)
	return result, err
}

// open makes s.matrix an executor for the task. It keeps the current one if that suffices.
func (s *rangeSolver) open(ctx context.Context, task fleet.Task) (err error) {
	if s.matrix != nil && s.built.Need.Suffices(task.Need) && reflect.DeepEqual(s.built.Units, task.Units) {
		return nil
	}
	s.release()
	task.Need = task.Need.Enlarged(s.job.largest.Need())
	s.built = task
	s.matrix, err = s.fleet.NewExecutor(ctx, task)
	return err
}

// release releases the matrix and records its usage.
func (s *rangeSolver) release() {
	if s.matrix != nil {
		s.used = s.matrix.Usage()
		s.matrix.Release()
		s.matrix = nil
	}
}
