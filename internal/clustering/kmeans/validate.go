package kmeans

import (
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/fault"
)

// Name implements clustering.Algorithm.
func (o *Options) Name() string { return o.Algorithm.String() }

// Validate implements clustering.Algorithm.
func (o *Options) Validate(_ int, spec clustering.Spec) error {
	if len(spec.Seeds) == 0 && o.Algorithm.seeded() {
		return fault.Invalid("NO_SEEDS", "%v starts from seeds; give at least one", o.Algorithm).OnField("spec.supervision.seeds")
	}
	return nil
}
