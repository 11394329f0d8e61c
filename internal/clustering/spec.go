// Package clustering is what all algorithms share: the spec of a job, the interface Method that every algorithm
// implements, the one loop that runs methods and their restarts, and the result. The algorithms themselves are in
// the packages below: centroid, kernelkmeans and cut. None of them logs, reads a clock, or knows where rows live.
package clustering

import (
	"strings"

	"github.com/cleave-project/cleave/internal/clustering/catalog"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/numeric/neighbor"
)

// Spec is what the user asks for. With the data set it determines the answer to the last bit.
type Spec struct {
	K int
	// MaxK, if not 0, asks for every number of clusters from K to MaxK: see package howmany.
	MaxK int
	Seed uint64
	// The next three are 0 for the algorithms of package cut, which have their own: see cut.Eigenvectors.
	Restarts      int     // 0: see Runs
	MaxIterations int     // 0: the start is the result
	Tolerance     float64 // stop when the objective decreases by at most this share; 0: never

	Constraints []constraint.Constraint
	Entail      bool // turn every pair that the constraints imply into a constraint
	EntailSmall bool // the same, while there are fewer than MaxEntailedByDefault
	Seeds       []constraint.Seed

	Start         Start
	InitialLabels []int32 // for StartLabels
	FarthestMean  bool    // farthest-first by mean instead of total distance

	// Choose tells that what is left open is chosen by the data, where the papers have a fixed value for it: how many
	// restarts there are, where each begins, and the unit of the constraints' weights.
	Choose bool

	// Race lets the starts of k-means run on a sample of the rows where there are many, and only the best of them on all
	// rows: see centroid.Problem.
	Race bool

	// Scale is what is done to the columns of dense points first.
	Scale Scale

	// Neighbors is how many nearest neighbors of each row are connected in a graph, which is clustered in place of the
	// rows: see package knn. 0: the data are clustered as they are.
	Neighbors       int
	NeighborWeights neighbor.Weights

	// HalfPrecision rounds dense matrices to float16: half the memory, another numeric class.
	HalfPrecision bool

	// Algorithm is the Options of one of the packages centroid, kernelkmeans and cut.
	Algorithm Algorithm
}

// DefaultMaxIterations limits a run when the user does not.
const DefaultMaxIterations = 100

// NewSpec is what a request asks for, which the catalog has accepted, without its tables and its algorithm.
func NewSpec(r catalog.Request) Spec {
	spec := Spec{
		K: int(r.WholeOr("k", 0)), Seed: r.WholeOr("seed", 0),
		Entail: r.Is("entail", "true"), HalfPrecision: r.Is("storage", "float16"),
		Start: catalog.Named(r.Values["init"], StartMultilevel), FarthestMean: r.Is("farthest", "mean"),
		Scale:     catalog.Named(r.Values["scale"], ScaleRobust),
		Neighbors: int(r.WholeOr("knn", 0)), NeighborWeights: catalog.Named(r.Values["knn-weights"], neighbor.Gaussian),
	}
	if spec.Start == StartDefault && r.Values["farthest"] != "" {
		spec.Start = StartFarthestFirst // which it is about
	}
	a, _ := catalog.FindAlgorithm(r.Algorithm)
	spec.Choose = a.Takes("paper") && !r.Is("paper", "true")
	if a.Family != catalog.SpectralFamily {
		spec.Restarts = int(r.WholeOr("restarts", 0))
		spec.MaxIterations = int(r.WholeOr("max-iterations", DefaultMaxIterations))
		spec.Tolerance = r.NumberOr("tolerance", 0)
		spec.Race = spec.Choose && spec.Restarts == 0
		spec.EntailSmall = spec.Choose && r.Values["entail"] == ""
	}
	return spec
}

// DefaultRestarts is how many runs there are by default, so that a poor start costs nothing but time.
const DefaultRestarts = 10

// Runs is how many runs from different starts there are.
func (s Spec) Runs() int {
	switch {
	case s.Restarts > 0:
		return s.Restarts
	case s.Choose:
		return DefaultRestarts
	}
	return 1
}

// Algorithm is an algorithm with its options.
type Algorithm interface {
	// Name is the algorithm's name in the catalog.
	Name() string
	// Validate checks the tables of a spec of this algorithm; which options go together is checked by the catalog.
	Validate(rows int, spec Spec) error
}

// Start is a way to make the first labels.
type Start uint8

// The starts. StartDefault is that of the paper, or where Spec.Choose says so a start for each restart: see
// centroid.Problem and kernelkmeans.Problem.
const (
	StartDefault Start = iota
	StartFarthestFirst
	StartRandom
	StartKmeansPlusPlus
	StartLabels
	StartSeeds
	StartNeighborhoods
	StartWeightedFarthestFirst
	StartCentroids
	StartSpectral   // kernel k-means alone: by k-means on the leading eigenvectors
	StartMultilevel // kernel k-means on graphs alone: from the coarse to the fine
)

// String is the name of a start in the catalog.
func (s Start) String() string {
	return [...]string{"", "farthest-first", "random", "kmeans++", "labels", "seeds", "neighborhoods", "weighted-farthest-first", "centroids", "spectral", "multilevel"}[s]
}

// Field is the path of an algorithm's option in the API.
func Field(a Algorithm, option string) string {
	return "spec." + strings.ReplaceAll(a.Name(), "-", "_") + "." + option
}

// Random tells whether a start depends on chance.
func (s Start) Random() bool {
	return s == StartRandom || s == StartKmeansPlusPlus || s == StartMultilevel
}
