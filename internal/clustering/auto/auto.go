// Package auto clusters data when the user names no algorithm.
//
// It chooses among methods. A method is a space, in which points are compared (the rows, unchanged or standardized,
// the eigenvectors of a graph, a mixture, or the graph itself), and a use of the supervision, which is constraints and
// seeds. table.go has the whole decision: which methods compete, by how much supervision there is, and what it takes to
// win. Prepare checks a spec, lists the spaces of the data in order and divides the supervision into folds (package
// heldout). Run then passes three stages, which hand on values:
//
//  1. Spaces (spaces.go). A space is opened when it is first needed: the representation of the data, and the answer in
//     it without supervision. findBaseline chooses among these answers; without supervision, the baseline is the
//     answer.
//  2. Outcomes (outcomes.go). tryMethods fits methods to all folds but one, for every fold, and finds which pairs of
//     the fold each has right. If fits take long, methods that fall behind are dropped early. A fitter (fit.go) does
//     the fits, each in a file named after it.
//  3. Choice (choice.go). Pure functions of the outcomes choose the method that agrees best with held-out supervision,
//     among those that reach their bar in the table, and find the suspects: supervision that all good methods
//     contradict while it is held out.
//
// At last the chosen method is fitted to all supervision, the rater of the answer measures how clearly each row is in
// its cluster, and respect makes certain supervision hold (package enforce), unless so much of it seems wrong that the
// data may overrule it.
//
// The fits themselves are done by packages kmeans, span, multilevel, mixture, discriminant and forest. Operations on
// rows, neighbors and given matrices run on Executors, wherever the data is; neighbor graphs and their eigenvectors
// are small enough for this process. All random numbers come from the seed of the spec, and nothing that is decided
// depends on threads, workers or time, so the answer has the same bits everywhere.
package auto

import (
	"context"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/catalog"
	"github.com/cleave-project/cleave/internal/clustering/embedding"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/text"
)

// Executors creates the executors of operations on the data, wherever it is stored. The caller must call the returned
// functions to release them.
type Executors interface {
	// Rows returns an executor of k-means on the rows of the data, in the units of p.
	Rows(ctx context.Context, p *kmeans.Problem) (kmeans.Executor, func(), error)
	// Neighbors returns neighbor.Count(n, count) nearest other rows of every row in the given units, nearest first.
	// Missing ones are neighbor.None.
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
	return x.Matrix(), err
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
	return &Options{
		Neighbors: int(r.WholeOr("neighbors", 0)),
		Folds:     int(r.WholeOr("folds", 0)),
		Enforce:   text.Named[Enforcement](r.Values["enforce"]),
	}
}

// Name implements clustering.Algorithm.
func (*Options) Name() string { return "auto" }

// Validate implements clustering.Algorithm.
func (*Options) Validate(int, clustering.Spec) error { return nil }

// OnPart implements clustering.Algorithm. Cuts of parts are brief.
func (o *Options) OnPart(int, []int32) clustering.Algorithm {
	part := *o
	part.Brief = true
	return &part
}

// SearchesEigenvectors implements clustering.Algorithm.
func (*Options) SearchesEigenvectors(g *dataset.Graph, spec clustering.Spec) bool {
	return len(spec.Supervision.Constraints)+len(spec.Supervision.Seeds) > 0 || hasNegativeWeight(g)
}
