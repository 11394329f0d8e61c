package jobs

import (
	"sync"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// Changes are announced at most once per announceInterval. What is announced is brought up to date after half of
// KeepAlive.
const (
	announceInterval = 100 * time.Millisecond

	// KeepAlive is after how much silence watchers get the progress again, with the time that has passed.
	KeepAlive = 2 * time.Second
)

// Progress holds what one job is doing at the moment, for those who watch it. None of it is stored. It is safe for
// concurrent use.
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
	copiedAt    time.Time // zero if the announced progress was not copied yet
	scheduled   bool      // a timer will announce the changes made since

	// The inputs of rates and estimates.
	iterations   int       // number of iterations since the first one
	iterating    time.Time // when the first one was done
	building     time.Time // when the workers began to build tiles; zero while they do not
	builtAtFirst uint32    // Tiles that were built at that time
	solver       solverClock
}

// newProgress returns the progress of a job that waits for its turn. now returns the current time.
func newProgress(now func() time.Time) *Progress {
	return &Progress{
		now: now, began: now(), version: 1,
		progress: &cleavev1.Progress{Phase: cleavev1.Phase_PHASE_WAITING, Message: "waiting for its turn"},
		shown:    Announcement{Version: 1, Changed: make(chan struct{})},
	}
}

// Announcement is a progress message that all watchers share and nobody may change.
type Announcement struct {
	Version  uint64
	Progress *cleavev1.Progress
	Changed  chan struct{} // closed when there is a newer one
}

// Announced returns the latest announcement. It copies the progress again from time to time so that the elapsed time
// advances.
func (p *Progress) Announced() Announcement {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := p.now(); now.Sub(p.copiedAt) >= KeepAlive/2 {
		p.shown.Progress = p.currentLocked()
		p.copiedAt = now
	}
	return p.shown
}

// announceLocked publishes the current progress to watchers, now or once interval has passed.
func (p *Progress) announceLocked() {
	if wait := announceInterval - p.now().Sub(p.announcedAt); wait > 0 {
		if !p.scheduled {
			p.scheduled = true
			time.AfterFunc(min(wait, announceInterval), func() { // p.now may have gone back
				p.mu.Lock()
				defer p.mu.Unlock()
				p.scheduled = false
				p.announceLocked()
			})
		}
		return
	}
	close(p.shown.Changed)
	p.shown = Announcement{Version: p.version, Changed: make(chan struct{})}
	p.announcedAt = p.now()
	p.copiedAt = time.Time{}
}

// update applies a change to the progress and announces it.
func (p *Progress) update(change func(*cleavev1.Progress)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(p.progress)
	p.version++
	p.announceLocked()
}

// Enter begins a phase.
func (p *Progress) Enter(phase cleavev1.Phase, message string) {
	p.update(func(m *cleavev1.Progress) { m.Phase, m.Message = phase, message })
}

// Show shows an event of the run, if it is one that tells how far the run is.
func (p *Progress) Show(e *cleavev1.Event) {
	switch e.GetWhat().(type) {
	case *cleavev1.Event_K, *cleavev1.Event_Iteration, *cleavev1.Event_Solver, *cleavev1.Event_MethodTried,
		*cleavev1.Event_Level:
	default:
		return
	}
	p.update(func(m *cleavev1.Progress) {
		m.Solver = e.GetSolver()
		m.MethodTried = e.GetMethodTried()
		m.Level = e.GetLevel() // what came before is over
		switch what := e.GetWhat().(type) {
		case *cleavev1.Event_K:
			m.K = what.K
		case *cleavev1.Event_Solver:
			p.solver.tick(p.now(), what.Solver.StepsLeft)
		case *cleavev1.Event_Iteration:
			m.Iteration, m.Objective, m.Moved = what.Iteration.GetIteration(), what.Iteration.GetObjective(),
				what.Iteration.GetMoved()
			if p.iterating.IsZero() {
				p.iterating = p.now()
			} else {
				p.iterations++
			}
		}
	})
}

// RestartStarted records which restart the following iterations belong to.
func (p *Progress) RestartStarted(restart, restarts int) {
	p.update(func(m *cleavev1.Progress) { m.Restart, m.Restarts = uint32(restart), uint32(restarts) })
}

// Tiles records how many of all tiles are built.
func (p *Progress) Tiles(workers, built, all int) {
	p.update(func(m *cleavev1.Progress) {
		m.Workers, m.TilesBuilt, m.Tiles = uint32(workers), uint32(built), uint32(all)
		switch {
		case built >= all:
			p.building = time.Time{}
		case p.building.IsZero():
			p.building = p.now()
			p.builtAtFirst = uint32(built)
		}
	})
}

// Current returns a copy of the progress with the elapsed time and the estimates.
func (p *Progress) Current() *cleavev1.Progress {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.currentLocked()
}

// currentLocked returns a copy of the progress with the elapsed time and the estimates.
func (p *Progress) currentLocked() *cleavev1.Progress {
	now := p.now()
	m := proto.CloneOf(p.progress)
	m.Elapsed = durationpb.New(now.Sub(p.began))
	if spent := now.Sub(p.iterating).Seconds(); !p.iterating.IsZero() && spent > 0 {
		m.IterationsPerSecond = float64(p.iterations) / spent
	}
	// The number of iterations cannot be predicted, but building tiles and the eigensolver can be.
	switch {
	case m.GetPhase() == cleavev1.Phase_PHASE_BUILDING && !p.building.IsZero() && m.GetTilesBuilt() > p.builtAtFirst:
		perTile := now.Sub(p.building) / time.Duration(m.GetTilesBuilt()-p.builtAtFirst)
		m.TimeLeft = durationpb.New(perTile * time.Duration(m.GetTiles()-m.GetTilesBuilt()))
	case m.GetSolver() != nil &&
		(m.GetPhase() == cleavev1.Phase_PHASE_INITIALIZING || m.GetPhase() == cleavev1.Phase_PHASE_ITERATING):
		if left, known := p.solver.timeLeft(now); known {
			m.TimeLeft = durationpb.New(left)
		}
	}
	return m
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
