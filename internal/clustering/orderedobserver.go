package clustering

import "sync"

// orderedObserver delivers the events of concurrent restarts as if the restarts ran one after another. Events of the
// current restart, which is the first that has not ended, are delivered immediately; those of later restarts are held
// back until all earlier restarts have ended.
type orderedObserver struct {
	observer Observer
	mu       *sync.Mutex // held by pass while the observer is called; shared by all jobs
	current  int
	restarts []restartObserver
}

// restartObserver receives the events of one restart.
type restartObserver struct {
	ordered *orderedObserver
	restart int
	pending []func(Observer) // events held back
	ended   bool
}

func newOrderedObserver(observer Observer, restarts int, mu *sync.Mutex) *orderedObserver {
	o := &orderedObserver{observer: observer, mu: mu, restarts: make([]restartObserver, restarts)}
	for restart := range o.restarts {
		o.restarts[restart] = restartObserver{ordered: o, restart: restart}
	}
	return o
}

func (o *orderedObserver) of(restart int) Observer { return &o.restarts[restart] }

// end marks a restart as ended and delivers the events that were held back for it.
func (o *orderedObserver) end(restart int) {
	o.restarts[restart].ended = true
	for o.current < len(o.restarts) && o.restarts[o.current].ended {
		if o.current++; o.current < len(o.restarts) {
			next := &o.restarts[o.current]
			for _, event := range next.pending {
				event(o.observer)
			}
			next.pending = nil
		}
	}
}

func (r *restartObserver) pass(event func(Observer)) {
	if r.restart == r.ordered.current {
		r.ordered.mu.Lock()
		defer r.ordered.mu.Unlock()
		event(r.ordered.observer)
		return
	}
	r.pending = append(r.pending, event)
}

func (r *restartObserver) K(k KStarted) { r.pass(func(o Observer) { o.K(k) }) }

func (r *restartObserver) Restart(restart, restarts int) {
	r.pass(func(o Observer) { o.Restart(restart, restarts) })
}

func (r *restartObserver) Iteration(restart int, e HistoryEntry) {
	r.pass(func(o Observer) { o.Iteration(restart, e) })
}

func (r *restartObserver) Shift(s ShiftChange) { r.pass(func(o Observer) { o.Shift(s) }) }

func (r *restartObserver) Notice(n Notice) { r.pass(func(o Observer) { o.Notice(n) }) }

func (r *restartObserver) Solver(s SolverStep)  { r.pass(func(o Observer) { o.Solver(s) }) }
func (r *restartObserver) Level(l LevelStarted) { r.pass(func(o Observer) { o.Level(l) }) }

func (r *restartObserver) Trial(t Trial) { r.pass(func(o Observer) { o.Trial(t) }) }

func (r *restartObserver) Phase(p Phase) { r.pass(func(o Observer) { o.Phase(p) }) }
