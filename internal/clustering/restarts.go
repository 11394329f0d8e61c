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
// until its next request; then the pending requests of all lanes are served together.
//
// An answer never depends on the other requests served with it, so each restart gives bit for bit the same result as if
// it ran alone. The observer of a job receives the events of its restarts one restart after another.
type schedule struct {
	server  Server
	jobs    []*jobRuns
	next    int // the first job with restarts that have not started
	lanes   []running
	threads *parallel.Pool
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
}

// running is a lane and the restart that runs in it.
type running struct {
	Lane
	job     *jobRuns // nil if the lane is free
	attempt *attempt
	request Request // the pending request; nil if there is none
	resume  func() (Request, bool)
	stop    func()
	ended   bool
	err     error // why the restart failed; valid once it has ended
}

// newSchedule returns a schedule for setups that share one executor. The first serves the requests of all.
func newSchedule(setups []Setup, observers []Observer) *schedule {
	s := &schedule{server: setups[0]}
	total, mu := 0, &sync.Mutex{}
	for i, f := range setups {
		restarts := f.Runs().Restarts
		s.jobs = append(s.jobs, &jobRuns{
			name: strconv.Itoa(i), setup: f, total: restarts, runs: make([]*Labeling, restarts),
			observer: newOrderedObserver(observers[i], restarts, mu),
		})
		total += restarts
	}
	s.lanes = make([]running, min(s.server.Lanes(), total))
	s.threads = parallel.NewPool(s.server.Threads())
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
		asked := s.pending()
		if len(asked) == 0 {
			return nil
		}
		err = s.server.Serve(ctx, asked)
		for _, r := range asked {
			lane := &s.lanes[r.Base().Lane]
			lane.request, lane.failed = nil, err
		}
	}
}

// pending returns the pending requests of the lowest kind.
func (s *schedule) pending() (requests Requests) {
	for i := range s.lanes {
		request := s.lanes[i].request
		if request == nil {
			continue
		}
		asked := request.Base()
		asked.Lane = i
		if len(requests) > 0 && asked.Kind < requests[0].Base().Kind {
			requests = requests[:0]
		}
		if len(requests) == 0 || asked.Kind == requests[0].Base().Kind {
			requests = append(requests, request)
		}
	}
	return requests
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
	lane.resume, lane.stop = iter.Pull(func(yield func(Request) bool) {
		lane.ask = yield
		lane.err = lane.attempt.run(&lane.Lane)
	})
}

// advance runs every restart without a pending request until its next request or its end.
func (s *schedule) advance() error {
	// Restarts check the context themselves.
	return s.threads.Run(context.Background(), len(s.lanes), func(at int) error {
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
		lane.job, freed = nil, true
		if lane.err != nil && ctx.Err() == nil {
			return true, lane.err
		}
		wins := done.result != nil && Complete(done.result.Labels) && (job.best == nil || done.better(job.best))
		if wins {
			job.best, done = done, job.best
		}
		if ctx.Err() == nil {
			job.runs[restart] = lane.attempt.found
			job.best.saveEnded(true)
			done.saveEnded(false)
		}
		// After a cancellation the observer must not receive events of later restarts. What is delivered must be a
		// prefix of the events of an uninterrupted run, which would go on with this restart.
		if ctx.Err() == nil {
			job.observer.end(restart)
		}
	}
	return freed, nil
}
