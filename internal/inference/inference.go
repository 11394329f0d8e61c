// Package inference assigns constrained points to clusters jointly: the E-step of HMRF-KMeans
// (Bilenko2004 3). It knows nothing of points or metrics, only of an energy
//
//	E(l) = sum_i unary[i][l_i] + sum over must-links m_ij [l_i != l_j]
//	                           + sum over cannot-links c_ij [l_i = l_j]
//
// with costs that the caller has weighted already. Finding the least energy is NP-hard, so there are
// four engines: ICM descends greedily, BP passes messages, LP rounds the linear relaxation and bounds
// the energy from below, Exact searches. All work on one connected component of the constraints at a
// time, and none ever returns more energy than the labels it was given.
//
// The last three first reduce a component (reduce.go): labels that cannot be optimal go, points with
// one label left are folded into their neighbors, and leaves send their message inwards. What is left
// without a cycle is solved exactly on the way, whatever the engine. The same input and seed give the
// same bits.
package inference

import (
	"context"
	"math/rand/v2"
)

// Problem is an energy over the labels 0..K-1 of m points.
type Problem struct {
	K     int
	Unary []float64 // m x K, row by row: what each point pays for each label
	Pairs []Pair
}

// Pair is one constraint: a must-link costs Cost when its points differ, a cannot-link when they
// agree. Several pairs on the same two points add up, and one that costs 0 binds nothing.
type Pair struct {
	I, J     int32
	MustLink bool
	Cost     float64
}

// Points is the number of points m.
func (p *Problem) Points() int { return len(p.Unary) / max(p.K, 1) }

// Energy is E(labels), summed over the points, then over the pairs, in their order. Every point needs
// a label.
func (p *Problem) Energy(labels []int32) float64 {
	total := 0.0
	for i, label := range labels {
		total += p.Unary[i*p.K+int(label)]
	}
	for _, pair := range p.Pairs {
		if (labels[pair.I] == labels[pair.J]) != pair.MustLink {
			total += pair.Cost
		}
	}
	return total
}

// Engine is a way to find labels of low energy.
type Engine uint8

// The engines, from the fastest to the most thorough.
const (
	ICM   Engine = iota + 1 // iterated conditional modes: greedy, from the current labels
	BP                      // max-product belief propagation: exact where no cycle is left
	LP                      // linear relaxation with Kleinberg-Tardos rounding, and a lower bound
	Exact                   // branch and bound
)

func (e Engine) String() string {
	switch e {
	case ICM:
		return "icm"
	case BP:
		return "bp"
	case LP:
		return "lp"
	case Exact:
		return "exact"
	}
	return "unknown"
}

// Options are the limits of the engines, in counts of work rather than time so that the answer does
// not depend on the machine. A field of 0 takes its default.
type Options struct {
	BPRounds    int     // rounds of messages on a cycle: 100
	Roundings   int     // Kleinberg-Tardos roundings of a relaxation, of which the best counts: 50
	LPWork      float64 // multiplications that one relaxation may take: 2e11, about a minute
	SearchNodes int     // nodes that one exact search may visit: 2,000,000, some seconds
}

func (o Options) withDefaults() Options {
	if o.BPRounds == 0 {
		o.BPRounds = 100
	}
	if o.Roundings == 0 {
		o.Roundings = 50
	}
	if o.LPWork == 0 {
		o.LPWork = 2e11
	}
	if o.SearchNodes == 0 {
		o.SearchNodes = 2_000_000
	}
	return o
}

// Result is a labeling and what is known of it.
type Result struct {
	Labels []int32
	Energy float64
	Exact  bool // no labeling has less energy: to rounding, or for LP to 1e-9 of the energy
	Rounds int  // the most rounds of any component: passes, rounds of messages or interior-point steps
	// LPValue is set by LP alone: a lower bound of every labeling's energy. It is the optimum of the
	// relaxation where no component fell back, and something less otherwise.
	LPValue   float64
	Used      Usage
	Fallbacks []Fallback
}

// Usage counts components by what found their labels.
type Usage struct {
	Unconstrained int // points without a constraint that binds: their cheapest label
	Reduced       int // solved exactly by the reductions: trees, for one
	ICM           int // ICM, also where another engine was asked for and did worse
	BP            int
	LP            int
	Exact         int
}

// Fallback says that part of a component was too much for the engine and was left to BP, or to
// what the engine had found until then where that was better.
type Fallback struct {
	Engine Engine // the engine that gave up
	Point  int32  // the lowest point of the component
	Points int    // how many points of it were left to BP
	Cause  Cause
}

// Cause says why an engine gave up.
type Cause string

// The causes.
const (
	OverWorkLimit  Cause = "over the work limit" // LP: Options.LPWork, or the memory that goes with it
	OverNodeLimit  Cause = "over the node limit" // Exact: Options.SearchNodes
	LostToRounding Cause = "precision ran out"   // LP: the relaxation stalled short of its optimum
)

// Solve finds labels of low energy. The current labels are where ICM starts and what the answer is
// measured against; -1 means none. Equal energies keep the current label, so that a caller that
// repeats the step comes to rest.
func Solve(ctx context.Context, engine Engine, p *Problem, current []int32, rng *rand.Rand, o Options) (Result, error) {
	if err := check(engine, p, current, o); err != nil {
		return Result{}, err
	}
	s := &solver{ctx: ctx, engine: engine, rng: rng, options: o.withDefaults()}
	s.result.Labels = make([]int32, len(current))
	s.result.Exact = true
	for _, g := range split(wholeGraph(p)) {
		if err := ctx.Err(); err != nil {
			return Result{}, err
		}
		labels, err := s.solveComponent(g, pick(current, g.points))
		if err != nil {
			return Result{}, err
		}
		for at, point := range g.points {
			s.result.Labels[point] = labels[at]
		}
	}
	s.result.Energy = p.Energy(s.result.Labels)
	if engine == LP {
		s.result.LPValue = s.bound
	}
	s.keepCurrent(p, current)
	return s.result, nil
}

// keepCurrent returns to the current labels where all gains are below the rounding of the total.
func (s *solver) keepCurrent(p *Problem, current []int32) {
	for _, label := range current {
		if label < 0 {
			return
		}
	}
	if before := p.Energy(current); before < s.result.Energy {
		copy(s.result.Labels, current)
		s.result.Energy = before
	}
}

func pick(from, at []int32) []int32 {
	picked := make([]int32, len(at))
	for to, i := range at {
		picked[to] = from[i]
	}
	return picked
}
