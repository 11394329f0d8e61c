// Package embedding contains what spectral methods share: it uses eigenvectors as coordinates of points, runs k-means
// on them, and reports the steps of the eigensolver.
package embedding

import (
	"cmp"
	"context"
	"math"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/numeric/eigen"
	"github.com/cleave-project/cleave/internal/parallel"
	"github.com/cleave-project/cleave/internal/partition"
)

// New makes vectors the columns of an embedding. If unit is set, every row is scaled to length 1; a row of zeros stays.
func New(vectors [][]float64, unit bool) *clustering.Embedding {
	n, columns := len(vectors[0]), len(vectors)
	e := &clustering.Embedding{Rows: n, Columns: columns, Values: make([]float64, n*columns)}
	for i := range n {
		row := e.Values[i*columns : (i+1)*columns]
		length := 0.0
		for j := range row {
			row[j] = vectors[j][i]
			length += float64(row[j] * row[j])
		}
		if unit && length > 0 {
			for j := range row {
				row[j] /= math.Sqrt(length)
			}
		}
	}
	return e
}

// Clusters holds the best labels that k-means found, and the labels of all its restarts.
type Clusters struct {
	Labels []int32
	Runs   []clustering.Labeling
}

// cluster runs k-means on the rows of an embedding within this process, because an embedding is small compared with the
// matrix. It uses K, Seed, Restarts and MaxIterations of the spec.
func cluster(ctx context.Context, values []float64, columns int, spec clustering.Spec) (Clusters, error) {
	points, err := dataset.NewPoints(len(values)/columns, columns, values)
	if err != nil {
		return Clusters{}, err
	}
	found, err := kmeans.Solve(ctx, points, clustering.Spec{
		K: spec.K, Seed: spec.Seed, Algorithm: &kmeans.Options{Algorithm: kmeans.Kmeans},
		Restarts: cmp.Or(spec.Restarts, DefaultRestarts), MaxIterations: cmp.Or(spec.MaxIterations, DefaultIterations),
		Scale: clustering.ScaleNone, // eigenvectors have one unit
	}, parallel.Threads(ctx))
	if err != nil {
		return Clusters{}, err
	}
	return Clusters{found.Labels, found.Runs}, nil
}

// scaledMatrix is diag(factors) matrix diag(factors), which is never formed.
type scaledMatrix struct {
	matrix  Multiplier
	factors []float64
}

// Multiplier is a matrix that can be multiplied with vectors. Every kernelkmeans.Matrix is one.
type Multiplier interface {
	Multiply(ctx context.Context, x [][]float64) ([][]float64, error)
}

// NewScaled returns diag(f) M diag(f).
func NewScaled(matrix Multiplier, factors []float64) eigen.Operator {
	return scaledMatrix{matrix, factors}
}

func (s scaledMatrix) Rows() int { return len(s.factors) }

// Multiply implements eigen.Operator. It changes the products of the matrix, which must not share memory with columns.
func (s scaledMatrix) Multiply(ctx context.Context, columns [][]float64) ([][]float64, error) {
	scaled := eigen.Columns(s.Rows(), len(columns))
	for v, column := range columns {
		for i := range column {
			scaled[v][i] = float64(column[i] * s.factors[i])
		}
	}
	products, err := s.matrix.Multiply(ctx, scaled)
	for _, y := range products {
		for i := range y {
			y[i] *= s.factors[i]
		}
	}
	return products, err
}

// Without is the operator M - 2 v v'. If v is an eigenvector of M with the eigenvalue 1, it moves to the other end of
// the spectrum, and a search for the leading eigenvectors finds all others. If v is only close to one, what is found
// contains up to about |M v - v| / 2 of v, and its residuals are those of M - 2 v v', not of M.
type Without struct {
	eigen.Operator
	Vector []float64 // v, of length 1
}

// Multiply implements eigen.Operator.
func (w Without) Multiply(ctx context.Context, columns [][]float64) ([][]float64, error) {
	products, err := w.Operator.Multiply(ctx, columns)
	for at, y := range products {
		x := columns[at]
		twice := 2 * partition.SumByTile(len(x), func(i int) float64 { return float64(w.Vector[i] * x[i]) })
		for i, v := range w.Vector {
			y[i] -= float64(twice * v)
		}
	}
	return products, err
}
