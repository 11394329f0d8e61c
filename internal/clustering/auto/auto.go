// Package auto clusters data when the user names no algorithm. It chooses among several methods: a method is a space
// (the rows, unchanged or standardized, or the eigenvectors of a graph) and a use of the constraints. Without
// constraints, a rule chooses the space. With constraints, the method that agrees best with held-out constraints wins.
// The fits themselves are done by packages kmeans, span, multilevel and discriminant. Operations on rows, neighbors and
// given matrices run on Executors, wherever the data is; neighbor graphs and their eigenvectors are small enough for
// this process.
package auto

import (
	"context"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/embedding"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/data/dataset"
)

// Executors creates the executors of operations on the data, wherever it is stored. The caller must call the returned
// functions to release them.
type Executors interface {
	// Rows returns an executor of k-means on the rows of the data, in the units of p.
	Rows(ctx context.Context, p *kmeans.Problem) (kmeans.Executor, func(), error)
	// Neighbors returns count nearest other rows of every row, nearest first, in the given units.
	Neighbors(ctx context.Context, units *dataset.Units, count int) ([]int32, error)
	// Matrix returns a multiplier of the data, which is a graph or a kernel matrix, with vectors.
	Matrix(ctx context.Context) (embedding.Multiplier, func(), error)
}

// MatrixProblem returns the problem whose executor multiplies the matrix of a graph or kernel with vectors.
func MatrixProblem(data dataset.Dataset) (*kernelkmeans.Problem, error) {
	return kernelkmeans.Prepare(data, clustering.Spec{
		K: 1, Restarts: 1, Algorithm: &kernelkmeans.Options{Objective: kernelkmeans.ObjectiveRatioAssociation},
	})
}

// NewMatrix returns a multiplier that runs in this process.
func NewMatrix(ctx context.Context, data dataset.Dataset, threads int) (embedding.Multiplier, error) {
	p, err := MatrixProblem(data)
	if err != nil {
		return nil, err
	}
	x, err := kernelkmeans.NewLocal(ctx, p, data, threads)
	if err != nil {
		return nil, err
	}
	_, err = kernelkmeans.NewFamily(ctx, p, x, clustering.NopObserver{})
	return x, err
}
