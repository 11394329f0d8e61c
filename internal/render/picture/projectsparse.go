package picture

import (
	"fmt"
	"math"

	"github.com/cleave-project/cleave/internal/data/dataset"
)

const (
	maxSparseValues = 1_000_000 // principal components come from an even sample with about this many values
	minSparseRows   = 500
	sparseProducts  = 240
)

// ProjectSparse returns the first two principal components of every row, and the names of the axes. With many rows, the
// components come from an even sample. It never forms the centered rows, which would not be sparse: a product with them is
// one with the sparse rows minus one with their mean.
func ProjectSparse(points *dataset.SparsePoints) (xy [][2]float64, axes [2]string) {
	perRow := max(1, points.NonZeros()/max(1, points.N))
	p := &sparseRows{points: points, rows: evenSample(points.N, min(maxPCARows, max(minSparseRows, maxSparseValues/perRow))), scale: safeScale(points.Value)}
	p.center()
	// Use the eigenvectors of the rows' Gram matrix, which have an entry for each row, as there may be far more columns.
	values, vectors := leadingEigenpairs(len(p.rows), sparseProducts, p.multiply)
	xy = make([][2]float64, points.N)
	for c := range axes {
		share := 0.0
		if values[c] > minVarianceShare*p.total {
			share = values[c] / p.total
			direction, offset := p.direction(vectors[c], 1/math.Sqrt(values[c]))
			sign := canonicalSign(direction)
			for i := range xy {
				xy[i][c] = clampDrawn(sign * (p.dot(i, direction) - offset) / p.scale)
			}
		}
		axes[c] = fmt.Sprintf("principal component %d (%.1f%% of variance)", c+1, 100*share)
	}
	return xy, axes
}

// sparseRows holds some rows of sparse points, multiplied by scale, and their mean.
type sparseRows struct {
	points *dataset.SparsePoints
	rows   []int
	scale  float64
	mean   []float64
	total  float64 // the sum of the squared distances from the mean
}

func (p *sparseRows) center() {
	p.mean = make([]float64, p.points.D)
	squares := 0.0
	for _, i := range p.rows {
		columns, values := p.points.Row(i)
		for at, j := range columns {
			v := values[at] * p.scale
			p.mean[j] += v / float64(len(p.rows))
			squares += v * v
		}
	}
	p.total = max(0, squares-float64(len(p.rows))*dot(p.mean, p.mean))
}

// dot returns the product of a scaled row with a vector.
func (p *sparseRows) dot(i int, with []float64) float64 {
	columns, values := p.points.Row(i)
	sum := 0.0
	for at, j := range columns {
		sum += values[at] * p.scale * with[j]
	}
	return sum
}

// direction returns the sum of the centered rows, each times its weight and the factor, and the product of that sum with
// the mean.
func (p *sparseRows) direction(weights []float64, factor float64) (direction []float64, offset float64) {
	direction = make([]float64, p.points.D)
	all := 0.0
	for at, i := range p.rows {
		columns, values := p.points.Row(i)
		weight := weights[at] * factor
		all += weight
		for at, j := range columns {
			direction[j] += weight * (values[at] * p.scale)
		}
	}
	addScaled(direction, -all, p.mean)
	return direction, dot(direction, p.mean)
}

// multiply sets dst to the Gram matrix of the centered rows times src.
func (p *sparseRows) multiply(dst, src [][]float64) {
	for c, in := range src {
		direction, offset := p.direction(in, 1)
		for at, i := range p.rows {
			dst[c][at] = p.dot(i, direction) - offset
		}
	}
}
