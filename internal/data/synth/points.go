// Package synth generates data whose true clusters are known: circles, moons, Gaussians, graphs with
// blocks, background noise, and constraints drawn from the truth.
//
// Everything random comes from the generator that is passed in, so that the same seed gives the same
// data. Point i belongs to cluster i mod k, so that any range of rows has about the same number of
// points of each cluster.
package synth

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
)

// The radii of TwoCircles, and amounts of noise that keep the two shapes well apart.
const (
	InnerRadius  = 1.0
	OuterRadius  = 3.0
	CirclesNoise = 0.1
	MoonsNoise   = 0.05
)

// TwoCircles puts half of n points on a circle of radius 1 (label 0) and half on one of radius 3
// around it (label 1), as the TwoCircles set of Kulis2009 5.1: no line separates them. Angles are
// uniform; noise is the standard deviation of the normal noise in each coordinate.
func TwoCircles(n int, noise float64, rng *rand.Rand) (*dataset.Points, []int32, error) {
	return curves(n, noise, rng, func(label int32) (x, y float64) {
		radius := InnerRadius
		if label == 1 {
			radius = OuterRadius
		}
		sin, cos := math.Sincos(2 * math.Pi * rng.Float64())
		return radius * cos, radius * sin
	})
}

// TwoMoons puts n points on two interleaving half circles of radius 1, with noise as in TwoCircles.
func TwoMoons(n int, noise float64, rng *rand.Rand) (*dataset.Points, []int32, error) {
	return curves(n, noise, rng, func(label int32) (x, y float64) {
		sin, cos := math.Sincos(math.Pi * rng.Float64())
		if label == 1 {
			return 1 - cos, 0.5 - sin
		}
		return cos, sin
	})
}

// curves makes n points of two clusters, each on a curve of its own, and adds noise.
func curves(n int, noise float64, rng *rand.Rand,
	curve func(label int32) (x, y float64)) (*dataset.Points, []int32, error) {
	if err := cmp.Or(checkSizes(n, 2), checkNumber("noise", noise)); err != nil {
		return nil, nil, err
	}
	truth := roundRobin(n, 2)
	values := make([]float64, 0, 2*n)
	for _, label := range truth {
		x, y := curve(label)
		values = append(values, x+float64(noise*rng.NormFloat64()), y+float64(noise*rng.NormFloat64()))
	}
	points, err := dataset.NewPoints(n, 2, values)
	return points, truth, err
}

// centerBox is half the side of the cube that the centers of Gaussians lie in.
const centerBox = 10

// Gaussians draws n points of d features from k round Gaussians with the standard deviation
// spread, whose centers are uniform in the cube from -10 to 10.
func Gaussians(n, d, k int, spread float64, rng *rand.Rand) (*dataset.Points, []int32, error) {
	if err := checkSizes(n, k); err != nil {
		return nil, nil, err
	}
	if d < 1 {
		return nil, nil, fault.Invalid("BAD_DIMENSION", "the number of features is %d; it must be at least 1", d)
	}
	if err := checkValues(n, d); err != nil {
		return nil, nil, err
	}
	if err := checkNumber("spread", spread); err != nil {
		return nil, nil, err
	}
	centers := make([]float64, k*d)
	for i := range centers {
		centers[i] = centerBox * (2*rng.Float64() - 1) // exact, fused or not
	}
	truth := roundRobin(n, k)
	values := make([]float64, 0, n*d)
	for _, label := range truth {
		for _, center := range centers[int(label)*d : (int(label)+1)*d] {
			values = append(values, center+float64(spread*rng.NormFloat64()))
		}
	}
	points, err := dataset.NewPoints(n, d, values)
	return points, truth, err
}

// roundRobin labels n points 0, 1, ..., k-1, 0, 1, and so on.
func roundRobin(n, k int) []int32 {
	truth := make([]int32, n)
	for i := range truth {
		truth[i] = int32(i % k)
	}
	return truth
}

func checkSizes(n, k int) error {
	switch {
	case n < 2 || n > dataset.MaxRows:
		return fault.Invalid("BAD_SIZE", "the number of points is %d; it must be from 2 to %d", n, dataset.MaxRows)
	case k < 1 || k > n:
		return fault.Invalid("BAD_CLUSTER_COUNT", "the number of clusters is %d for %d points; it must be from 1 to %d",
			k, n, n)
	}
	return nil
}

// maxValues is the largest number of values to generate, 32 GiB: any number of points with two features.
const maxValues = 1 << 32

func checkValues(n, d int) error {
	if d > maxValues/n {
		return fault.Invalid("BAD_SIZE", "%d points of %d features have more than %d values; generate fewer",
			n, d, maxValues)
	}
	return nil
}

// checkNumber returns an error if a value is negative or not finite.
func checkNumber(what string, value float64) error {
	if !(value >= 0) || math.IsInf(value, 0) {
		return fault.Invalid("BAD_NUMBER", "the %s is %v; it must be 0 or more, and finite", what, value)
	}
	return nil
}

// backgroundMargin is how far the background extends beyond the points, as a share of their range.
const backgroundMargin = 0.1

// WithBackground appends count points that are uniform in a box around the given ones, as in the noisy
// sample of Wang2014 7.2. They form a new class, numbered after those of the truth. It modifies neither
// argument.
func WithBackground(points *dataset.Points, truth []int32, count int,
	rng *rand.Rand) (*dataset.Points, []int32, error) {
	if count < 0 || count > dataset.MaxRows-points.N {
		return nil, nil, fault.Invalid("BAD_SIZE",
			"the number of background points is %d next to %d others; it must be from 0 to %d", count, points.N,
			dataset.MaxRows-points.N)
	}
	if count == 0 {
		return points, truth, nil
	}
	if err := checkValues(points.N+count, points.D); err != nil {
		return nil, nil, err
	}
	low := slices.Clone(points.Row(0))
	high := slices.Clone(points.Row(0))
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
			from := low[f] - float64(backgroundMargin*size)
			width := (1 + 2*backgroundMargin) * size
			values = append(values, from+float64(width*rng.Float64()))
		}
		truth = append(truth, class)
	}
	all, err := dataset.NewPoints(points.N+count, points.D, values)
	return all, truth, err
}

// Constraints draws distinct pairs of points at random and makes each a must-link or a cannot-link
// according to the truth (Kulis2009 5.2). They have no weight, so that the algorithm's default applies.
//
// Pairs are numbered (pairCount(i) + j for j < i) and numbers are drawn without repetition by Floyd's
// method: one draw for each constraint, even if nearly all pairs are drawn.
func Constraints(truth []int32, count int, rng *rand.Rand) ([]constraint.Constraint, error) {
	pairs := pairCount(int64(len(truth)))
	if count < 0 || int64(count) > pairs {
		return nil, fault.Invalid("TOO_MANY_CONSTRAINTS",
			"the number of constraints is %d; %d points have only %d pairs", count, len(truth), pairs)
	}
	constraints := []constraint.Constraint{}
	drawn := map[int64]bool{}
	for last := pairs - int64(count); last < pairs; last++ {
		number := rng.Int64N(last + 1)
		if drawn[number] {
			number = last
		}
		drawn[number] = true
		i, j := pairOf(number)
		kind := constraint.CannotLink
		if truth[i] == truth[j] {
			kind = constraint.MustLink
		}
		constraints = append(constraints, constraint.Constraint{I: int32(i), J: int32(j), Kind: kind})
	}
	return constraints, nil
}

// pairCount returns the number of pairs of m points.
func pairCount(m int64) int64 { return m * (m - 1) / 2 }

// pairOf returns the pair i < j with pairCount(j) + i = number.
func pairOf(number int64) (i, j int) {
	row := int64((1 + math.Sqrt(1+8*float64(number))) / 2) // exact, fused or not
	for pairCount(row) > number {                          // the square root is rounded
		row--
	}
	for pairCount(row+1) <= number {
		row++
	}
	return int(number - pairCount(row)), int(row)
}
