package clustering

import (
	"cmp"
	"context"
	"errors"
	"strconv"

	"github.com/cleave-project/cleave/internal/snapshot"
)

// Job is a problem on its executor, ready to run.
type Job interface {
	// Notices are the warnings that are known before anything runs.
	Notices() []Notice
	// Begin prepares what all restarts share.
	Begin(ctx context.Context, o Observer) (Family, error)
}

// Family is what the restarts of one job share, and how their requests reach the executor.
type Family interface {
	Server
	// K is the number of clusters.
	K() int
	// Restarts is how many runs there are.
	Restarts() int
	// MaxIterations is after how many iterations a run ends.
	MaxIterations() int
	// KeepsRuns tells whether the result has the labels of all restarts.
	KeepsRuns() bool
	// Method is a new run, in the given lane.
	Method(restart int, lane *Lane, o Observer) Method
	// FillResult adds to the result of the best restart what all restarts share.
	FillResult(r *Result)
}

// Run is the one loop of all families. It runs every restart until it stops; the lowest final value wins, and of
// equal ones the first restart. When the context ends, the labels so far are the result, if there are any.
func Run(ctx context.Context, j Job, o Observer) (*Result, error) {
	results, err := RunAll(ctx, []Job{j}, func(int) Observer { return o })
	if err != nil {
		return nil, err
	}
	return results[0], nil
}

// errNoAnswer says that no restart has labels, which only a snapshot can make believe that is not one of this run.
var errNoAnswer = errors.New("clustering: no restart has an answer")

// RunAll runs several jobs on one executor, side by side: what their restarts ask at the same time is asked together.
// Each result, and what each job's observer hears, is what Run gives for the job alone. Observers are called one at a
// time. When a job fails, all do.
func RunAll(ctx context.Context, jobs []Job, observer func(job int) Observer) ([]*Result, error) {
	families, observers := make([]Family, len(jobs)), make([]Observer, len(jobs))
	for at, j := range jobs {
		o := observer(at)
		observers[at] = o
		for _, notice := range j.Notices() {
			o.Notice(notice)
		}
		o.Phase(PhaseInitialize)
		var err error
		if families[at], err = j.Begin(snapshot.Within(ctx, strconv.Itoa(at)), o); err != nil {
			return nil, err
		}
	}
	if len(families) == 0 {
		return nil, nil
	}
	s := newSchedule(families, observers)
	if err := s.run(ctx); err != nil {
		return nil, err
	}
	results := make([]*Result, len(jobs))
	for at, j := range s.jobs {
		if j.best == nil {
			return nil, cmp.Or(ctx.Err(), errNoAnswer)
		}
		results[at] = j.best.result
		if j.family.KeepsRuns() {
			for _, run := range j.runs {
				if run != nil {
					results[at].Runs = append(results[at].Runs, *run)
				}
			}
		}
		fill(ctx, j.family, results[at])
		for _, notice := range AnswerNotices(results[at]) {
			results[at].Warnings = append(results[at].Warnings, notice)
			observers[at].Notice(notice)
		}
	}
	return results, nil
}

// fill adds to the result of the best restart what its family knows.
func fill(ctx context.Context, f Family, r *Result) {
	if ctx.Err() != nil {
		r.StopReason = StopCanceled
	}
	r.ClusterSizes = make([]int, f.K())
	for _, c := range r.Labels {
		r.ClusterSizes[c]++
	}
	f.FillResult(r)
}
