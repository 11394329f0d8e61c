package picture

import (
	"fmt"
	"math"

	"github.com/cleave-project/cleave/internal/data/dataset"
)

const (
	maxLandmarks   = 1000 // points whose kernel matrix the components come from
	kernelProducts = 400
)

// ProjectKernel returns the first two kernel principal components of every point, and the names of the
// axes. The components come from at most 1,000 evenly spaced points, the landmarks; the other points are
// projected onto them by the Nystroem method, which is exact for the landmarks. A component without a
// positive eigenvalue is 0 for all points.
func ProjectKernel(k *dataset.Kernel) (xy [][2]float64, axes [2]string) {
	chosen := evenSample(k.N, maxLandmarks)
	m := len(chosen)
	scale := safeScale(k.Values)

	// Centering in feature space: k(x,l) - mean_l k(x,l) - mean_x k(x,l) + mean of all.
	landmarks := zeroVectors(m, m)
	means := make([]float64, m)
	grand := 0.0
	for a, i := range chosen {
		for b, j := range chosen {
			landmarks[a][b] = k.Values[i*k.N+j] * scale
			means[a] += landmarks[a][b] / float64(m)
		}
		grand += means[a] / float64(m)
	}
	trace := 0.0
	for a, row := range landmarks {
		for b := range row {
			row[b] += grand - means[a] - means[b]
		}
		trace += row[a]
	}
	values, vectors := leadingEigenpairs(m, kernelProducts, func(dst, src [][]float64) {
		for a, row := range landmarks {
			for c, in := range src {
				dst[c][a] = dot(row, in)
			}
		}
	})

	// The coordinate of x is sum_l u_l k(x,l) / sqrt(lambda), and sqrt(scale) undoes the scaling.
	var factors [2]float64
	for c := range factors {
		if values[c] > 1e-12*math.Abs(values[0]) {
			factors[c] = canonicalSign(vectors[c]) / (math.Sqrt(values[c]) * math.Sqrt(scale))
		}
	}
	xy = make([][2]float64, k.N)
	row := make([]float64, m)
	for i := range xy {
		mean := 0.0
		for b, j := range chosen {
			row[b] = k.Values[i*k.N+j] * scale
			mean += row[b] / float64(m)
		}
		for b := range row {
			row[b] += grand - mean - means[b]
		}
		for c, vector := range vectors {
			xy[i][c] = dot(vector, row) * factors[c]
		}
	}
	for c := range axes {
		axes[c] = fmt.Sprintf("kernel component %d", c+1)
		if share := values[c] / trace; share > 0 && share <= 1 {
			axes[c] += fmt.Sprintf(" (%.1f%% of variance)", 100*share)
		}
	}
	return xy, axes
}
