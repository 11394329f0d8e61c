package kernelkmeans

import (
	"context"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/catalog"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/kernel"
)

// Local search. Steps that move all points simultaneously get stuck when every point is in its nearest cluster, even if
// moving one point would lower J, because its own weight draws the mean toward it. So once such steps have ended,
// chains of single moves follow (chain.go), which also overcome small rises. Every chain that lowers J is kept up to
// its lowest point and counts as an iteration; steps of all points follow it as long as they lower J too.

// phase is what the next iteration of a run does.
//
//	phase         iteration                                    next phase
//	moveAll       a step of all points                         moveAll; followChain once such steps have ended
//	followChain   a chain from the best labeling               afterChain if J falls, otherwise the run stops
//	afterChain    a step of all points, undone if J rises      afterChain if J falls, otherwise followChain at once
//
// Steps of all points have ended if they would stop a run without local search, or found nothing better for a while.
type phase uint8

const (
	moveAll phase = iota
	followChain
	afterChain
)

// localSearchByShape is the value of Options.LocalSearch that lets n and k decide.
const localSearchByShape = -1

// chainLength returns the maximum number of moves of a chain, 0 if there is no local search.
func (p *Problem) chainLength() int {
	if p.options.LocalSearch != localSearchByShape {
		return p.options.LocalSearch
	}
	limit := catalog.MaxDenseSearch
	if p.Matrix.Function == kernel.Adjacency {
		limit = catalog.MaxGraphSearch
	}
	if p.n*p.spec.K > limit {
		return 0
	}
	return catalog.SearchLength
}

// candidatesPerMove is the number of candidates per possible move of a chain.
const candidatesPerMove = 4

// Candidates returns how many points a chain chooses its moves from, 0 if there is no local search.
func (p *Problem) Candidates() int {
	return min(p.n, candidatesPerMove*p.chainLength(), kernel.MaxBlock)
}

// stepsWithoutGain is the number of steps without a better labeling after which local search continues from the best
// one.
const stepsWithoutGain = 10

// Step runs one iteration. If it fails halfway, it returns to the labels before, so that the labels of a canceled run
// match its history.
func (m *method) Step(ctx context.Context) (clustering.Report, error) {
	before := m.now.clone()
	report, err := m.iterate(ctx, before)
	if err != nil {
		m.now = before
	}
	return report, err
}

// iterate makes a step of all points until these end, then local search.
func (m *method) iterate(ctx context.Context, before assignment) (clustering.Report, error) {
	if m.phase != moveAll {
		return m.search(before)
	}
	report, err := m.stepOfAll(ctx, before)
	if err != nil || m.p.chainLength() == 0 || report.Stop == clustering.StopTolerance {
		return report, err
	}
	if report.Stop != 0 {
		m.phase, m.finalStop, report.Stop = followChain, report.Stop, 0
	} else if m.best != nil && m.iteration-m.bestAt >= stepsWithoutGain {
		m.phase, m.finalStop = followChain, clustering.StopConverged
	}
	return report, nil
}

// search runs one iteration of local search from the best labeling so far. It stops for the reason that steps of all
// points ended or, once it has found an improvement, because it has converged.
func (m *method) search(before assignment) (clustering.Report, error) {
	if m.best != nil {
		if back := difference(m.now.labels, m.best.labels); len(back) > 0 {
			if err := m.apply(back); err != nil {
				return clustering.Report{}, err
			}
			before = m.now.clone()
		}
	}
	if m.phase == afterChain {
		if err := m.batch(); err != nil {
			return clustering.Report{}, err
		}
		moves := difference(before.labels, m.now.labels)
		if m.falls(before, m.matrix.value(m.now)) {
			return m.accept(before, len(moves)), nil
		}
		m.phase = followChain
		if len(moves) > 0 {
			if err := m.apply(reversed(moves)); err != nil {
				return clustering.Report{}, err
			}
		}
	}
	moves, value, err := m.findChain()
	if err != nil {
		return clustering.Report{}, err
	}
	if !m.falls(before, value) {
		return clustering.Report{Stop: m.finalStop}, nil
	}
	slices.SortFunc(moves, func(a, b labeling.Move) int { return int(a.Point) - int(b.Point) })
	if err := m.apply(moves); err != nil {
		return clustering.Report{}, err
	}
	m.phase, m.finalStop = afterChain, clustering.StopConverged
	return m.accept(before, len(moves)), nil
}

// falls reports whether J falls from that of a labeling to a value by more than rounding.
func (m *method) falls(from assignment, to float64) bool {
	return m.matrix.value(from)-to > m.riseTolerance()
}

// accept counts an iteration and reports it. It is the last if J has not fallen by more than the tolerance.
func (m *method) accept(before assignment, moved int) clustering.Report {
	m.iteration++
	m.keepBest()
	report := clustering.Report{Entry: &clustering.HistoryEntry{Iteration: m.iteration,
		Objective: m.matrix.objective(m.now), Moved: moved}}
	if from := m.matrix.value(before); m.p.spec.Tolerance > 0 &&
		from-m.matrix.value(m.now) <= m.p.spec.Tolerance*math.Abs(from) {
		report.Stop = clustering.StopTolerance
	}
	return report
}
