package kernelkmeans

import (
	"math"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/kernel"
)

// reference is the naive O(n^2 k) implementation that the fast one is compared with: plain float64
// matrices, no tiles, no grid, no deltas.
type reference struct {
	n, k    int
	m       [][]float64 // M, without shift
	a       []float64
	sigma   float64
	keep    bool
	labels  []int32
	reports func(association, diagonal float64, clusters int) float64
}

// newReference builds M and a straight from Kulis2009 Table 3.
func newReference(data dataset.Dataset, spec clustering.Spec, rho float64) *reference {
	n := data.Rows()
	o := optionsOf(spec)
	objective := o.Objective
	if objective == ObjectiveDefault {
		objective = ObjectiveKernelKmeans
		if data.Kind() == dataset.KindGraph {
			objective = ObjectiveNormalizedCut
		}
	}
	r := &reference{n: n, k: spec.K, m: make([][]float64, n), a: make([]float64, n), sigma: o.Sigma, keep: o.KeepEmpty}
	for i := range n {
		r.m[i] = make([]float64, n)
		r.a[i] = 1
		if len(o.Weights) > 0 {
			r.a[i] = o.Weights[i]
		}
	}
	for i := range n {
		for j := range n {
			r.m[i][j] = r.a[i] * r.a[j] * naiveEntry(data, o, rho, i, j)
			if i == j && objective != ObjectiveKernelKmeans && data.Kind() != dataset.KindGraph && !o.KeepDiagonal {
				r.m[i][j] = 0
			}
		}
	}
	degrees := make([]float64, n)
	for i := range n {
		for j := range n {
			degrees[i] += r.m[i][j]
		}
	}
	for i := range n {
		switch objective {
		case ObjectiveNormalizedCut:
			r.a[i] = degrees[i]
		case ObjectiveRatioCut:
			r.m[i][i] -= degrees[i]
		}
	}
	set, err := constraint.NewSet(n, spec.Supervision.Constraints, constraint.KulisWeight(n, spec.K))
	if err != nil {
		panic(err)
	}
	for _, p := range set.Pairs() {
		r.m[p.I][p.J] += signedWeight(p)
		r.m[p.J][p.I] += signedWeight(p)
	}
	r.reports = func(association, diagonal float64, clusters int) float64 {
		switch objective {
		case ObjectiveRatioAssociation:
			return association
		case ObjectiveRatioCut:
			return -association
		case ObjectiveNormalizedCut:
			return float64(clusters) - association
		}
		return diagonal - association
	}
	return r
}

func naiveEntry(data dataset.Dataset, o *Options, rho float64, i, j int) float64 {
	switch data := data.(type) {
	case *dataset.Graph:
		neighbors, weights := data.Row(i)
		for at, c := range neighbors {
			if int(c) == j {
				return weights[at]
			}
		}
		return 0
	case *dataset.Kernel:
		return data.Row(i)[j]
	}
	points := data.(*dataset.Points)
	x := points.Row(i)
	y := points.Row(j)
	dot, square, nx, ny := 0.0, 0.0, 0.0, 0.0
	for f := range x {
		dot += x[f] * y[f]
		square += (x[f] - y[f]) * (x[f] - y[f])
		nx += x[f] * x[f]
		ny += y[f] * y[f]
	}
	gamma, coef0, degree := 1.0, 0.0, 2
	if o.Gamma != nil {
		gamma = *o.Gamma
	}
	if o.Coef0 != nil {
		coef0 = *o.Coef0
	}
	if o.Degree != 0 {
		degree = o.Degree
	}
	switch o.Function {
	case kernel.Linear:
		return dot
	case kernel.Laplacian:
		return math.Exp(-math.Sqrt(square) / rho)
	case kernel.Polynomial:
		return math.Pow(gamma*dot+coef0, float64(degree))
	case kernel.Sigmoid:
		return math.Tanh(gamma*dot + coef0)
	case kernel.Cosine:
		return dot / math.Sqrt(nx*ny)
	}
	return math.Exp(-square / (2 * rho * rho))
}

// sums are s_c, S_ic and Q_c for the current labels.
func (r *reference) sums() (s []float64, rows [][]float64, q []float64) {
	s = make([]float64, r.k)
	q = make([]float64, r.k)
	rows = make([][]float64, r.n)
	for i := range r.n {
		rows[i] = make([]float64, r.k)
		for j, c := range r.labels {
			rows[i][c] += r.m[i][j]
		}
		s[r.labels[i]] += r.a[i]
		q[r.labels[i]] += rows[i][r.labels[i]]
	}
	return s, rows, q
}

// distances are d_ic (Kulis2009 (1)) with the shift, infinite for empty clusters.
func (r *reference) distances() [][]float64 {
	s, rows, q := r.sums()
	d := make([][]float64, r.n)
	for i := range r.n {
		d[i] = make([]float64, r.k)
		for c := range r.k {
			if s[c] == 0 {
				d[i][c] = math.Inf(1)
				continue
			}
			sum := rows[i][c]
			if r.labels[i] == int32(c) {
				sum += r.sigma * r.a[i]
			}
			d[i][c] = (r.m[i][i]+r.sigma*r.a[i])/(r.a[i]*r.a[i]) - 2*sum/(r.a[i]*s[c]) + (q[c]+r.sigma*s[c])/(s[c]*s[c])
		}
	}
	return d
}

// step is one batch step with the same rules; it tells whether a label changed.
func (r *reference) step() bool {
	before := append([]int32(nil), r.labels...)
	d := r.distances()
	for i := range r.n {
		best := 0
		for c := range r.k {
			if d[i][c] < d[i][best]-1e-9 {
				best = c
			}
		}
		if d[i][r.labels[i]] > d[i][best]+1e-9 {
			before[i], r.labels[i] = r.labels[i], int32(best)
		}
	}
	r.fill()
	return len(difference(before, r.labels)) > 0
}

func (r *reference) fill() {
	for c := range r.k {
		if r.keep {
			return
		}
		counts := make([]int, r.k)
		for _, l := range r.labels {
			counts[l]++
		}
		if counts[c] > 0 {
			continue
		}
		d := r.distances()
		farthest := -1
		for i, l := range r.labels {
			if counts[l] >= 2 &&
				(farthest < 0 || r.a[i]*d[i][l] > r.a[farthest]*d[farthest][r.labels[farthest]]+1e-12) {
				farthest = i
			}
		}
		if farthest < 0 {
			return
		}
		r.labels[farthest] = int32(c)
	}
}

// objective is the value in its paper's form, from the definitions.
func (r *reference) objective() float64 {
	s, _, q := r.sums()
	association, diagonal, clusters := 0.0, 0.0, 0
	for c := range r.k {
		if s[c] != 0 {
			association += q[c] / s[c]
			clusters++
		}
	}
	for i := range r.n {
		diagonal += r.m[i][i] / r.a[i]
	}
	return r.reports(association, diagonal, clusters)
}
