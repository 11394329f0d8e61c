package clustering

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/cleave-project/cleave/internal/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/partition"
)

// columnMeans is the mean of each feature, summed tile by tile.
func columnMeans(points *dataset.Points) []float64 {
	means := make([]float64, points.D)
	for f := range means {
		means[f] = partition.Sum(points.N, func(i int) float64 { return points.Values[i*points.D+f] }) / float64(points.N)
	}
	return means
}

// medianSample is how many points the automatic kernel width looks at.
const medianSample = 1000

// medianDistance is the median Euclidean distance over pairs of all points, or of a sample.
func medianDistance(points *dataset.Points, rng *rand.Rand) (float64, error) {
	sample := sampleIndices(points.N, medianSample, rng)
	if len(sample) < 2 {
		return 1, nil // one point: any width gives the same matrix
	}
	distances := make([]float64, 0, len(sample)*(len(sample)-1)/2)
	for at, i := range sample {
		for _, j := range sample[:at] {
			square := 0.0
			x, y := points.Row(i), points.Row(j)
			for f, v := range x {
				d := v - y[f]
				square += float64(d * d)
			}
			distances = append(distances, math.Sqrt(square))
		}
	}
	slices.Sort(distances)
	half := len(distances) / 2
	median := distances[half]
	if len(distances)%2 == 0 {
		median = (distances[half-1] + distances[half]) / 2
	}
	if !(median > 0) || math.IsInf(median, 0) {
		return 0, fault.Invalid("BAD_RHO", "rho auto is the median distance between points, which is %g here; give rho as a number", median).OnField("spec.kernel_kmeans.kernel.rho")
	}
	return median, nil
}

// sampleIndices draws `size` of n indices without replacement (Floyd's algorithm), ascending; all
// of them when n is no larger.
func sampleIndices(n, size int, rng *rand.Rand) []int {
	if n <= size {
		all := make([]int, n)
		for i := range all {
			all[i] = i
		}
		return all
	}
	chosen := make(map[int]bool, size)
	sample := make([]int, 0, size)
	for limit := n - size; limit < n; limit++ {
		pick := rng.IntN(limit + 1)
		if chosen[pick] {
			pick = limit
		}
		chosen[pick] = true
		sample = append(sample, pick)
	}
	slices.Sort(sample)
	return sample
}
