package mixture

import (
	"context"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/invalid"
	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/numeric/eigen"
	"github.com/cleave-project/cleave/internal/numeric/elementary"
	"github.com/cleave-project/cleave/internal/parallel"
)

// Mixture is a mixture of Gaussians. Its methods may be called concurrently.
type Mixture struct {
	d       int           // number of columns
	shares  []float64     // of the rows in each cluster; they add up to 1
	smooth  []int         // columns with densities
	few     []int         // columns of few values
	spread  []float64     // variances of the columns of few values
	centers [][]float64   // means of each cluster in all columns
	factors [][][]float64 // G_c with V_c = G_c G_c', of the smooth columns
	offsets []float64     // log det V_c - 2 log share_c, V_c including the columns of few values
}

// ValueRows returns the number of rows of d values that New takes for k clusters.
func ValueRows(k, d uint64) uint64 { return k + 1 + k*d }

// maxShareError is how far the shares of all clusters may be from adding up to 1.
const maxShareError = 1e-6

// New returns the mixture with the given shares of clusters. The values are rows of d columns: the mean of each
// cluster; the variances of the columns of few values, 0 in other columns; and, for each cluster, the d rows of the
// lower triangle G with G G' = V, the covariance, which are 0 in the rows and columns of columns of few values. A
// column that is 0 in all of these is not compared. New copies what it keeps.
func New(shares []float64, d int, values []float64) (*Mixture, error) {
	k := len(shares)
	if k < 1 || d < 1 || uint64(len(values)) != ValueRows(uint64(k), uint64(d))*uint64(d) {
		return nil, invalid.New(invalid.MixtureSize, "k", k, "columns", d, "values", len(values))
	}
	if err := CheckShares(shares); err != nil {
		return nil, err
	}
	for i, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, invalid.New(invalid.MixtureValue, "column", i%d, "at", i/d, "value", v)
		}
	}
	m := &Mixture{d: d, shares: slices.Clone(shares), centers: make([][]float64, k), factors: make([][][]float64, k),
		offsets: make([]float64, k)}
	means, variances, factors := values[:k*d], values[k*d:][:d], values[(k+1)*d:]
	for column, variance := range variances {
		switch {
		case variance < 0:
			return nil, invalid.New(invalid.MixtureVariance, "column", column, "variance", variance)
		case variance > 0:
			m.few = append(m.few, column)
			m.spread = append(m.spread, variance)
		case factors[column*d+column] > 0:
			m.smooth = append(m.smooth, column)
		}
	}
	if len(m.smooth) == 0 {
		return nil, invalid.New(invalid.MixtureCovariance)
	}
	for c := range k {
		m.centers[c] = slices.Clone(means[c*d:][:d])
		factor, err := m.compact(c, factors[c*d*d:][:d*d])
		if err != nil {
			return nil, err
		}
		m.factors[c], m.offsets[c] = factor, m.offset(c, factor)
	}
	return m, nil
}

// CheckShares checks the shares of the clusters of a mixture.
func CheckShares(shares []float64) error {
	sum := 0.0
	for c, share := range shares {
		if !(share > 0 && share <= 1) {
			return invalid.New(invalid.MixtureShare, "cluster", c, "share", share)
		}
		sum += share
	}
	if math.Abs(sum-1) > maxShareError {
		return invalid.New(invalid.MixtureShareSum, "total", sum)
	}
	return nil
}

// compact returns the rows and columns of a triangle that belong to smooth columns. All others must be 0.
func (m *Mixture) compact(c int, triangle []float64) ([][]float64, error) {
	factor := eigen.Columns(len(m.smooth), len(m.smooth))
	nonzero := 0
	for a, row := range m.smooth {
		for b, column := range m.smooth[:a+1] {
			factor[a][b] = triangle[row*m.d+column]
			if factor[a][b] != 0 {
				nonzero++
			}
		}
		if !(factor[a][a] > 0) {
			return nil, invalid.New(invalid.MixtureDiagonal, "at", row, "cluster", c, "value", factor[a][a])
		}
	}
	for _, v := range triangle {
		if v != 0 {
			nonzero--
		}
	}
	if nonzero != 0 {
		return nil, invalid.New(invalid.MixtureZeros, "cluster", c)
	}
	return factor, nil
}

// offset returns log det V_c - 2 log share_c.
func (m *Mixture) offset(c int, factor [][]float64) float64 {
	offset := -2 * elementary.Log(m.shares[c])
	for _, variance := range m.spread {
		offset += elementary.Log(variance)
	}
	for a := range factor {
		offset += 2 * elementary.Log(factor[a][a])
	}
	return offset
}

// Shares returns the shares of the rows in each cluster.
func (m *Mixture) Shares() []float64 { return m.shares }

// Means returns the means of all clusters, row by row.
func (m *Mixture) Means() []float64 { return slices.Concat(m.centers...) }

// Values returns the values that New takes.
func (m *Mixture) Values() []float64 {
	k, d := len(m.shares), m.d
	values := make([]float64, int(ValueRows(uint64(k), uint64(d)))*d)
	copy(values, m.Means())
	for i, column := range m.few {
		values[k*d+column] = m.spread[i]
	}
	for c, factor := range m.factors {
		triangle := values[(k+1)*d+c*d*d:]
		for a, row := range m.smooth {
			for b, column := range m.smooth[:a+1] {
				triangle[row*d+column] = factor[a][b]
			}
		}
	}
	return values
}

// Renumbered returns the mixture whose cluster numbers[c] is cluster c of m.
func (m *Mixture) Renumbered(numbers []int32) *Mixture {
	other, k := *m, len(m.shares)
	other.shares = make([]float64, k)
	other.offsets = make([]float64, k)
	other.centers = make([][]float64, k)
	other.factors = make([][][]float64, k)
	for c, number := range numbers {
		other.shares[number], other.offsets[number], other.centers[number], other.factors[number] = m.shares[c],
			m.offsets[c], m.centers[c], m.factors[c]
	}
	return &other
}

// Scores says how rows fit the clusters of a mixture.
type Scores struct {
	Labels []int32
	// Own and Next are the distances of every row from its own cluster and from the nearest other one, +Inf if there
	// is none. Distances are -2 times the logarithms of densities, up to a constant; they may be negative.
	Own, Next []float64
	// Posterior is the probability of the row's own cluster, given the row alone.
	Posterior []float64
}

// Score scores rows with the given labels, or with those of their most likely clusters if labels is nil. The result
// does not depend on the number of threads. Rows without constraints get the labels that Fit gave them.
func (m *Mixture) Score(ctx context.Context, points *dataset.Points, labels []int32, threads int) (*Scores, error) {
	if points.D != m.d {
		return nil, invalid.New(invalid.ModelColumns, "columns", points.D, "fitted", m.d)
	}
	n, k := points.N, len(m.shares)
	s := &Scores{Labels: labels, Own: make([]float64, n), Next: make([]float64, n), Posterior: make([]float64, n)}
	if labels == nil {
		s.Labels = make([]int32, n)
	}
	pieces := (n + rowsAtOnce - 1) / rowsAtOnce
	return s, parallel.Run(ctx, threads, pieces, func(piece int) error {
		z := make([]float64, len(m.smooth))
		distances := make([]float64, k)
		shares := make([]float64, k)
		for i := piece * rowsAtOnce; i < min(n, (piece+1)*rowsAtOnce); i++ {
			m.measure(points.Row(i), z, distances)
			for c, distance := range distances {
				if math.IsNaN(distance) || math.IsInf(distance, 0) {
					return invalid.InRow(i, invalid.TooFar, "cluster", c)
				}
				shares[c] = -distance / 2
			}
			toShares(shares)
			if labels == nil {
				s.Labels[i] = int32(choose.Largest(shares))
			}
			own := int(s.Labels[i])
			s.Own[i], s.Next[i], s.Posterior[i] = distances[own], math.Inf(1), shares[own]
			for c, distance := range distances {
				if c != own {
					s.Next[i] = min(s.Next[i], distance)
				}
			}
		}
		return nil
	})
}
