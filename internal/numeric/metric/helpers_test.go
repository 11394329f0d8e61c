package metric

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// The naive side of the tests: every matrix is full, and every formula is as printed in the papers.

// near tells whether two numbers agree to about nine digits of a scale.
func near(a, b, scale float64) bool { return math.Abs(a-b) <= 1e-9*(1+math.Abs(scale)) }

func matrixOf(m *Metric) [][]float64 {
	a := make([][]float64, m.d)
	for i := range a {
		a[i] = make([]float64, m.d)
		switch m.Form() {
		case Identity:
			a[i][i] = 1
		case Diagonal:
			a[i][i] = m.Values()[i]
		case Full:
			copy(a[i], m.Values()[i*m.d:])
		}
	}
	return a
}

// toCentroid returns D(x, mu) for a prepared row and a centroid.
func toCentroid(m Measure, x, mu []float64) float64 {
	if m.Distortion == KL || m.Distortion == IDivergence {
		return divergence(m.Distortion, x, mu)
	}
	return m.Between(x, mu)
}

func naiveDistance(a [][]float64, x, y []float64) float64 {
	sum := 0.0
	for i := range a {
		for j := range a {
			sum += (x[i] - y[i]) * a[i][j] * (x[j] - y[j])
		}
	}
	return sum
}

// naiveLogDet is the sum of the logarithms of the pivots of Gaussian elimination.
func naiveLogDet(a [][]float64) float64 {
	lu := make([][]float64, len(a))
	for i := range a {
		lu[i] = slices.Clone(a[i])
	}
	sum := 0.0
	for c := range lu {
		best := c
		for r := c; r < len(lu); r++ {
			if math.Abs(lu[r][c]) > math.Abs(lu[best][c]) {
				best = r
			}
		}
		lu[c], lu[best] = lu[best], lu[c]
		sum += math.Log(math.Abs(lu[c][c]))
		for r := c + 1; r < len(lu); r++ {
			by := lu[r][c] / lu[c][c]
			for k := range lu {
				lu[r][k] -= by * lu[c][k]
			}
		}
	}
	return sum
}

// randomMetric draws a positive definite metric with eigenvalues around 1.
func randomMetric(t testing.TB, rng *rand.Rand, form Form, d int) *Metric {
	t.Helper()
	var m *Metric
	var err error
	switch form {
	case Identity:
		return NewIdentity(d)
	case Diagonal:
		weights := make([]float64, d)
		for i := range weights {
			weights[i] = math.Exp(rng.NormFloat64())
		}
		m, err = NewDiagonal(weights)
	case Full:
		values := make([]float64, d*d)
		zero := make([]float64, d)
		for i := range d {
			values[i*d+i] = 0.1
		}
		for range d + 1 {
			Full.addOuter(values, 1/float64(d), randomRow(rng, d), zero)
		}
		m, err = NewFull(d, values)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func randomRow(rng *rand.Rand, d int) []float64 {
	row := make([]float64, d)
	for i := range row {
		row[i] = rng.NormFloat64()
	}
	return row
}

// problem is a clustering with constraints, and the step that updates its metric.
type problem struct {
	d      int
	rows   [][]float64
	labels []int
	means  [][]float64
	step   *Step
}

// randomProblem draws n points, labels that do not depend on them, and links between random pairs.
func randomProblem(rng *rand.Rand, form Form, penalty PenaltyKind, n, d, links int) *problem {
	k := 1 + rng.IntN(3)
	p := &problem{d: d, means: make([][]float64, k), step: &Step{PenaltyKind: penalty}}
	scales := randomRow(rng, d)
	for range n {
		row := randomRow(rng, d)
		for i := range row {
			row[i] *= math.Exp(scales[i])
		}
		p.rows, p.labels = append(p.rows, row), append(p.labels, rng.IntN(k))
	}
	for range links {
		i := rng.IntN(n)
		j := rng.IntN(n)
		if i == j {
			continue
		}
		mustLink := rng.IntN(2) == 0
		p.step.Links = append(p.step.Links, Link{
			MustLink: mustLink, Weight: math.Exp(rng.NormFloat64()), X: p.rows[i], Y: p.rows[j],
			Violated: (p.labels[i] == p.labels[j]) == !mustLink,
		})
	}
	p.sum(form)
	return p
}

// sum computes means, scatter and ranges from the rows.
func (p *problem) sum(form Form) {
	counts := make([]float64, len(p.means))
	for h := range p.means {
		p.means[h] = make([]float64, p.d)
	}
	for i, row := range p.rows {
		counts[p.labels[i]]++
		for c, v := range row {
			p.means[p.labels[i]][c] += v
		}
	}
	for h, mean := range p.means {
		for c := range mean {
			mean[c] /= max(1, counts[h])
		}
	}
	p.step.Scatter = make([]float64, form.Size(p.d))
	p.step.Ranges = make([]float64, p.d)
	for i, row := range p.rows {
		form.addOuter(p.step.Scatter, 1, row, p.means[p.labels[i]])
	}
	for c := range p.d {
		smallest := math.Inf(1)
		largest := math.Inf(-1)
		for _, row := range p.rows {
			smallest, largest = min(smallest, row[c]), max(largest, row[c])
		}
		p.step.Ranges[c] = largest - smallest
	}
}

// reshape changes one feature of every row, and so of the links, which share the rows.
func (p *problem) reshape(form Form, feature int, change func(float64) float64) {
	for _, row := range p.rows {
		row[feature] = change(row[feature])
	}
	p.sum(form)
}

// flat replaces every value by the same one.
func flat(float64) float64 { return 3 }

// naive is J as section 2.4 of Basu2003 and (6) of Bilenko2004 print it, point by point and pair by
// pair.
func (p *problem) naive(m *Metric) Parts {
	a := matrixOf(m)
	parts := Parts{LogDet: naiveLogDet(a)}
	for i, row := range p.rows {
		parts.Distortion += naiveDistance(a, row, p.means[p.labels[i]])
	}
	phiMax := 0.0
	for i := range a {
		for j := range a {
			phiMax += math.Abs(a[i][j]) * p.step.Ranges[i] * p.step.Ranges[j]
		}
	}
	var must, all []float64
	for _, l := range p.step.Links {
		all = append(all, naiveDistance(a, l.X, l.Y))
		if l.MustLink {
			must = append(must, naiveDistance(a, l.X, l.Y))
		}
	}
	aMax := 0.0
	if len(must) >= 2 {
		aMax = slices.Max(must)
	} else if len(all) > 0 {
		aMax = slices.Max(all)
	}
	for at, l := range p.step.Links {
		phi := all[at]
		costs := map[PenaltyKind][2]float64{
			Potts:       {l.Weight, l.Weight},
			Basu2003:    {l.Weight * math.Max(0, aMax-phi), l.Weight * math.Min(phi, aMax)},
			Bilenko2004: {l.Weight * phi, l.Weight * (phiMax - phi)},
		}[p.step.PenaltyKind]
		if l.Violated && l.MustLink {
			parts.MustLink += costs[0]
		} else if l.Violated {
			parts.CannotLink += costs[1]
		}
	}
	return parts
}

// everyKind calls a test for each kind of penalty and each form that can be learned.
func everyKind(t *testing.T, call func(t *testing.T, form Form, penalty PenaltyKind)) {
	for _, form := range []Form{Diagonal, Full} {
		for _, penalty := range []PenaltyKind{Potts, Basu2003, Bilenko2004} {
			t.Run(form.String()+"/"+penalty.String(), func(t *testing.T) { call(t, form, penalty) })
		}
	}
}
