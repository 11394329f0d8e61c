package clustering

import (
	"github.com/cleave-project/cleave/internal/clustering/catalog"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/invalid"
	"github.com/cleave-project/cleave/internal/text"
)

// Validate checks a spec against the number of rows, which the catalog does not know. The error is an
// *invalid.Error.
func Validate(rows int, spec Spec) error {
	switch {
	case spec.Algorithm == nil:
		return invalid.New(invalid.NoAlgorithm)
	case spec.K < 1:
		return invalid.New(invalid.KBelowOne, "k", spec.K)
	case spec.MaxK > 0:
		if err := validateRange(rows, spec); err != nil {
			return err
		}
	case spec.K > rows:
		return invalid.New(invalid.KAboveRows, "k", spec.K, "rows", rows)
	}
	if err := validateStart(rows, spec); err != nil {
		return err
	}
	if err := ValidateNeighbors(rows, spec); err != nil {
		return err
	}
	return spec.Algorithm.Validate(rows, spec)
}

// ValidateNeighbors checks that spec.Neighbors is 0 or less than the number of rows.
func ValidateNeighbors(rows int, spec Spec) error {
	if spec.Neighbors.Count == 0 || spec.Neighbors.Count > 0 && spec.Neighbors.Count < rows {
		return nil
	}
	return invalid.New(invalid.NeighborsAboveRows, "neighbors", spec.Neighbors.Count, "rows", rows, "limit", rows-1)
}

// validateStart checks the seeds, and that initial labels are given for all rows if and only if the run starts there.
func validateStart(rows int, spec Spec) error {
	if err := validateSeeds(rows, spec); err != nil {
		return err
	}
	if (spec.Initialization.Start == StartLabels) != (len(spec.Initialization.Labels) > 0) {
		return invalid.New(invalid.StartWithoutLabels)
	}
	if spec.Initialization.Start == StartLabels && len(spec.Initialization.Labels) != rows {
		return invalid.New(invalid.InitialLabelCount, "labels", len(spec.Initialization.Labels), "rows", rows)
	}
	for i, c := range spec.Initialization.Labels {
		if c < 0 || int(c) >= spec.K {
			return invalid.New(invalid.InitialLabel, "point", i, "label", c, "limit", spec.K-1)
		}
	}
	return nil
}

// validateSeeds checks that seeds name rows and clusters that exist, and do not contradict each other.
func validateSeeds(rows int, spec Spec) error {
	certain := map[int32]int32{} // the label of each seeded point; -1 if its seeds have probabilities
	for i, s := range spec.Supervision.Seeds {
		if s.Index < 0 || int(s.Index) >= rows {
			return invalid.New(invalid.SeedPoint, "seed", i, "point", s.Index, "limit", rows-1)
		}
		if s.Label < 0 || int(s.Label) >= spec.K {
			return invalid.New(invalid.SeedLabel, "seed", i, "point", s.Index, "label", s.Label, "limit", spec.K-1)
		}
		if !(s.Probability >= 0 && s.Probability <= 1) {
			return invalid.New(invalid.SeedProbability, "seed", i, "point", s.Index, "label", s.Label,
				"probability", s.Probability)
		}
		label := s.Label
		if s.Probability != 0 {
			label = -1
		}
		if other, seen := certain[s.Index]; seen && other != label {
			if min(other, label) < 0 {
				return invalid.New(invalid.SeedsMixed, "point", s.Index)
			}
			return invalid.New(invalid.SeedsDiffer, "point", s.Index, "first", other, "second", s.Label)
		}
		certain[s.Index] = label
	}
	if spec.Initialization.Start == StartSeeds && len(spec.Supervision.Seeds) == 0 {
		return invalid.New(invalid.StartWithoutSeeds)
	}
	return nil
}

// maxRange is the maximum number of values in a range of k.
const maxRange = 64

// validateRange checks a range of k, which is spec.K to spec.MaxK, against the number of rows, the seeds and the start.
func validateRange(rows int, spec Spec) error {
	labels := 0
	for _, s := range spec.Supervision.Seeds {
		labels = max(labels, int(s.Label)+1)
	}
	switch {
	case spec.K < 2:
		return invalid.New(invalid.RangeBelowTwo, "k", spec.K)
	case spec.MaxK <= spec.K:
		return invalid.New(invalid.RangeEmpty, "k", spec.K, "last", spec.MaxK)
	case spec.MaxK-spec.K >= maxRange:
		return invalid.New(invalid.RangeTooLong, "k", spec.K, "last", spec.MaxK, "count", spec.MaxK-spec.K+1,
			"limit", maxRange)
	case spec.MaxK > rows:
		return invalid.New(invalid.RangeAboveRows, "k", spec.K, "last", spec.MaxK, "rows", rows)
	case labels > spec.K:
		return invalid.New(invalid.RangeBelowSeeds, "k", spec.K, "label", labels-1, "least", labels)
	case spec.Initialization.Start == StartLabels || spec.Initialization.Start == StartCentroids:
		return invalid.New(invalid.RangeWithStart, "start", spec.Initialization.Start)
	}
	return nil
}

// MaxWeight is the largest allowed weight. It keeps the grid and the squares of weights representable.
const MaxWeight = 1e150

// NewConstraintSet returns the constraints of a spec over n points, together with those that they imply if spec.Entail
// or spec.EntailSmall is set. The function weight returns the weight of constraints without one of their own, given the
// number of distinct constraints. The error is an *invalid.Error.
func NewConstraintSet(n int, spec Spec, weight func(distinct int) float64) (*constraint.Set, error) {
	set, err := constraint.NewSet(n, spec.Supervision.Constraints, weight)
	if err == nil && spec.Supervision.Entail {
		set, err = set.Entail(weight)
	} else if err == nil && spec.Supervision.EntailSmall {
		set, err = set.EntailSmall(catalog.MaxEntailed, weight)
	}
	if err != nil {
		return nil, err
	}
	for _, pair := range set.Pairs() {
		if pair.Weight > MaxWeight {
			return nil, invalid.New(invalid.ConstraintWeight, "link", pair.Kind, "i", pair.I, "j", pair.J,
				"weight", pair.Weight, "limit", MaxWeight)
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
