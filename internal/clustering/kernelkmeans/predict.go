package kernelkmeans

import (
	"context"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/invalid"
	"github.com/cleave-project/cleave/internal/kernel"
)

// Prediction assigns points that a run of kernel k-means has not seen. The mean of a cluster is in kernel space, so the
// distance of a new point needs its kernel values with all points of the cluster,
//
//	d(x, c) = k(x, x) - 2 sum_j a_j k(x, x_j) / s_c + Q_c / s_c^2       Kulis2009 (1)
//
// with j in c. The matrix therefore covers old and new points, of which only the old ones have labels. Constraints and
// the diagonal shift are ignored: they say nothing about new points.
type Prediction struct {
	Matrix kernel.MatrixSpec // over the old points, followed by the new ones
	Points dataset.Dataset   // both
	labels []int32           // of the old points
	old    *Problem
}

// NewPrediction combines the points of a run with new ones.
func NewPrediction(p *Problem, trained dataset.Dataset, labels []int32, fresh dataset.Dataset) (*Prediction, error) {
	if kind := trained.Kind(); kind != dataset.KindPoints && kind != dataset.KindSparsePoints ||
		p.Objective != ObjectiveKernelKmeans {
		return nil, invalid.New(invalid.NewPointsForCut)
	}
	all, err := p.stacked(trained, fresh)
	if err != nil {
		return nil, invalid.ShiftRows(err, -trained.Rows())
	}
	prediction := &Prediction{Matrix: p.Matrix, Points: all, labels: labels, old: p}
	m := &prediction.Matrix
	m.Rows = all.Rows()
	m.HalfScale = 0
	if sparse, isSparse := all.(*dataset.SparsePoints); isSparse {
		m.Columns, m.Entries = sparse.D, max(1, int64(sparse.NonZeros()))
	}
	if m.Scale != nil {
		m.Scale = slices.Concat(m.Scale, clustering.Ones(fresh.Rows()))
	}
	bound, err := kernel.FindBounds(*m, all)
	m.Grid = kernel.GridFor(bound.RowSum)
	return prediction, invalid.ShiftRows(err, -trained.Rows())
}

// stacked returns old points followed by new ones, in the units of the run. Files of sparse points do not state their
// number of columns; missing columns are 0.
func (p *Problem) stacked(before, after dataset.Dataset) (dataset.Dataset, error) {
	if before.Kind() != after.Kind() {
		return nil, invalid.New(invalid.OtherKind, "clustered", before.Kind(), "given", after.Kind())
	}
	if old, isSparse := before.(*dataset.SparsePoints); isSparse {
		fresh := after.(*dataset.SparsePoints)
		starts := slices.Clone(old.RowStart)
		for _, start := range fresh.RowStart[1:] {
			starts = append(starts, int64(old.NonZeros())+start)
		}
		columns := slices.Concat(old.Column, fresh.Column)
		values := slices.Concat(old.Value, fresh.Value)
		return dataset.NewSparsePoints(old.N+fresh.N, max(old.D, fresh.D), starts, columns, values)
	}
	old, fresh := before.(*dataset.Points), after.(*dataset.Points)
	if fresh.D != old.D {
		return nil, invalid.New(invalid.OtherColumns, "columns", fresh.D, "clustered", old.D)
	}
	all, err := dataset.NewPoints(old.N+fresh.N, old.D, slices.Concat(old.Values, fresh.Values))
	if err != nil {
		return nil, err
	}
	return p.Units.Apply(all)
}

// K returns the number of clusters.
func (p *Prediction) K() int { return p.old.spec.K }

// Run returns the nearest clusters of the new points, the lowest of equally near ones.
func (p *Prediction) Run(ctx context.Context, x Executor) ([]int32, error) {
	n, rows, problem := len(p.labels), p.Points.Rows(), *p.old
	problem.Matrix = p.Matrix
	matrix := &weightedMatrix{p: &problem, weights: p.Matrix.Scale, weightGrid: p.old.weightGrid}
	if matrix.weights == nil {
		matrix.weights = clustering.Ones(rows)
	}
	err := x.Matrix().SetOperands(ctx, kernel.Operands{K: p.old.spec.K, Weights: matrix.weights,
		Sparse: &kernel.Sparse{RowStart: make([]int64, rows+1)}})
	if err != nil {
		return nil, err
	}
	labels := slices.Concat(p.labels, clustering.Unassigned(rows-n))
	self, err := x.Load(ctx, labels)
	if err != nil {
		return nil, err
	}
	moves, err := x.Assign(ctx, []kernel.ClusterStats{matrix.statsOf(matrix.newAssignment(labels, self), 0)})
	if err != nil {
		return nil, err
	}
	fresh := clustering.Unassigned(rows - n)
	for _, m := range moves {
		if at := int(m.Point) - n; at >= 0 {
			fresh[at] = m.To
		}
	}
	return fresh, nil
}
