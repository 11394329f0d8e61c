package kernelkmeans

import (
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
)

// maxSpectralStart bounds n k for a spectral start that the user did not ask for, to limit the coordinator's memory.
const maxSpectralStart = 1 << 20

// startPlan says how the restarts of a problem begin.
//
//	start               starts of the restarts
//	named, or by seeds  this one, once if it leaves nothing to chance
//	open, on a graph    the answer without constraints, then those of package multilevel
//	open otherwise      the answer without constraints, a spectral start, then alternately random labels and k-means++
//
// Farthest-first is not among those of an open start: it begins at must-link components, and so finds clusters that
// consist of nothing else if they are worth only a little more than others. In a sparse graph most vertices are equally
// far from all clusters of a few vertices, so starts other than multilevel fail.
type startPlan struct {
	starts []clustering.Start // of each restart
	mixed  bool               // whether the start is open
	// unconstrained is the number of runs without constraints, which go first; 0 if their answer is not needed.
	unconstrained int
	// spectral and multilevel tell whether a start, also one of a run without constraints, needs eigenvectors or the
	// levels of a graph.
	spectral, multilevel bool
}

// planStarts returns the plan for the spec.
func (p *Problem) planStarts() (plan startPlan) {
	start := p.startKind()
	runs := p.spec.Runs()
	plan.mixed = p.spec.Choose && p.spec.Initialization.Start == clustering.StartDefault &&
		len(p.spec.Supervision.Seeds) == 0
	plan.spectral = start == clustering.StartSpectral
	plan.multilevel = start == clustering.StartMultilevel
	if plan.mixed {
		plan.multilevel = p.graph != nil
		plan.spectral = p.graph == nil && p.n*p.spec.K <= maxSpectralStart
	}
	// multilevel tries many starts itself
	if !plan.mixed && !start.Random() || plan.multilevel && p.spec.Restarts == 0 {
		runs = 1
	}
	if p.spec.Choose && p.Constraints.Len() > 0 {
		if plan.unconstrained = runs; plan.multilevel && p.spec.Restarts == 0 {
			runs = 2
		}
	}
	if !plan.mixed {
		plan.starts = slices.Repeat([]clustering.Start{start}, runs)
		return plan
	}
	if plan.unconstrained > 0 {
		plan.starts = append(plan.starts, clustering.StartLabels)
	}
	rest := []clustering.Start{clustering.StartRandom, clustering.StartKmeansPlusPlus}
	if plan.multilevel {
		rest = []clustering.Start{clustering.StartMultilevel}
	} else if plan.spectral {
		plan.starts = append(plan.starts, clustering.StartSpectral)
	}
	plan.starts = append(plan.starts, slices.Repeat(rest, runs)...)[:runs]
	return plan
}

// startKind returns the start of the paper, unless the user named one.
func (p *Problem) startKind() clustering.Start {
	switch {
	case p.spec.Initialization.Start != clustering.StartDefault:
		return p.spec.Initialization.Start
	case len(p.spec.Supervision.Seeds) > 0:
		return clustering.StartSeeds
	case p.Constraints.Len() > 0:
		return clustering.StartFarthestFirst
	}
	return clustering.StartKmeansPlusPlus
}

// Restarts returns the number of restarts, 1 if the start does not depend on chance.
func (p *Problem) Restarts() int { return len(p.plan.starts) }

// Runs returns how many runs a job takes: its restarts, and those for the unconstrained answer.
func (p *Problem) Runs() int { return p.Restarts() + p.plan.unconstrained }

// StartsSpectral reports whether a start needs eigenvectors.
func (p *Problem) StartsSpectral() bool { return p.plan.spectral }

// StartsMultilevel reports whether a run begins with the labels of package multilevel.
func (p *Problem) StartsMultilevel() bool { return p.plan.multilevel }
