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
	Lanes         int  // how many restarts run concurrently, each in a lane of the executor; 0 means 1
	AllNotices    bool // whether Result.Warnings should hold the notices of all restarts, not only of the best
	Threads       int  // how many of them may compute at the same time, between their questions; 0 means 1
}

// Setup holds what the restarts of one job share.
type Setup interface {
	// Runs describes the restarts. It returns the same at every call.
	Runs() Runs
	// NewStepper returns a stepper for a restart, counted from 0, that asks the executor through lane.
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

// RunAll runs several jobs concurrently on one executor, which answers questions of different jobs together. Each
// result, and the events of each job's observer, are the same as if Run ran the job alone. At most one observer is
// called at a time. If one job fails, RunAll fails.
func RunAll(ctx context.Context, jobs []Job, observer func(job int) Observer) ([]*Result, error) {
	setups := make([]Setup, len(jobs))
	observers := make([]Observer, len(jobs))
	logs := make([]*noticeLog, len(jobs)) // of the notices until the restarts begin
	for i, j := range jobs {
		observers[i] = observer(i)
		logs[i] = beginLog(observers[i], j.Notices())
		var err error
		if setups[i], err = j.Begin(snapshot.Within(ctx, strconv.Itoa(i)), logs[i]); err != nil {
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
		runs := j.setup.Runs()
		if runs.Keep {
			for _, run := range j.runs {
				if run != nil {
					results[i].Runs = append(results[i].Runs, *run)
				}
			}
		}
		for restart, notices := range j.notices {
			if runs.AllNotices || restart == j.best.restart {
				logs[i].notices = append(logs[i].notices, notices...)
			}
		}
		results[i].CountSizes(runs.K)
		j.setup.FillResult(results[i])
		finish(ctx, results[i], logs[i])
	}
	return results, nil
}

// RunOnce solves a problem in k clusters that has neither restarts nor iterations. It observes the notices that are
// known before, adds all notices to the result, and completes the result. If the context ends first, it fails.
func RunOnce(ctx context.Context, k int, known []Notice, o Observer,
	solve func(ctx context.Context, o Observer) (*Result, error)) (*Result, error) {
	log := beginLog(o, known)
	result, err := solve(ctx, log)
	if ctx.Err() != nil && err != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	if !Complete(result.Labels) {
		return nil, errNoAnswer
	}
	result.CountSizes(k)
	finish(ctx, result, log)
	return result, nil
}

// beginLog begins the log of a job with the notices that are known before it runs.
func beginLog(o Observer, known []Notice) *noticeLog {
	log := &noticeLog{observer: o}
	for _, notice := range known {
		log.Observe(notice)
	}
	log.Observe(PhaseInitialize)
	return log
}

// finish ends the log of a job with the notices about its answer, and adds all notices to the result.
func finish(ctx context.Context, r *Result, log *noticeLog) {
	if ctx.Err() != nil {
		r.StopReason = StopCanceled
	}
	for _, notice := range AnswerNotices(r) {
		log.Observe(notice)
	}
	r.Warnings = log.notices
}
