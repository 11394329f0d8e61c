package auto

import (
	"context"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/model"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/numeric/eigen"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/partition"
)

// whitening changes coordinates so that rows of the same must-link component scatter equally in all directions. Columns
// and combinations of columns that vary within components count less. This is relevant component analysis (Shental,
// Hertz, Weinshall and Pavel 2002) with a prior.
type whitening struct {
	units *dataset.Units // applied first; nil if unchanged
	// factor is the lower triangle G with V = G G', where V is the covariance of rows around the means of their
	// components. A whitened row is G^-1 x.
	factor [][]float64
}

// newWhitening fits a whitening to rows in the given units. With W the scatter of count rows around the means of their
// components, beyond one row for each component,
//
//	V = (W + (tr W / count) I) / (count + d)
//
// as if d more rows had scattered equally in all directions. Without any scatter, V is the identity.
func newWhitening(units *dataset.Units, rows *dataset.Points, components *constraint.Components) *whitening {
	d, count, trace := rows.D, 0, 0.0
	v := eigen.Columns(d, d)
	mean, difference := make([]float64, d), make([]float64, d)
	for c := range int32(components.Count()) {
		members := components.Members(c)
		if len(members) < 2 {
			continue
		}
		count += len(members) - 1
		clear(mean)
		for _, i := range members {
			for f, x := range rows.Row(int(i)) {
				mean[f] += x
			}
		}
		for f := range mean {
			mean[f] /= float64(len(members))
		}
		for _, i := range members {
			for f, x := range rows.Row(int(i)) {
				difference[f] = x - mean[f]
			}
			for f, x := range difference {
				for g, y := range difference[:f+1] {
					v[f][g] += float64(x * y)
				}
			}
		}
	}
	for f := range v {
		trace += v[f][f]
	}
	for f := range v {
		for g := range f {
			v[f][g] /= float64(count + d)
			v[g][f] = v[f][g]
		}
		if v[f][f] = (v[f][f] + trace/float64(count)) / float64(count+d); !(trace > 0) {
			v[f][f] = 1
		}
	}
	return &whitening{units: units, factor: eigen.Cholesky(v)}
}

// apply returns the rows multiplied by the inverse of the factor. It leaves rows unchanged.
func (w *whitening) apply(rows *dataset.Points) (*dataset.Points, error) {
	whitened := eigen.ForwardAll(w.factor, slices.Collect(slices.Chunk(rows.Values, rows.D)))
	return dataset.NewPoints(rows.N, rows.D, slices.Concat(whitened...))
}

// model converts centroids of whitened rows to a model of the data, whose metric is V^-1 = G^-T G^-1.
func (w *whitening) model(m *model.Model) (*model.Model, error) {
	d := m.D
	inverse := eigen.ForwardAll(w.factor, eigen.Identity(d)) // the columns of G^-1
	values, centroids := make([]float64, d*d), make([]float64, len(m.Centroids))
	for f := range d {
		for g := range f + 1 {
			values[f*d+g] = dot(inverse[f], inverse[g])
			values[g*d+f] = values[f*d+g]
		}
	}
	for i := range centroids {
		centroids[i] = dot(w.factor[i%d], m.Centroids[i/d*d:][:d])
	}
	full, err := metric.NewFull(d, values)
	if err != nil {
		return nil, err
	}
	return &model.Model{Distortion: metric.SquaredEuclidean, K: m.K, D: d, Centroids: w.units.Undo(centroids), Metric: full, Units: w.units}, nil
}

// fitWhitened clusters whitened rows by k-means with hard constraints.
func (f *fitter) fitWhitened(ctx context.Context, s *space, t task, set *constraint.Set) (*answer, error) {
	scaled, units, _, err := clustering.InUnits(f.p.data, f.p.Scale(s.name))
	if err != nil {
		return nil, err
	}
	w := newWhitening(units, scaled.(*dataset.Points), set.Components())
	points, err := w.apply(scaled.(*dataset.Points))
	if err != nil {
		return nil, err
	}
	hard := task{use: clustering.UseHard, fold: t.fold, brief: t.brief}
	all := &coordinates{columns: points.D, values: points.Values, kept: choose.All[int32](f.p.n)}
	found, err := f.fitLocally(ctx, hard, all)
	if err != nil {
		return nil, err
	}
	if found.Model, err = w.model(found.Model); err != nil {
		return nil, err
	}
	return f.spaces.newAnswer(found.Labels, found, func(_ context.Context, result *clustering.Result) error {
		whitened := clustering.Embedding{Rows: f.p.n, Columns: points.D, Values: points.Values}
		own, next := whitened.Distances(result.Labels, f.p.spec.K, nil)
		result.SetDistances(clustering.MeasureDistortion, own, next)
		return nil
	}), nil
}

func dot(a, b []float64) float64 {
	return partition.SumByTile(len(a), func(i int) float64 { return float64(a[i] * b[i]) })
}
