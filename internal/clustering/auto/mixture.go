package auto

import (
	"cmp"
	"context"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/mixture"
	"github.com/cleave-project/cleave/internal/clustering/model"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/text"
)

// mixable reports whether mixtures of Gaussians are fitted: to dense points with at least as many rows as clusters x
// columns, unless that takes long, and if some column has more than a few values.
func (r *run) mixable() bool {
	points, dense := r.data.(*dataset.Points)
	return dense && r.spec.K > 1 && r.n >= r.spec.K*points.D &&
		r.n*points.D <= maxMixtureValues && r.n*points.D*points.D*r.spec.K <= maxMixtureWork &&
		slices.Contains(columnsOfFewValues(points), false) && r.classifiable(r.openable[0])
}

// chooseMixture replaces k-means, if that was chosen, by a mixture of Gaussians. K-means assumes that all clusters
// scatter equally in all directions; a mixture finds out, starting from the answer of k-means.
func (r *run) chooseMixture(ctx context.Context, first *space, choice *clustering.Choice) (*space, *clustering.Choice, error) {
	if !r.mixable() {
		return first, choice, nil
	}
	s, err := r.open(ctx, clustering.SpaceMixture)
	if err != nil || s.unconstrained == nil {
		return first, choice, err
	}
	r.openable = append(r.openable, s.name)
	choice.Chosen.Space = s.name
	choice.Reason = append(choice.Reason, text.Plain("; a mixture of Gaussians continues from there, with a covariance for each cluster"))
	return s, choice, nil
}

// openMixture fits a mixture without constraints. The space has no such answer if a cluster becomes empty, or if
// k-means explains the rows as well with fewer parameters.
func (r *run) openMixture(ctx context.Context, s *space) (err error) {
	if s.units, err = r.Units(r.openable[0]); err != nil {
		return err
	}
	found, err := r.findMixture(ctx, s, r.noConstraints, nil)
	if err == nil && found != nil && found.Evidence > 0 {
		s.unconstrained = r.mixtureAnswer(found, s.units)
	}
	return err
}

// fitMixture fits a mixture with constraints. One in which a cluster becomes empty counts as that without constraints.
func (r *run) fitMixture(ctx context.Context, s *space, set *constraint.Set, shown []constraint.Constraint) (*answer, error) {
	found, err := r.findMixture(ctx, s, set, shown)
	if found == nil {
		return s.unconstrained, err
	}
	return r.mixtureAnswer(found, s.units), err
}

// findMixture fits a mixture to the rows in the units of a space, starting from k-means without constraints. It returns
// nil if a cluster becomes empty.
func (r *run) findMixture(ctx context.Context, s *space, set *constraint.Set, shown []constraint.Constraint) (*mixture.Found, error) {
	scaled, err := s.units.Apply(r.data)
	if err != nil {
		return nil, err
	}
	p := &mixture.Problem{
		Points: scaled.(*dataset.Points), Few: columnsOfFewValues(r.data.(*dataset.Points)),
		K: r.spec.K, Labels: r.opened[r.openable[0]].rows.unconstrained.Labels, Components: set.Components(),
		Iterations: cmp.Or(r.spec.MaxIterations, maxMixtureIterations), Threads: r.threads,
	}
	for _, c := range shown {
		if c.Kind == constraint.CannotLink {
			p.CannotLinks = append(p.CannotLinks, c)
		}
	}
	return mixture.Fit(ctx, p)
}

// mixtureAnswer converts a mixture fitted in the given units to an answer, whose history is the cost after each
// iteration.
func (r *run) mixtureAnswer(found *mixture.Found, units *dataset.Units) *answer {
	means, k := found.Mixture.Means(), len(found.Mixture.Shares())
	d := len(means) / k
	result := &clustering.Result{
		Labels: found.Labels, ObjectiveName: "negative-log-likelihood", StopReason: clustering.StopMaxIterations, Iterations: len(found.Costs), Units: units,
		Model: &model.Model{
			Distortion: metric.SquaredEuclidean, K: k, D: d, Centroids: units.Undo(means), Metric: metric.NewIdentity(d), Units: units, Mixture: found.Mixture,
		},
	}
	if found.Converged {
		result.StopReason = clustering.StopConverged
	}
	for i, cost := range found.Costs {
		result.Objective = cost
		result.History = append(result.History, clustering.HistoryEntry{Iteration: i + 1, Objective: cost})
	}
	return r.newAnswer(found.Labels, result, r.rateMixture)
}

// rateMixture is the rater of mixtures. It adds the probabilities of the labels, too.
func (r *run) rateMixture(ctx context.Context, result *clustering.Result) error {
	scaled, err := result.Model.Units.Apply(r.data)
	if err != nil {
		return err
	}
	scores, err := result.Model.Mixture.Score(ctx, scaled.(*dataset.Points), result.Labels, r.threads)
	if err != nil {
		return err
	}
	result.SetDistances(clustering.MeasureDistortion, scores.Own, scores.Next)
	result.Rows.Posterior, result.Rows.Confidence = true, scores.Posterior
	return nil
}

// columnsOfFewValues tells which columns are of words or have few different numbers.
func columnsOfFewValues(points *dataset.Points) []bool {
	few := make([]bool, points.D)
	for _, c := range points.Categorical {
		for column := c.From; column < c.To; column++ {
			few[column] = true
		}
	}
	values := make([]int32, points.N)
	for column := range few {
		few[column] = few[column] || number(points, column, column+1, false, values) != nil
	}
	return few
}
