package centroid

import (
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/fault"
)

// Name implements clustering.Algorithm.
func (v *Options) Name() string { return v.Algorithm.String() }

// Validate implements clustering.Algorithm.
func (v *Options) Validate(_ int, spec clustering.Spec) error {
	if len(spec.Seeds) == 0 && v.Algorithm.seeded() {
		return fault.Invalid("NO_SEEDS", "%v starts from seeds; give at least one", v.Algorithm).OnField("spec.supervision.seeds")
	}
	return nil
}
