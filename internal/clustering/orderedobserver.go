package clustering

// orderedObserver lets an observer hear of restarts that run side by side as if they ran one after the
// other: events of the first that has not ended pass at once, those of the others wait for their turn.
type orderedObserver struct {
	observer Observer
	turn     int
	restarts []restartObserver
}

// restartObserver observes one restart.
type restartObserver struct {
	all     *orderedObserver
	restart int
	waiting []func(Observer)
	ended   bool
}

func newOrderedObserver(o Observer, restarts int) *orderedObserver {
	t := &orderedObserver{observer: o, restarts: make([]restartObserver, restarts)}
	for restart := range t.restarts {
		t.restarts[restart] = restartObserver{all: t, restart: restart}
	}
	return t
}

func (t *orderedObserver) of(restart int) Observer { return &t.restarts[restart] }

// end says that a restart is over, so that the events of the next pass.
func (t *orderedObserver) end(restart int) {
	t.restarts[restart].ended = true
	for t.turn < len(t.restarts) && t.restarts[t.turn].ended {
		if t.turn++; t.turn < len(t.restarts) {
			next := &t.restarts[t.turn]
			for _, say := range next.waiting {
				say(t.observer)
			}
			next.waiting = nil
		}
	}
}

func (t *restartObserver) say(what func(Observer)) {
	if t.restart == t.all.turn {
		what(t.all.observer)
		return
	}
	t.waiting = append(t.waiting, what)
}

func (t *restartObserver) Restart(restart int) { t.say(func(o Observer) { o.Restart(restart) }) }

func (t *restartObserver) Iteration(restart int, e Entry) {
	t.say(func(o Observer) { o.Iteration(restart, e) })
}

func (t *restartObserver) Shift(s ShiftChange) { t.say(func(o Observer) { o.Shift(s) }) }

func (t *restartObserver) Notice(n Notice) { t.say(func(o Observer) { o.Notice(n) }) }

func (t *restartObserver) Solver(s SolverStep) { t.say(func(o Observer) { o.Solver(s) }) }

func (t *restartObserver) Phase(p Phase) { t.say(func(o Observer) { o.Phase(p) }) }
