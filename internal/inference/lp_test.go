package inference

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/cleave-project/cleave/internal/numeric/elementary"
)

// distinctPairs draws a problem in which any two points have at most one pair.
func distinctPairs(rng *rand.Rand, points, k int, density float64) *terms {
	p := randomProblem(rng, points, k, 0)
	strength := math.Pow(10, 3*rng.Float64()-1)
	must := rng.Float64()
	for i := range int32(points) {
		for j := range i {
			if rng.Float64() < density {
				p.pairs = append(p.pairs, Pair{i, j, rng.Float64() < must, strength * (0.1 + rng.Float64())})
			}
		}
	}
	return p
}

// The value is the optimum that an independent solver finds for Bilenko2004 (8)-(15) as printed. It is below the least
// energy, which is below the energy of the rounded labels.
func TestRelaxationAgainstSimplex(t *testing.T) {
	rng := newRand(2)
	fractional := 0
	for range 250 {
		points := 3 + rng.IntN(4)
		k := 2 + rng.IntN(2)
		p := distinctPairs(rng, points, k, 0.4+0.6*rng.Float64())
		want := literalRelaxation(t, p)
		least := bruteForce(p)
		r := solve(t, LP, p, randomLabels(rng, p), 3)
		if len(r.Fallbacks) > 0 {
			t.Fatalf("fell back: %+v", r.Fallbacks)
		}
		if math.Abs(r.LPValue-want) > 1e-8*(1+math.Abs(want)) {
			t.Fatalf("value %.12g, the simplex method finds %.12g", r.LPValue, want)
		}
		if r.LPValue > least+1e-9*(1+math.Abs(least)) || r.Energy < least-1e-9 {
			t.Fatalf("%g <= %g <= %g does not hold", r.LPValue, least, r.Energy)
		}
		if want < least-1e-6 {
			fractional++
		}
	}
	if fractional < 20 {
		t.Errorf("only %d problems have a fractional optimum", fractional)
	}
}

// The interior-point method alone, without the ascent and the reductions, which often suffice.
func TestInteriorPointAgainstSimplex(t *testing.T) {
	rng := newRand(3)
	for range 250 {
		points := 2 + rng.IntN(5)
		k := 2 + rng.IntN(2)
		p := distinctPairs(rng, points, k, 0.3+0.7*rng.Float64())
		if len(p.pairs) == 0 {
			continue
		}
		want := literalRelaxation(t, p)
		optimum, x := interiorPoint(t, wholeGraph(p))
		got := x.constant + x.scale*optimum.bound
		if math.Abs(got-want) > 1e-8*(1+math.Abs(want)) {
			t.Fatalf("bound %.12g after %d steps, the simplex method finds %.12g", got, optimum.steps, want)
		}
		if optimum.steps > 40 {
			t.Errorf("%d steps", optimum.steps)
		}
	}
}

// Reductions do not change the optimum of the relaxation, even where points lose some of their labels.
func TestReductionKeepsTheRelaxation(t *testing.T) {
	rng := newRand(5)
	partial := 0
	for range 300 {
		p := distinctPairs(rng, 4+rng.IntN(3), 4, 0.8)
		want := literalRelaxation(t, p)
		r := reduced(t, wholeGraph(p), randomLabels(rng, p))
		got := r.constant
		for _, piece := range r.pieces() {
			optimum, x := interiorPoint(t, piece)
			got += x.constant + x.scale*optimum.bound
			if len(x.cost) < len(piece.unary) {
				partial++
			}
		}
		if math.Abs(got-want) > 1e-8*(1+math.Abs(want)) {
			t.Fatalf("reduced %.12g, whole %.12g", got, want)
		}
	}
	if partial < 30 {
		t.Errorf("only %d pieces have points that lost labels", partial)
	}
}

func interiorPoint(t *testing.T, g *graph) (solution, *relaxation) {
	t.Helper()
	x := relax(g)
	width := make([]int32, x.points())
	for i := range width {
		width[i] = x.first[i+1] - x.first[i] - 1
	}
	e, ok, _ := minimumDegree(t.Context(), g, width, math.Inf(1), math.Inf(1))
	if !ok {
		t.Fatal("over a limit that is infinite")
	}
	optimum, err := newInterior(x, e, width).run(t.Context(), e.work, math.Inf(1))
	if err != nil {
		t.Fatal(err)
	}
	return optimum, x
}

// With must-links alone and two labels the relaxation is a minimum cut, and so integral.
func TestMustLinksOfTwoLabelsAreIntegral(t *testing.T) {
	rng := newRand(4)
	for range 50 {
		p := distinctPairs(rng, 8, 2, 0.5)
		for at := range p.pairs {
			p.pairs[at].MustLink = true
		}
		r := solve(t, LP, p, randomLabels(rng, p), 1)
		if least := bruteForce(p); !near(r.LPValue, least) || !near(r.Energy, least) {
			t.Fatalf("value %g, energy %g, least %g", r.LPValue, r.Energy, least)
		}
	}
}

// With cannot-links and no preferences, shares of 1/k violate nothing, so that the value is 0, although a clique of
// k + 1 points must violate one pair.
func TestTiesAtOneOverK(t *testing.T) {
	p := &terms{k: 3, unary: make([]float64, 4*3)}
	for i := range int32(4) {
		for j := range i {
			p.pairs = append(p.pairs, Pair{i, j, false, 1})
		}
	}
	r := solve(t, LP, p, []int32{0, 0, 0, 0}, 1)
	if math.Abs(r.LPValue) > 1e-7 || r.Energy != 1 || r.Exact {
		t.Errorf("value %g, energy %g, exact %v; want 0, 1, false", r.LPValue, r.Energy, r.Exact)
	}
}

// A component that takes more work than allowed goes to BP, and the value is still a bound.
func TestRelaxationOverTheWorkLimit(t *testing.T) {
	p, current := midSized()
	full := solve(t, LP, p, current, 3)
	cut := solve(t, LP, p, current, 3, limits{lpWork: 1000})
	if len(full.Fallbacks) != 0 {
		t.Errorf("the whole work: %+v", full.Fallbacks)
	}
	if len(cut.Fallbacks) != 1 || cut.Fallbacks[0].Cause != OverWorkLimit {
		t.Errorf("little work: %+v", cut.Fallbacks)
	}
	if cut.LPValue > full.LPValue*(1+1e-8) || full.LPValue > full.Energy || cut.Energy > p.energyOf(current) {
		t.Errorf("values %g and %g, energies %g and %g", cut.LPValue, full.LPValue, cut.Energy, full.Energy)
	}
}

// The solver handles costs of very different magnitudes.
func TestRelaxationOfUnevenCosts(t *testing.T) {
	rng := newRand(6)
	for range 300 {
		p := distinctPairs(rng, 6, 3, 0.7)
		for at := range p.pairs {
			p.pairs[at].Cost *= math.Pow(10, float64(rng.IntN(13)-6))
		}
		least := bruteForce(p)
		r := solve(t, LP, p, randomLabels(rng, p), 1)
		if r.LPValue > least+1e-7*(1+math.Abs(least)) {
			t.Fatalf("value %g is above the least energy %g", r.LPValue, least)
		}
		if len(r.Fallbacks) > 0 {
			t.Fatalf("fell back: %+v", r.Fallbacks)
		}
	}
}

// Kleinberg and Tardos: a point takes a label with the probability of its share.
func TestRoundingFollowsTheShares(t *testing.T) {
	x := &relaxation{first: []int32{0, 3}, label: []int32{0, 1, 3}}
	y := []float64{0.2, 0.5, 0.3}
	rng := newRand(8)
	var count [4]float64
	const draws = 20_000
	for range draws {
		count[x.round(y, 4, rng)[0]]++
	}
	for v, label := range x.label {
		if got := count[label] / draws; math.Abs(got-y[v]) > 0.02 {
			t.Errorf("label %d was drawn with frequency %g, its share is %g", label, got, y[v])
		}
	}
}

// The sparse factor solves as accurately as dense elimination: the residual is at the level of rounding.
func TestBlockCholesky(t *testing.T) {
	rng := newRand(9)
	for range 50 {
		p := distinctPairs(rng, 2+rng.IntN(30), 2, 0.2*rng.Float64())
		g := wholeGraph(p)
		width := make([]int32, g.size())
		offset := make([]int32, g.size())
		n := int32(0)
		for i := range width {
			width[i] = 1 + int32(rng.IntN(4))
			offset[i] = n
			n += width[i]
		}
		e, _, _ := minimumDegree(t.Context(), g, width, math.Inf(1), math.Inf(1))
		c := newBlockCholesky(e, width)
		dense := make([][]float64, n)
		for row := range dense {
			dense[row] = make([]float64, n)
		}
		set := func(i, j int32, fill func(row, col int32) float64) {
			entry, stride, transposed := c.block(i, j)
			for row := range width[i] {
				for col := range width[j] {
					value := fill(row, col)
					dense[offset[i]+row][offset[j]+col], dense[offset[j]+col][offset[i]+row] = value, value
					if transposed {
						entry[int(col)*stride+int(row)] = value
					} else {
						entry[int(row)*stride+int(col)] = value
					}
				}
			}
		}
		for i := range int32(g.size()) {
			set(i, i, func(row, col int32) float64 {
				if row == col {
					return 200
				}
				return 1
			})
			for at := g.start[i]; at < g.start[i+1]; at++ {
				if g.to[at] > i {
					set(i, g.to[at], func(int32, int32) float64 { return rng.NormFloat64() })
				}
			}
		}
		if err := c.factor(t.Context()); err != nil {
			t.Fatal(err)
		}
		b := make([]float64, n)
		for at := range b {
			b[at] = rng.NormFloat64()
		}
		solved := append([]float64(nil), b...)
		c.solve(solved, offset)
		for row := range b {
			if residual := b[row] - elementary.Dot(dense[row], solved); math.Abs(residual) > 1e-12 {
				t.Fatalf("residual %g in row %d", residual, row)
			}
		}
	}
}
