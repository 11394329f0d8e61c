package clustering

import "sync"

// orderedObserver delivers the events of concurrent restarts as if the restarts ran one after another. Events of the
// current restart, which is the first that has not ended, are delivered immediately; those of later restarts are held
// back until all earlier restarts have ended.
type orderedObserver struct {
	observer Observer
	mu       *sync.Mutex // held by Observe while the observer is called; shared by all jobs
	current  int
	restarts []restartObserver
}

// restartObserver receives the events of one restart.
type restartObserver struct {
	ordered *orderedObserver
	restart int
	pending []Event // held back
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
				o.observer.Observe(event)
			}
			next.pending = nil
		}
	}
}

func (r *restartObserver) Observe(e Event) {
	if r.restart == r.ordered.current {
		r.ordered.mu.Lock()
		defer r.ordered.mu.Unlock()
		r.ordered.observer.Observe(e)
		return
	}
	r.pending = append(r.pending, e)
}
