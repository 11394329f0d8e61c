package metric

import (
	"math"

	"github.com/cleave-project/cleave/internal/invalid"
	"github.com/cleave-project/cleave/internal/numeric/elementary"
	"github.com/cleave-project/cleave/internal/text"
)

// Distortion selects the distance D between a point and a mean (Bilenko2004 2.1).
type Distortion uint8

// The distortions.
const (
	SquaredEuclidean Distortion = iota + 1 // d_A(x, mu), whose A can be learned
	Cosine                                 // 1 - x.mu for unit vectors
	KL                                     // sum x log(x / mu) for rows that sum to 1
	IDivergence                            // sum x log(x / mu) - x + mu for rows that do not
)

func (d Distortion) String() string {
	return text.Name(d, "unknown", "squared-euclidean", "cosine", "kl", "i-divergence")
}

// Smoothing is added to every value of a row under a divergence. Without it, a feature that one point has and another
// lacks would put them infinitely far apart.
const Smoothing = 1e-12

// Prepare converts row number i, in place, to what the distortion needs: length 1 for cosines; smoothed values for the
// divergences, and for KL with the sum 1. If that is impossible, the error names the row. For cosines it is enough to
// pass the non-zeros of a sparse row.
func (d Distortion) Prepare(i int, row []float64) error {
	switch d {
	case Cosine:
		if !normalize(row) {
			return invalid.InRow(i, invalid.ZeroRow)
		}
	case KL, IDivergence:
		return d.smooth(i, row)
	}
	return nil
}

// smooth adds Smoothing to a row in place, and for KL makes it a distribution. It refuses negative values.
func (d Distortion) smooth(i int, row []float64) error {
	total := 0.0
	for column, v := range row {
		if v < 0 {
			return invalid.InCell(i, column, invalid.NegativeForDistortion, "value", v, "distortion", d)
		}
		row[column] = v + Smoothing
		total += row[column]
	}
	if math.IsInf(total, 1) {
		return invalid.InRow(i, invalid.RowOverflow)
	}
	if d == KL {
		for column := range row {
			row[column] /= total
		}
	}
	return nil
}

// NormalizeMean turns the mean of prepared rows, in place, into their centroid: for cosines it is scaled to length 1,
// otherwise it is unchanged. ok is false if unit vectors cancel out: no direction is better than another, and the
// cluster should keep its previous centroid.
func (d Distortion) NormalizeMean(mean []float64) (ok bool) { return d != Cosine || normalize(mean) }

// normalize scales a vector to length 1 and returns false if it is 0. It first scales by a power of two, which is exact
// and keeps the squares in range.
func normalize(v []float64) bool {
	largest := 0.0
	for _, x := range v {
		largest = max(largest, math.Abs(x))
	}
	if largest == 0 {
		return false
	}
	_, exponent := math.Frexp(largest)
	sum := 0.0
	for i, x := range v {
		v[i] = math.Ldexp(x, -exponent)
		sum += float64(v[i] * v[i])
	}
	length := math.Sqrt(sum)
	for i := range v {
		v[i] /= length
	}
	return true
}

// Measure is a distortion. Metric is set only if the distortion is squared Euclidean.
type Measure struct {
	Distortion Distortion
	Metric     *Metric
}

// Between returns phi(x, y), the distance of two prepared rows in penalties: D itself if it is symmetric, or the
// average of both directions for the divergences.
func (m Measure) Between(x, y []float64) float64 {
	switch m.Distortion {
	case Cosine:
		return max(0, 1-elementary.Dot(x, y))
	case KL, IDivergence:
		return (divergence(m.Distortion, x, y) + divergence(m.Distortion, y, x)) / 2
	}
	return m.Metric.Distance(x, y)
}

// divergence returns the sum of x log(x / y) and, for the I-divergence, of y - x; 0 log 0 is 0. It is never negative.
func divergence(d Distortion, x, y []float64) float64 {
	sum := 0.0
	for i, v := range x {
		if v > 0 {
			sum += float64(v * elementary.Log(v/y[i]))
		}
		if d == IDivergence {
			sum += y[i] - v
		}
	}
	return max(0, sum)
}
