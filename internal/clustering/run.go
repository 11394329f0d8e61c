package clustering

import (
	"cmp"
	"context"
	"errors"
	"strconv"

	"github.com/cleave-project/cleave/internal/snapshot"
)

// Job is a clustering problem with its executor, ready to run.
type Job interface {
	// Notices returns the warnings that are known before the run.
	Notices() []Notice
	// Begin computes what all restarts share.
	Begin(ctx context.Context, o Observer) (Setup, error)
}

// Runs describes the restarts of a job.
type Runs struct {
	K             int  // number of clusters
	Restarts      int  // at least 1
	MaxIterations int  // the most iterations of a restart
	Keep          bool // whether Result.Runs should hold the labels of all restarts
}

// Setup holds what the restarts of one job share and serves their requests on the executor.
type Setup interface {
	Server
	// Runs describes the restarts. It returns the same at every call.
	Runs() Runs
	// NewStepper returns a stepper for a restart, counted from 0, that sends its requests through lane.
	NewStepper(restart int, lane *Lane, o Observer) Stepper
	// FillResult adds what all restarts share to the result of the best one.
	FillResult(r *Result)
}

// Run runs a job of any family and returns the result of the best restart: the one with the lowest final value or,
// among equal ones, the first. If the context ends first, the result is the best so far, with StopCanceled; Run fails
// if no restart has labels yet.
func Run(ctx context.Context, j Job, o Observer) (*Result, error) {
	results, err := RunAll(ctx, []Job{j}, func(int) Observer { return o })
	if err != nil {
		return nil, err
	}
	return results[0], nil
}

// errNoAnswer reports that no restart has labels. It can only happen if a snapshot belongs to another run.
var errNoAnswer = errors.New("clustering: no restart has an answer")

// RunAll runs several jobs concurrently on one executor, which serves requests of different jobs together. Each result,
// and the events of each job's observer, are the same as if Run ran the job alone. At most one observer is called at a
// time. If one job fails, RunAll fails.
func RunAll(ctx context.Context, jobs []Job, observer func(job int) Observer) ([]*Result, error) {
	setups := make([]Setup, len(jobs))
	observers := make([]Observer, len(jobs))
	for i, j := range jobs {
		o := observer(i)
		observers[i] = o
		for _, notice := range j.Notices() {
			o.Observe(notice)
		}
		o.Observe(PhaseInitialize)
		var err error
		if setups[i], err = j.Begin(snapshot.Within(ctx, strconv.Itoa(i)), o); err != nil {
			return nil, err
		}
	}
	if len(setups) == 0 {
		return nil, nil
	}
	s := newSchedule(setups, observers)
	if err := s.run(ctx); err != nil {
		return nil, err
	}
	results := make([]*Result, len(jobs))
	for i, j := range s.jobs {
		if j.best == nil {
			return nil, cmp.Or(ctx.Err(), errNoAnswer)
		}
		results[i] = j.best.result
		if j.setup.Runs().Keep {
			for _, run := range j.runs {
				if run != nil {
					results[i].Runs = append(results[i].Runs, *run)
				}
			}
		}
		fill(ctx, j.setup, results[i])
		for _, notice := range AnswerNotices(results[i]) {
			results[i].Warnings = append(results[i].Warnings, notice)
			observers[i].Observe(notice)
		}
	}
	return results, nil
}

// fill completes the result of the best restart.
func fill(ctx context.Context, s Setup, r *Result) {
	if ctx.Err() != nil {
		r.StopReason = StopCanceled
	}
	r.CountSizes(s.Runs().K)
	s.FillResult(r)
}
