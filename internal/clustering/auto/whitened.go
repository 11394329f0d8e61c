package auto

import (
	"context"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/model"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/invalid"
	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/numeric/eigen"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/parallel"
)

// whitening changes coordinates so that rows of the same must-link component scatter equally in all directions. Columns
// and combinations of columns that vary within components count less. This is relevant component analysis (Shental,
// Hertz, Weinshall and Pavel 2002) with a prior.
type whitening struct {
	units *dataset.Units // applied first; nil if unchanged
	// covariance is V = G G' of rows around the means of their components, where G is the lower triangle. A whitened
	// row is G^-1 x.
	covariance eigen.Factor
}

// newWhitening fits a whitening to rows in the given units. With W the scatter of count rows around the means of their
// components, beyond one row for each component,
//
//	V = (W + (tr W / count) I) / (count + d)
//
// as if d more rows had scattered equally in all directions. Without any scatter, V is the identity.
func newWhitening(units *dataset.Units, rows *dataset.Points, components *constraint.Components) (*whitening, error) {
	d, count, trace := rows.D, 0, 0.0
	v := eigen.Columns(d, d)
	mean := make([]float64, d)
	difference := make([]float64, d)
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
	covariance := mat.NewSymDense(d, nil)
	for f := range v {
		for g := range f {
			covariance.SetSym(g, f, v[f][g]/float64(count+d))
		}
		covariance.SetSym(f, f, 1)
		if trace > 0 {
			covariance.SetSym(f, f, (v[f][f]+trace/float64(count))/float64(count+d))
		}
	}
	w := &whitening{units: units}
	var finite bool
	w.covariance, finite = eigen.Cholesky(covariance)
	if !finite {
		return nil, invalid.New(invalid.ProductOverflow)
	}
	return w, nil
}

// apply returns the rows multiplied by the inverse of the factor. It leaves rows unchanged.
func (w *whitening) apply(ctx context.Context, rows *dataset.Points) (*dataset.Points, error) {
	const rowsAtATime = 256
	whitened := slices.Clone(rows.Values)
	err := parallel.Ranges(ctx, rows.N, rowsAtATime, func(from, to int) {
		part := mat.NewDense(to-from, rows.D, whitened[from*rows.D:to*rows.D])
		blas64.Trsm(blas.Right, blas.Trans, 1, w.covariance.Lower().RawTriangular(), part.RawMatrix())
	})
	if err != nil {
		return nil, err
	}
	return dataset.NewPoints(rows.N, rows.D, whitened)
}

// model converts centroids of whitened rows to a model of the data, whose metric is V^-1 = G^-T G^-1.
func (w *whitening) model(m *model.Model) (*model.Model, error) {
	d := m.D
	var centroids mat.Dense
	centroids.Mul(mat.NewDense(m.K, d, m.Centroids), w.covariance.Lower().T())
	full, err := metric.NewFull(d, mat.DenseCopyOf(w.covariance.Inverse()).RawMatrix().Data)
	if err != nil {
		return nil, err
	}
	return &model.Model{
		Distortion: metric.SquaredEuclidean,
		K:          m.K,
		D:          d,
		Centroids:  w.units.Undo(centroids.RawMatrix().Data),
		Metric:     full,
		Units:      w.units,
	}, nil
}

// fitWhitened clusters whitened rows by k-means with hard constraints.
func (f *fitter) fitWhitened(ctx context.Context, s *space, t task, set *constraint.Set) (*answer, error) {
	scaled, units, _, err := clustering.InUnits(f.p.data, f.p.Scale(s.name))
	if err != nil {
		return nil, err
	}
	w, err := newWhitening(units, scaled.(*dataset.Points), set.Components())
	if err != nil {
		return nil, err
	}
	points, err := w.apply(ctx, scaled.(*dataset.Points))
	if err != nil {
		return nil, err
	}
	hard := task{use: clustering.UseHard, fold: t.fold, brief: t.brief}
	all := &coordinates{columns: points.D, values: points.Values, kept: choose.All[int32](f.p.n)}
	found, err := f.fitLocally(ctx, hard, all)
	if err != nil {
		return nil, err
	}
	found.Model, err = w.model(found.Model)
	if err != nil {
		return nil, err
	}
	return f.spaces.newAnswer(found.Labels, found, func(_ context.Context, result *clustering.Result) error {
		whitened := clustering.Embedding{Rows: f.p.n, Columns: points.D, Values: points.Values}
		own, next := whitened.Distances(result.Labels, f.p.spec.K, nil)
		result.SetDistances(clustering.MeasureDistortion, own, next)
		return nil
	}), nil
}
