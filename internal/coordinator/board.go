package coordinator

import (
	"sync"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// board is the live progress of a job: only the latest counts, and nothing of it is kept.
type board struct {
	now   func() time.Time
	began time.Time

	mu       sync.Mutex
	version  uint64 // grows with every change
	progress *cleavev1.Progress

	// For rates: iterations since the first step, and tiles since the building began.
	iterations   int
	iterating    time.Time
	building     time.Time
	builtAtFirst uint32
	solver       solverClock
}

func newBoard(now func() time.Time) *board {
	return &board{
		now: now, began: now(), version: 1,
		progress: &cleavev1.Progress{Phase: cleavev1.Phase_PHASE_WAITING, Message: "waiting for its turn"},
	}
}

// update changes the progress.
func (b *board) update(change func(*cleavev1.Progress)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change(b.progress)
	b.version++
}

// enter begins a phase.
func (b *board) enter(phase cleavev1.Phase, message string) {
	b.update(func(p *cleavev1.Progress) { p.Phase, p.Message = phase, message })
}

// step counts an iteration.
func (b *board) step(iteration *cleavev1.Iteration) {
	b.update(func(p *cleavev1.Progress) {
		p.Iteration, p.Objective, p.Moved = iteration.GetIteration(), iteration.GetObjective(), iteration.GetMoved()
		p.Solver = nil // the start that it found is made
		if b.iterating.IsZero() {
			b.iterating = b.now()
			return
		}
		b.iterations++
	})
}

// solverStep counts a step of an eigensolver.
func (b *board) solverStep(step *cleavev1.SolverStep) {
	b.update(func(p *cleavev1.Progress) {
		p.Solver = step
		b.solver.tick(b.now(), step.StepsLeft)
	})
}

// tiles tells how far the building is.
func (b *board) tiles(workers, built, all int) {
	b.update(func(p *cleavev1.Progress) {
		p.Workers, p.TilesBuilt, p.Tiles = uint32(workers), uint32(built), uint32(all)
		switch {
		case built >= all:
			b.building = time.Time{}
		case b.building.IsZero():
			b.building, b.builtAtFirst = b.now(), uint32(built)
		}
	})
}

// read gives the progress as of now and its version.
func (b *board) read() (*cleavev1.Progress, uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now, p := b.now(), proto.CloneOf(b.progress)
	p.Elapsed = durationpb.New(now.Sub(b.began))
	if spent := now.Sub(b.iterating).Seconds(); !b.iterating.IsZero() && spent > 0 {
		p.IterationsPerSecond = float64(b.iterations) / spent
	}
	// When iterations converge cannot be told, but how long an eigensolver and the rest of the tiles take
	// can.
	switch {
	case p.GetPhase() == cleavev1.Phase_PHASE_BUILDING && !b.building.IsZero() && p.GetTilesBuilt() > b.builtAtFirst:
		perTile := now.Sub(b.building) / time.Duration(p.GetTilesBuilt()-b.builtAtFirst)
		p.TimeLeft = durationpb.New(perTile * time.Duration(p.GetTiles()-p.GetTilesBuilt()))
	case p.GetSolver() != nil && (p.GetPhase() == cleavev1.Phase_PHASE_INITIALIZING || p.GetPhase() == cleavev1.Phase_PHASE_ITERATING):
		if left, known := b.solver.left(now); known {
			p.TimeLeft = durationpb.New(left)
		}
	}
	return p, b.version
}
