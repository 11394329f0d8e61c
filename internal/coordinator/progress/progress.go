// Package progress keeps what a job is doing at the moment, for those who watch it. None of it is stored.
package progress

import (
	"sync"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/eventlog"
)

// Changes are announced at most once per interval. What is announced is encoded again after half of KeepAlive.
const (
	interval = 100 * time.Millisecond

	// KeepAlive is after how much silence watchers get the progress again, with the time that has passed.
	KeepAlive = 2 * time.Second
)

// Progress holds what one job is doing. It is safe for concurrent use.
type Progress struct {
	now   func() time.Time
	began time.Time

	// mu guards the fields below.
	mu       sync.Mutex
	version  uint64 // incremented with every change
	progress *cleavev1.Progress

	// The progress announced to watchers, at most once per interval.
	shown       Announcement
	announcedAt time.Time
	encodedAt   time.Time // zero if the announced progress is not encoded yet
	scheduled   bool      // a timer will announce the changes made since

	// The inputs of rates and estimates.
	iterations   int       // number of iterations since the first one
	iterating    time.Time // when the first one was done
	building     time.Time // when the workers began to build tiles; zero while they do not
	builtAtFirst uint32    // Tiles that were built at that time
	solver       solverClock
}

// New returns the progress of a job that waits for its turn. now returns the current time.
func New(now func() time.Time) *Progress {
	return &Progress{
		now: now, began: now(), version: 1,
		progress: &cleavev1.Progress{Phase: cleavev1.Phase_PHASE_WAITING, Message: "waiting for its turn"},
		shown:    Announcement{Version: 1, Changed: make(chan struct{})},
	}
}

// Announcement is a progress message for all watchers, encoded once for all of them.
type Announcement struct {
	Version uint64
	Encoded eventlog.Encoded
	Changed chan struct{} // closed when there is a newer one
}

// Announced returns the latest announcement. It encodes it again from time to time so that the elapsed time advances.
func (l *Progress) Announced() Announcement {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.encodedAt) >= KeepAlive/2 { // the elapsed time has advanced
		l.shown.Encoded, l.encodedAt = eventlog.EncodeProgress(l.current()), time.Now()
	}
	return l.shown
}

// announce publishes the current progress to watchers, now or once interval has passed. The caller holds
// l.mu.
func (l *Progress) announce() {
	if wait := interval - time.Since(l.announcedAt); wait > 0 {
		if !l.scheduled {
			l.scheduled = true
			time.AfterFunc(wait, func() {
				l.mu.Lock()
				defer l.mu.Unlock()
				l.scheduled = false
				l.announce()
			})
		}
		return
	}
	close(l.shown.Changed)
	l.shown = Announcement{Version: l.version, Changed: make(chan struct{})}
	l.announcedAt, l.encodedAt = time.Now(), time.Time{}
}

// update applies a change to the progress and announces it.
func (l *Progress) update(change func(*cleavev1.Progress)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(l.progress)
	l.version++
	l.announce()
}

// Enter begins a phase.
func (l *Progress) Enter(phase cleavev1.Phase, message string) {
	l.update(func(p *cleavev1.Progress) { p.Phase, p.Message = phase, message })
}

// Show shows an event of the run, if it is one that tells how far the run is.
func (l *Progress) Show(e *cleavev1.Event) {
	switch e.GetWhat().(type) {
	case *cleavev1.Event_K, *cleavev1.Event_Iteration, *cleavev1.Event_Solver, *cleavev1.Event_MethodTried, *cleavev1.Event_Level:
	default:
		return
	}
	l.update(func(p *cleavev1.Progress) {
		p.Solver, p.MethodTried, p.Level = e.GetSolver(), e.GetMethodTried(), e.GetLevel() // what came before is over
		switch what := e.GetWhat().(type) {
		case *cleavev1.Event_K:
			p.K = what.K
		case *cleavev1.Event_Solver:
			l.solver.tick(l.now(), what.Solver.StepsLeft)
		case *cleavev1.Event_Iteration:
			p.Iteration, p.Objective, p.Moved = what.Iteration.GetIteration(), what.Iteration.GetObjective(), what.Iteration.GetMoved()
			if l.iterating.IsZero() {
				l.iterating = l.now()
			} else {
				l.iterations++
			}
		}
	})
}

// RestartStarted records which restart the following iterations belong to.
func (l *Progress) RestartStarted(restart, restarts int) {
	l.update(func(p *cleavev1.Progress) { p.Restart, p.Restarts = uint32(restart), uint32(restarts) })
}

// Tiles records how many of all tiles are built.
func (l *Progress) Tiles(workers, built, all int) {
	l.update(func(p *cleavev1.Progress) {
		p.Workers, p.TilesBuilt, p.Tiles = uint32(workers), uint32(built), uint32(all)
		switch {
		case built >= all:
			l.building = time.Time{}
		case l.building.IsZero():
			l.building, l.builtAtFirst = l.now(), uint32(built)
		}
	})
}

// Current returns a copy of the progress with the elapsed time and the estimates.
func (l *Progress) Current() *cleavev1.Progress {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.current()
}

// current returns a copy of the progress with the elapsed time and the estimates. The caller holds l.mu.
func (l *Progress) current() *cleavev1.Progress {
	now, p := l.now(), proto.CloneOf(l.progress)
	p.Elapsed = durationpb.New(now.Sub(l.began))
	if spent := now.Sub(l.iterating).Seconds(); !l.iterating.IsZero() && spent > 0 {
		p.IterationsPerSecond = float64(l.iterations) / spent
	}
	// The number of iterations cannot be predicted, but building tiles and the eigensolver can be.
	switch {
	case p.GetPhase() == cleavev1.Phase_PHASE_BUILDING && !l.building.IsZero() && p.GetTilesBuilt() > l.builtAtFirst:
		perTile := now.Sub(l.building) / time.Duration(p.GetTilesBuilt()-l.builtAtFirst)
		p.TimeLeft = durationpb.New(perTile * time.Duration(p.GetTiles()-p.GetTilesBuilt()))
	case p.GetSolver() != nil && (p.GetPhase() == cleavev1.Phase_PHASE_INITIALIZING || p.GetPhase() == cleavev1.Phase_PHASE_ITERATING):
		if left, known := l.solver.timeLeft(now); known {
			p.TimeLeft = durationpb.New(left)
		}
	}
	return p
}

// solverClock estimates how much longer an eigensolver will take.
type solverClock struct {
	ticks     int
	perStep   time.Duration // moving average
	last      time.Time
	stepsLeft *uint32 // after the last step; nil if there is no estimate
}

// recentSteps is how many steps the moving average spans. Steps get shorter as eigenpairs converge, and longer when
// workers are lost.
const recentSteps = 8

// tick records a step that ends now.
func (c *solverClock) tick(now time.Time, stepsLeft *uint32) {
	if c.ticks > 0 {
		c.perStep += (now.Sub(c.last) - c.perStep) / time.Duration(min(c.ticks, recentSteps))
	}
	c.ticks++
	c.last, c.stepsLeft = now, stepsLeft
}

// timeLeft estimates how long the remaining steps will take, minus the time since the last step. It returns false if
// there is no estimate.
func (c *solverClock) timeLeft(now time.Time) (time.Duration, bool) {
	if c.stepsLeft == nil || *c.stepsLeft == 0 || c.ticks < 2 {
		return 0, false
	}
	return max(0, time.Duration(*c.stepsLeft)*c.perStep-now.Sub(c.last)), true
}
