// Package auto answers when nothing but data, k and constraints is given. It has several ways: a way is a space
// (the rows as they are, standardized, or the eigenvectors of a graph) and a use of the constraints. Without
// constraints one rule chooses the space; with them, the way that agrees best with constraints that it was not shown.
// The fits are those of packages centroid and span. Rows, neighbors and given matrices are computed with wherever the
// data live; graphs of neighbors and eigenvectors are small enough for this process.
package auto

import (
	"context"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/embedding"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/data/dataset"
)

// Executors make what computes over the data, wherever they live. What they return is released by the returned
// function.
type Executors interface {
	// Rows runs the operations of k-means over the rows of the data, in the units of the problem.
	Rows(ctx context.Context, p *kmeans.Problem) (kmeans.Executor, func(), error)
	// Neighbors are the nearest other rows of every row in the given units, count of each, the nearest first.
	Neighbors(ctx context.Context, units *dataset.Units, count int) ([]int32, error)
	// Matrix multiplies the data, which are a graph or a kernel matrix, with vectors.
	Matrix(ctx context.Context) (embedding.Multiplier, func(), error)
}

// MatrixProblem is the problem whose executor multiplies a graph's adjacency matrix, or a kernel matrix, with vectors.
func MatrixProblem(data dataset.Dataset) (*kernelkmeans.Problem, error) {
	return kernelkmeans.Prepare(data, clustering.Spec{
		K: 1, Restarts: 1, Algorithm: &kernelkmeans.Options{Objective: kernelkmeans.ObjectiveRatioAssociation},
	})
}

// NewMatrix multiplies within this process.
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
