package synth

import (
	"math"
	"math/rand/v2"

	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/fault"
)

// Constraints draws distinct pairs of points at random and makes each a must-link or a cannot-link, as
// the truth says (Kulis2009 5.2). They have no weight, so that the algorithm's default applies.
//
// Pairs are numbered (pairCount(i) + j for j < i) and numbers are drawn without repetition by Floyd's
// method: one draw for each constraint, even if nearly all pairs are drawn.
func Constraints(truth []int32, count int, rng *rand.Rand) ([]constraint.Constraint, error) {
	pairs := pairCount(int64(len(truth)))
	if count < 0 || int64(count) > pairs {
		return nil, fault.Invalid("TOO_MANY_CONSTRAINTS", "%d constraints were asked for; %d points have %d pairs", count, len(truth), pairs)
	}
	constraints := []constraint.Constraint{}
	drawn := map[int64]bool{}
	for last := pairs - int64(count); last < pairs; last++ {
		number := rng.Int64N(last + 1)
		if drawn[number] {
			number = last
		}
		drawn[number] = true
		j, i := pairOf(number)
		kind := constraint.CannotLink
		if truth[i] == truth[j] {
			kind = constraint.MustLink
		}
		constraints = append(constraints, constraint.Constraint{I: int32(i), J: int32(j), Kind: kind})
	}
	return constraints, nil
}

// pairCount is the number of pairs of m points.
func pairCount(m int64) int64 { return m * (m - 1) / 2 }

// pairOf is the pair j < i with pairCount(i) + j = number.
func pairOf(number int64) (i, j int) {
	row := int64((1 + math.Sqrt(1+8*float64(number))) / 2)
	for pairCount(row) > number { // the square root is rounded
		row--
	}
	for pairCount(row+1) <= number {
		row++
	}
	return int(row), int(number - pairCount(row))
}
