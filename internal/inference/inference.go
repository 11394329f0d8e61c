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
// BP, LP and Exact first reduce a component (reduce.go): labels that cannot be optimal are removed, points with one
// label left are folded into their neighbors, and leaves send their message inward. This solves any part without a
// cycle exactly, with any engine. The same input and seed give the same bits.
package inference

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/cleave-project/cleave/internal/text"
)

// Pair is one constraint. A must-link costs Cost if the labels of its points differ, a cannot-link if they are equal.
// Several pairs of the same two points add up. A pair that costs 0 has no effect.
type Pair struct {
	I, J     int32
	MustLink bool
	Cost     float64
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
	return text.Name(e, "unknown", "icm", "bp", "lp", "exact")
}

// limits bounds the work of the engines. They count operations rather than time, so that the answer does not depend on
// the machine.
type limits struct {
	bpRounds    int     // rounds of messages in graphs with cycles
	roundings   int     // Kleinberg-Tardos roundings of a relaxation, of which the best counts
	lpWork      float64 // multiplications that one relaxation may take: about a minute
	searchNodes int     // nodes that one exact search may visit: some seconds
	messages    int     // float64 values in the messages of one piece (k per end of a pair); 1<<28 of them take 2 GiB
}

func defaultLimits() limits {
	return limits{bpRounds: 100, roundings: 50, lpWork: 2e11, searchNodes: 2_000_000, messages: 1 << 28}
}

// Result is a labeling and what is known about it.
type Result struct {
	Labels []int32
	Energy float64
	Exact  bool // Energy is the minimum, up to rounding, or for LP up to 1e-9 of the energy
	Rounds int  // the maximum over components of passes, rounds of messages, or interior-point steps
	// LPValue is set only by LP: a lower bound of every labeling's energy. It is the optimum of the relaxation if there
	// are no fallbacks, and lower otherwise.
	LPValue   float64
	Fallbacks []Fallback
}

// Fallback reports that the engine gave up on a part of a component. Its labels come from another engine, or from what
// the engine had found before it gave up if that is better.
type Fallback struct {
	Engine Engine // the engine that gave up
	To     Engine // BP, or ICM if there are too many messages
	Point  int32  // the lowest point of the component
	Points int    // how many points were left to the other engine
	Cause  Cause
}

// Cause is the reason why an engine gave up.
type Cause string

// The causes.
const (
	OverWorkLimit    Cause = "over the work limit"    // LP: the limit of multiplications or of memory
	OverNodeLimit    Cause = "over the node limit"    // Exact: the limit of visited nodes
	OverMessageLimit Cause = "over the message limit" // BP, LP and Exact: the limit of memory for messages
	LostToRounding   Cause = "precision ran out"      // LP: the relaxation stalled short of its optimum
)

// Energy is an energy over the labels 0..k-1 of some points. It may be solved repeatedly while only the unary costs
// change: the connected components of its pairs are found once. It is not safe for concurrent use.
type Energy struct {
	terms
	limits     limits
	components []*graph // nil until the first Solve
}

// terms holds the costs of an energy.
type terms struct {
	k     int
	unary []float64 // points x k, row by row: the cost of each label for each point
	pairs []Pair
}

// NewEnergy returns an energy over k labels with the given pairs, which the caller must not modify afterward.
func NewEnergy(k int, pairs []Pair) *Energy {
	return &Energy{terms: terms{k: k, pairs: pairs}, limits: defaultLimits()}
}

// MemoryBytes returns about what an Energy takes while it is solved, in addition to the unary costs. The graph takes
// 48 bytes for a point and 96 for a pair, as a whole and in components, which have a copy of the costs. Engines other
// than ICM take the most if all points are in one component: 5.5 copies to reduce it (the costs left, the weights of
// must-links and cannot-links, the answers of leaves, and the pieces, twice while they are divided), and for every
// label of a pair messages in both directions, twice for Exact, and for LP the terms of the relaxation while their
// list grows. The factor of LP, of up to 512 MiB, is not included.
func MemoryBytes(engine Engine, k, points, pairs int) int64 {
	costs := 8 * int64(points) * int64(k)
	bytes := costs + 48*int64(points) + 96*int64(pairs)
	if engine == ICM {
		return bytes
	}
	perLabel := [...]int64{BP: 16, LP: 16 + 56, Exact: 32}[engine]
	return bytes + costs/2*11 + perLabel*min(int64(pairs)*int64(k), int64(defaultLimits().messages)/2)
}

// points returns the number of points.
func (t *terms) points() int { return len(t.unary) / max(t.k, 1) }

// energyOf computes E(labels), summed over the points, then over the pairs, in their order. Every point must have a
// label.
func (t *terms) energyOf(labels []int32) float64 {
	total := 0.0
	for i, label := range labels {
		total += t.unary[i*t.k+int(label)]
	}
	for _, pair := range t.pairs {
		if (labels[pair.I] == labels[pair.J]) != pair.MustLink {
			total += pair.Cost
		}
	}
	return total
}

// Solve finds labels of low energy, given the unary costs: k for each point, point after point. ICM starts from the
// current labels, where -1 means no label. The result is never worse than the current labels, and keeps them if its
// energy is equal, so that repeated calls converge. Solve returns an error if a cost is not finite, a pair's cost is
// negative, or ctx is done.
//
// The caller must pass one of the engines, the same number of points in every call, and a current label of -1 to k-1
// for each of them. Pairs must join two different points.
func (e *Energy) Solve(ctx context.Context, engine Engine, unary []float64, current []int32,
	rng *rand.Rand) (Result, error) {
	e.unary = unary
	if err := e.check(); err != nil {
		return Result{}, err
	}
	if e.components == nil {
		e.components = split(wholeGraph(&e.terms))
	} else {
		for _, g := range e.components {
			for i, point := range g.points {
				copy(g.row(int32(i)), e.unary[int(point)*e.k:])
			}
		}
	}
	s := &solver{ctx: ctx, engine: engine, rng: rng, limits: e.limits}
	s.result.Labels = make([]int32, len(current))
	s.result.Exact = true
	for _, g := range e.components {
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
		for i, point := range g.points {
			s.result.Labels[point] = labels[i]
		}
	}
	s.result.Energy = e.energyOf(s.result.Labels)
	if engine == LP {
		s.result.LPValue = s.bound
	}
	s.keepCurrent(&e.terms, current)
	return s.result, nil
}

// keepCurrent restores the current labels if their total energy is lower, which only rounding can cause.
func (s *solver) keepCurrent(t *terms, current []int32) {
	if slices.ContainsFunc(current, func(label int32) bool { return label < 0 }) {
		return
	}
	if before := t.energyOf(current); before < s.result.Energy {
		copy(s.result.Labels, current)
		s.result.Energy = before
	}
}
