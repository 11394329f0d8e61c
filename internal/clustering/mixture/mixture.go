// Package mixture fits mixtures of Gaussians by expectation maximization, with a covariance for each cluster:
//
//	p(x) = sum_c share_c N(x; mean_c, V_c),    V_c = (W_c + q (W / n + ridge T)) / (n_c + q)
//
// W_c is the scatter of the n_c rows that are expected in cluster c around their mean, W the sum of all W_c, q the
// number of columns, and T the diagonal of their variances. So q more rows with the common covariance of all clusters
// are added to every cluster, and a cluster of few rows has about that covariance. Nothing but the start depends on
// the units of columns.
//
// A column of few distinct values has no density: in a cluster with only one value it would be infinite. Such columns
// are independent of others and have their overall variance in every cluster.
//
// Rows of a must-link component belong to the same cluster: their densities multiply (Shental, Bar-Hillel, Hertz and
// Weinshall 2003). Two components that are apart cost a factor of e^cannotLinkCost if they share a cluster, which is
// approximated by mean fields.
package mixture

import (
	"context"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/numeric/eigen"
	"github.com/cleave-project/cleave/internal/numeric/elementary"
	"github.com/cleave-project/cleave/internal/parallel"
)

const (
	ridge = 1e-3
	// cannotLinkCost is the log-likelihood that a violated cannot-link of weight 1 costs.
	cannotLinkCost = 8.0
	// meanFieldRounds is the number of times that the mean fields of cannot-links are updated in an iteration.
	meanFieldRounds = 5
	// minShare is the probability below which a row does not count as part of a cluster.
	minShare = 1e-12
	// minGain is the increase of the log-likelihood per row below which a fit has converged.
	minGain = 1e-6
	// rowsAtOnce is the number of rows whose densities are computed as one piece of work.
	rowsAtOnce = 256
)

// Problem describes what is fitted.
type Problem struct {
	Points *dataset.Points
	// Few reports for each column whether it has only a few distinct values.
	Few []bool
	K   int
	// Labels are those of the start, 0 to K-1. No cluster may be empty.
	Labels      []int32
	Components  *constraint.Components // of must-links; nil if there are none
	CannotLinks []constraint.Constraint
	Iterations  int // at most
	Threads     int
}

// Found is the mixture that a fit found, and how well it describes the data.
type Found struct {
	Labels  []int32
	Mixture *Mixture
	// Costs holds, after every iteration, minus the mean log-likelihood of a row, without constants.
	Costs     []float64
	Converged bool
	// Evidence is by how much the Bayesian information criterion prefers the mixture to the model of k-means, which is
	// a mixture too: all clusters have equal shares and scatter equally in all directions.
	Evidence float64
}

// fit is the state of a running fit. Rows that must-links connect are one component, with one vector of probabilities.
type fit struct {
	*Problem
	mixture     *Mixture
	variances   []float64           // of all columns
	componentOf func(i int32) int32 // component of a row
	count       int                 // number of components
	neighbors   [][]apartFrom       // of each component
	linked      []int32             // components with neighbors
	distances   []float64           // n x k, from the clusters
	shares      []float64           // components x k, probabilities
	pool        *parallel.Pool
}

// apartFrom is a component that should be in another cluster, and the weight of that cannot-link.
type apartFrom struct {
	component int32
	weight    float64
}

// Fit fits a mixture. It returns nil if a cluster becomes empty or all columns have few values. The result does not
// depend on the number of threads.
func Fit(ctx context.Context, p *Problem) (*Found, error) {
	f := newFit(p)
	if len(f.mixture.smooth) == 0 {
		return nil, nil
	}
	found, plain, last := &Found{Mixture: f.mixture}, f.plainCost(), math.Inf(1)
	for range p.Iterations {
		if ok, err := f.maximize(ctx); err != nil || !ok {
			return nil, err
		}
		if err := f.measure(ctx); err != nil {
			return nil, err
		}
		cost := f.expect()
		found.Costs = append(found.Costs, cost)
		found.Converged = math.Abs(last-cost) <= minGain
		last = cost
		if found.Converged {
			break
		}
	}
	if !f.label(found) {
		return nil, nil
	}
	n, q := float64(p.Points.N), len(f.mixture.smooth)
	// more than k-means has, whose means and variance count too
	parameters := float64(p.K-1) + float64(p.K*(q*(q+1)/2)) - 1
	found.Evidence = float64(2*n*(plain-last)) - float64(parameters*elementary.Log(n))
	return found, nil
}

// plainCost returns the cost of the labels of the start by the model of k-means, -Inf if every row equals the mean of
// its cluster.
func (f *fit) plainCost() float64 {
	p, k := f.Points, f.K
	columns := slices.Concat(f.mixture.smooth, f.mixture.few)
	sizes := make([]float64, k)
	centers := make([]float64, k*p.D)
	for i, c := range f.Labels {
		sizes[c]++
		for column, v := range p.Row(i) {
			centers[int(c)*p.D+column] += v
		}
	}
	for at := range centers {
		centers[at] /= sizes[at/p.D]
	}
	distance := func(i, c int) (squared float64) {
		row := p.Row(i)
		center := centers[c*p.D:]
		for _, column := range columns {
			difference := row[column] - center[column]
			squared += float64(difference * difference)
		}
		return squared
	}
	variance := 0.0
	for i, c := range f.Labels {
		variance += distance(i, int(c))
	}
	variance /= float64(p.N * len(columns))
	if variance == 0 {
		return math.Inf(-1)
	}
	total := 0.0
	logs := make([]float64, k)
	for i := range p.N {
		for c := range logs {
			logs[c] = -distance(i, c) / (2 * variance)
		}
		total += toShares(logs) - elementary.Log(float64(k))
	}
	return float64(float64(len(columns))*elementary.Log(variance))/2 - total/float64(p.N) // exact, fused or not
}

// newFit divides the columns: constant ones are left out, those with few values have one variance in all clusters,
// and the others a covariance in each. The first probabilities of a component are the shares of its rows in the
// clusters of Labels.
func newFit(p *Problem) *fit {
	n, k, d := p.Points.N, p.K, p.Points.D
	f := &fit{Problem: p, mixture: &Mixture{d: d, shares: make([]float64, k)}, variances: variances(p.Points),
		distances: make([]float64, n*k), pool: parallel.NewPool(p.Threads)}
	m := f.mixture
	for column := range d {
		switch {
		case !(f.variances[column] > 0):
		case p.Few[column]:
			m.few = append(m.few, column)
			m.spread = append(m.spread, f.variances[column])
		default:
			m.smooth = append(m.smooth, column)
		}
	}
	m.centers = make([][]float64, k)
	m.factors = make([][][]float64, k)
	m.offsets = make([]float64, k)
	f.componentOf = func(i int32) int32 { return i }
	f.count = n
	if p.Components != nil {
		f.componentOf, f.count = p.Components.Of, p.Components.Count()
	}
	f.neighbors = make([][]apartFrom, f.count)
	for _, c := range p.CannotLinks {
		a := f.componentOf(c.I)
		b := f.componentOf(c.J)
		if a == b {
			continue
		}
		for _, pair := range [][2]int32{{a, b}, {b, a}} {
			if f.neighbors[pair[0]] == nil {
				f.linked = append(f.linked, pair[0])
			}
			f.neighbors[pair[0]] = append(f.neighbors[pair[0]], apartFrom{pair[1], cannotLinkCost * c.Weight})
		}
	}
	slices.Sort(f.linked)
	f.shares = make([]float64, f.count*k)
	sizes := make([]float64, f.count)
	for i, c := range p.Labels {
		component := f.componentOf(int32(i))
		f.shares[int(component)*k+int(c)]++
		sizes[component]++
	}
	for at := range f.shares {
		f.shares[at] /= sizes[at/k]
	}
	return f
}

// variances returns the variance of every column, which is exactly 0 for constant columns.
func variances(p *dataset.Points) []float64 {
	means := make([]float64, p.D)
	sums := make([]float64, p.D)
	varies := make([]bool, p.D)
	for i, v := range p.Values {
		means[i%p.D] += v
		varies[i%p.D] = varies[i%p.D] || v != p.Values[i%p.D]
	}
	for column := range means {
		means[column] /= float64(p.N)
	}
	for i, v := range p.Values {
		difference := v - means[i%p.D]
		sums[i%p.D] += float64(difference * difference)
	}
	for column := range sums {
		sums[column] /= float64(p.N)
		if !varies[column] {
			sums[column] = 0 // the mean of equal values is rounded
		}
	}
	return sums
}

// maximize computes the mixture from the shares. It reports false if a cluster is empty or a covariance overflows.
func (f *fit) maximize(ctx context.Context) (ok bool, err error) {
	m, q := f.mixture, len(f.mixture.smooth)
	sizes := make([]float64, f.K)
	scatters := make([][][]float64, f.K)
	err = f.pool.Run(ctx, f.K, func(c int) error {
		sizes[c], m.centers[c], scatters[c] = f.moments(c)
		return nil
	})
	if err != nil {
		return false, err
	}
	common := eigen.Columns(q, q)
	for c, scatter := range scatters {
		if !(sizes[c] >= 1) {
			return false, nil
		}
		for a := range common {
			for b := range a + 1 {
				common[a][b] += scatter[a][b] / float64(f.Points.N)
			}
		}
	}
	for a, column := range m.smooth {
		common[a][a] += float64(ridge * f.variances[column])
	}
	overflow := make([]bool, f.K)
	err = f.pool.Run(ctx, f.K, func(c int) error {
		v := eigen.NewSymmetric(q)
		for a, row := range scatters[c] {
			for b := range a + 1 {
				v.SetSym(b, a, (row[b]+float64(float64(q)*common[a][b]))/(sizes[c]+float64(q)))
			}
		}
		factor, finite := eigen.Cholesky(v)
		if !finite {
			overflow[c] = true
			return nil
		}
		g := lowerRows(factor)
		m.shares[c], m.factors[c] = sizes[c]/float64(f.Points.N), g
		m.offsets[c] = m.offset(c, g)
		return nil
	})
	return err == nil && !slices.Contains(overflow, true), err
}

// lowerRows returns the rows of the lower triangle of a factorization, with zeros above the diagonal.
func lowerRows(factor eigen.Factor) [][]float64 {
	lower := factor.Lower().RawTriangular()
	rows := eigen.Columns(lower.N, lower.N)
	for a, row := range rows {
		copy(row, lower.Data[a*lower.Stride:][:a+1])
	}
	return rows
}

// moments returns the expected number of rows in a cluster, their mean, and the lower triangle of their scatter.
func (f *fit) moments(c int) (size float64, center []float64, scatter [][]float64) {
	p, smooth := f.Points, f.mixture.smooth
	center, scatter = make([]float64, p.D), eigen.Columns(len(smooth), len(smooth))
	for i := range p.N {
		if share := f.share(i, c); share > 0 {
			size += share
			for column, v := range p.Row(i) {
				center[column] += float64(share * v)
			}
		}
	}
	for column := range center {
		center[column] /= size
	}
	difference := make([]float64, len(smooth))
	for i := range p.N {
		share := f.share(i, c)
		if !(share > 0) {
			continue
		}
		row := p.Row(i)
		for a, column := range smooth {
			difference[a] = row[column] - center[column]
		}
		for a, x := range difference {
			x *= share
			into := scatter[a][:a+1]
			for b, y := range difference[:a+1] {
				into[b] += float64(x * y)
			}
		}
	}
	return size, center, scatter
}

func (f *fit) share(i, c int) float64 { return f.shares[int(f.componentOf(int32(i)))*f.K+c] }

// measure computes the distances of all rows.
func (f *fit) measure(ctx context.Context) error {
	pieces := (f.Points.N + rowsAtOnce - 1) / rowsAtOnce
	return f.pool.Run(ctx, pieces, func(piece int) error {
		z := make([]float64, len(f.mixture.smooth))
		for i := piece * rowsAtOnce; i < min(f.Points.N, (piece+1)*rowsAtOnce); i++ {
			f.mixture.measure(f.Points.Row(i), z, f.distances[i*f.K:][:f.K])
		}
		return nil
	})
}

// measure sets into to the distances of a row from all clusters,
//
//	(x - mean)' V^-1 (x - mean) + log det V - 2 log share,
//
// which are -2 times the logarithms of densities, up to a constant. z is scratch space.
func (m *Mixture) measure(row, z, into []float64) {
	for c := range into {
		sum, center, factor := m.offsets[c], m.centers[c], m.factors[c]
		for a, column := range m.smooth {
			v, g := row[column]-center[column], factor[a]
			for b, y := range z[:a] {
				v -= float64(g[b] * y)
			}
			v /= g[a]
			z[a] = v
			sum += float64(v * v)
		}
		for a, column := range m.few {
			difference := row[column] - center[column]
			sum += float64(difference*difference) / m.spread[a]
		}
		into[c] = sum
	}
}

// expect computes the shares from the distances. It returns minus the mean log-likelihood of a row.
func (f *fit) expect() float64 {
	k := f.K
	clear(f.shares)
	for i, distance := range f.distances {
		f.shares[int(f.componentOf(int32(i/k)))*k+i%k] -= distance / 2 // exact, fused or not
	}
	logs := map[int32][]float64{}
	for _, component := range f.linked {
		logs[component] = slices.Clone(f.shares[int(component)*k:][:k])
	}
	total := 0.0
	for component := range f.count {
		total += toShares(f.shares[component*k:][:k])
	}
	fields := make([]float64, k)
	for range meanFieldRounds {
		for _, component := range f.linked {
			copy(fields, logs[component])
			for _, other := range f.neighbors[component] {
				for c, share := range f.shares[int(other.component)*k:][:k] {
					fields[c] -= float64(other.weight * share)
				}
			}
			toShares(fields)
			copy(f.shares[int(component)*k:], fields)
		}
	}
	return -total / float64(f.Points.N)
}

// toShares turns logarithms of weights into shares of their sum, and returns the logarithm of that sum.
func toShares(logs []float64) float64 {
	largest := slices.Max(logs)
	sum := 0.0
	for c, v := range logs {
		logs[c] = elementary.Exp(v - largest)
		sum += logs[c]
	}
	for c := range logs {
		logs[c] /= sum
		if logs[c] < minShare {
			logs[c] = 0
		}
	}
	return largest + elementary.Log(sum)
}

// label assigns every row to its most likely cluster. It reports false if a cluster has no rows.
func (f *fit) label(found *Found) bool {
	found.Labels = make([]int32, f.Points.N)
	sizes := make([]int, f.K)
	for i := range found.Labels {
		found.Labels[i] = int32(choose.Largest(f.shares[int(f.componentOf(int32(i)))*f.K:][:f.K]))
		sizes[found.Labels[i]]++
	}
	return slices.Min(sizes) > 0
}
