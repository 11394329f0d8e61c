package inference

import (
	"math"
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/numeric/choose"
)

// Each move of ICM lowers the energy, from any labels, until no single move would.
func TestICMMovesLowerTheEnergy(t *testing.T) {
	rng := newRand(1)
	moves := 0
	for range 300 {
		p := randomProblem(rng, 2+rng.IntN(8), 1+rng.IntN(4), rng.IntN(25))
		g := wholeGraph(p)
		labels := make([]int32, p.points())
		for i := range labels {
			labels[i] = int32(rng.IntN(p.k))
		}
		cost := make([]float64, p.k)
		for range 40 {
			before := p.energyOf(labels)
			if g.improve(int32(rng.IntN(p.points())), labels, cost) {
				moves++
				if p.energyOf(labels) >= before {
					t.Fatalf("a move took the energy from %.17g to %.17g", before, p.energyOf(labels))
				}
			}
		}
		if _, err := (&solver{ctx: t.Context(), rng: rng}).icm(g, labels); err != nil {
			t.Fatal(err)
		}
		rest := p.energyOf(labels)
		for i := range labels {
			kept := labels[i]
			for label := range int32(p.k) {
				if labels[i] = label; p.energyOf(labels) < rest-1e-12 {
					t.Fatalf("point %d would gain %g by label %d", i, rest-p.energyOf(labels), label)
				}
			}
			labels[i] = kept
		}
	}
	if moves < 100 {
		t.Errorf("only %d moves", moves)
	}
}

// Among equal labels a point keeps its own; without a label it takes the lowest; if no neighbor has a label, the
// cheapest.
func TestICMTies(t *testing.T) {
	p := &terms{k: 3, unary: []float64{1, 1, 1, 0, 2, 2}, pairs: []Pair{{0, 1, false, 1}}}
	for _, c := range []struct{ current, want []int32 }{
		{[]int32{2, 0}, []int32{2, 0}},
		{[]int32{1, -1}, []int32{1, 0}},
		{[]int32{0, 0}, []int32{1, 0}},
	} {
		if r := solve(t, ICM, p, c.current, 1); !slices.Equal(r.Labels, c.want) {
			t.Errorf("from %v to %v, want %v", c.current, r.Labels, c.want)
		}
	}
}

// The graph has the energy of the problem, and its parts together have it too.
func TestPartsKeepTheEnergy(t *testing.T) {
	rng := newRand(2)
	for range 300 {
		p := randomProblem(rng, 1+rng.IntN(12), 1+rng.IntN(4), rng.IntN(12))
		labels := make([]int32, p.points())
		for i := range labels {
			labels[i] = int32(rng.IntN(p.k))
		}
		seen, total := 0, 0.0
		for _, part := range split(wholeGraph(p)) {
			seen += part.size()
			total += part.energy(choose.At(labels, part.points))
		}
		if seen != p.points() || !near(total, p.energyOf(labels)) {
			t.Fatalf("%d of %d points with energy %g, want %g", seen, p.points(), total, p.energyOf(labels))
		}
	}
}

// Reducing a component keeps its least energy, and an optimum of the rest extends to one of the whole.
func TestReductionKeepsTheLeastEnergy(t *testing.T) {
	rng := newRand(3)
	left := 0
	for range 600 {
		p := randomProblem(rng, 2+rng.IntN(6), 2+rng.IntN(3), 3+rng.IntN(20))
		least := bruteForce(p)
		g := wholeGraph(p)
		r := reduced(t, g, randomLabels(rng, p))
		labels := make([]int32, p.points())
		total := r.constant
		for _, piece := range r.pieces() {
			left++
			best, energy := optimumOf(piece)
			total += energy
			for at, i := range piece.points {
				labels[i] = best[at]
			}
		}
		r.extend(labels)
		if !near(total, least) || !near(p.energyOf(labels), least) {
			t.Fatalf("reduced %g, extended %g, least %g", total, p.energyOf(labels), least)
		}
	}
	if left < 50 {
		t.Errorf("only %d pieces were left", left)
	}
}

func optimumOf(g *graph) (best []int32, least float64) {
	least = math.Inf(1)
	for labels := range eachLabeling(g.size(), g.k) {
		if energy := g.energy(labels); energy < least {
			best = slices.Clone(labels)
			least = energy
		}
	}
	return best, least
}

// The ascent's bound never exceeds the least energy and never falls; the tightened costs are not negative, and add up
// to the energy of any labeling.
func TestAscentTightens(t *testing.T) {
	rng := newRand(4)
	for range 200 {
		p := distinctPairs(rng, 3+rng.IntN(4), 2+rng.IntN(3), 0.8)
		g := wholeGraph(p)
		least := bruteForce(p)
		a, err := ascend(t.Context(), g, make([]int32, p.points()), 0)
		if err != nil {
			t.Fatal(err)
		}
		if a.bound > least+1e-9 || !near(a.energy, g.energy(a.labels)) {
			t.Fatalf("bound %g, least energy %g", a.bound, least)
		}
		tight := a.tighten()
		if tight.bound < a.bound-1e-9 {
			t.Fatalf("the bound falls from %g to %g", a.bound, tight.bound)
		}
		for range 20 {
			labels := make([]int32, p.points())
			total := tight.bound
			for i := range labels {
				labels[i] = int32(rng.IntN(p.k))
			}
			for i, label := range labels {
				cost := tight.point[i*p.k+int(label)]
				for e := g.start[i]; e < g.start[i+1]; e++ {
					if j := g.to[e]; int(j) > i {
						own := tight.edge[e*p.k+int(label)]
						other := tight.edge[tight.reverse[e]*p.k+int(labels[j])]
						onEdge := own + other + penalty(g.weight[e], label, labels[j])
						if onEdge < -1e-9 {
							t.Fatalf("an edge costs %g", onEdge)
						}
						cost += onEdge
					}
				}
				if cost < -1e-9 {
					t.Fatalf("a point costs %g", cost)
				}
				total += cost
			}
			if !near(total, p.energyOf(labels)) {
				t.Fatalf("tightened %g, energy %g", total, p.energyOf(labels))
			}
		}
	}
}

// In floating point 0.1 + 0.2 is not 0.3, but that is no reason to move.
func TestRoundingMovesNothing(t *testing.T) {
	p := &terms{k: 2, unary: []float64{0, 0, 0, 9, 0, 9, 9, 0}, pairs: []Pair{
		{0, 1, true, 0.1}, {0, 2, true, 0.2}, {0, 3, true, 0.3}}}
	for label := range int32(2) {
		current := []int32{label, 0, 0, 1}
		for _, engine := range engines {
			if r := solve(t, engine, p, current, 1); !slices.Equal(r.Labels, current) {
				t.Errorf("%v moved from %v to %v", engine, current, r.Labels)
			}
		}
	}
}
