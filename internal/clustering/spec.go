package clustering

import (
	"github.com/cleave-project/cleave/internal/clustering/catalog"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/numeric/neighbor"
	"github.com/cleave-project/cleave/internal/text"
)

// Spec is what the user asks for. Together with the data set it determines the answer to the last bit.
type Spec struct {
	K int
	// MaxK, if not 0, asks for every number of clusters from K to MaxK; see package krange.
	MaxK int
	Seed uint64
	// The next three are 0 for the algorithms of package spectral, which have their own; see spectral.Eigenvectors.
	Restarts      int     // 0 means the default; see Runs
	MaxIterations int     // of each restart; 0 returns the initial labels
	Tolerance     float64 // stop when the relative decrease of the objective is at most this; 0 disables the check

	Supervision    Supervision
	Initialization Initialization
	Scale          Scale // how the columns of dense points are scaled first
	Neighbors      Neighbors

	// Choose selects defaults that depend on the data instead of the fixed values of the papers: the number of
	// restarts, the start of each, and the unit of constraint weights.
	Choose bool

	// Algorithm is the algorithm with the options that only its family has, such as kmeans.Options.
	Algorithm Algorithm
}

// Supervision is what is known about some rows.
type Supervision struct {
	Constraints []constraint.Constraint
	Entail      bool // add every pair that the constraints imply as a constraint
	EntailSmall bool // the same, but only if there are fewer than catalog.MaxEntailed
	// Seeds are rows of known label. Depending on the algorithm they are a start, fixed labels, beliefs, or
	// supervision. Several seeds of one row need probabilities.
	Seeds []constraint.Seed
}

// Initialization is how the labels are found that a run starts from.
type Initialization struct {
	Start        Start
	Labels       []int32 // for StartLabels
	FarthestMean bool    // StartFarthestFirst compares mean instead of total distances
}

// Neighbors describes the nearest-neighbor graph that is clustered in place of the data; see package knn.
type Neighbors struct {
	Count   int // number of neighbors of each row; 0 means that the data itself is clustered
	Weights neighbor.Weights
}

// DefaultMaxIterations is the maximum number of iterations if the request has none.
const DefaultMaxIterations = 100

// NewSpec returns the spec of a request that the catalog has accepted. The caller adds the tables and the algorithm.
func NewSpec(r catalog.Request) Spec {
	spec := Spec{
		K: int(r.WholeOr("k", 0)), Seed: r.WholeOr("seed", 0),
		Supervision: Supervision{Entail: r.Is("entail", "true")},
		Initialization: Initialization{
			Start: text.Named[Start](r.Values["init"]), FarthestMean: r.Is("farthest", "mean"),
		},
		Scale: text.Named[Scale](r.Values["scale"]),
		Neighbors: Neighbors{Count: int(r.WholeOr("knn", 0)),
			Weights: text.Named[neighbor.Weights](r.Values["knn-weights"])},
	}
	if spec.Initialization.Start == StartDefault && r.Values["farthest"] != "" {
		spec.Initialization.Start = StartFarthestFirst // the only start that uses it
	}
	a, _ := catalog.FindAlgorithm(r.Algorithm)
	spec.Choose = r.ChoosesDefaults()
	if a.Family != catalog.SpectralFamily {
		spec.Restarts = int(r.WholeOr("restarts", 0))
		spec.MaxIterations = int(r.WholeOr("max-iterations", DefaultMaxIterations))
		spec.Tolerance = r.NumberOr("tolerance", 0)
		spec.Supervision.EntailSmall = spec.Choose && r.Values["entail"] == ""
	}
	return spec
}

// DefaultRestarts is the default number of restarts. Several restarts make the answer robust against a poor start.
const DefaultRestarts = 10

// Runs returns the number of restarts, at least 1.
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
	// Name returns the name of the algorithm in the catalog.
	Name() string
	// Validate checks the tables of a spec of this algorithm. The catalog checks which options go together.
	Validate(rows int, spec Spec) error
	// OnPart returns the algorithm for a part of a data set of n rows, with the options of only those rows. The part
	// has the given rows, which ascend, or all if rows is nil.
	OnPart(n int, rows []int32) Algorithm
	// SearchesEigenvectors reports whether a job of this algorithm on a graph searches for eigenvectors.
	SearchesEigenvectors(g *dataset.Graph, spec Spec) bool
}

// Start is how the initial labels are computed.
type Start uint8

// The starts. StartDefault is the start of the paper or, if Spec.Choose is set, a different start for each restart; see
// kmeans.Problem and kernelkmeans.Problem.
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
	StartSpectral   // kernel k-means only: k-means on the leading eigenvectors
	StartMultilevel // kernel k-means on graphs only: from coarse to fine levels
)

// String returns the name of the start in the catalog, "" for StartDefault.
func (s Start) String() string {
	return text.Name(s, "", "farthest-first", "random", "kmeans++", "labels", "seeds", "neighborhoods",
		"weighted-farthest-first", "centroids", "spectral", "multilevel")
}

// Random reports whether the start depends on chance.
func (s Start) Random() bool {
	return s == StartRandom || s == StartKmeansPlusPlus || s == StartMultilevel
}
