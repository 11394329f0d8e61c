package kmeans

import (
	"context"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/parallel"
)

// planStarts returns how the restarts begin. They begin alike unless the start is open; one is enough, unless the user
// asks for more, if it leaves nothing to chance. An open start begins with the unconstrained answer, so that
// constraints cannot make the objective worse than without them, and with the start of the paper.
//
// If starts run on a sample of the rows, as in a race, one run over all rows begins where the best of them ended: that
// of k-means or, with constraints, the one without them. In that case open starts hardly need k-means++.
func (p *Problem) planStarts(sampled bool) clustering.StartPlan {
	const plus = clustering.StartKmeansPlusPlus
	type starts = []clustering.Start
	start := p.startKind()
	open := p.startOpen()
	certain := p.spec.Restarts == 0 && p.certain(start)
	n := p.spec.Runs()
	var first starts
	if p.weighed() {
		first = append(first, clustering.StartLabels)
	}
	if p.options.Algorithm == CopKmeans || p.Constraints.Len() > 0 {
		first = append(first, start)
	}
	return clustering.PlanStarts(p.weighed(), []clustering.StartRule{
		{
			When:          open && sampled,
			Unconstrained: starts{plus},
			Starts:        clustering.ByTurns(min(2, n), first, plus),
		},
		{
			When:          open,
			Unconstrained: clustering.ByTurns(n, nil, plus),
			Starts:        clustering.ByTurns(n, first, plus),
		},
		{
			When:          certain || sampled && !p.weighed(),
			Unconstrained: starts{plus},
			Starts:        starts{start},
		},
		{
			When:          sampled,
			Unconstrained: starts{plus},
			Starts:        clustering.ByTurns(n, nil, start),
		},
		{
			When:          true,
			Unconstrained: clustering.ByTurns(n, nil, plus),
			Starts:        clustering.ByTurns(n, nil, start),
		},
	})
}

// weighed reports whether constraints are weighed by the unconstrained answer.
func (p *Problem) weighed() bool {
	return p.spec.Choose && p.options.Algorithm.constrained() && p.Constraints.Len() > 0
}

// startOpen reports whether each restart may begin in a different way.
func (p *Problem) startOpen() bool {
	return p.spec.Choose && p.spec.Initialization.Start == clustering.StartDefault &&
		(p.options.Algorithm.hasParts() || p.options.Algorithm == CopKmeans)
}

// certain reports whether a start leaves nothing to chance.
func (p *Problem) certain(start clustering.Start) bool {
	switch start {
	case clustering.StartLabels, clustering.StartCentroids:
		return true
	case clustering.StartSeeds:
		return p.seededClusters() == p.spec.K
	}
	return false
}

// Restarts returns the number of restarts. Unless the user asked for a number, there is only one if the start does not
// depend on chance.
func (p *Problem) Restarts() int { return len(p.plan.Starts) }

// Runs returns how many runs over all rows a job takes: its restarts, and those for the unconstrained answer.
func (p *Problem) Runs() int { return p.plan.Runs() }

// BeginAt returns the problem with a run that begins at the given centroids, in the coordinates of prepared rows. With
// constraints that is the run for the unconstrained answer.
func (p *Problem) BeginAt(centroids []float64) *Problem {
	begun := p.copied()
	begun.sampled = centroids
	if len(p.plan.Unconstrained) == 0 {
		begun.plan = clustering.StartPlan{Starts: []clustering.Start{clustering.StartCentroids}}
		begun.raceRows = 0
		begun.options.InitialCentroids = centroids
	}
	return begun
}

// begin returns the problem with what its restarts need: the unconstrained answer or the winner of a race, and the
// ranges of the features.
func (p *Problem) begin(ctx context.Context, x Executor) (*Problem, error) {
	ready := p.copied()
	switch {
	case len(p.plan.Unconstrained) > 0:
		answer, err := p.findUnconstrained(ctx, x)
		if err != nil {
			return nil, err
		}
		ready = p.withAnswer(answer)
	case p.raceRows > 0:
		centroids, err := p.winner(ctx)
		if err != nil {
			return nil, err
		}
		ready = p.BeginAt(centroids)
		ready.spec.Tolerance = max(ready.spec.Tolerance, lastTolerance)
	}
	var err error
	if p.needsRanges() {
		ready.ranges, err = p.source.Ranges(ctx)
	}
	return ready, err
}

// copied returns a copy whose fields may be replaced, but not what they refer to.
func (p *Problem) copied() *Problem {
	c := *p
	return &c
}

// findUnconstrained computes the answer without constraints, unless an earlier process has.
func (p *Problem) findUnconstrained(ctx context.Context, x Executor) (clustering.Unconstrained, error) {
	spec := p.spec
	spec.Supervision.Constraints = nil
	spec.Initialization.Start = clustering.StartKmeansPlusPlus
	spec.Initialization.Labels = nil
	spec.MaxIterations = max(spec.MaxIterations, 1)
	spec.Restarts = len(p.plan.Unconstrained)
	if p.raceRows > 0 {
		spec.Restarts = p.spec.Runs()
	}
	spec.Algorithm = &Options{Algorithm: Kmeans, Distortion: p.options.Distortion, Race: p.options.Race}
	plain, err := p.WithSpec(spec)
	if err != nil {
		return clustering.Unconstrained{}, err
	}
	if p.sampled != nil {
		plain = plain.BeginAt(p.sampled)
	}
	return clustering.FindUnconstrained(ctx, setup{newServer(x, parallel.Threads(ctx)), plain}, p.n, p.spec.K,
		func(_ context.Context, found *clustering.Result) (float64, error) { return p.distortionOf(found), nil })
}

// distortionOf returns the distortion of all points in an answer of k-means.
func (p *Problem) distortionOf(found *clustering.Result) float64 {
	if p.options.Distortion == metric.Cosine { // the sum of cosines is reported
		return float64(p.n) - found.Objective
	}
	return found.Objective
}

// withAnswer returns the problem with its unconstrained answer. The Potts penalty, whose weights have no unit of their
// own, gets the unit of the distortion: a violated constraint costs its weight times the mean distortion of a point.
func (p *Problem) withAnswer(answer clustering.Unconstrained) *Problem {
	answered := p.copied()
	answered.unconstrained = &answer
	if p.spec.Initialization.Start == clustering.StartDefault {
		answered.spec.Initialization.Labels = answer.Labels
	}
	unit := answer.Cost / float64(p.n)
	if p.options.Penalty != metric.Potts || !(unit > 0) {
		return answered
	}
	answered.Constraints = p.Constraints.Reweighted(func(pair constraint.Pair) float64 {
		return min(unit*pair.Weight, math.MaxFloat64/constraint.MaxEntailed) // so that the sum is finite
	})
	answered.links = slices.Clone(p.links)
	for i, pair := range answered.Constraints.Pairs() {
		answered.links[i].Weight = pair.Weight
	}
	return answered
}

// objectiveOf returns J of the unconstrained answer, before any metric is learned.
func (p *Problem) objectiveOf(answer *clustering.Unconstrained) float64 {
	links := slices.Clone(p.links)
	for i, pair := range p.Constraints.Pairs() {
		links[i].Violated = pair.Violates(answer.Labels)
	}
	measure := metric.Measure{Distortion: p.options.Distortion, Metric: metric.NewIdentity(p.d)}
	must, cannot := measure.Penalties(p.options.Penalty, links, measure.Bound(p.options.Penalty, links, p.ranges))
	return answer.Cost + must + cannot
}
