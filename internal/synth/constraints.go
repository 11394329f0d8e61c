package synth

import (
	"math"
	"math/rand/v2"

	"github.com/cleave-project/cleave/internal/constraint"
	"github.com/cleave-project/cleave/internal/fault"
)

// Constraints draws distinct pairs of points at random and tells for each, from the truth, whether
// it must or cannot be together (Kulis2009 5.2). They carry no weight: the algorithm's default
// applies.
func Constraints(truth []int32, count int, rng *rand.Rand) ([]constraint.Constraint, error) {
	return drawConstraints(len(truth), func(at int) int32 { return int32(at) }, truth, count, rng)
}

// ConstraintsFrom is Constraints among the given points only, as when the rest is held out to
// score on. The indices must be distinct.
func ConstraintsFrom(truth, indices []int32, count int, rng *rand.Rand) ([]constraint.Constraint, error) {
	seen := make(map[int32]bool, len(indices))
	for _, i := range indices {
		if i < 0 || int(i) >= len(truth) {
			return nil, fault.Invalid("INDEX_OUT_OF_RANGE", "point %d to draw constraints from is outside 0..%d", i, len(truth)-1)
		}
		if seen[i] {
			return nil, fault.Invalid("DUPLICATE_INDEX", "point %d stands twice among those to draw constraints from", i)
		}
		seen[i] = true
	}
	return drawConstraints(len(indices), func(at int) int32 { return indices[at] }, truth, count, rng)
}

// drawConstraints numbers the pairs of m points (pair above(i) + j for j < i) and draws numbers
// without repetition by Floyd's method: one draw for each constraint, however dense they lie.
func drawConstraints(m int, point func(at int) int32, truth []int32, count int, rng *rand.Rand) ([]constraint.Constraint, error) {
	pairs := above(int64(m))
	if count < 0 || int64(count) > pairs {
		return nil, fault.Invalid("TOO_MANY_CONSTRAINTS", "%d constraints were asked for; %d points have %d pairs", count, m, pairs)
	}
	constraints := []constraint.Constraint{}
	drawn := map[int64]bool{}
	for last := pairs - int64(count); last < pairs; last++ {
		number := rng.Int64N(last + 1)
		if drawn[number] {
			number = last
		}
		drawn[number] = true
		at, with := pairOf(number)
		i, j := point(with), point(at)
		kind := constraint.CannotLink
		if truth[i] == truth[j] {
			kind = constraint.MustLink
		}
		constraints = append(constraints, constraint.Constraint{I: i, J: j, Kind: kind})
	}
	return constraints, nil
}

// above is the number of pairs of m points.
func above(m int64) int64 { return m * (m - 1) / 2 }

// pairOf is the pair j < i with above(i) + j = number.
func pairOf(number int64) (i, j int) {
	row := int64((1 + math.Sqrt(1+8*float64(number))) / 2)
	for above(row) > number { // the square root may be a rounding off
		row--
	}
	for above(row+1) <= number {
		row++
	}
	return int(row), int(number - above(row))
}
