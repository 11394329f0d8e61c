package inference

import (
	"context"
	"errors"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/refusal"
)

var engines = []Engine{ICM, BP, LP, Exact}

// Every engine on hundreds of tiny problems, against the least energy of all labelings.
func TestEnginesAgainstBruteForce(t *testing.T) {
	rng := newRand(1)
	optimal, loopy := map[Engine]int{}, 0
	for range 1500 {
		k := 1 + rng.IntN(4)
		points := 1 + rng.IntN(7)
		p := randomProblem(rng, points, k, rng.IntN(3*points))
		current := randomLabels(rng, p)
		least := bruteForce(p)
		isLoopy := !solve(t, BP, p, current, 1).Exact
		if isLoopy {
			loopy++
		}
		for _, engine := range engines {
			r := solve(t, engine, p, current, 7)
			checkResult(t, engine, p, current, r, least)
			if isLoopy && near(r.Energy, least) {
				optimal[engine]++
			}
		}
	}
	for _, engine := range engines {
		t.Logf("%v finds the optimum of %.1f%% of %d loopy problems", engine,
			100*float64(optimal[engine])/float64(loopy), loopy)
	}
	if !(optimal[ICM] < optimal[BP] && optimal[BP] < optimal[Exact] && optimal[LP] <= optimal[Exact]) {
		t.Errorf("optima found: %v", optimal)
	}
}

func checkResult(t *testing.T, engine Engine, p *terms, current []int32, r Result, least float64) {
	t.Helper()
	switch {
	case r.Energy != p.energyOf(r.Labels):
		t.Fatalf("%v: energy %g, but the labels have %g", engine, r.Energy, p.energyOf(r.Labels))
	case r.Energy < least-1e-12:
		t.Fatalf("%v: energy %g is below the least %g", engine, r.Energy, least)
	case complete(current) && r.Energy > p.energyOf(current):
		t.Fatalf("%v: energy %g, above %g of the current labels", engine, r.Energy, p.energyOf(current))
	case r.Exact && !near(r.Energy, least):
		t.Fatalf("%v: energy %.17g is said to be exact, the least is %.17g", engine, r.Energy, least)
	case engine == Exact && !r.Exact:
		t.Fatalf("exact is not: %+v", r)
	case len(r.Fallbacks) > 0:
		t.Fatalf("%v fell back: %+v", engine, r.Fallbacks)
	case engine == LP && r.LPValue > least+1e-7*(1+math.Abs(least)):
		t.Fatalf("the LP's value %.12g is above the least energy %.12g", r.LPValue, least)
	case engine == LP && r.Exact && !near(r.LPValue, least):
		t.Fatalf("the LP is exact with value %.12g, the least energy is %.12g", r.LPValue, least)
	case engine != LP && r.LPValue != 0:
		t.Fatalf("%v has an LP value", engine)
	}
}

// Max-product is exact on forests, ties and parallel pairs included, and so is the relaxation.
func TestForestsAreExact(t *testing.T) {
	rng := newRand(2)
	for range 500 {
		p := randomForest(rng, 1+rng.IntN(8), 1+rng.IntN(4))
		current := randomLabels(rng, p)
		least := bruteForce(p)
		for _, g := range split(wholeGraph(p)) {
			if left := reduced(t, g, slices.Repeat([]int32{-1}, g.size())).pieces(); len(left) > 0 {
				t.Fatalf("%d pieces of a tree are left", len(left))
			}
		}
		for _, engine := range []Engine{BP, LP, Exact} {
			r := solve(t, engine, p, current, 1)
			if !r.Exact || !near(r.Energy, least) {
				t.Fatalf("%v: energy %g, least %g, %+v", engine, r.Energy, least, r)
			}
			if engine == LP && !near(r.LPValue, least) {
				t.Fatalf("value %g of a forest, least energy %g", r.LPValue, least)
			}
		}
	}
}

// Evidence at one end reaches the other end of a chain of 100,000 must-links.
func TestLongChain(t *testing.T) {
	const points = 100_000
	p := &terms{k: 3, unary: make([]float64, points*3)}
	p.unary[0], p.unary[1] = 0.5, 0.5 // the first point wants label 2
	for i := range int32(points - 1) {
		p.pairs = append(p.pairs, Pair{i, i + 1, true, 1})
	}
	current := make([]int32, points)
	for _, engine := range engines {
		r := solve(t, engine, p, current, 1)
		want := 0.0
		if engine == ICM {
			want = 0.5 // no single point gains by moving
		}
		if r.Energy != want || engine == LP && math.Abs(r.LPValue) > 1e-7 {
			t.Errorf("%v: energy %g, want %g; value %g", engine, r.Energy, want, r.LPValue)
		}
	}
}

// A long cycle has no leaf, but every engine still solves it quickly.
func TestLongCycle(t *testing.T) {
	const points = 5000
	rng := newRand(3)
	p := randomProblem(rng, points, 3, 0)
	for i := range int32(points) {
		p.pairs = append(p.pairs, Pair{i, (i + 1) % points, rng.IntN(2) == 0, 1 + rng.Float64()})
	}
	current := make([]int32, points)
	lp := solve(t, LP, p, current, 1)
	if len(lp.Fallbacks) > 0 || lp.LPValue > lp.Energy+1e-7 {
		t.Errorf("value %g, energy %g, %+v", lp.LPValue, lp.Energy, lp.Fallbacks)
	}
	for _, engine := range engines {
		if r := solve(t, engine, p, current, 1); r.Energy < lp.LPValue-1e-6 || r.Energy > p.energyOf(current) {
			t.Errorf("%v: energy %g, bound %g, current %g", engine, r.Energy, lp.LPValue, p.energyOf(current))
		}
	}
}

// The same seed gives the same bits, and the order of pairs and of their ends changes none.
func TestSameBits(t *testing.T) {
	p, current := midSized()
	p.pairs = append(p.pairs, p.pairs[:100]...)
	for at := range p.pairs[:50] {
		p.pairs[len(p.pairs)-1-at].MustLink = !p.pairs[len(p.pairs)-1-at].MustLink
		p.pairs[len(p.pairs)-1-at].Cost /= 3
	}
	shuffled := &terms{k: p.k, unary: p.unary, pairs: slices.Clone(p.pairs)}
	newRand(4).Shuffle(len(p.pairs), func(a, b int) {
		shuffled.pairs[a], shuffled.pairs[b] = shuffled.pairs[b], shuffled.pairs[a]
	})
	for at, pair := range shuffled.pairs[:200] {
		shuffled.pairs[at].I, shuffled.pairs[at].J = pair.J, pair.I
	}
	o := limits{searchNodes: 20_000}
	for _, engine := range engines {
		first := solve(t, engine, p, current, 3, o)
		if again := solve(t, engine, p, current, 3, o); !reflect.DeepEqual(first, again) {
			t.Errorf("%v: the same seed gave %+v, then %+v", engine, first, again)
		}
		other := solve(t, engine, shuffled, current, 3, o)
		if !slices.Equal(first.Labels, other.Labels) ||
			math.Float64bits(first.LPValue) != math.Float64bits(other.LPValue) {
			t.Errorf("%v: the order of the pairs gave energy %g instead of %g", engine, other.Energy, first.Energy)
		}
	}
}

// No engine moves away from labels of least energy to others of equal energy.
func TestSolvingAgainIsSolvingAnew(t *testing.T) {
	rng := newRand(31)
	for range 60 {
		p := randomProblem(rng, 2+rng.IntN(30), 1+rng.IntN(4), rng.IntN(40))
		for _, engine := range engines {
			repeated := NewEnergy(p.k, p.pairs)
			for seed := range uint64(4) {
				for at := range p.unary {
					p.unary[at] = rng.NormFloat64()
				}
				current := randomLabels(rng, p)
				want := solve(t, engine, p, current, seed)
				got, err := repeated.Solve(t.Context(), engine, p.unary, current, newRand(seed))
				if err != nil || !reflect.DeepEqual(got, want) {
					t.Fatalf("%v: solved again it is %+v, solved anew %+v (%v)", engine, got, want, err)
				}
			}
		}
	}
}

func TestOptimaStay(t *testing.T) {
	rng := newRand(5)
	several := 0
	for range 150 {
		p := randomProblem(rng, 1+rng.IntN(5), 1+rng.IntN(3), rng.IntN(15))
		optima := optimaOf(p)
		if len(optima) > 1 {
			several++
		}
		for _, optimum := range optima {
			for _, engine := range engines {
				if r := solve(t, engine, p, optimum, 1); !slices.Equal(r.Labels, optimum) {
					t.Fatalf("%v moved from %v to %v of energies %g and %g", engine, optimum, r.Labels,
						p.energyOf(optimum), r.Energy)
				}
			}
		}
	}
	if several < 20 {
		t.Errorf("only %d problems have several optima", several)
	}
}

// If BP does worse than ICM from the current labels, ICM's answer is used.
func TestWorseThanICM(t *testing.T) {
	rng := newRand(6)
	worse := 0
	for range 20 {
		p := distinctPairs(rng, 15, 3, 0.4)
		best := solve(t, Exact, p, randomLabels(rng, p), 1)
		r := solve(t, BP, p, best.Labels, 1, limits{bpRounds: 1})
		if !slices.Equal(r.Labels, best.Labels) {
			t.Fatalf("moved from energy %g to %g", best.Energy, r.Energy)
		}
		if alone := solve(t, BP, p, slices.Repeat([]int32{-1}, 15), 1,
			limits{bpRounds: 1}); alone.Energy > best.Energy {
			worse++
		}
	}
	if worse == 0 {
		t.Error("one round of BP was never worse")
	}
}

func TestExactOverTheNodeLimit(t *testing.T) {
	p, current := midSized()
	r := solve(t, Exact, p, current, 1, limits{searchNodes: 1000})
	if r.Exact || len(r.Fallbacks) != 1 || r.Fallbacks[0].Cause != OverNodeLimit {
		t.Errorf("exact %v, %+v", r.Exact, r.Fallbacks)
	}
	if bp := solve(t, BP, p, current, 1); r.Energy > bp.Energy {
		t.Errorf("energy %g, BP alone has %g", r.Energy, bp.Energy)
	}
}

// With more messages than the limit, every engine leaves its piece to ICM and says so, and the bound still holds.
func TestOverTheMessageLimit(t *testing.T) {
	p, current := midSized()
	icm := solve(t, ICM, p, current, 1)
	best := solve(t, BP, p, current, 1)
	for _, engine := range []Engine{BP, LP, Exact} {
		r := solve(t, engine, p, current, 1, limits{messages: 1})
		if r.Exact || r.Energy > icm.Energy || len(r.Fallbacks) != 1 || r.Fallbacks[0].Cause != OverMessageLimit ||
			r.Fallbacks[0].To != ICM {
			t.Errorf("%v: exact %v, energy %g (ICM %g), %+v", engine, r.Exact, r.Energy, icm.Energy, r.Fallbacks)
		}
		if engine == LP && (math.IsInf(r.LPValue, 0) || r.LPValue > best.Energy) {
			t.Errorf("the lower bound is %g, and an energy is %g", r.LPValue, best.Energy)
		}
	}
}

func solveTerms(ctx context.Context, engine Engine, p *terms, current []int32) (Result, error) {
	return NewEnergy(p.k, p.pairs).Solve(ctx, engine, p.unary, current, newRand(1))
}

// The reduction and the order of elimination look at the context themselves, because each may take seconds.
func TestCanceledWithinAStep(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p, current := midSized()
	g := wholeGraph(p)
	if _, err := reduce(ctx, g, current); !errors.Is(err, context.Canceled) {
		t.Errorf("the reduction ended with %v", err)
	}
	if _, _, err := minimumDegree(ctx, g, slices.Repeat([]int32{1}, g.size()), math.Inf(1),
		math.Inf(1)); !errors.Is(err, context.Canceled) {
		t.Errorf("the order ended with %v", err)
	}
}

func TestCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p, current := midSized()
	for _, engine := range engines {
		if _, err := solveTerms(ctx, engine, p, current); !errors.Is(err, context.Canceled) {
			t.Errorf("%v: error %v", engine, err)
		}
	}
}

// A pair that costs 0, and opposite pairs of equal cost, have no effect.
func TestPairsThatBindNothing(t *testing.T) {
	p := &terms{k: 2, unary: []float64{0, 1, 1, 0, 0, 1}, pairs: []Pair{
		{0, 1, true, 0}, {1, 2, false, 0}, {0, 2, true, 2}, {2, 0, false, 1.5}, {0, 2, false, 0.5}}}
	for _, engine := range engines {
		r := solve(t, engine, p, []int32{-1, -1, -1}, 1)
		if !slices.Equal(r.Labels, []int32{0, 1, 0}) || r.Energy != 2 || !r.Exact {
			t.Errorf("%v: %+v", engine, r)
		}
		if engine == LP && r.LPValue != 2 {
			t.Errorf("value %g, want 2", r.LPValue)
		}
	}
}

func TestBadCosts(t *testing.T) {
	for at, spoil := range []func(*terms){
		func(p *terms) { p.unary[1] = math.NaN() },
		func(p *terms) { p.unary[1] = math.Inf(-1) },
		func(p *terms) { p.unary[1], p.unary[0] = math.MaxFloat64, math.MaxFloat64 },
		func(p *terms) { p.pairs[0].Cost = -1 },
		func(p *terms) { p.pairs[0].Cost = math.NaN() },
		func(p *terms) { p.pairs[0].Cost = math.Inf(1) },
	} {
		p := &terms{k: 2, unary: []float64{0, 1, 1, 0}, pairs: []Pair{{0, 1, true, 1}}}
		spoil(p)
		for _, engine := range engines {
			if _, err := solveTerms(t.Context(), engine, p, []int32{0, 1}); !fault.Is(refusal.Of(err), "BAD_COST") {
				t.Errorf("case %d, %v: error %v, want BAD_COST", at, engine, err)
			}
		}
	}
}

func TestNothingToLabel(t *testing.T) {
	for _, engine := range engines {
		if r := solve(t, engine, &terms{k: 3}, nil, 1); len(r.Labels) != 0 || r.Energy != 0 || !r.Exact {
			t.Errorf("%v: %+v", engine, r)
		}
	}
}

// Points without constraints take their cheapest label; among equals their current one, or else the lowest.
func TestAlone(t *testing.T) {
	p := &terms{k: 3, unary: []float64{2, 1, 1, 2, 1, 1, 0, 5, 5}}
	for _, engine := range engines {
		r := solve(t, engine, p, []int32{2, -1, 1}, 1)
		if !slices.Equal(r.Labels, []int32{2, 1, 0}) {
			t.Errorf("%v: labels %v", engine, r.Labels)
		}
	}
}

// Any finite costs are allowed: huge, tiny, negative, all equal, or none at all.
func TestExtremeCosts(t *testing.T) {
	rng := newRand(6)
	for _, scale := range []float64{1e-300, 1e-30, 1, 1e30, 1e300} {
		for try := range 60 {
			p := randomProblem(rng, 5, 3, 12)
			for at := range p.unary {
				p.unary[at] *= scale * float64(try%3)
			}
			for at := range p.pairs {
				p.pairs[at].Cost *= scale * math.Pow(10, float64(rng.IntN(5)-4))
			}
			least := bruteForce(p)
			for _, engine := range engines {
				r := solve(t, engine, p, randomLabels(rng, p), 1)
				if r.Energy < least-1e-12*scale ||
					engine == Exact && math.Abs(r.Energy-least) > 1e-9*math.Abs(least)+1e-12*scale {
					t.Fatalf("scale %g, %v: energy %g, least %g", scale, engine, r.Energy, least)
				}
				if engine == LP && r.LPValue > least+1e-7*math.Abs(least)+1e-12*scale {
					t.Fatalf("scale %g: value %g, least %g", scale, r.LPValue, least)
				}
			}
		}
	}
}
