// Package inference assigns constrained points to clusters jointly: the E-step of HMRF-KMeans (Bilenko2004 3). It
// needs no coordinates or metrics, only an energy
//
//	E(l) = sum_i unary[i][l_i] + sum over must-links m_ij [l_i != l_j]
//	                           + sum over cannot-links c_ij [l_i = l_j]
//
// whose costs include all weights. Finding the least energy is NP-hard, so there are four engines: ICM descends
// greedily, BP passes messages, LP rounds the linear relaxation and bounds the energy from below, and Exact searches.
// Each works on one connected component of the constraints at a time, and never returns labels of more energy than the
// current ones.
//
// The last three first reduce a component (reduce.go): labels that cannot be optimal are removed, points with one
// label left are folded into their neighbors, and leaves send their message inward. This solves any part without a
// cycle exactly, with any engine. The same input and seed give the same bits.
package inference

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
)

// PairwiseEnergy is an energy over the labels 0..K-1 of m points.
type PairwiseEnergy struct {
	K     int
	Unary []float64 // m x K, row by row: the cost of each label for each point
	Pairs []Pair
}

// Pair is one constraint. A must-link costs Cost if the labels of its points differ, a cannot-link if they are equal.
// Several pairs of the same two points add up. A pair that costs 0 has no effect.
type Pair struct {
	I, J     int32
	MustLink bool
	Cost     float64
}

// Points returns the number of points m.
func (p *PairwiseEnergy) Points() int { return len(p.Unary) / max(p.K, 1) }

// Energy computes E(labels), summed over the points, then over the pairs, in their order. Every point must have a
// label.
func (p *PairwiseEnergy) Energy(labels []int32) float64 {
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

// Engine is an algorithm that finds labels of low energy.
type Engine uint8

// The engines, from the fastest to the most thorough.
const (
	ICM   Engine = iota + 1 // iterated conditional modes: greedy descent from the current labels
	BP                      // max-product belief propagation: exact where there are no cycles
	LP                      // linear relaxation with Kleinberg-Tardos rounding; also gives a lower bound
	Exact                   // branch and bound
)

func (e Engine) String() string {
	return [...]string{"unknown", "icm", "bp", "lp", "exact"}[e]
}

// Options limits the work of the engines. Limits count operations rather than time, so that the answer does not depend
// on the machine. A zero field means its default.
type Options struct {
	BPRounds    int     // rounds of messages in graphs with cycles; the default is 100
	Roundings   int     // Kleinberg-Tardos roundings of a relaxation, of which the best counts; the default is 50
	LPWork      float64 // multiplications that one relaxation may take; the default is 2e11, about a minute
	SearchNodes int     // nodes that one exact search may visit; the default is 2,000,000, some seconds
}

func (o Options) withDefaults() Options {
	return Options{
		BPRounds: cmp.Or(o.BPRounds, 100), Roundings: cmp.Or(o.Roundings, 50),
		LPWork: cmp.Or(o.LPWork, 2e11), SearchNodes: cmp.Or(o.SearchNodes, 2_000_000),
	}
}

// Result is a labeling and what is known about it.
type Result struct {
	Labels []int32
	Energy float64
	Exact  bool // Energy is the minimum, up to rounding, or for LP up to 1e-9 of the energy
	Rounds int  // the maximum over components of passes, rounds of messages, or interior-point steps
	// LPValue is set only by LP: a lower bound of every labeling's energy. It is the optimum of the relaxation if no
	// component fell back to BP, and lower otherwise.
	LPValue   float64
	Used      Usage
	Fallbacks []Fallback
}

// Usage counts components by how their labels were found.
type Usage struct {
	Unconstrained int // single points without a constraint of positive cost, which take their cheapest label
	Reduced       int // solved exactly by the reductions, as trees are
	ICM           int // by ICM, including components where the requested engine did worse
	BP            int
	LP            int
	Exact         int
}

// Fallback reports that the engine gave up on a part of a component. Its labels come from BP, or from what the engine
// had found before it gave up if that is better.
type Fallback struct {
	Engine Engine // the engine that gave up
	Point  int32  // the lowest point of the component
	Points int    // how many points were left to BP
	Cause  Cause
}

// Cause is the reason why an engine gave up.
type Cause string

// The causes.
const (
	OverWorkLimit  Cause = "over the work limit" // LP: Options.LPWork, or the limit of memory
	OverNodeLimit  Cause = "over the node limit" // Exact: Options.SearchNodes
	LostToRounding Cause = "precision ran out"   // LP: the relaxation stalled short of its optimum
)

// Solve finds labels of low energy. ICM starts from the current labels, where -1 means no label. The result is never
// worse than the current labels, and keeps them if its energy is equal, so that repeated calls converge. Solve returns
// an error if the input is invalid or ctx is done.
func Solve(ctx context.Context, engine Engine, p *PairwiseEnergy, current []int32, rng *rand.Rand, o Options) (Result, error) {
	return NewRepeated(p.K, p.Pairs).Solve(ctx, engine, p.Unary, current, rng, o)
}

// Repeated is an energy that is solved repeatedly while only the unary costs change. It finds the connected components
// of its pairs once. It is not safe for concurrent use.
type Repeated struct {
	energy     PairwiseEnergy
	points     int
	components []*graph // of the graph of `points` points; nil until the first Solve
}

// NewRepeated returns an energy with the given pairs, which the caller must not modify afterward.
func NewRepeated(k int, pairs []Pair) *Repeated {
	return &Repeated{energy: PairwiseEnergy{K: k, Pairs: pairs}}
}

// Solve is the function Solve with the given unary costs.
func (r *Repeated) Solve(ctx context.Context, engine Engine, unary []float64, current []int32, rng *rand.Rand, o Options) (Result, error) {
	p := &r.energy
	p.Unary = unary
	if err := check(engine, p, current, o); err != nil {
		return Result{}, err
	}
	if r.components == nil || r.points != p.Points() {
		r.points = p.Points()
		r.components = split(wholeGraph(p))
	} else {
		for _, g := range r.components {
			for at, point := range g.points {
				copy(g.row(int32(at)), p.Unary[int(point)*p.K:])
			}
		}
	}
	s := &solver{ctx: ctx, engine: engine, rng: rng, options: o.withDefaults()}
	s.result.Labels = make([]int32, len(current))
	s.result.Exact = true
	for _, g := range r.components {
		if err := ctx.Err(); err != nil {
			return Result{}, err
		}
		s.labels = s.labels[:0]
		for _, point := range g.points {
			s.labels = append(s.labels, current[point])
		}
		labels, err := s.solveComponent(g, s.labels)
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

// keepCurrent restores the current labels if their total energy is lower, which only rounding can cause.
func (s *solver) keepCurrent(p *PairwiseEnergy, current []int32) {
	if slices.ContainsFunc(current, func(label int32) bool { return label < 0 }) {
		return
	}
	if before := p.Energy(current); before < s.result.Energy {
		copy(s.result.Labels, current)
		s.result.Energy = before
	}
}
