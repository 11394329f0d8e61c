package inference

import (
	"cmp"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// randomProblem draws pairs of both kinds, some of the same two points, some with cost 0. Half of the time the unary
// costs are on a coarse grid, so that there are ties.
func randomProblem(rng *rand.Rand, points, k, pairs int) *terms {
	grid := rng.IntN(2) == 0
	strength := []float64{0.3, 1, 3}[rng.IntN(3)]
	draw := func(scale float64) float64 {
		if grid {
			return float64(rng.IntN(4)) * scale
		}
		return rng.Float64() * scale
	}
	p := &terms{k: k, unary: make([]float64, points*k)}
	for at := range p.unary {
		p.unary[at] = draw(1) - 0.5
	}
	for range pairs {
		i := int32(rng.IntN(points))
		j := int32(rng.IntN(points))
		if i != j {
			p.pairs = append(p.pairs, Pair{i, j, rng.IntN(2) == 0, draw(strength)})
		}
	}
	return p
}

// randomForest gives each point at most one neighbor with a lower number, with several pairs for some.
func randomForest(rng *rand.Rand, points, k int) *terms {
	p := randomProblem(rng, points, k, 0)
	for i := 1; i < points; i++ {
		j := int32(rng.IntN(i))
		for range rng.IntN(3) {
			p.pairs = append(p.pairs, Pair{int32(i), j, rng.IntN(2) == 0, float64(rng.IntN(3)) * 0.5})
		}
	}
	return p
}

func randomLabels(rng *rand.Rand, p *terms) []int32 {
	labels := make([]int32, p.points())
	for i := range labels {
		labels[i] = int32(rng.IntN(p.k+1)) - 1
	}
	return labels
}

// eachLabeling calls a function with every labeling, in a slice that is reused.
func eachLabeling(points, k int) iter.Seq[[]int32] {
	return func(yield func([]int32) bool) {
		labels := make([]int32, points)
		for yield(labels) {
			at := 0
			for ; at < points; at++ {
				if labels[at]++; int(labels[at]) < k {
					break
				}
				labels[at] = 0
			}
			if at == points {
				return
			}
		}
	}
}

// bruteForce returns the least energy of all labelings.
func bruteForce(p *terms) float64 {
	best := math.Inf(1)
	for labels := range eachLabeling(p.points(), p.k) {
		best = min(best, p.energyOf(labels))
	}
	return best
}

// optimaOf returns all labelings of least energy, up to rounding.
func optimaOf(p *terms) [][]int32 {
	var optima [][]int32
	least := bruteForce(p)
	for labels := range eachLabeling(p.points(), p.k) {
		if p.energyOf(labels) <= least+1e-15 {
			optima = append(optima, slices.Clone(labels))
		}
	}
	return optima
}

// solve solves an energy. Limits that are 0 are the default ones.
func solve(t testing.TB, engine Engine, p *terms, current []int32, seed uint64, o ...limits) Result {
	t.Helper()
	e := NewEnergy(p.k, p.pairs)
	for _, o := range o {
		e.limits = limits{
			bpRounds: cmp.Or(o.bpRounds, e.limits.bpRounds), roundings: cmp.Or(o.roundings, e.limits.roundings),
			lpWork: cmp.Or(o.lpWork, e.limits.lpWork), searchNodes: cmp.Or(o.searchNodes, e.limits.searchNodes),
			messages: cmp.Or(o.messages, e.limits.messages),
		}
	}
	r, err := e.Solve(t.Context(), engine, p.unary, current, newRand(seed))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func reduced(t testing.TB, g *graph, prefer []int32) *reduction {
	t.Helper()
	r, err := reduce(t.Context(), g, prefer)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func near(a, b float64) bool {
	return math.Abs(a-b) <= 1e-9*(1+math.Abs(a)+math.Abs(b))
}

func complete(labels []int32) bool {
	for _, label := range labels {
		if label < 0 {
			return false
		}
	}
	return true
}
