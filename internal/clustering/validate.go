package clustering

import (
	"errors"

	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/text"
)

// onlyRows returns the number of rows as part of a sentence after "there".
func onlyRows(rows int) string {
	if rows == 1 {
		return "is only 1 row"
	}
	return "are only " + text.Plural(rows, "row")
}

// Validate checks a spec against the number of rows, which the catalog does not know. The error is a *fault.Error that
// names the field at fault.
func Validate(rows int, spec Spec) error {
	switch {
	case spec.Algorithm == nil:
		return fault.Invalid("NO_ALGORITHM", "no algorithm is given").OnField("spec.algorithm")
	case spec.K < 1:
		return fault.Invalid("BAD_K", "k is %d; at least one cluster is needed", spec.K).OnField("spec.k")
	case spec.MaxK > 0:
		if err := validateRange(rows, spec); err != nil {
			return err
		}
	case spec.K > rows:
		return fault.Invalid("BAD_K", "k is %d but there %s; k must be at most the number of rows", spec.K,
			onlyRows(rows)).OnField("spec.k")
	}
	if err := validateStart(rows, spec); err != nil {
		return err
	}
	if err := ValidateNeighbors(rows, spec); err != nil {
		return err
	}
	return spec.Algorithm.Validate(rows, spec)
}

// FieldNeighbors is the path of the number of neighbors in a request.
const FieldNeighbors = "spec.neighbor_graph.neighbors"

// ValidateNeighbors checks that spec.Neighbors is 0 or less than the number of rows.
func ValidateNeighbors(rows int, spec Spec) error {
	if spec.Neighbors.Count == 0 || spec.Neighbors.Count > 0 && spec.Neighbors.Count < rows {
		return nil
	}
	return fault.Invalid("BAD_KNN", "%d neighbors of each row are requested; with %s, there can be 1 to %d",
		spec.Neighbors.Count, text.Plural(rows, "row"), rows-1).OnField(FieldNeighbors)
}

// validateStart checks the seeds, and that initial labels are given for all rows if and only if the run starts there.
func validateStart(rows int, spec Spec) error {
	if err := validateSeeds(rows, spec); err != nil {
		return err
	}
	if (spec.Initialization.Start == StartLabels) != (len(spec.Initialization.Labels) > 0) {
		return fault.Invalid("BAD_START", "initial labels and the start from labels go together: give both or neither").
			OnField("spec.initialization.labels")
	}
	if spec.Initialization.Start == StartLabels && len(spec.Initialization.Labels) != rows {
		return fault.Invalid("BAD_START", "there are %d initial labels for %d rows", len(spec.Initialization.Labels),
			rows).OnField("spec.initialization.labels")
	}
	for i, c := range spec.Initialization.Labels {
		if c < 0 || int(c) >= spec.K {
			return fault.Invalid("BAD_START", "row %d has initial label %d; labels are 0..%d", i, c, spec.K-1).OnField(
				"spec.initialization.labels")
		}
	}
	return nil
}

// validateSeeds checks that seeds name rows and clusters that exist, and do not contradict each other.
func validateSeeds(rows int, spec Spec) error {
	certain := map[int32]int32{} // the label of each seeded point; -1 if its seeds have probabilities
	for i, s := range spec.Supervision.Seeds {
		if s.Index < 0 || int(s.Index) >= rows {
			return fault.Invalid("INDEX_OUT_OF_RANGE", "seed %d names point %d, outside 0..%d", i, s.Index, rows-1).
				OnField("spec.supervision.seeds")
		}
		if s.Label < 0 || int(s.Label) >= spec.K {
			return fault.Invalid("BAD_SEED_LABEL", "seed %d gives point %d the label %d; labels are 0..%d", i, s.Index,
				s.Label, spec.K-1).OnField("spec.supervision.seeds")
		}
		if !(s.Probability >= 0 && s.Probability <= 1) {
			return fault.Invalid("BAD_PROBABILITY",
				"seed %d gives point %d the label %d with probability %v; it must be from 0 to 1, where 0 or none "+
					"means certain", i, s.Index, s.Label, s.Probability).OnField("spec.supervision.seeds")
		}
		label := s.Label
		if s.Probability != 0 {
			label = -1
		}
		if other, seen := certain[s.Index]; seen && other != label {
			if min(other, label) < 0 {
				return fault.Invalid("CONTRADICTORY_SEEDS",
					"point %d has a seed with a probability and one without; give all its seeds a probability, or "+
						"give it one seed", s.Index).OnField("spec.supervision.seeds")
			}
			return fault.Invalid("CONTRADICTORY_SEEDS", "point %d is seeded with label %d and with label %d", s.Index,
				other, s.Label).OnField("spec.supervision.seeds")
		}
		certain[s.Index] = label
	}
	if spec.Initialization.Start == StartSeeds && len(spec.Supervision.Seeds) == 0 {
		return fault.Invalid("BAD_START", "the start from seeds needs seeds").OnField("spec.supervision.seeds")
	}
	return nil
}

const (
	// FieldRange is the path of the range of k in a request.
	FieldRange = "spec.k_range"
	// maxRange is the maximum number of values in a range of k.
	maxRange = 64
)

// validateRange checks a range of k, which is spec.K to spec.MaxK, against the number of rows, the seeds and the start.
func validateRange(rows int, spec Spec) error {
	refuse := func(format string, args ...any) error {
		return fault.Invalid("BAD_K", format, args...).OnField(FieldRange)
	}
	labels := 0
	for _, s := range spec.Supervision.Seeds {
		labels = max(labels, int(s.Label)+1)
	}
	switch {
	case spec.K < 2:
		return refuse("the range of k starts at %d; it must start at 2 or more, because a single cluster cannot be "+
			"compared", spec.K)
	case spec.MaxK <= spec.K:
		return refuse("the range of k is %d..%d; the last number must be larger than the first", spec.K, spec.MaxK)
	case spec.MaxK-spec.K >= maxRange:
		return refuse("the range %d..%d has %d numbers of clusters; at most %d are supported", spec.K, spec.MaxK,
			spec.MaxK-spec.K+1, maxRange)
	case spec.MaxK > rows:
		return refuse("the range of k is %d..%d but there %s; k must be at most the number of rows", spec.K, spec.MaxK,
			onlyRows(rows))
	case labels > spec.K:
		return refuse("the range of k starts at %d but seeds have labels up to %d: start at %d", spec.K,
			labels-1, labels)
	case spec.Initialization.Start == StartLabels || spec.Initialization.Start == StartCentroids:
		return fault.Invalid("BAD_START", "a start from %s has one number of clusters; it cannot be combined with a "+
			"range of k", spec.Initialization.Start).OnField("spec.initialization.start")
	}
	return nil
}

// MaxWeight is the largest allowed weight. It keeps the grid and the squares of weights representable.
const MaxWeight = 1e150

// maxEntailedByDefault limits the implied pairs that Spec.EntailSmall adds as constraints.
const maxEntailedByDefault = 200_000

// NewConstraintSet returns the constraints of a spec over n points, together with those that they imply if spec.Entail
// or spec.EntailSmall is set. The function weight returns the weight of constraints without one of their own, given the
// number of distinct constraints. The error is a *fault.Error if a constraint is invalid.
func NewConstraintSet(n int, spec Spec, weight func(distinct int) float64) (*constraint.Set, error) {
	set, err := constraint.NewSet(n, spec.Supervision.Constraints, weight)
	if err == nil && spec.Supervision.Entail {
		set, err = set.Entail(weight)
	} else if err == nil && spec.Supervision.EntailSmall {
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
	return NewNotice("CONFLICTING_CONSTRAINTS",
		append(message, text.Plain("; constraints are soft here, so the run weighs one against the other"))...), true
}
