package kernelkmeans

import (
	"math"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/fault"
)

// Validate implements clustering.Algorithm.
func (o *Options) Validate(rows int, spec clustering.Spec) error {
	for at, s := range spec.Seeds {
		if s.Probability != 0 && o.MatrixOf == "" {
			return fault.Invalid("OPTION_DOES_NOT_APPLY", "seed %d has a probability, which only auto, seeded-kmeans, constrained-kmeans and constrained-spectral understand", at).OnField("spec.supervision.seeds")
		}
	}
	if len(o.Weights) > 0 && len(o.Weights) != rows {
		return fault.Invalid("BAD_WEIGHT", "there are %d point weights for %d rows", len(o.Weights), rows).OnField(o.field("weights"))
	}
	for i, a := range o.Weights {
		if !(a > 0) || math.IsInf(a, 0) {
			return fault.Invalid("BAD_WEIGHT", "point %d has weight %v; weights must be positive and finite", i, a).OnField(o.field("weights"))
		}
	}
	return nil
}
