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
	"github.com/cleave-project/cleave/internal/clustering/catalog"
	"github.com/cleave-project/cleave/internal/clustering/embedding"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/clustering/knn"
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
	_, err = kernelkmeans.NewSetup(ctx, p, x, clustering.NopObserver{})
	return x, err
}

// Options holds the options of the algorithm. Zero values mean the defaults.
type Options struct {
	Neighbors int // neighbors of each row in the nearest-neighbor graph
	Folds     int // number of folds of the constraints
	Enforce   Enforcement
	// Brief makes cuts of graphs brief; see multilevel.Options. Users cannot set it.
	Brief bool
}

// NewOptions returns the options of a request that the catalog has accepted.
func NewOptions(r catalog.Request) *Options {
	return &Options{Neighbors: int(r.WholeOr("neighbors", 0)), Folds: int(r.WholeOr("folds", 0)), Enforce: catalog.Named(r.Values["enforce"], EnforceNever)}
}

// Name implements clustering.Algorithm.
func (*Options) Name() string { return "auto" }

// Validate implements clustering.Algorithm.
func (*Options) Validate(int, clustering.Spec) error { return nil }

// The defaults of the options.
const (
	DefaultNeighbors = 10
	// DefaultSparseNeighbors is the number of neighbors of sparse rows. Their distances tell less: most rows share no
	// column, and more neighbors connect the rows of a cluster.
	DefaultSparseNeighbors = 30
	DefaultFolds           = 3
)

// voters is the number of nearest neighbors that vote on the label of a new point.
const voters = 10

// Predict labels new points by their nearest neighbors among labeled points, in the units of the scale.
func Predict(ctx context.Context, scale clustering.Scale, trained dataset.Dataset, labels []int32, fresh dataset.Dataset, threads int) ([]int32, error) {
	return knn.Predict(ctx, scale, voters, trained, labels, fresh, threads)
}
