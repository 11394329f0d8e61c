package picture

import (
	"context"
	"fmt"
	"math"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/numeric/eigen"
)

const (
	maxPCARows       = 20000     // principal components of more rows are those of an even sample
	maxPCAValues     = 4_000_000 // a sample of wide rows has at most this many values,
	minPCARows       = 1000      // but at least this many rows
	maxDenseColumns  = 500       // with more columns the covariance matrix is not formed
	pcaProducts      = 360
	minVarianceShare = 1e-20 // a smaller share of the total variance counts as 0
)

// Project returns two coordinates for every point, and the names of the axes. For two columns they are
// the data itself; for more columns they are the first two principal components. For one column they are
// the value and an arbitrary number that spreads the points, whose axis has no name. With more than 20,000
// rows (fewer if they are wide), the components come from an even sample, and all rows are projected onto
// them.
func Project(points *dataset.Points) (xy [][2]float64, axes [2]string) {
	xy, _, axes = ProjectWith(points, nil)
	return xy, axes
}

// ProjectWith is like Project, but also projects centers, which have the same columns as the points and may
// be nil.
func ProjectWith(points, centers *dataset.Points) (xy, centersXY [][2]float64, axes [2]string) {
	project, axes := projection(points)
	each := func(rows *dataset.Points) [][2]float64 {
		xy := make([][2]float64, rows.N)
		for i := range xy {
			xy[i] = project(rows.Row(i))
		}
		return xy
	}
	xy = each(points)
	if centers != nil {
		centersXY = each(centers)
	}
	if points.D == 1 {
		for i := range xy {
			// The fractional parts of multiples of the golden ratio are evenly spread over 0..1.
			_, xy[i][1] = math.Modf(float64(i) * (math.Phi - 1))
		}
	}
	return xy, centersXY, axes
}

// projection returns a function that maps a row to two coordinates, and the names of the axes. With one
// column the second coordinate is 0.5, the middle of the spread.
func projection(points *dataset.Points) (project func(row []float64) [2]float64, axes [2]string) {
	switch points.D {
	case 1:
		return func(row []float64) [2]float64 { return [2]float64{row[0], 0.5} }, [2]string{"x0", ""}
	case 2:
		return func(row []float64) [2]float64 { return [2]float64(row) }, [2]string{"x0", "x1"}
	}
	p := principalComponents(points)
	for c := range axes {
		axes[c] = fmt.Sprintf("principal component %d (%.1f%% of variance)", c+1, 100*p.shares[c])
	}
	centered := make([]float64, points.D)
	return func(row []float64) (xy [2]float64) {
		p.center(centered, row)
		for c, loading := range p.loadings {
			xy[c] = clampDrawn(dot(loading, centered) / p.scale)
		}
		return xy
	}, axes
}

// components holds the first two principal components of points that were multiplied by scale.
type components struct {
	scale    float64
	mean     []float64
	loadings [2][]float64
	shares   [2]float64 // of the total variance
}

// center writes a row to another, scaled and relative to the mean.
func (p *components) center(to, row []float64) {
	for j, v := range row {
		to[j] = v*p.scale - p.mean[j]
	}
}

// safeScale returns the power of two that scales the largest value to about 1, so that squares neither
// overflow nor underflow. Multiplying by it is exact.
func safeScale(values []float64) float64 {
	largest := 0.0
	for _, v := range values {
		largest = math.Max(largest, math.Abs(v))
	}
	_, exponent := math.Frexp(largest)
	return math.Ldexp(1, -min(max(exponent, -1000), 1000))
}

func principalComponents(points *dataset.Points) *components {
	d := points.D
	rows := evenSample(points.N, min(maxPCARows, max(minPCARows, maxPCAValues/d)))
	p := &components{scale: safeScale(points.Values), mean: make([]float64, d)}
	for _, i := range rows {
		for j, v := range points.Row(i) {
			p.mean[j] += v * p.scale
		}
	}
	for j := range p.mean {
		p.mean[j] /= float64(len(rows))
	}
	centered := zeroVectors(len(rows), d)
	total := 0.0
	for at, i := range rows {
		p.center(centered[at], points.Row(i))
		total += dot(centered[at], centered[at])
	}

	var values []float64
	var vectors [][]float64
	if d <= maxDenseColumns {
		values, vectors, _ = eigen.LeadingEigenpairs(context.Background(), d, scatterMatrix(centered, d), func([]float64) int { return 2 })
	} else {
		values, vectors = leadingEigenpairs(d, pcaProducts, scatter(centered))
	}
	for c := range p.loadings {
		p.loadings[c] = make([]float64, d)
		if !(values[c] > minVarianceShare*total) {
			continue // no variance in this direction: all points get the coordinate 0
		}
		addScaled(p.loadings[c], canonicalSign(vectors[c]), vectors[c])
		p.shares[c] = values[c] / total
	}
	return p
}

// scatterMatrix returns the upper triangle of X'X.
func scatterMatrix(centered [][]float64, d int) []float64 {
	sums := make([]float64, d*d)
	for _, row := range centered {
		for a, v := range row {
			addScaled(sums[a*d+a:(a+1)*d], v, row[a:])
		}
	}
	return sums
}

// scatter multiplies by X'X without forming it, one pass over the rows for all vectors.
func scatter(centered [][]float64) func(dst, src [][]float64) {
	return func(dst, src [][]float64) {
		for _, out := range dst {
			clear(out)
		}
		for _, row := range centered {
			for c, in := range src {
				addScaled(dst[c], dot(row, in), row)
			}
		}
	}
}
