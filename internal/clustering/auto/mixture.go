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
)

// mixable reports whether mixtures of Gaussians are fitted: to dense points with at least as many rows as clusters x
// columns, unless that takes long, and if some column has more than a few values.
func (p *Problem) mixable() bool {
	points, dense := p.points()
	if !dense || p.spec.K < 2 || p.n < p.spec.K*points.D {
		return false
	}
	if p.n*points.D > maxMixtureValues || p.n*points.D*points.D*p.spec.K > maxMixtureWork {
		return false
	}
	return slices.Contains(columnsOfFewValues(points), false) && p.classifiable(p.spaces[0])
}

// maxMixtureIterations bounds the iterations of a mixture if the user has no bound.
const maxMixtureIterations = 100

// openMixture fits a mixture without constraints. The space has no such answer if a cluster becomes empty, or if
// k-means explains the rows as well with fewer parameters.
func (ss *spaces) openMixture(ctx context.Context, s *space) (err error) {
	s.units, err = ss.p.Units(ss.p.spaces[0])
	if err != nil {
		return err
	}
	found, err := ss.findMixture(ctx, s, ss.p.none, nil)
	if err == nil && found != nil && found.Evidence > 0 {
		s.unconstrained = ss.mixtureAnswer(found, s.units)
	}
	return err
}

// findMixture fits a mixture to the rows in the units of a space, starting from k-means without constraints. It returns
// nil if a cluster becomes empty.
func (ss *spaces) findMixture(
	ctx context.Context, s *space, set *constraint.Set, shown []constraint.Constraint,
) (*mixture.Found, error) {
	scaled, err := s.units.Apply(ss.p.data)
	if err != nil {
		return nil, err
	}
	p := &mixture.Problem{
		Points: scaled.(*dataset.Points), Few: columnsOfFewValues(ss.p.data.(*dataset.Points)),
		K: ss.p.spec.K, Labels: ss.opened[ss.p.spaces[0]].rows.unconstrained.Labels, Components: set.Components(),
		Iterations: cmp.Or(ss.p.spec.MaxIterations, maxMixtureIterations), Threads: ss.threads,
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
func (ss *spaces) mixtureAnswer(found *mixture.Found, units *dataset.Units) *answer {
	means := found.Mixture.Means()
	k := len(found.Mixture.Shares())
	d := len(means) / k
	result := &clustering.Result{
		Labels:        found.Labels,
		ObjectiveName: "negative-log-likelihood",
		StopReason:    clustering.StopMaxIterations,
		Iterations:    len(found.Costs),
		Units:         units,
		Model: &model.Model{
			Distortion: metric.SquaredEuclidean,
			K:          k,
			D:          d,
			Centroids:  units.Undo(means),
			Metric:     metric.NewIdentity(d),
			Units:      units,
			Mixture:    found.Mixture,
		},
	}
	if found.Converged {
		result.StopReason = clustering.StopConverged
	}
	for i, cost := range found.Costs {
		result.Objective = cost
		result.History = append(result.History, clustering.HistoryEntry{Iteration: i + 1, Objective: cost})
	}
	return ss.newAnswer(found.Labels, result, ss.rateMixture)
}

// rateMixture is the rater of mixtures. It adds the probabilities of the labels, too.
func (ss *spaces) rateMixture(ctx context.Context, result *clustering.Result) error {
	scaled, err := result.Model.Units.Apply(ss.p.data)
	if err != nil {
		return err
	}
	scores, err := result.Model.Mixture.Score(ctx, scaled.(*dataset.Points), result.Labels, ss.threads)
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
