package coordinatortest

import (
	"context"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/coordinator/jobs"
	"github.com/cleave-project/cleave/internal/coordinator/runner"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/planning"
)

// Script replaces the clustering of a job.
type Script func(ctx context.Context, o clustering.Observer) (*clustering.Result, error)

// Scripted is an engine that needs no workers and runs a script.
func Scripted(run Script) jobs.Engine {
	return jobs.Engine{
		Await: func(context.Context, *fleet.Fleet, func(fleet.Status), []planning.Workload) error { return nil },
		Execute: func(_ runner.Runner, ctx context.Context, _ *fleet.Fleet, task fleet.Task,
			o clustering.Observer) (*clustering.Result, *fleet.Usage, error) {
			task.Report(fleet.Status{Workers: 2, Tiles: 1, TilesBuilt: 1})
			r, err := run(ctx, o)
			return r, &fleet.Usage{Stored: 1, EverStored: true, EntryBytes: 256}, err
		},
	}
}

// Steps is a script of n iterations that converges.
func Steps(n int) Script {
	return func(_ context.Context, o clustering.Observer) (*clustering.Result, error) {
		o.Observe(clustering.PhaseInitialize)
		o.Observe(clustering.PhaseIterate)
		for i := range n + 1 {
			o.Observe(clustering.IterationDone{Restart: 0, HistoryEntry: Entry(i)})
		}
		return Result(n, clustering.StopConverged), nil
	}
}

// Halfway is a script that does n iterations, says so, and waits until it is stopped.
func Halfway(n int, shown chan<- struct{}) Script {
	return func(ctx context.Context, o clustering.Observer) (*clustering.Result, error) {
		for i := range n {
			o.Observe(clustering.IterationDone{Restart: 0, HistoryEntry: Entry(i)})
		}
		shown <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}
}

// Entry is iteration i of the scripts.
func Entry(i int) clustering.HistoryEntry {
	return clustering.HistoryEntry{Iteration: i, Objective: 100 / float64(i+1), Moved: 10 - i%10}
}

// Result is what scripts return after so many iterations, for the data set of Upload.
func Result(iterations int, stop clustering.StopReason) *clustering.Result {
	r := &clustering.Result{
		Labels: []int32{0, 1, 0, 1}, StopReason: stop, Iterations: iterations,
		ObjectiveName: "kernel-kmeans", Objective: Entry(iterations).Objective, ClusterSizes: []int{2, 2},
	}
	for i := range iterations + 1 {
		r.History = append(r.History, Entry(i))
	}
	return r
}

// Barrier has a script that does one iteration and then waits until the barrier is opened or the job canceled.
type Barrier struct {
	Entered chan struct{} // receives a value for each run that waits
	Open    chan struct{} // to be closed
}

// NewBarrier returns a barrier that is closed.
func NewBarrier() *Barrier {
	return &Barrier{Entered: make(chan struct{}, 100), Open: make(chan struct{})}
}

// Run is the script.
func (b *Barrier) Run(ctx context.Context, o clustering.Observer) (*clustering.Result, error) {
	o.Observe(clustering.IterationDone{Restart: 0, HistoryEntry: Entry(0)})
	b.Entered <- struct{}{}
	select {
	case <-b.Open:
		o.Observe(clustering.IterationDone{Restart: 0, HistoryEntry: Entry(1)})
		return Result(1, clustering.StopConverged), nil
	case <-ctx.Done():
		return Result(0, clustering.StopCanceled), nil
	}
}
