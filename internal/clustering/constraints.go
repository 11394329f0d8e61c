package clustering

import (
	"errors"

	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/text"
)

// MaxWeight is the largest allowed weight. It keeps the grid and the squares of weights representable.
const MaxWeight = 1e150

// maxEntailedByDefault limits the implied pairs that Spec.EntailSmall adds as constraints.
const maxEntailedByDefault = 200_000

// NewConstraintSet returns the constraints of a spec over n points, together with those that they imply if spec.Entail
// or spec.EntailSmall is set. The function weight returns the weight of constraints without one of their own, given the
// number of distinct constraints. The error is a *fault.Error if a constraint is invalid.
func NewConstraintSet(n int, spec Spec, weight func(distinct int) float64) (*constraint.Set, error) {
	set, err := constraint.NewSet(n, spec.Constraints, weight)
	if err == nil && spec.Entail {
		set, err = set.Entail(weight)
	} else if err == nil && spec.EntailSmall {
		set, err = set.EntailSmall(maxEntailedByDefault, weight)
	}
	if f, isFault := errors.AsType[*fault.Error](err); isFault {
		return nil, f.OnField("spec.supervision.constraints")
	}
	if err != nil {
		return nil, err
	}
	for _, pair := range set.Pairs() {
		if pair.Weight > MaxWeight {
			return nil, fault.Invalid("BAD_WEIGHT", "the %v-link %d-%d has weight %g; at most %g is supported",
				pair.Kind, pair.I, pair.J, pair.Weight, MaxWeight).OnField("spec.supervision.constraints")
		}
	}
	return set, nil
}

// ConflictNotice returns a warning about constraints that contradict each other and proves the first conflict. It
// returns false if there are no conflicts.
func ConflictNotice(set *constraint.Set) (Notice, bool) {
	count := set.CountConflicts()
	if count == 0 {
		return Notice{}, false
	}
	message := set.Conflicts(1)[0].Message()
	if count > 1 {
		message = append(message, text.Plain(" (and %s)", text.Plural(count-1, "more conflict")))
	}
	return NewNotice("CONFLICTING_CONSTRAINTS", append(message, text.Plain("; constraints are soft here, so the run weighs one against the other"))...), true
}
