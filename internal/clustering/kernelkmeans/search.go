package kernelkmeans

import (
	"context"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/kernel"
)

// Local search. A step that moves all points at once gets stuck where every point is in its nearest cluster, though
// moving one would lower J: its own weight draws a mean towards it. So once such steps have ended, chains of single moves
// follow (chain.go), which also get over small rises. Every chain that lowers J is kept up to its lowest point and is an
// iteration; after it steps of all points follow, as long as they lower J too.

// LocalSearchByShape is the option where nobody says how long chains are.
const LocalSearchByShape = -1

// The default: chains of this length, where a problem has at most so many sums S_ic.
const (
	defaultChain  = 20
	maxSearchSums = 1 << 20
)

// chainLength is how many moves a chain has at most; 0: there is no local search.
func (p *Problem) chainLength() int {
	switch length := p.options.LocalSearch; {
	case length != LocalSearchByShape:
		return length
	case p.n*p.spec.K <= maxSearchSums:
		return defaultChain
	}
	return 0
}

// Step is one iteration: a step of all points until these end, then local search.
func (m *method) Step(ctx context.Context) (clustering.Report, error) {
	if m.ended != 0 {
		return m.search(ctx)
	}
	report, err := m.stepOfAll(ctx)
	if report.Stop != 0 && report.Stop != clustering.StopTolerance && m.p.chainLength() > 0 {
		m.ended, report.Stop = report.Stop, 0
	}
	return report, err
}

// search is one iteration of local search, from the best labeling so far. It stops for the reason that steps of all points
// had, or once it has found something because it has converged.
func (m *method) search(ctx context.Context) (clustering.Report, error) {
	before := m.labeling.clone()
	if m.best != nil {
		if back := difference(m.labels, m.best.labels); len(back) > 0 {
			if err := m.apply(ctx, back); err != nil {
				return clustering.Report{}, m.restoreAfter(err, before)
			}
			before = m.labeling.clone()
		}
	}
	if m.chained {
		if err := m.batch(ctx); err != nil {
			return clustering.Report{}, m.restoreAfter(err, before)
		}
		moves := difference(before.labels, m.labels)
		if m.falls(before, m.value(m.labeling)) {
			return m.accept(len(moves)), nil
		}
		m.chained = false
		if len(moves) > 0 {
			if err := m.apply(ctx, reversed(moves)); err != nil {
				return clustering.Report{}, m.restoreAfter(err, before)
			}
		}
	}
	moves, value, err := m.findChain(m.p.chainLength())
	if err != nil {
		return clustering.Report{}, err
	}
	if !m.falls(before, value) {
		return clustering.Report{Stop: m.ended}, nil
	}
	slices.SortFunc(moves, func(a, b kernel.Move) int { return int(a.Point) - int(b.Point) })
	if err := m.apply(ctx, moves); err != nil {
		return clustering.Report{}, err
	}
	m.chained, m.ended = true, clustering.StopConverged
	return m.accept(len(moves)), nil
}

// falls tells whether J falls from that of a labeling to a value by more than rounding.
func (m *method) falls(from labeling, to float64) bool {
	return m.value(from)-to > m.riseTolerance()
}

// accept counts an iteration and reports it.
func (m *method) accept(moved int) clustering.Report {
	m.keepBest()
	m.iteration++
	return clustering.Report{Entry: &clustering.HistoryEntry{Iteration: m.iteration, Objective: m.objective(m.labeling), Moved: moved}}
}
