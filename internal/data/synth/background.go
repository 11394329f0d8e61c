package synth

import (
	"math/rand/v2"
	"slices"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
)

// backgroundMargin is how far the background extends beyond the points, as a share of their range.
const backgroundMargin = 0.1

// WithBackground appends count points that are uniform in a box around the given ones, as in the noisy
// sample of Wang2014 7.2. They are a class of their own, numbered after those of the truth.
func WithBackground(points *dataset.Points, truth []int32, count int, rng *rand.Rand) (*dataset.Points, []int32, error) {
	if count < 0 || count > dataset.MaxRows-points.N {
		return nil, nil, fault.Invalid("BAD_SIZE", "%d background points were asked for beside %d; 0 to %d can be made", count, points.N, dataset.MaxRows-points.N)
	}
	if count == 0 {
		return points, truth, nil
	}
	low, high := slices.Clone(points.Row(0)), slices.Clone(points.Row(0))
	for i := range points.N {
		for f, v := range points.Row(i) {
			low[f], high[f] = min(low[f], v), max(high[f], v)
		}
	}
	values := make([]float64, 0, (points.N+count)*points.D)
	for i := range points.N {
		values = append(values, points.Row(i)...)
	}
	truth = slices.Clone(truth)
	class := slices.Max(truth) + 1
	for range count {
		for f := range points.D {
			size := high[f] - low[f]
			from, width := low[f]-backgroundMargin*size, (1+2*backgroundMargin)*size
			values = append(values, from+float64(width*rng.Float64()))
		}
		truth = append(truth, class)
	}
	all, err := dataset.NewPoints(points.N+count, points.D, values)
	return all, truth, err
}
