package report

import "fmt"

// restartLog remembers how the restarts of a job did.
type restartLog struct {
	begun    bool
	current  uint32 // from 0 on
	of       uint32 // how many there are; 0: not known yet
	first    float64
	last     float64 // objective of the current one so far
	any      bool    // the current one has an objective
	rises    bool    // the objective is one that is maximized: it rose within a restart
	best     float64 // of those that have ended
	finished int
}

// begin ends the current restart, if there is one, and begins another.
func (l *restartLog) begin(restart uint32) {
	if l.begun && l.any {
		if l.finished == 0 || l.rises && l.last > l.best || !l.rises && l.last < l.best {
			l.best = l.last
		}
		l.finished++
	}
	l.begun, l.current, l.any = true, restart, false
}

// iteration notes the objective of the current restart. Whether it is minimized or maximized shows in where it goes.
func (l *restartLog) iteration(objective float64) {
	if !l.any {
		l.first, l.any = objective, true
	}
	if l.last = objective; l.finished == 0 {
		l.rises = l.last > l.first
	}
}

// String says which restart runs, and how well the best did: "restart 7 of 12, best so far 123.4".
func (l restartLog) String() string {
	says := fmt.Sprintf("restart %d", l.current+1)
	if l.of > 0 {
		says += fmt.Sprintf(" of %d", l.of)
	}
	if l.finished > 0 {
		says += ", best so far " + Brief(l.best)
	}
	return says
}
