package kernelkmeans

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/numeric/metric"
)

// medianSample is the number of points that the automatic kernel width is computed from.
const medianSample = 1000

// MedianDistance returns the median Euclidean distance over all pairs of points, or of a sample if there are many.
// isWidth reports whether it can be the width of a kernel: it is positive and finite.
func MedianDistance(points dataset.Dataset, rng *rand.Rand) (median float64, isWidth bool) {
	sample := choose.Random[int](points.Rows(), medianSample, rng)
	if len(sample) < 2 {
		return 1, true // one point: any width gives the same matrix
	}
	squares := make([]float64, 0, len(sample)*(len(sample)-1)/2)
	for at, i := range sample {
		for _, j := range sample[:at] {
			squares = append(squares, squaredDistance(points, i, j))
		}
	}
	half := len(squares) / 2
	choose.Rank(squares, half)
	median = math.Sqrt(squares[half])
	if len(squares)%2 == 0 {
		median = (math.Sqrt(slices.Max(squares[:half])) + median) / 2
	}
	return median, median > 0 && !math.IsInf(median, 0)
}

// squaredDistance returns the squared distance of two points, dense or sparse.
func squaredDistance(points dataset.Dataset, i, j int) float64 {
	if sparse, isSparse := points.(*dataset.SparsePoints); isSparse {
		return sparseSquaredDistance(sparse, i, j)
	}
	dense := points.(*dataset.Points)
	return metric.SquaredDistance(dense.Row(i), dense.Row(j))
}

// sparseSquaredDistance visits the features of both points in order. The bits are those of dense points, because
// features that neither has would add 0.
func sparseSquaredDistance(points *dataset.SparsePoints, i, j int) float64 {
	columns, x := points.Row(i)
	others, y := points.Row(j)
	square := 0.0
	for a, b := 0, 0; a < len(columns) || b < len(others); {
		var d float64
		switch {
		case b == len(others) || a < len(columns) && columns[a] < others[b]:
			d = x[a]
			a++
		case a == len(columns) || others[b] < columns[a]:
			d = -y[b]
			b++
		default:
			d = x[a] - y[b]
			a, b = a+1, b+1
		}
		square += float64(d * d)
	}
	return square
}
