package clustering

import (
	"context"
	"iter"
	"strconv"
	"sync"

	"github.com/cleave-project/cleave/internal/parallel"
	"github.com/cleave-project/cleave/internal/snapshot"
)

// schedule runs the restarts of one or more jobs concurrently, one in each lane. Every restart is a coroutine that runs
// until its next request; then the pending requests of all lanes for one operation are served together.
//
// An answer never depends on the other requests served with it, so each restart gives bit for bit the same result as if
// it ran alone. The observer of a job receives the events of its restarts one restart after another.
type schedule struct {
	jobs  []*jobRuns
	next  int // the first job with restarts that have not started
	lanes []running
	pool  *parallel.Pool
}

// jobRuns holds the restarts of one job.
type jobRuns struct {
	name     string // the name of its snapshot, unique among all jobs
	setup    Setup
	next     int // the first restart that has not started
	total    int
	observer *orderedObserver
	best     *attempt
	runs     []*Labeling // one per restart; nil if it has not ended or the job does not keep runs
	notices  [][]Notice  // of each restart that has ended
}

// running is a lane and the restart that runs in it.
type running struct {
	Lane
	job     *jobRuns // nil if the lane is free
	attempt *attempt
	request request // the pending request; nil if there is none
	resume  func() (request, bool)
	stop    func()
	ended   bool
	err     error // why the restart failed; valid once it has ended
}

// newSchedule returns a schedule for setups that share one executor, and so have as many lanes and threads.
func newSchedule(setups []Setup, observers []Observer) *schedule {
	s := &schedule{}
	total, mu := 0, &sync.Mutex{}
	for i, f := range setups {
		restarts := f.Runs().Restarts
		s.jobs = append(s.jobs, &jobRuns{
			name: strconv.Itoa(i), setup: f, total: restarts, runs: make([]*Labeling, restarts),
			notices: make([][]Notice, restarts), observer: newOrderedObserver(observers[i], restarts, mu),
		})
		total += restarts
	}
	runs := setups[0].Runs()
	s.lanes = make([]running, min(max(1, runs.Lanes), total))
	s.pool = parallel.NewPool(max(1, runs.Threads))
	return s
}

// run runs all restarts. If the context ends first, it stops them and keeps the best results so far.
func (s *schedule) run(ctx context.Context) error {
	defer func() {
		for i := range s.lanes {
			if s.lanes[i].job != nil {
				s.lanes[i].stop()
			}
		}
	}()
	for {
		s.begin(ctx)
		if err := s.advance(); err != nil {
			return err
		}
		freed, err := s.end(ctx)
		if err != nil {
			return err
		}
		if freed {
			continue // so that the requests of the next restarts are served with the others
		}
		lanes, requests := s.pending()
		if len(requests) == 0 {
			return nil
		}
		requests[0].serve(ctx, lanes, requests)
		for _, lane := range lanes {
			s.lanes[lane].request = nil
		}
	}
}

// pending returns the requests, and their lanes, for the pending operation of the lowest rank.
func (s *schedule) pending() (lanes []int, requests []request) {
	for i := range s.lanes {
		r := s.lanes[i].request
		if r == nil {
			continue
		}
		if len(requests) > 0 && r.rank() < requests[0].rank() {
			lanes, requests = nil, nil
		}
		if len(requests) == 0 || r.sameAs(requests[0]) {
			lanes = append(lanes, i)
			requests = append(requests, r)
		}
	}
	return lanes, requests
}

// begin starts the next restarts in the free lanes.
func (s *schedule) begin(ctx context.Context) {
	for i := range s.lanes {
		for s.next < len(s.jobs) && s.jobs[s.next].next == s.jobs[s.next].total {
			s.next++
		}
		if s.next == len(s.jobs) || ctx.Err() != nil {
			return
		}
		if s.lanes[i].job == nil {
			s.lanes[i].begin(ctx, s.jobs[s.next])
		}
	}
}

// begin starts the next restart of a job in the lane.
func (lane *running) begin(ctx context.Context, job *jobRuns) {
	restart := job.next
	job.next++
	*lane = running{job: job, attempt: newAttempt(snapshot.Within(ctx, job.name), job.setup, restart,
		job.observer.of(restart))}
	lane.resume, lane.stop = iter.Pull(func(yield func(request) bool) {
		lane.ask = yield
		lane.err = lane.attempt.run(&lane.Lane)
	})
}

// advance runs every restart without a pending request until its next request or its end.
func (s *schedule) advance() error {
	// Restarts check the context themselves.
	return s.pool.Run(context.Background(), len(s.lanes), func(at int) error {
		if lane := &s.lanes[at]; lane.job != nil && lane.request == nil {
			request, more := lane.resume()
			lane.request, lane.ended = request, !more
		}
		return nil
	})
}

// end compares the restarts that have ended with the best so far and frees their lanes. It reports whether it freed
// any.
func (s *schedule) end(ctx context.Context) (freed bool, err error) {
	for i := range s.lanes {
		lane := &s.lanes[i]
		if lane.job == nil || !lane.ended {
			continue
		}
		job, done, restart := lane.job, lane.attempt, lane.attempt.restart
		job.notices[restart] = done.notices
		lane.job, freed = nil, true
		if lane.err != nil && ctx.Err() == nil {
			return true, lane.err
		}
		wins := done.result != nil && Complete(done.result.Labels) && (job.best == nil || done.better(job.best))
		if ctx.Err() == nil {
			job.runs[restart] = done.found
			if wins {
				job.best.saveEnded(false)
			}
			done.saveEnded(wins)
		}
		if wins {
			job.best = done
		}
		// After a cancellation the observer must not receive events of later restarts. What is delivered must be a
		// prefix of the events of an uninterrupted run, which would go on with this restart.
		if ctx.Err() == nil {
			job.observer.end(restart)
		}
	}
	return freed, nil
}
