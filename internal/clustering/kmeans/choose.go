package kmeans

import (
	"context"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/snapshot"
)

// unconstrained is the answer of k-means without constraints. It serves as a start and provides the unit of
// distortions.
type unconstrained struct {
	labels     []int32
	distortion float64 // total over all points
}

// withUnconstrained returns the problem with its unconstrained answer, if the user left choices open. The Potts
// penalty, whose weights have no unit of their own, then gets the unit of the distortion: a violated constraint costs
// its weight times the mean distortion of a point.
func (p *Problem) withUnconstrained(ctx context.Context, x Executor) (*Problem, error) {
	if !p.needsUnconstrained() {
		return p, nil
	}
	spec := p.spec
	spec.Constraints, spec.Start, spec.InitialLabels = nil, clustering.StartKmeansPlusPlus, nil
	spec.Restarts, spec.MaxIterations = p.Restarts(), max(spec.MaxIterations, 1)
	if p.mayRace() {
		spec.Restarts = p.spec.Runs()
	}
	spec.Algorithm = &Options{Algorithm: Kmeans, Distortion: p.options.Distortion}
	free, err := p.WithSpec(spec)
	if err != nil {
		return nil, err
	}
	if p.sampled != nil {
		free = free.BeginAt(p.sampled)
	}
	answer, err := snapshot.Once(ctx, "unconstrained", func(w *snapshot.Writer, u unconstrained) { u.save(w) }, p.readUnconstrained,
		func(ctx context.Context) (unconstrained, error) { return free.answer(ctx, x) })
	if err != nil {
		return nil, err
	}
	chosen := *p
	chosen.free = &answer
	if p.mixesStarts() {
		chosen.spec.InitialLabels = answer.labels
	}
	if unit := answer.distortion / float64(p.n); p.options.Penalty == metric.Potts && unit > 0 {
		chosen.Constraints = p.Constraints.Reweighted(func(pair constraint.Pair) float64 {
			return min(unit*pair.Weight, math.MaxFloat64/constraint.MaxEntailed) // so that the sum is finite
		})
		chosen.links = slices.Clone(p.links)
		for i, pair := range chosen.Constraints.Pairs() {
			chosen.links[i].Weight = pair.Weight
		}
	}
	return &chosen, nil
}

// answer runs k-means and returns its answer.
func (p *Problem) answer(ctx context.Context, x Executor) (unconstrained, error) {
	found, err := Run(ctx, p, x, clustering.NopObserver{})
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return unconstrained{}, err
	}
	distortion := found.Objective
	if p.options.Distortion == metric.Cosine { // the sum of cosines is reported
		distortion = float64(p.n) - distortion
	}
	return unconstrained{found.Labels, distortion}, nil
}

func (p *Problem) needsUnconstrained() bool {
	return p.spec.Choose && p.options.Algorithm.constrained() && p.Constraints.Len() > 0
}

// Runs returns how many runs a job takes: its restarts, and those for the unconstrained answer.
func (p *Problem) Runs() int {
	switch {
	case p.needsUnconstrained() && p.FromSample:
		return p.Restarts() + 1
	case p.needsUnconstrained():
		return 2 * p.Restarts()
	}
	return p.Restarts()
}

// objectiveOf returns J of the unconstrained answer, before any metric is learned.
func (p *Problem) objectiveOf(answer *unconstrained) float64 {
	links := slices.Clone(p.links)
	for i, pair := range p.Constraints.Pairs() {
		links[i].Violated = pair.Violates(answer.labels)
	}
	measure := metric.Measure{Distortion: p.options.Distortion, Metric: metric.NewIdentity(p.d)}
	must, cannot := measure.Penalties(p.options.Penalty, links, measure.Bound(p.options.Penalty, links, p.ranges))
	return answer.distortion + must + cannot
}

// mixesStarts reports whether each restart has a different start.
func (p *Problem) mixesStarts() bool {
	return p.spec.Choose && p.spec.Start == clustering.StartDefault && (p.options.Algorithm.hasParts() || p.options.Algorithm == CopKmeans)
}

// startOf returns the start of a restart. If starts differ, they are the unconstrained answer, so that constraints
// cannot make the objective worse than without them, then the start of the paper, then k-means++.
func (p *Problem) startOf(restart int) clustering.Start {
	if !p.mixesStarts() {
		return p.startKind()
	}
	var starts []clustering.Start
	if p.free != nil {
		starts = append(starts, clustering.StartLabels)
	}
	if p.options.Algorithm == CopKmeans || p.Constraints.Len() > 0 {
		starts = append(starts, p.startKind())
	}
	if restart < len(starts) {
		return starts[restart]
	}
	return clustering.StartKmeansPlusPlus
}

// BeginAt returns the problem with a run that begins at the given centroids, in the coordinates of prepared rows. With
// constraints that is the run for the unconstrained answer.
func (p *Problem) BeginAt(centroids []float64) *Problem {
	begun := *p
	begun.FromSample, begun.sampled = true, centroids
	if !begun.needsUnconstrained() {
		begun.spec.Start, begun.options.InitialCentroids = clustering.StartCentroids, centroids
	}
	return &begun
}

// Restarts returns the number of restarts. Unless the user asked for a number, there is only one if the start does not
// depend on chance.
func (p *Problem) Restarts() int {
	switch {
	case p.FromSample && p.mixesStarts() && p.needsUnconstrained():
		return min(2, p.spec.Runs()) // from the unconstrained answer, and from the paper's start
	case p.FromSample:
		return 1
	}
	certain := false
	switch p.startKind() {
	case clustering.StartLabels, clustering.StartCentroids:
		certain = true
	case clustering.StartSeeds:
		certain = p.seededClusters() == p.spec.K
	}
	if p.spec.Restarts == 0 && certain {
		return 1
	}
	return p.spec.Runs()
}
