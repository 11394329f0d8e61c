// Package embedding clusters points by eigenvectors: it puts vectors side by side as coordinates, runs k-means
// on their rows, and reports the steps of the eigensolver that finds them.
package embedding

import (
	"cmp"
	"context"
	"math"
	"runtime"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/centroid"
	"github.com/cleave-project/cleave/internal/dataset"
	"github.com/cleave-project/cleave/internal/spectral"
)

// embed puts vectors side by side, row by row, each row stretched to length 1 if unit is set; a row of
// zeros stays.
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

// kmeansOn clusters the rows of an embedding, where it is: it is small beside the matrix. Of the spec it
// takes k, the seed, the restarts and the iterations.
func Cluster(ctx context.Context, values []float64, columns int, spec clustering.Spec) ([]int32, error) {
	points, err := dataset.NewPoints(len(values)/columns, columns, values)
	if err != nil {
		return nil, err
	}
	p, err := centroid.Prepare(points, clustering.Spec{
		K: spec.K, Seed: spec.Seed, Algorithm: &centroid.Options{Algorithm: centroid.Kmeans},
		Restarts: cmp.Or(spec.Restarts, DefaultRestarts), MaxIterations: cmp.Or(spec.MaxIterations, DefaultIterations),
	})
	if err != nil {
		return nil, err
	}
	x, err := centroid.NewLocal(ctx, p, points, runtime.GOMAXPROCS(0))
	if err != nil {
		return nil, err
	}
	found, err := centroid.Run(ctx, p, x, clustering.Silent{})
	if err != nil {
		return nil, err
	}
	return found.Labels, nil
}

// balanced is the executor's matrix between two diagonal ones: diag(f) M diag(f).
type balanced struct {
	matrix  Multiplier
	factors []float64
}

// Multiplier is a matrix that can be multiplied with vectors: an executor's.
type Multiplier interface {
	Multiply(ctx context.Context, x [][]float64) ([][]float64, error)
}

// NewBalanced is diag(f) M diag(f).
func NewBalanced(matrix Multiplier, factors []float64) spectral.Operator {
	return balanced{matrix, factors}
}

func (b balanced) Rows() int { return len(b.factors) }

func (b balanced) Multiply(ctx context.Context, columns [][]float64) ([][]float64, error) {
	scaled := make([][]float64, len(columns))
	for v, column := range columns {
		scaled[v] = make([]float64, len(column))
		for i := range column {
			scaled[v][i] = float64(column[i] * b.factors[i])
		}
	}
	products, err := b.matrix.Multiply(ctx, scaled)
	for _, y := range products {
		for i := range y {
			y[i] *= b.factors[i]
		}
	}
	return products, err
}
