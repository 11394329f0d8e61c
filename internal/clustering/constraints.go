package clustering

import (
	"errors"

	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/text"
)

// MaxWeight bounds weights so that their grid and their squares stay representable.
const MaxWeight = 1e150

// MaxEntailedByDefault is how many pairs constraints may imply to be made constraints themselves when the user does not
// say whether they should.
const MaxEntailedByDefault = 200_000

// NewConstraintSet is the constraints of a spec, with those that they imply if the spec asks for them. The weight is
// that of constraints without one of their own.
func NewConstraintSet(n int, spec Spec, weight func(distinct int) float64) (*constraint.Set, error) {
	set, err := constraint.NewSet(n, spec.Constraints, weight)
	if err == nil && spec.Entail {
		set, err = set.Entail(weight)
	} else if err == nil && spec.EntailSmall {
		set, err = set.EntailSmall(MaxEntailedByDefault, weight)
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

// ConflictNotice warns of constraints that contradict each other, with the certificate of the first.
func ConflictNotice(set *constraint.Set) (Notice, bool) {
	count := set.CountConflicts()
	if count == 0 {
		return Notice{}, false
	}
	message := set.Conflicts(1)[0].String()
	if count > 1 {
		message += " (and " + text.Plural(count-1, "more conflict") + ")"
	}
	return Notice{"CONFLICTING_CONSTRAINTS", message + "; constraints are soft here, so the run weighs one against the other"}, true
}
