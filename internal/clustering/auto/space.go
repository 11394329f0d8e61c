package auto

import (
	"context"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/centroid"
	"github.com/cleave-project/cleave/internal/clustering/embedding"
	"github.com/cleave-project/cleave/internal/constraint"
	"github.com/cleave-project/cleave/internal/dataset"
	"github.com/cleave-project/cleave/internal/spectral"
)

// space is a representation of the data. Either its rows are those of the data, in some units, or it is the
// eigenvectors of a graph.
type space struct {
	name      clustering.Space
	units     *dataset.Units
	graph     *dataset.Graph // nil: rows of the data
	adjacency embedding.Multiplier
	plain     *coordinates // of the graph without constraints
	rows      *rows        // of the data, or of the plain coordinates
	alone     []int32      // the answer without constraints, of all points
}

// answer is the labels of all points and the run that they come from.
type answer struct {
	labels []int32
	result *clustering.Result
	at     *coordinates // nil: rows of the data
}

// openRows makes the space of the data's own rows.
func (r *run) openRows(ctx context.Context, name clustering.Space, units *dataset.Units) (*space, error) {
	data, err := units.Apply(r.data)
	if err != nil {
		return nil, err
	}
	s := &space{name: name, units: units, rows: &rows{}}
	if s.rows.problem, err = centroid.Prepare(data, r.newKmeans()); err != nil {
		return nil, err
	}
	var release func()
	if s.rows.x, release, err = r.executors.Rows(ctx, s.rows.problem, units); err != nil {
		return nil, err
	}
	r.releases = append(r.releases, release)
	if s.rows.alone, err = centroid.Run(ctx, s.rows.problem, s.rows.x, clustering.NopObserver{}); err != nil {
		return nil, err
	}
	s.alone = s.rows.alone.Labels
	return s, nil
}

// openGraph makes the space of a graph's eigenvectors.
func (r *run) openGraph(ctx context.Context, name clustering.Space, units *dataset.Units, g *dataset.Graph) (*space, error) {
	adjacency, release, err := r.executors.Matrix(ctx, g)
	if err != nil {
		return nil, err
	}
	r.releases = append(r.releases, release)
	s := &space{name: name, units: units, graph: g, adjacency: &oneAtATime{Multiplier: adjacency}}
	none, err := constraint.NewSet(r.n, nil, constraint.UnitWeight)
	if err != nil {
		return nil, err
	}
	if s.plain, err = r.coordinates(ctx, s, none, r.reporter.SolverOptions(eigenTolerance)); err != nil {
		return nil, err
	}
	if s.rows, err = r.local(ctx, s.plain); err != nil {
		return nil, err
	}
	s.alone = r.expand(s, s.plain, s.rows.alone, none)
	return s, nil
}

func (r *run) coordinates(ctx context.Context, s *space, set *constraint.Set, options spectral.Options) (*coordinates, error) {
	return eigenvectors(ctx, s.graph, s.adjacency, r.spec.K, set, r.spec.Random(clustering.StreamEigen), options)
}

// expand gives every point a label: those that were left out are attached to the clusters of the others. A point that
// nothing connects has a row of zeros, which is nearest to the shortest centroid, that of the loosest cluster.
func (r *run) expand(s *space, at *coordinates, found *clustering.Result, set *constraint.Set) []int32 {
	all := clustering.Unassigned(r.n)
	for row, point := range at.kept {
		all[point] = found.Labels[row]
	}
	lengths := make([]float64, r.spec.K)
	for c := range lengths {
		for _, v := range found.Model.Centroids[c*at.columns : (c+1)*at.columns] {
			lengths[c] -= float64(v * v)
		}
	}
	attach(s.graph, all, r.spec.K, set, int32(heaviest(lengths)))
	return all
}

// fit answers with each of several lists of constraints, which supervision shows.
func (r *run) fit(ctx context.Context, s *space, use clustering.Use, folds []int) ([]*answer, error) {
	answers := make([]*answer, len(folds))
	for at, fold := range folds {
		var err error
		switch {
		case use == clustering.UseNone:
			answers[at] = &answer{s.alone, s.rows.alone, s.plain}
		case s.graph == nil:
			answers[at], err = r.fitRows(ctx, s.rows, use, fold)
		default:
			answers[at], err = r.fitGraph(ctx, s, use, fold)
		}
		if err != nil {
			return nil, err
		}
	}
	return answers, nil
}

// fitRows fits in the rows of the data.
func (r *run) fitRows(ctx context.Context, w *rows, use clustering.Use, fold int) (*answer, error) {
	unit := w.unit()
	if use == clustering.UseMetric {
		unit = 1 // the penalties are distances
	}
	problems, err := r.problems(w, use, r.supervision.shown(fold, unit))
	if err != nil {
		return nil, err
	}
	result, err := best(ctx, problems, w.x)
	if err != nil {
		return nil, err
	}
	return &answer{labels: result.Labels, result: result}, nil
}

// fitGraph fits in eigenvectors: for hard constraints those of the graph whose must-linked vertices are one.
func (r *run) fitGraph(ctx context.Context, s *space, use clustering.Use, fold int) (*answer, error) {
	set, err := constraint.NewSet(r.n, r.supervision.shown(fold, 1), constraint.UnitWeight)
	if err != nil {
		return nil, err
	}
	at, w := s.plain, s.rows
	if use == clustering.UseHard && set.Components().Count() < r.n {
		if at, err = r.coordinates(ctx, s, set, spectral.Options{Tolerance: eigenTolerance, MaxProducts: maxProducts}); err != nil {
			return nil, err
		}
		if w, err = r.local(ctx, at); err != nil {
			return nil, err
		}
	}
	problems, err := r.problems(w, use, among(at.kept, r.n, r.supervision.shown(fold, w.unit())))
	if err != nil {
		return nil, err
	}
	result, err := best(ctx, problems, w.x)
	if err != nil {
		return nil, err
	}
	return &answer{r.expand(s, at, result, set), result, at}, nil
}

// among are the constraints between points that were kept, by their numbers among these.
func among(kept []int32, n int, all []constraint.Constraint) []constraint.Constraint {
	place := clustering.Unassigned(n)
	for row, point := range kept {
		place[point] = int32(row)
	}
	var some []constraint.Constraint
	for _, c := range all {
		if c.I, c.J = place[c.I], place[c.J]; c.I >= 0 && c.J >= 0 {
			some = append(some, c)
		}
	}
	return some
}
