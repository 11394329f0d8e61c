package clustering

import (
	"context"
	"errors"
	"iter"
)

// Lane is where one restart runs beside others. Requests of several lanes are served together, so that one pass over the
// matrix answers all of them.
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

// Ask waits until the family has served a request, which carries its answer back.
func (l *Lane) Ask(request any) error {
	if !l.ask(request) {
		return errAbandoned
	}
	return nil
}

// Sequential is embedded by families whose restarts run one after the other and call the executor themselves.
type Sequential struct{}

// Lanes implements Family.
func (Sequential) Lanes() int { return 1 }

// Serve implements Family; there are no requests.
func (Sequential) Serve(context.Context, []LaneRequest) []int { return nil }

// restarts runs the restarts of a job side by side, one in each lane. Every restart is a coroutine that
// runs until its next request; then the waiting requests of all lanes are served together. Only one
// coroutine runs at a time.
//
// Sums are exact, so no answer depends on the requests that it was served with: each restart is bit for
// bit the run that it would be alone, and the observer hears of them one after the other.
type restarts struct {
	family   Family
	total    int
	next     int // the first restart that has not begun
	lanes    []running
	observer *orderedObserver
	best     *attempt
}

// running is the restart in a lane.
type running struct {
	attempt *attempt // nil: the lane is free
	request any      // waits for its answer; nil: there is none
	resume  func() (any, bool)
	stop    func()
	err     error // of the restart, once it has ended
}

func newRestarts(f Family, o Observer) *restarts {
	total := f.Restarts()
	return &restarts{family: f, total: total, lanes: make([]running, min(f.Lanes(), total)), observer: newOrderedObserver(o, total)}
}

// run runs all restarts and returns the best result: the best so far, when the context ends.
func (r *restarts) run(ctx context.Context) (*Result, error) {
	defer func() {
		for at := range r.lanes {
			if r.lanes[at].attempt != nil {
				r.lanes[at].stop()
			}
		}
	}()
	for {
		var asked []LaneRequest
		for at := range r.lanes {
			if err := r.advance(ctx, at); err != nil {
				return nil, err
			}
			if request := r.lanes[at].request; request != nil {
				asked = append(asked, LaneRequest{Lane: at, Request: request})
			}
		}
		if len(asked) == 0 {
			break
		}
		for _, place := range r.family.Serve(ctx, asked) {
			r.lanes[asked[place].Lane].request = nil
		}
	}
	if r.best == nil {
		return nil, ctx.Err()
	}
	return r.best.result, nil
}

// advance runs the restart in a lane until its next request, unless one still waits for its answer; when the
// restart ends, the lane goes to the next one.
func (r *restarts) advance(ctx context.Context, at int) error {
	lane := &r.lanes[at]
	for lane.request == nil {
		if lane.attempt == nil {
			if r.next == r.total || ctx.Err() != nil {
				return nil
			}
			r.begin(ctx, at)
		}
		request, more := lane.resume()
		if more {
			lane.request = request
			return nil
		}
		if err := r.end(ctx, lane); err != nil {
			return err
		}
	}
	return nil
}

func (r *restarts) begin(ctx context.Context, at int) {
	lane, restart := &r.lanes[at], r.next
	r.next++
	*lane = running{attempt: &attempt{restart: restart}}
	lane.resume, lane.stop = iter.Pull(func(yield func(any) bool) {
		o := r.observer.of(restart)
		if r.total > 1 {
			o.Restart(restart)
		}
		m := r.family.Method(restart, &Lane{ask: yield}, o)
		lane.err = lane.attempt.run(ctx, m, r.family.MaxIterations(), o)
	})
}

// end compares the result of a restart that ended with the best so far.
func (r *restarts) end(ctx context.Context, lane *running) error {
	done := lane.attempt
	lane.attempt = nil
	if lane.err != nil && ctx.Err() == nil {
		return lane.err
	}
	if done.result != nil && complete(done.result.Labels) && (r.best == nil || done.better(r.best)) {
		r.best = done
	}
	// After a cancellation the observer hears nothing of later restarts: the uninterrupted run would first have had
	// more events of this one, and what is heard must be how that run begins.
	if ctx.Err() == nil {
		r.observer.end(done.restart)
	}
	return nil
}
