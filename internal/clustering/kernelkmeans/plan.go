package kernelkmeans

import (
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
)

// maxSpectralStart bounds n k for a spectral start that the user did not ask for, to limit the coordinator's memory.
const maxSpectralStart = 1 << 20

// planStarts returns how the restarts begin. They begin alike unless the start is open; one is enough if it leaves
// nothing to chance, or if it is multilevel, which tries many starts itself. If constraints are weighed by the
// unconstrained answer, an open start begins with that.
//
// Farthest-first is not among those of an open start: it begins at must-link components, and so finds clusters that
// consist of nothing else if they are worth only a little more than others. In a sparse graph most vertices are equally
// far from all clusters of a few vertices, so starts other than multilevel fail.
func (p *Problem) planStarts() clustering.StartPlan {
	const eigenvectors, levels = clustering.StartSpectral, clustering.StartMultilevel
	const random, plus = clustering.StartRandom, clustering.StartKmeansPlusPlus
	type starts = []clustering.Start
	start := p.startKind()
	open := p.startOpen()
	onGraph := p.graph != nil
	n := p.spec.Runs()
	once := !start.Random() || start == levels && p.spec.Restarts == 0
	weighed := p.spec.Choose && p.Constraints.Len() > 0
	var free starts
	if weighed {
		free = starts{clustering.StartLabels}
	}
	return clustering.PlanStarts(weighed, []clustering.StartRule{
		{
			When:          open && onGraph && p.spec.Restarts == 0,
			Unconstrained: starts{levels},
			Starts:        slices.Concat(free, starts{levels}),
		},
		{
			When:          open && onGraph,
			Unconstrained: clustering.ByTurns(n, nil, levels),
			Starts:        clustering.ByTurns(n, free, levels),
		},
		{
			When:          open && p.n*p.spec.K <= maxSpectralStart,
			Unconstrained: clustering.ByTurns(n, starts{eigenvectors}, random, plus),
			Starts:        clustering.ByTurns(n, slices.Concat(free, starts{eigenvectors}), random, plus),
		},
		{
			When:          open,
			Unconstrained: clustering.ByTurns(n, nil, random, plus),
			Starts:        clustering.ByTurns(n, free, random, plus),
		},
		{
			When:          once && start == levels && weighed,
			Unconstrained: starts{levels},
			Starts:        starts{levels, levels},
		},
		{
			When:          once,
			Unconstrained: starts{start},
			Starts:        starts{start},
		},
		{
			When:          true,
			Unconstrained: clustering.ByTurns(n, nil, start),
			Starts:        clustering.ByTurns(n, nil, start),
		},
	})
}

// startOpen reports whether each restart may begin in a different way.
func (p *Problem) startOpen() bool {
	return p.spec.Choose && p.spec.Initialization.Start == clustering.StartDefault &&
		len(p.spec.Supervision.Seeds) == 0
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
func (p *Problem) Restarts() int { return len(p.plan.Starts) }

// Runs returns how many runs a job takes: its restarts, and those for the unconstrained answer.
func (p *Problem) Runs() int { return p.plan.Runs() }

// StartsSpectral reports whether a start needs eigenvectors.
func (p *Problem) StartsSpectral() bool { return p.plan.Includes(clustering.StartSpectral) }

// StartsMultilevel reports whether a run begins with the labels of package multilevel.
func (p *Problem) StartsMultilevel() bool { return p.plan.Includes(clustering.StartMultilevel) }
