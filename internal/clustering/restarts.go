package clustering

import (
	"context"
	"errors"
	"iter"
	"strconv"
	"sync"

	"github.com/cleave-project/cleave/internal/numeric/parallel"
	"github.com/cleave-project/cleave/internal/snapshot"
)

// Lane is where one restart runs beside others. Requests of several lanes are served together, so that one pass over the
// matrix or the rows answers all of them.
type Lane struct {
	ask func(request any) bool
}

// LaneRequest is a request to the executor that waits for its answer.
type LaneRequest struct {
	Lane    int
	Request any
}

// errAbandoned ends a restart whose requests nobody answers any more.
var errAbandoned = errors.New("clustering: the run was abandoned")

// Ask waits until the server has served a request, which carries its answer back.
func (l *Lane) Ask(request any) error {
	if !l.ask(request) {
		return errAbandoned
	}
	return nil
}

// Server is how the requests of restarts reach their executor.
type Server interface {
	// Lanes is how many restarts go side by side.
	Lanes() int
	// Threads is how many of them may compute at the same time, between their requests.
	Threads() int
	// Serve answers at least one of the requests, and returns the indices of those it answered.
	Serve(ctx context.Context, requests []LaneRequest) (answered []int)
}

// Sequential is embedded by families whose restarts run one after the other and call the executor themselves.
type Sequential struct{}

// Lanes implements Server.
func (Sequential) Lanes() int { return 1 }

// Threads implements Server.
func (Sequential) Threads() int { return 1 }

// Serve implements Server; there are no requests.
func (Sequential) Serve(context.Context, []LaneRequest) []int { return nil }

// schedule runs the restarts of one or several jobs side by side, one in each lane. Every restart is a coroutine that
// runs until its next request; then the waiting requests of all lanes are served together.
//
// No answer depends on the requests that it was served with: each restart is bit for bit the run that it would be alone,
// and a job's observer hears of its restarts one after the other.
type schedule struct {
	server  Server
	jobs    []*jobRuns
	next    int // the first job with restarts that have not begun
	lanes   []running
	threads *parallel.Pool
}

// jobRuns is the restarts of one job.
type jobRuns struct {
	name     string // among all jobs
	family   Family
	next     int // the first restart that has not begun
	total    int
	observer *orderedObserver
	best     *attempt
	runs     []*Labeling // of each restart; nil: it has not ended, or the family does not keep them
}

// running is the restart in a lane.
type running struct {
	job     *jobRuns // nil: the lane is free
	attempt *attempt
	request any // waits for its answer; nil: there is none
	resume  func() (any, bool)
	stop    func()
	ended   bool
	err     error // of the restart, once it has ended
}

// newSchedule makes a schedule of families that share one executor, on which the first serves them all.
func newSchedule(families []Family, observers []Observer) *schedule {
	s := &schedule{server: families[0]}
	total, hearing := 0, &sync.Mutex{}
	for at, f := range families {
		s.jobs = append(s.jobs, &jobRuns{name: strconv.Itoa(at), family: f, total: f.Restarts(), runs: make([]*Labeling, f.Restarts()), observer: newOrderedObserver(observers[at], f.Restarts(), hearing)})
		total += f.Restarts()
	}
	s.lanes = make([]running, min(s.server.Lanes(), total))
	s.threads = parallel.NewPool(s.server.Threads())
	return s
}

// run runs all restarts: until the context ends, the best so far are then the results.
func (s *schedule) run(ctx context.Context) error {
	defer func() {
		for at := range s.lanes {
			if s.lanes[at].job != nil {
				s.lanes[at].stop()
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
			continue // so that the next restarts ask beside the others
		}
		var asked []LaneRequest
		for at := range s.lanes {
			if request := s.lanes[at].request; request != nil {
				asked = append(asked, LaneRequest{Lane: at, Request: request})
			}
		}
		if len(asked) == 0 {
			return nil
		}
		for _, place := range s.server.Serve(ctx, asked) {
			s.lanes[asked[place].Lane].request = nil
		}
	}
}

// begin gives free lanes to the next restarts.
func (s *schedule) begin(ctx context.Context) {
	for at := range s.lanes {
		for s.next < len(s.jobs) && s.jobs[s.next].next == s.jobs[s.next].total {
			s.next++
		}
		if s.next == len(s.jobs) || ctx.Err() != nil {
			return
		}
		if s.lanes[at].job == nil {
			s.lanes[at].begin(ctx, s.jobs[s.next])
		}
	}
}

// begin makes the next restart of a job the one of the lane.
func (lane *running) begin(ctx context.Context, job *jobRuns) {
	restart := job.next
	job.next++
	*lane = running{job: job, attempt: newAttempt(snapshot.Within(ctx, job.name), job.family, restart, job.observer.of(restart))}
	lane.resume, lane.stop = iter.Pull(func(yield func(any) bool) {
		lane.err = lane.attempt.run(&Lane{ask: yield})
	})
}

// advance runs the restarts whose requests were answered until their next ones.
func (s *schedule) advance() error {
	// Restarts look at the context themselves.
	return s.threads.Run(context.Background(), s.server.Threads(), len(s.lanes), func(at int) error {
		if lane := &s.lanes[at]; lane.job != nil && lane.request == nil {
			request, more := lane.resume()
			lane.request, lane.ended = request, !more
		}
		return nil
	})
}

// end compares the results of restarts that ended with the best so far, and frees their lanes.
func (s *schedule) end(ctx context.Context) (freed bool, err error) {
	for at := range s.lanes {
		lane := &s.lanes[at]
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
			job.best.keep(true)
			done.keep(false)
		}
		// After a cancellation the observer hears nothing of later restarts: the uninterrupted run would first have had
		// more events of this one, and what is heard must be how that run begins.
		if ctx.Err() == nil {
			job.observer.end(restart)
		}
	}
	return freed, nil
}
