package metric

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Two features, computed by hand, with the ranges (2, 4). Under A = I the must-links are 5 and 1 apart, so that
// a_max is 5 and the first is at its floor. The far cannot-link, 9 apart, is at its cap.
func TestUpdateByHand(t *testing.T) {
	origin := []float64{0, 0}
	links := []Link{
		{MustLink: true, Weight: 3, X: []float64{1, 2}, Y: origin, Violated: true},
		{MustLink: true, Weight: 2, X: []float64{1, 0}, Y: origin, Violated: true},
		{Weight: 4, X: []float64{1, 1}, Y: origin, Violated: true},
		{Weight: 5, X: []float64{0, 3}, Y: origin, Violated: true},
		{Weight: 100, X: []float64{1, 1}, Y: origin},
	}
	for penalty, inverse := range map[PenaltyKind][]float64{
		Potts:       {10, 20},
		Basu2003:    {10 - 2*1 + 4*1, 20 + 4*1},                                           // 3.3, with M* and C*
		Bilenko2004: {10 + 3*1 + 2*1 + 4*(4-1) + 5*(4-0), 20 + 3*4 + 4*(16-1) + 5*(16-9)}, // (6)
	} {
		old, err := NewUnit(Diagonal, 2)
		if err != nil {
			t.Fatal(err)
		}
		step := &Step{PenaltyKind: penalty, Scatter: []float64{10, 20}, Links: links, Ranges: []float64{2, 4}}
		got, err := step.propose(t.Context(), old)
		if err != nil || got.Kept != 0 || got.Floored != 0 {
			t.Fatalf("%s: %+v, %v", penalty, got, err)
		}
		for i, b := range inverse {
			if got.Metric.Values()[i] != 1/b {
				t.Errorf("%s: feature %d has weight 1/%g, want 1/%g", penalty, i, 1/got.Metric.Values()[i], b)
			}
		}
	}
}

// surrogate is the part of J that the update minimizes: a_max, and which links are at their floor or cap, are as
// under the old metric.
func (p *problem) surrogate(a, old [][]float64) float64 {
	j := -naiveLogDet(a)
	for i, row := range p.rows {
		j += naiveDistance(a, row, p.means[p.labels[i]])
	}
	var must, all []float64
	for _, l := range p.step.Links {
		all = append(all, naiveDistance(old, l.X, l.Y))
		if l.MustLink {
			must = append(must, naiveDistance(old, l.X, l.Y))
		}
	}
	if len(must) < 2 {
		must = all
	}
	phiMax := 0.0
	for i := range a {
		for k := range a {
			phiMax += math.Abs(a[i][k]) * p.step.Ranges[i] * p.step.Ranges[k]
		}
	}
	for at, l := range p.step.Links {
		phi := naiveDistance(a, l.X, l.Y)
		switch {
		case !l.Violated:
		case p.step.PenaltyKind == Basu2003 && all[at] < slices.Max(must)*(1-1e-12):
			if l.MustLink {
				phi = -phi
			}
			j += l.Weight * phi
		case p.step.PenaltyKind == Bilenko2004 && l.MustLink:
			j += l.Weight * phi
		case p.step.PenaltyKind == Bilenko2004:
			j += l.Weight * (phiMax - phi)
		}
	}
	return j
}

// Basu2003, appendix A: the derivative of J with respect to A vanishes at the new metric.
func TestProposalIsAStationaryPoint(t *testing.T) {
	everyKind(t, func(t *testing.T, form Form, penalty PenaltyKind) {
		rng := rand.New(rand.NewPCG(13, uint64(form)))
		checked := 0
		for range 300 {
			d := 1 + rng.IntN(3)
			p := randomProblem(rng, form, penalty, 20+rng.IntN(20), d, rng.IntN(12))
			oldMetric := randomMetric(t, rng, form, d)
			proposal, err := p.step.propose(t.Context(), oldMetric)
			if err != nil {
				t.Fatal(err)
			}
			old := matrixOf(oldMetric)
			a := matrixOf(proposal.Metric)
			if proposal.Kept+proposal.Floored > 0 || !sameSigns(old, a) {
				continue
			}
			checked++
			for i := range d {
				for j := range i + 1 {
					if form == Diagonal && i != j {
						continue
					}
					// A derivative has the unit 1/A, so that times a unit of A it is a pure number.
					unit := math.Sqrt(a[i][i] * a[j][j])
					h := 1e-5 * min(unit, math.Abs(a[i][j]))
					at := func(change float64) float64 {
						moved := make([][]float64, d)
						for r := range moved {
							moved[r] = slices.Clone(a[r])
						}
						moved[i][j] += change
						if i != j {
							moved[j][i] += change
						}
						return p.surrogate(moved, old)
					}
					if slope := (at(h) - at(-h)) / (2 * h) * unit; math.Abs(slope) > 1e-4 {
						t.Fatalf("the derivative by A(%d,%d) is %g", i, j, slope)
					}
				}
			}
			if before, after := p.surrogate(old, old), p.surrogate(a, old); after > before+1e-9*math.Abs(before) {
				t.Fatalf("the stationary point is no minimum: %g, was %g", after, before)
			}
		}
		if checked < 50 {
			t.Errorf("only %d problems were fit to be checked", checked)
		}
	})
}

// sameSigns tells whether no entry changes its sign, where phi_max has a kink and so no derivative.
func sameSigns(a, b [][]float64) bool {
	for i := range a {
		for j := range a {
			if a[i][j]*b[i][j] < 0 || math.Abs(b[i][j]) < 1e-3*math.Sqrt(b[i][i]*b[j][j]) && i != j && a[i][j] != 0 {
				return false
			}
		}
	}
	return true
}

// J, computed from the points, never rises, and A stays positive definite within the floor: over hundreds of
// problems, most of them with violations that outweigh the scatter, some with fewer points than features, and
// some with features that do not vary, or vary a million times more than others.
func TestUpdateNeverRaisesTheObjective(t *testing.T) {
	everyKind(t, func(t *testing.T, form Form, penalty PenaltyKind) {
		rng := rand.New(rand.NewPCG(17, uint64(penalty)))
		kept, floored, halved, fell := 0, 0, 0, 0
		for range 250 {
			d := 1 + rng.IntN(5)
			p := randomProblem(rng, form, penalty, 2+rng.IntN(20), d, rng.IntN(30))
			switch rng.IntN(4) {
			case 0:
				p.reshape(form, rng.IntN(d), flat)
			case 1:
				p.reshape(form, rng.IntN(d), func(v float64) float64 { return 1e6 * v })
			}
			m := randomMetric(t, rng, form, d)
			before := p.naive(m)
			for range 4 {
				outcome, err := p.step.Update(t.Context(), m)
				if err != nil {
					t.Fatal(err)
				}
				m = outcome.Metric
				after := p.naive(m)
				for _, c := range [][2]float64{
					{outcome.Parts.Distortion, after.Distortion}, {outcome.Parts.LogDet, after.LogDet},
					{outcome.Parts.MustLink, after.MustLink}, {outcome.Parts.CannotLink, after.CannotLink},
				} {
					if math.Abs(c[0]-c[1]) > 1e-6*(1+math.Abs(c[1])) {
						t.Fatalf("parts %+v, from the points %+v", outcome.Parts, after)
					}
				}
				size := math.Abs(before.Distortion) + math.Abs(before.LogDet) + before.MustLink + before.CannotLink
				if after.Total() > before.Total()+1e-9*size {
					t.Fatalf("J rose from %g to %g after %d halvings", before.Total(), after.Total(), outcome.Halvings)
				}
				if spread := spreadOf(t, m); !(spread <= 1/floor*(1+1e-3)) {
					t.Fatalf("the spread is %g", spread)
				}
				kept, floored = kept+outcome.Kept, floored+outcome.Floored
				if outcome.Halvings > 0 {
					halved++
				}
				if after.Total() < before.Total() {
					fell++
				}
				before = after
			}
		}
		t.Logf("%d kept, %d floored, %d halved, %d fell of 1000", kept, floored, halved, fell)
		if fell < 150 || kept == 0 || floored == 0 {
			t.Errorf("J fell in %d of 1000 updates with %d values kept and %d floored: these problems test little",
				fell, kept, floored)
		}
	})
}

func TestDegenerateDataKeepsTheMetricPositive(t *testing.T) {
	everyKind(t, func(t *testing.T, form Form, penalty PenaltyKind) {
		rng := rand.New(rand.NewPCG(19, 20))
		for name, c := range map[string]struct{ n, d, constant, kept int }{
			"a constant feature":          {30, 4, 1, 1},
			"only constant features":      {30, 2, 2, 2},
			"fewer points than features":  {3, 9, 0, 0},
			"a single point is its mean":  {1, 3, 0, 3},
			"constants and too few, both": {2, 6, 3, 3},
		} {
			p := randomProblem(rng, form, penalty, c.n, c.d, 0)
			for feature := range c.constant {
				p.reshape(form, feature, flat)
			}
			old := randomMetric(t, rng, form, c.d)
			outcome, err := p.step.Update(t.Context(), old)
			if err != nil {
				t.Fatal(err)
			}
			if form == Full && c.n <= c.d {
				c.kept = max(c.kept, c.d-c.n+1) // the rank of a scatter is below n
			}
			if outcome.Kept < c.kept {
				t.Errorf("%s: %d values kept, want at least %d", name, outcome.Kept, c.kept)
			}
			if spread := spreadOf(t, outcome.Metric); !(spread < math.Inf(1)) {
				t.Errorf("%s: the spread is %g", name, spread)
			}
			for feature := range c.constant {
				if form == Diagonal && outcome.Halvings == 0 && outcome.Floored == 0 &&
					outcome.Metric.Values()[feature] != old.Values()[feature] {
					t.Errorf("%s: the weight of feature %d changed", name, feature)
				}
			}
		}
	})
}

// An eigenvalue that is not positive is replaced by v'A_old v, and the others are not touched.
func TestKeptEigenvalue(t *testing.T) {
	old, err := NewFull(2, []float64{2, 1, 1, 3})
	if err != nil {
		t.Fatal(err)
	}
	// B = 4 uu' - 1 vv' with u = (1, 1)/sqrt 2 and v = (1, -1)/sqrt 2.
	step := &Step{PenaltyKind: Potts, Scatter: []float64{1.5, 2.5, 2.5, 1.5}}
	got, err := step.propose(t.Context(), old)
	if err != nil || got.Kept != 1 || got.Floored != 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	kept := (2.0 - 2 + 3) / 2 // v'A_old v
	for i, want := range []float64{0.125 + kept/2, 0.125 - kept/2, 0.125 - kept/2, 0.125 + kept/2} {
		if !near(got.Metric.Values()[i], want, 1) {
			t.Errorf("got %v", got.Metric.Values())
		}
	}
}

// What rounding leaves of the difference of two equal numbers does not count as positive: its inverse would
// dominate everything else.
func TestRoundingIsNotPositive(t *testing.T) {
	old, err := NewUnit(Diagonal, 2)
	if err != nil {
		t.Fatal(err)
	}
	tenth, fifth := 0.1, 0.2
	links := []Link{
		{MustLink: true, Weight: 0.3, X: []float64{1, 0}, Y: []float64{0, 0}, Violated: true},
		{MustLink: true, Weight: 1, X: []float64{2, 0}, Y: []float64{0, 0}}, // a_max is 4
	}
	step := &Step{PenaltyKind: Basu2003, Scatter: []float64{tenth + fifth, 2}, Links: links}
	if inverse, _, _ := step.inverse(t.Context(), old); !(inverse[0] > 0) {
		t.Fatalf("0.1 + 0.2 - 0.3 is %g: nothing is tested", inverse[0])
	}
	got, err := step.propose(t.Context(), old)
	if err != nil || got.Kept != 1 || !slices.Equal(got.Metric.Values(), []float64{1, 0.5}) {
		t.Errorf("%+v %v, %v", got, got.Metric.Values(), err)
	}
}

func TestSmallValuesAreRaisedToTheFloor(t *testing.T) {
	old, err := NewUnit(Diagonal, 3)
	if err != nil {
		t.Fatal(err)
	}
	got, err := (&Step{PenaltyKind: Potts, Scatter: []float64{1, 1e8, 1e12}}).propose(t.Context(), old)
	if err != nil || got.Floored != 1 || got.Kept != 0 || !slices.Equal(got.Metric.Values(), []float64{1, 1e-8, 1e-9}) {
		t.Errorf("%+v %v, %v", got, got.Metric.Values(), err)
	}
	full, err := NewUnit(Full, 2)
	if err != nil {
		t.Fatal(err)
	}
	got, err = (&Step{PenaltyKind: Potts, Scatter: []float64{1, 0, 0, 1e12}}).propose(t.Context(), full)
	if err != nil || got.Floored != 1 || !slices.Equal(got.Metric.Values(), []float64{1, 0, 0, 1e-9}) {
		t.Errorf("%+v %v, %v", got, got.Metric.Values(), err)
	}
}

// Nothing is learned from sums that overflowed.
func TestUpdateWithoutNumbersKeepsTheMetric(t *testing.T) {
	for _, form := range []Form{Diagonal, Full} {
		old, err := NewUnit(form, 2)
		if err != nil {
			t.Fatal(err)
		}
		scatter := make([]float64, form.Size(2))
		for i := range scatter {
			scatter[i] = math.NaN()
		}
		got, err := (&Step{PenaltyKind: Potts, Scatter: scatter}).propose(t.Context(), old)
		if err != nil || got.Kept != 2 || !slices.Equal(got.Metric.Values(), old.Values()) {
			t.Errorf("%s: %+v, %v", form, got, err)
		}
	}
}

func TestUpdateChecksItsInput(t *testing.T) {
	full, err := NewUnit(Full, 2)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (&Step{PenaltyKind: Potts, Scatter: []float64{1, 2}}).Update(t.Context(), full); err == nil {
		t.Error("a diagonal scatter was taken for a full one")
	}
	link := Link{Weight: 1, X: []float64{0, 0}, Y: []float64{1, 1}, Violated: true}
	if _, err := (&Step{PenaltyKind: Bilenko2004, Scatter: make([]float64, 4), Links: []Link{link}}).Update(t.Context(),
		full); err == nil {
		t.Error("missing ranges were not noticed")
	}
	same := NewIdentity(2)
	outcome, err := (&Step{PenaltyKind: Potts, Scatter: []float64{1, 2}}).Update(t.Context(), same)
	if err != nil || outcome.Metric != same || outcome.Parts.Total() != 3 {
		t.Errorf("identity: %+v, %v", outcome, err)
	}
}

func TestImproveHalvesTowardTheOldMetric(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	for _, form := range []Form{Diagonal, Full} {
		old := randomMetric(t, rng, form, 3)
		proposed := randomMetric(t, rng, form, 3)
		for halvings := range 21 {
			calls := 0
			m, got, _ := improve(t.Context(), old, proposed, func(*Metric) float64 {
				calls++
				if calls == 1 || calls == halvings+2 { // of the old metric, and at last of a good one
					return 1
				}
				return 2
			})
			if got != halvings || calls != halvings+2 {
				t.Fatalf("%d halvings, %d calls, want %d halvings", got, calls, halvings)
			}
			for i, v := range m.Values() {
				want := old.Values()[i] + math.Pow(2, -float64(halvings))*(proposed.Values()[i]-old.Values()[i])
				if !near(v, want, 1) {
					t.Fatalf("after %d halvings: %g, want %g", halvings, v, want)
				}
			}
		}
		calls := 0
		m, _, _ := improve(t.Context(), old, proposed, func(m *Metric) float64 {
			calls++
			if m == old {
				return 0
			}
			return math.NaN()
		})
		if m != old || calls != 22 {
			t.Errorf("%s: after %d calls without luck the old metric did not stay", form, calls)
		}
	}
}

// A scatter so small that its inverse could not be used in products with data leaves the metric as it is.
func TestTinyScatterKeepsTheMetric(t *testing.T) {
	for _, form := range []Form{Diagonal, Full} {
		old, err := NewUnit(form, 2)
		if err != nil {
			t.Fatal(err)
		}
		scatter := make([]float64, form.Size(2))
		scatter[0], scatter[form.onDiagonal(2, 1)] = 1e-200, 1e-200
		outcome, err := (&Step{PenaltyKind: Potts, Scatter: scatter}).Update(t.Context(), old)
		if err != nil || outcome.Kept != 2 || outcome.Metric != old || outcome.Parts != (Parts{Distortion: 2e-200}) {
			t.Errorf("%v: %+v, %v", form, outcome, err)
		}
	}
}
