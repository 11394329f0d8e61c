package spectral

import (
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/fault"
)

// Name implements clustering.Algorithm.
func (o *Options) Name() string { return o.Algorithm.String() }

// Validate implements clustering.Algorithm.
func (o *Options) Validate(_ int, spec clustering.Spec) error {
	switch {
	case o.Algorithm != Constrained || len(o.Beliefs)+len(spec.Constraints) > 0:
		return nil
	case len(spec.Seeds) == 0:
		return fault.Invalid("NO_BELIEFS", "constrained-spectral needs constraints, seeds or beliefs; take spectral where there are none").OnField("spec.supervision.constraints")
	case !slices.ContainsFunc(spec.Seeds, func(s constraint.Seed) bool { return s.Index != spec.Seeds[0].Index }):
		return fault.Invalid("NO_BELIEFS", "all seeds are of point %d: constrained-spectral needs those of at least two points", spec.Seeds[0].Index).OnField("spec.supervision.seeds")
	}
	return nil
}
