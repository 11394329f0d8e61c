package clustering

// transcripts let the observer hear of restarts that run side by side as if they ran one after the
// other: the first that has not ended is heard as it speaks, the others when their turn comes.
type transcripts struct {
	observer Observer
	turn     int
	restarts []transcript
}

// transcript is what one restart has to say.
type transcript struct {
	all     *transcripts
	restart int
	waiting []func(Observer)
	ended   bool
}

func newTranscripts(o Observer, restarts int) *transcripts {
	t := &transcripts{observer: o, restarts: make([]transcript, restarts)}
	for restart := range t.restarts {
		t.restarts[restart] = transcript{all: t, restart: restart}
	}
	return t
}

func (t *transcripts) of(restart int) Observer { return &t.restarts[restart] }

// end says that a restart is over, which may give the turn to others.
func (t *transcripts) end(restart int) {
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

func (t *transcript) say(what func(Observer)) {
	if t.restart == t.all.turn {
		what(t.all.observer)
		return
	}
	t.waiting = append(t.waiting, what)
}

func (t *transcript) Restart(restart int) { t.say(func(o Observer) { o.Restart(restart) }) }

func (t *transcript) Iteration(restart int, e Entry) {
	t.say(func(o Observer) { o.Iteration(restart, e) })
}

func (t *transcript) Shift(s ShiftChange) { t.say(func(o Observer) { o.Shift(s) }) }

func (t *transcript) Notice(n Notice) { t.say(func(o Observer) { o.Notice(n) }) }

func (t *transcript) Solver(s SolverStep) { t.say(func(o Observer) { o.Solver(s) }) }

func (t *transcript) Phase(p Phase) { t.say(func(o Observer) { o.Phase(p) }) }
