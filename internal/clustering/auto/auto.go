// Package auto clusters data when the user names no algorithm.
//
// It chooses among methods. A method is a space, in which points are compared (the rows, unchanged or standardized,
// the eigenvectors of a graph, a mixture, or the graph itself), and a use of the supervision, which is constraints and
// seeds. Prepare checks a spec, lists the spaces of the data in order (listSpaces) and divides the supervision into
// folds (package heldout). Run then does the following:
//
//  1. chooseSpace finds the baseline, the answer without supervision. For points, chooseByCut prefers the neighbor
//     graph to k-means if k-means cuts through it, unless sharpColumn says that the graph only follows a column of few
//     values; otherwise chooseMixture may continue from k-means. Without supervision, the baseline is the answer.
//  2. choose uses the supervision, depending on how much there is. If it is all must-links or all cannot-links, the
//     method is the space of the baseline with its default use (defaultUse). chooseByFew compares spaces by fewer than
//     50 pairs. chooseByFolds compares methods by more, as follows.
//  3. methods lists what competes: the candidates, each in the spaces that suit it.
//  4. tryMethods fits every method to all folds but one, for every fold (crossValidate), and finds which pairs of the
//     fold it has right. If fits take long, methods that fall behind are dropped early (screen).
//  5. compare takes the method that agrees best with held-out supervision, among those that mayReplace the baseline.
//     noticeTrials finds the suspects: supervision that all good methods contradict while it is held out.
//  6. fit fits the chosen method to all supervision, and the rater of the answer measures how clearly each row is in
//     its cluster.
//  7. respect makes certain supervision hold in the answer (enforce), unless so much of it seems wrong that the data
//     may overrule it (overruled).
//
// All thresholds are in tuning.go, with what they were compared on.
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
