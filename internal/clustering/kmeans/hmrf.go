package kmeans

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/inference"
	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/numeric/vector"
	"github.com/cleave-project/cleave/internal/snapshot"
	"github.com/cleave-project/cleave/internal/text"
)

// hmrf is k-means on a hidden Markov random field, and with it PC-KMeans (Basu2003 (1)), M-KMeans and MPC-KMeans
// (Basu2003 (4)) and HMRF-KMeans (Bilenko2004 (6)). They minimize
//
//	J = sum_i D_A(x_i, mu_l_i) - log det A + penalties of violated constraints
//
// An iteration is the E-step (unconstrained points move to the nearest centroid, the others are assigned jointly), then
// the means, then the metric. None of the three raises J.
type hmrf struct {
	state
	groups                                   // of the constrained points: single ones, or blocks with Contract
	parts         *clustering.ObjectiveParts // terms of J after the last step
	pairs         []constraint.Pair
	links         []metric.Link     // one per pair, with rows if the penalty needs distances
	energy        *inference.Energy // reused while the costs of the pairs stay the same
	lastInference clustering.Inference
	// Warnings that were already given, and the notices of the next report.
	warnedFallback, warnedDegenerate bool
	notices                          []clustering.Notice
}

// newHMRF gathers the constrained points. M-KMeans uses constraints only for its start.
func newHMRF(run state) *hmrf {
	m := &hmrf{state: run, parts: &clustering.ObjectiveParts{}}
	if run.p.options.Algorithm == MKmeans {
		return m
	}
	m.groups, m.pairs = run.p.linked()
	m.held = m.points // they are assigned jointly
	m.links = slices.Clone(run.p.links)
	if run.p.options.Contract {
		m.links = run.p.blocks.links()
	}
	return m
}

// linked returns the groups of points that are assigned jointly, and the pairs between them.
func (p *Problem) linked() (groups, []constraint.Pair) {
	if p.options.Contract {
		return p.blocks.groups, p.blocks.pairs
	}
	var points []int32
	for _, pair := range p.Constraints.Pairs() {
		points = append(points, pair.I, pair.J)
	}
	slices.Sort(points)
	return singletons(slices.Compact(points)), p.Constraints.Pairs()
}

// JointBytes returns the memory that a restart takes for assigning constrained points jointly: their distances to all
// clusters, those of groups, and the energy.
func (p *Problem) JointBytes() int64 {
	if !p.options.Algorithm.constrained() {
		return 0
	}
	g, pairs := p.linked()
	values := len(g.points)
	if !g.single {
		values += len(g.members)
	}
	return 8*int64(values)*int64(p.spec.K) + inference.MemoryBytes(p.options.Inference, p.spec.K,
		len(g.members), len(pairs))
}

// convergedDecrease is the relative decrease of J up to which a step without moves ends the run.
const convergedDecrease = 1e-9

// Value implements clustering.Stepper.
func (m *hmrf) Value() float64 { return m.parts.Total() }

// FillResult implements clustering.Stepper.
func (m *hmrf) FillResult(r *clustering.Result) {
	m.state.FillResult(r)
	if len(r.History) == 0 { // the start is the result
		r.Objective = m.Value()
	}
	if m.p.options.Algorithm.constrained() {
		last := m.lastInference
		r.Inference = &last
	}
}

// Init computes the first centroids and, depending on the start, the first labels.
func (m *hmrf) Init(ctx context.Context) (clustering.Report, error) {
	if err := m.start(); err != nil {
		return clustering.Report{}, err
	}
	if m.p.spec.MaxIterations > 0 {
		return clustering.Report{}, nil
	}
	_, distortion, err := m.assign(ctx) // the start is the result
	if err == nil {
		m.parts = m.terms(distortion)
		m.completeLowerBound(m.parts)
		m.parts.Spread, err = m.metric.Spread(ctx)
	}
	return clustering.Report{}, err
}

// Step runs one iteration. If it fails, the labels and the inference are those of the last one.
func (m *hmrf) Step(ctx context.Context) (clustering.Report, error) {
	last := m.lastInference
	report, err := m.try(func() (clustering.Report, error) { return m.iterate(ctx) })
	if err != nil {
		m.lastInference = last
	}
	return report, err
}

// iterate runs one iteration: assignment by inference, means, and the metric. Its report has the objective after each
// part.
func (m *hmrf) iterate(ctx context.Context) (clustering.Report, error) {
	previous := m.Value()
	moved, distortion, err := m.assign(ctx)
	if err != nil {
		return clustering.Report{}, err
	}
	assigned := m.terms(distortion)
	m.completeLowerBound(assigned)
	m.takeMeans()
	if err := m.learn(ctx); err != nil {
		return clustering.Report{}, err
	}
	m.iteration++
	assignmentObjective := assigned.Total()
	report := clustering.Report{Notices: m.notices, Entry: &clustering.HistoryEntry{
		Iteration: m.iteration, Objective: m.Value(), Moved: moved, AssignmentObjective: &assignmentObjective,
		Parts: m.parts,
	}}
	m.notices = nil
	switch decrease := previous - m.Value(); {
	case m.iteration == 1:
	case moved == 0 && decrease <= convergedDecrease*math.Abs(previous):
		report.Stop = clustering.StopConverged
	case m.p.withinTolerance(previous, m.Value()):
		report.Stop = clustering.StopTolerance
	}
	return report, nil
}

// assign is the E-step. It returns how many points moved, and the sum of distortions after the moves. The sum is
// measured again only if constrained points moved too.
func (m *hmrf) assign(ctx context.Context) (moved int, distortion float64, err error) {
	moved, distortion, err = m.assignFree()
	if err != nil || len(m.points) == 0 {
		return moved, distortion, err
	}
	together, err := m.infer(ctx)
	if err != nil || len(together) == 0 {
		return moved, distortion, err
	}
	if _, err = m.apply(together, nil); err != nil {
		return 0, 0, err
	}
	distortion, err = m.distortion(m.model()) // the means are not taken yet
	return moved + len(together), distortion, err
}

// infer assigns the constrained points jointly: unary costs are their distortions, and each violated pair costs its
// penalty under the current metric.
func (m *hmrf) infer(ctx context.Context) ([]labeling.Move, error) {
	k := m.p.spec.K
	distances, err := m.x.Distances(m.model(), m.points)
	if err != nil {
		return nil, err
	}
	if m.energy == nil || m.p.options.Penalty != metric.Potts {
		m.energy = inference.NewEnergy(k, m.pairCosts())
	}
	costs := m.costs(distances, k)
	current := make([]int32, len(m.members))
	for group, members := range m.members {
		current[group] = m.labels[members[0]]
		// If the start left the group without a label, or split it, it begins where it costs least.
		if current[group] < 0 || slices.ContainsFunc(members, func(point int32) bool {
			return m.labels[point] != current[group]
		}) {
			current[group] = int32(choose.Smallest(costs[group*k : (group+1)*k]))
		}
	}
	result, err := m.energy.Solve(ctx, m.p.options.Inference, costs, current, m.rng)
	if err != nil {
		return nil, err
	}
	m.warnFallback(result.Fallbacks)
	m.lastInference = clustering.Inference{Engine: m.p.options.Inference, Exact: result.Exact,
		Fallbacks: len(result.Fallbacks), Rounds: result.Rounds}
	if m.p.options.Inference == inference.LP {
		// Subtract these distortions: completeLowerBound adds those of all points.
		bound := result.LPValue
		for group, c := range result.Labels {
			bound -= costs[group*k+int(c)]
		}
		m.lastInference.LPValue = &bound
	}
	return m.movesTo(m.points, func(at int) int32 { return result.Labels[m.group[at]] }), nil
}

// completeLowerBound turns the lower bound of the relaxation, which covers the constrained points, into one of J: it
// adds the distortions of all other points and the term of the metric.
func (m *hmrf) completeLowerBound(assigned *clustering.ObjectiveParts) {
	if m.lastInference.LPValue != nil {
		whole := *m.lastInference.LPValue + assigned.Distortion - assigned.LogDet
		m.lastInference.LPValue = &whole
	}
}

// warnFallback warns, once, that the engine gave up on groups of linked points.
func (m *hmrf) warnFallback(fallbacks []inference.Fallback) {
	if len(fallbacks) == 0 || m.warnedFallback {
		return
	}
	m.warnedFallback = true
	first := fallbacks[0]
	m.notices = append(m.notices, clustering.NewNotice("INFERENCE_FALLBACK",
		text.Plain("%v gave up on %s of linked points, which %v assigned instead; the first has %d points, around row ",
			first.Engine, text.Plural(len(fallbacks), "group"), first.To, first.Points),
		text.Row(int(m.members[first.Point][0])), text.Plain(" (%s)", first.Cause)))
}

// warnDegenerate warns, once, that the data does not determine the metric in some direction.
func (m *hmrf) warnDegenerate(outcome metric.Outcome) {
	if outcome.Kept+outcome.Floored == 0 || m.warnedDegenerate {
		return
	}
	m.warnedDegenerate = true
	m.notices = append(m.notices, clustering.Notice{Code: "DEGENERATE_METRIC", Message: fmt.Sprintf(
		"the points do not determine the metric in every direction: %d of its values were kept unchanged, and %d "+
			"were raised to 1e-9 of the largest",
		outcome.Kept, outcome.Floored)})
}

// pairCosts returns what each pair costs if it is violated.
func (m *hmrf) pairCosts() []inference.Pair {
	measure := m.measureOf(m.metric)
	limit := measure.Bound(m.p.options.Penalty, m.links, m.p.ranges)
	costs := make([]inference.Pair, len(m.pairs))
	for i, pair := range m.pairs {
		distance := 0.0
		if m.p.options.Penalty != metric.Potts {
			distance = measure.Between(m.links[i].X, m.links[i].Y)
		}
		must := pair.Kind == constraint.MustLink
		costs[i] = inference.Pair{
			I: m.groupOf(pair.I), J: m.groupOf(pair.J), MustLink: must,
			Cost: metric.Penalty(m.p.options.Penalty, must, pair.Weight, distance, limit),
		}
	}
	return costs
}

// groupOf returns the group of a constrained point.
func (m *hmrf) groupOf(point int32) int32 {
	at, _ := slices.BinarySearch(m.points, point)
	return m.group[at]
}

func (m *hmrf) measureOf(a *metric.Metric) metric.Measure {
	return metric.Measure{Distortion: m.p.options.Distortion, Metric: a}
}

// markViolations marks the links that the labels violate, and counts them.
func (m *hmrf) markViolations() (violated int) {
	for i, pair := range m.pairs {
		m.links[i].Violated = pair.Violates(m.labels)
		if m.links[i].Violated {
			violated++
		}
	}
	return violated
}

// terms returns the terms of J for the current labels and metric, given the sum of distortions. The spread of
// the metric, which takes long, is left to the caller.
func (m *hmrf) terms(distortion float64) *clustering.ObjectiveParts {
	measure := m.measureOf(m.metric)
	parts := &clustering.ObjectiveParts{Violated: m.markViolations()}
	parts.Distortion = distortion
	parts.LogDet = m.metric.LogDet()
	parts.MustLink, parts.CannotLink = measure.Penalties(m.p.options.Penalty, m.links,
		measure.Bound(m.p.options.Penalty, m.links, m.p.ranges))
	return parts
}

// learn updates the metric and the terms of J.
func (m *hmrf) learn(ctx context.Context) (err error) {
	if m.metric.Form() == metric.Identity {
		distortion, err := m.distortionNow()
		if err == nil {
			m.parts = m.terms(distortion)
			m.parts.Spread = 1
		}
		return err
	}
	kind := vector.Diagonal
	if m.metric.Form() == metric.Full {
		kind = vector.Full
	}
	scatter, err := m.x.Scatter(m.model(), kind)
	if err != nil {
		return err
	}
	violated := m.markViolations()
	step := metric.Step{PenaltyKind: m.p.options.Penalty, Scatter: scatter, Links: m.links, Ranges: m.p.ranges}
	outcome, err := step.Update(ctx, m.metric)
	if err != nil {
		return err
	}
	spread, err := outcome.Metric.Spread(ctx)
	if err != nil {
		return err
	}
	m.metric = outcome.Metric
	m.warnDegenerate(outcome)
	m.parts = &clustering.ObjectiveParts{Parts: outcome.Parts, Violated: violated, Spread: spread}
	return nil
}

// Save implements clustering.Resumable.
func (m *hmrf) Save(w *snapshot.Writer) {
	m.save(w)
	m.parts.Save(w)
	last := m.lastInference
	w.Int(int(last.Engine))
	w.Bool(last.Exact)
	w.OptionalFloat(last.LPValue)
	w.Int(last.Fallbacks)
	w.Int(last.Rounds)
	w.Bool(m.warnedFallback)
	w.Bool(m.warnedDegenerate)
}

// Restore implements clustering.Resumable.
func (m *hmrf) Restore(_ context.Context, r *snapshot.Reader) error {
	labels := m.read(r)
	m.parts = clustering.ReadParts(r)
	m.lastInference = clustering.Inference{
		Engine: inference.Engine(r.Int()), Exact: r.Bool(), LPValue: r.OptionalFloat(), Fallbacks: r.Int(),
		Rounds: r.Int(),
	}
	m.warnedFallback = r.Bool()
	m.warnedDegenerate = r.Bool()
	if err := r.End(); err != nil {
		return err
	}
	if err := m.load(labels); err != nil {
		return err
	}
	if m.iteration > 0 {
		m.markViolations()
	}
	return nil
}
