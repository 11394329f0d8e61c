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

// startPlan says how the restarts of a problem begin.
//
//	start                                starts of the restarts
//	given, or leaves nothing to chance   this one, once, unless the user asks for more
//	left to chance                       this one, 10 times or as often as the user asks
//	open, with constraints or a metric   the answer without constraints, so that constraints cannot make the objective
//	                                     worse than without them; the start of the paper; then k-means++
//
// If starts run on a sample of the rows, as in a race, one run over all rows begins where the best of them ended: that
// of k-means or, with constraints, the one without them. In that case open starts have no k-means++ restarts.
type startPlan struct {
	starts []clustering.Start // of each restart
	// unconstrained is the number of runs without constraints, which go first; 0 if their answer is not needed.
	unconstrained int
	raceRows      int // rows that starts race on; 0 if they do not
}

// planStarts returns the plan for the spec.
func (p *Problem) planStarts() (plan startPlan) {
	spec, algorithm, start, runs := p.spec, p.options.Algorithm, p.startKind(), p.spec.Runs()
	linked := p.Constraints.Len() > 0
	unconstrained := spec.Choose && algorithm.constrained() && linked
	mixed := spec.Choose && spec.Initialization.Start == clustering.StartDefault &&
		(algorithm.hasParts() || algorithm == CopKmeans)
	random := start == clustering.StartKmeansPlusPlus || start == clustering.StartRandom
	if p.mayRace() && (algorithm == Kmeans && random || unconstrained) {
		plan.raceRows = p.raceSize()
	}
	sampled := p.options.FromSample || plan.raceRows > 0
	switch {
	case sampled && mixed:
		runs = min(2, runs)
	case sampled && !unconstrained, spec.Restarts == 0 && p.certain(start):
		runs = 1
	}
	if unconstrained {
		if plan.unconstrained = runs; sampled {
			plan.unconstrained = 1
		}
	}
	if mixed {
		if unconstrained {
			plan.starts = append(plan.starts, clustering.StartLabels)
		}
		if algorithm == CopKmeans || linked {
			plan.starts = append(plan.starts, start)
		}
		start = clustering.StartKmeansPlusPlus
	}
	plan.starts = append(plan.starts, slices.Repeat([]clustering.Start{start}, runs)...)[:runs]
	return plan
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
func (p *Problem) Restarts() int { return len(p.plan.starts) }

// Runs returns how many runs over all rows a job takes: its restarts, and those for the unconstrained answer.
func (p *Problem) Runs() int { return p.Restarts() + p.plan.unconstrained }

// RaceRows returns the number of rows that starts race on, or 0 if they do not.
func (p *Problem) RaceRows() int { return p.plan.raceRows }

// BeginAt returns the problem with a run that begins at the given centroids, in the coordinates of prepared rows. With
// constraints that is the run for the unconstrained answer.
func (p *Problem) BeginAt(centroids []float64) *Problem {
	begun := *p
	if begun.sampled = centroids; p.plan.unconstrained == 0 {
		begun.plan = startPlan{starts: []clustering.Start{clustering.StartCentroids}}
		begun.options.InitialCentroids = centroids
	}
	return &begun
}

// begin returns the problem with what its restarts need: the unconstrained answer or the winner of a race, and the
// ranges of the features.
func (p *Problem) begin(ctx context.Context, x Executor) (*Problem, error) {
	ready := *p
	switch {
	case p.plan.unconstrained > 0:
		answer, err := p.findUnconstrained(ctx, x)
		if err != nil {
			return nil, err
		}
		ready.take(answer)
	case p.plan.raceRows > 0:
		centroids, err := p.winner(ctx)
		if err != nil {
			return nil, err
		}
		ready = *p.BeginAt(centroids)
		ready.spec.Tolerance = max(ready.spec.Tolerance, lastTolerance)
	}
	var err error
	if p.needsRanges() {
		ready.ranges, err = p.source.Ranges(ctx)
	}
	return &ready, err
}

// unconstrained is the answer of k-means without constraints. It serves as a start and provides the unit of
// distortions.
type unconstrained struct {
	labels     []int32
	distortion float64 // total over all points
}

// findUnconstrained computes the answer without constraints, unless an earlier process has.
func (p *Problem) findUnconstrained(ctx context.Context, x Executor) (unconstrained, error) {
	spec := p.spec
	spec.Supervision.Constraints, spec.Initialization.Start, spec.Initialization.Labels = nil,
		clustering.StartKmeansPlusPlus, nil
	spec.Restarts, spec.MaxIterations = p.plan.unconstrained, max(spec.MaxIterations, 1)
	if p.plan.raceRows > 0 {
		spec.Restarts = p.spec.Runs()
	}
	spec.Algorithm = &Options{Algorithm: Kmeans, Distortion: p.options.Distortion, Race: p.options.Race}
	plain, err := p.WithSpec(spec)
	if err != nil {
		return unconstrained{}, err
	}
	if p.sampled != nil {
		plain = plain.BeginAt(p.sampled)
	}
	return snapshot.Once(ctx, "unconstrained", func(w *snapshot.Writer, u unconstrained) {
		u.save(w)
	}, p.readUnconstrained,
		func(ctx context.Context) (unconstrained, error) { return plain.answer(ctx, x) })
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

// take sets the unconstrained answer. The Potts penalty, whose weights have no unit of their own, gets the unit of the
// distortion: a violated constraint costs its weight times the mean distortion of a point.
func (p *Problem) take(answer unconstrained) {
	p.unconstrained = &answer
	if p.spec.Initialization.Start == clustering.StartDefault {
		p.spec.Initialization.Labels = answer.labels
	}
	unit := answer.distortion / float64(p.n)
	if p.options.Penalty != metric.Potts || !(unit > 0) {
		return
	}
	p.Constraints = p.Constraints.Reweighted(func(pair constraint.Pair) float64 {
		return min(unit*pair.Weight, math.MaxFloat64/constraint.MaxEntailed) // so that the sum is finite
	})
	p.links = slices.Clone(p.links)
	for i, pair := range p.Constraints.Pairs() {
		p.links[i].Weight = pair.Weight
	}
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

func (u unconstrained) save(w *snapshot.Writer) {
	w.Int32s(u.labels)
	w.Float(u.distortion)
}

func (p *Problem) readUnconstrained(r *snapshot.Reader) unconstrained {
	u := unconstrained{r.Labels(p.n, p.spec.K), r.Float()}
	r.Check(clustering.Complete(u.labels))
	return u
}
