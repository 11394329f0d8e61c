package kmeans

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/numeric/vector"
	"github.com/cleave-project/cleave/internal/parallel"
)

// setup is a problem with its executor. It implements clustering.Job and clustering.Setup.
type setup struct {
	server *server
	p      *Problem
}

// Run solves a problem. Its restarts run concurrently in the lanes of the executor.
func Run(ctx context.Context, p *Problem, x Executor, o clustering.Observer) (*clustering.Result, error) {
	results, err := RunAll(ctx, []*Problem{p}, x, func(int) clustering.Observer { return o })
	if err != nil {
		return nil, err
	}
	return results[0], nil
}

// Solve prepares a problem and solves it within this process.
func Solve(ctx context.Context, data dataset.Dataset, spec clustering.Spec, threads int) (*clustering.Result, error) {
	p, err := Prepare(data, spec)
	if err != nil {
		return nil, err
	}
	x, err := NewLocal(ctx, p, data, threads)
	if err != nil {
		return nil, err
	}
	return Run(ctx, p, x, clustering.NopObserver{})
}

// RunAll solves several problems on the same rows with the same k. All their restarts share the lanes of the executor,
// and each result is the same as if Run solved the problem alone.
func RunAll(ctx context.Context, problems []*Problem, x Executor,
	observer func(problem int) clustering.Observer) ([]*clustering.Result, error) {
	jobs := make([]clustering.Job, len(problems))
	shared := newServer(x, parallel.Threads(ctx))
	for i, p := range problems {
		if !reflect.DeepEqual(p.Vectors, problems[0].Vectors) { // equal pointers are equal at once
			return nil, errors.New("kmeans: problems on different rows cannot share an executor")
		}
		if shape := x.Clusters(); p.n != shape.Points || p.spec.K != shape.Clusters {
			return nil, fmt.Errorf("kmeans: the executor has %d points and %d clusters, want %d and %d", shape.Points,
				shape.Clusters, p.n, p.spec.K)
		}
		jobs[i] = setup{shared, p}
	}
	return clustering.RunAll(ctx, jobs, observer)
}

// maxLaneValues bounds the sums of all lanes to 256 MiB.
const maxLaneValues = 1 << 25

// Lanes returns how many restarts of problems on the same rows run concurrently and share every pass over them. The
// answer does not depend on it.
func Lanes(problems ...*Problem) int {
	restarts, most := 0, vector.MaxLanes
	for _, p := range problems {
		restarts += p.Restarts()
		if p.MaxLanes > 0 {
			most = min(most, p.MaxLanes)
		}
	}
	sums := problems[0].spec.K * problems[0].Vectors.Width()
	return max(1, min(restarts, most, maxLaneValues/sums))
}

// Notices implements clustering.Job.
func (s setup) Notices() []clustering.Notice { return s.p.Warnings }

// Begin implements clustering.Job.
func (s setup) Begin(ctx context.Context, _ clustering.Observer) (_ clustering.Setup, err error) {
	s.p, err = s.p.begin(ctx, s.server.x)
	return s, err
}

// Runs implements clustering.Setup.
func (s setup) Runs() clustering.Runs {
	return clustering.Runs{K: s.p.spec.K, Restarts: s.p.Restarts(), MaxIterations: s.p.spec.MaxIterations,
		Keep: !s.p.OnlyBest, Lanes: s.server.x.Clusters().Lanes, Threads: s.server.threads}
}

// NewStepper implements clustering.Setup.
func (s setup) NewStepper(restart int, l *clustering.Lane, _ clustering.Observer) clustering.Stepper {
	return s.p.newMethod(&lane{to: l, server: s.server}, restart)
}

// FillResult implements clustering.Setup.
func (s setup) FillResult(r *clustering.Result) {
	r.ObjectiveName = s.p.options.Algorithm.String()
	r.Units = s.p.Units
	r.Satisfaction = s.p.Constraints.Satisfaction(r.Labels)
	if s.p.unconstrained != nil {
		r.BehindUnconstrained = max(0, r.Objective-s.p.objectiveOf(s.p.unconstrained))
	}
}
