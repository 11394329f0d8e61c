package inference

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/cleave-project/cleave/internal/numeric/choose"
)

// solver runs one engine on all components and collects the result. It serves a single call of Solve.
type solver struct {
	ctx    context.Context
	engine Engine
	rng    *rand.Rand
	limits limits
	result Result
	bound  float64 // LP: the sum of the components' bounds
	// Buffers that are reused from one component to the next.
	labels, order []int32
	cost          []float64
}

// outcome is the result of an engine for one piece of a reduced component.
type outcome struct {
	labels []int32
	bound  float64 // LP: no labeling of the piece costs less
	exact  bool
	rounds int
}

// solveComponent finds the labels of one connected component.
func (s *solver) solveComponent(g *graph, labels []int32) ([]int32, error) {
	if g.size() == 1 {
		labels[0] = cheapest(g.unary, labels[0])
		s.bound += g.constant + g.unary[labels[0]]
		return labels, nil
	}
	var current []int32
	if s.engine != ICM {
		current = slices.Clone(labels)
	}
	passes, err := s.icm(g, labels)
	if err != nil {
		return nil, err
	}
	if s.engine == ICM {
		s.result.Rounds = max(s.result.Rounds, passes)
		s.result.Exact = false
		return labels, nil
	}
	found, err := s.solveReduced(g, current)
	if err != nil {
		return nil, err
	}
	// If energies differ only by rounding, use ICM's labels, which stay close to the current ones.
	if g.energy(found) < g.energy(labels)-g.rounding() {
		return found, nil
	}
	return labels, nil
}

// solveReduced reduces a component, runs the engine on what is left, and polishes the result by ICM.
func (s *solver) solveReduced(g *graph, current []int32) ([]int32, error) {
	r, err := reduce(s.ctx, g, current)
	if err != nil {
		return nil, err
	}
	labels := make([]int32, g.size())
	exact := true
	bound := r.constant
	for _, piece := range r.pieces() {
		o, err := s.solvePiece(piece, choose.At(current, piece.points), g)
		if err != nil {
			return nil, err
		}
		for at, i := range piece.points {
			labels[i] = o.labels[at]
		}
		exact = exact && o.exact
		bound += o.bound
		s.result.Rounds = max(s.result.Rounds, o.rounds)
	}
	r.extend(labels)
	s.bound += bound
	s.result.Exact = s.result.Exact && exact
	if !exact {
		if _, err := s.icm(g, labels); err != nil {
			return nil, err
		}
	}
	return labels, nil
}

// solvePiece runs the engine on one piece, and BP if the engine gives up. A piece that has more messages than the limit
// is left to ICM, because all other engines pass messages.
func (s *solver) solvePiece(piece *graph, prefer []int32, component *graph) (outcome, error) {
	fallback := Fallback{Engine: s.engine, To: BP, Point: component.points[0], Points: piece.size()}
	if len(piece.to) > s.limits.messages/piece.k {
		fallback.To, fallback.Cause = ICM, OverMessageLimit
		s.result.Fallbacks = append(s.result.Fallbacks, fallback)
		return s.solveICM(piece, prefer)
	}
	var o outcome
	var err error
	switch s.engine {
	case LP:
		o, fallback.Cause, err = s.solveLP(piece, prefer)
	case Exact:
		o, fallback.Cause, err = s.solveExact(piece, prefer)
	default:
		return s.solveBP(piece, prefer)
	}
	if err != nil || fallback.Cause == "" {
		return o, err
	}
	s.result.Fallbacks = append(s.result.Fallbacks, fallback)
	fallen, err := s.solveBP(piece, prefer)
	if err != nil {
		return outcome{}, err
	}
	if o.labels != nil && piece.energy(o.labels) < piece.energy(fallen.labels) {
		fallen.labels = o.labels // the engine gave up, but its labels are better
	}
	fallen.bound = o.bound
	return fallen, nil
}

// solveICM runs ICM from the cheapest label of each point. Without the pairs, these cost no more than any labeling.
func (s *solver) solveICM(g *graph, prefer []int32) (outcome, error) {
	o := outcome{labels: make([]int32, g.size()), bound: g.constant}
	for i := range o.labels {
		row := g.row(int32(i))
		o.labels[i] = cheapest(row, prefer[i])
		o.bound += row[o.labels[i]]
	}
	var err error
	o.rounds, err = s.icm(g, o.labels)
	return o, err
}

// solveBP runs loopy BP and polishes its labels by ICM.
func (s *solver) solveBP(g *graph, prefer []int32) (outcome, error) {
	labels, rounds, err := loopyBP(s.ctx, g, prefer, s.limits.bpRounds)
	if err != nil {
		return outcome{}, err
	}
	_, err = s.icm(g, labels)
	return outcome{labels: labels, rounds: rounds}, err
}

// solveExact runs branch and bound, unless the ascent proves its own labels optimal.
func (s *solver) solveExact(g *graph, prefer []int32) (outcome, Cause, error) {
	a, err := ascend(s.ctx, g, prefer, 0)
	if err != nil {
		return outcome{}, "", err
	}
	o := outcome{labels: a.labels, exact: true, rounds: a.rounds}
	if a.solved() {
		return o, "", nil
	}
	propagated, err := s.solveBP(g, prefer)
	if err != nil {
		return outcome{}, "", err
	}
	if g.energy(propagated.labels) < a.energy {
		o.labels = propagated.labels
	}
	proved, err := branchAndBound(s.ctx, a.tighten(), o.labels, s.limits.searchNodes)
	if err != nil || proved {
		return o, "", err
	}
	return o, OverNodeLimit, nil
}
