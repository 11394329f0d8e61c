package clustering

import (
	"context"
	"errors"
	"iter"
)

// Lane is where a restart runs beside others. What it asks of the executor through its lane is asked
// together with what the others ask at the same time.
type Lane struct {
	At  int // its number, from 0 on
	ask func(request any) bool
}

// Asked is a request that waits for its answer.
type Asked struct {
	Lane    int
	Request any
}

// errAbandoned ends a restart that nobody will answer any more.
var errAbandoned = errors.New("clustering: the run was abandoned")

// Ask waits until the family has served a request, which has room for the answer.
func (l *Lane) Ask(request any) error {
	if !l.ask(request) {
		return errAbandoned
	}
	return nil
}

// OneByOne is for families whose restarts run one after the other and ask the executor themselves.
type OneByOne struct{}

// Lanes implements Family.
func (OneByOne) Lanes() int { return 1 }

// Serve implements Family; nobody asks.
func (OneByOne) Serve(context.Context, []Asked) []int { return nil }

// restarts runs the restarts of a job side by side, one in each lane. Every restart is a coroutine that
// goes on until it asks something of the executor; what several ask at the same time is served together,
// so that one reading of the matrix serves them all. Only one of them ever runs at a time.
//
// Sums are exact, so no answer depends on what else was asked: each restart is bit for bit the run that
// it would be alone, and the observer hears of them one after the other, as if they were.
type restarts struct {
	family   Family
	total    int
	next     int // the first that has not begun
	lanes    []running
	observer *orderedObserver
	best     *attempt
}

// running is the restart in a lane.
type running struct {
	attempt *attempt // nil: the lane is free
	request any      // that waits for its answer; nil: none
	resume  func() (any, bool)
	stop    func()
	err     error // that the restart ended with
}

func newRestarts(f Family, o Observer) *restarts {
	total := f.Restarts()
	return &restarts{family: f, total: total, lanes: make([]running, min(f.Lanes(), total)), observer: newOrderedObserver(o, total)}
}

// run is all restarts. It ends early, with the best so far, when the context does.
func (r *restarts) run(ctx context.Context) (*Result, error) {
	defer func() {
		for at := range r.lanes {
			if r.lanes[at].attempt != nil {
				r.lanes[at].stop()
			}
		}
	}()
	for {
		var asked []Asked
		for at := range r.lanes {
			if err := r.advance(ctx, at); err != nil {
				return nil, err
			}
			if request := r.lanes[at].request; request != nil {
				asked = append(asked, Asked{Lane: at, Request: request})
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

// advance lets the restart in a lane go on until its next request, unless that still waits for its
// answer, and gives a free lane to the next restart.
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
		m := r.family.Method(restart, &Lane{At: at, ask: yield}, o)
		lane.err = lane.attempt.run(ctx, m, r.family.MaxIterations(), o)
	})
}

// end takes the result of a restart over.
func (r *restarts) end(ctx context.Context, lane *running) error {
	done := lane.attempt
	lane.attempt = nil
	if lane.err != nil && ctx.Err() == nil {
		return lane.err
	}
	if done.result != nil && complete(done.result.Labels) && (r.best == nil || done.better(r.best)) {
		r.best = done
	}
	// When the context ended on the way, the observer hears no more of the restarts that follow: in a run
	// that goes on, other events would come first.
	if ctx.Err() == nil {
		r.observer.end(done.restart)
	}
	return nil
}
