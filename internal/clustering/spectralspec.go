package clustering

import "github.com/cleave-project/cleave/internal/kernel"

// What the spectral family does where a spec has zeros.
const (
	EmbeddingRestarts   = 10   // starts of k-means on eigenvectors
	EmbeddingIterations = 300  // of each
	EigenTolerance      = 1e-8 // of residuals, relative to the largest eigenvalue
)

// SpectralAlgorithm is one of the spectral family.
type SpectralAlgorithm uint8

// The algorithms of the spectral family.
const (
	SpectralClustering  SpectralAlgorithm = iota + 1 // leading eigenvectors, Kulis2009 4.3
	SpectralLearning                                 // constrained affinities are 1 and 0
	ConstrainedSpectral                              // Wang2014
)

func (a SpectralAlgorithm) String() string {
	return [...]string{"", "spectral", "spectral-learning", "constrained-spectral"}[a]
}

// Spectral are the options of the spectral family.
type Spectral struct {
	Algorithm SpectralAlgorithm
	// Objective of SpectralClustering: normalized-cut (the default) or ratio-association.
	Objective Objective
	// The kernel on points, as for kernel k-means.
	Function kernel.Function
	Rho      float64
	Gamma    *float64
	Coef0    *float64
	Degree   int
	KeepDiag bool // keep the diagonal of the affinity

	Eigenvectors Eigenvectors

	// Of ConstrainedSpectral.
	BetaRule       BetaRule
	Beta           float64 // for BetaGiven
	Discretization Discretization
	Beliefs        []Belief // a whole Q, instead of constraints
	Transfer       bool     // Q is a graph of its own
	JoinComponents bool
}

// Eigenvectors is how well eigenvectors are found, and how k-means clusters their rows. Zeros ask for the
// defaults.
type Eigenvectors struct {
	Tolerance           float64
	KmeansRestarts      int
	KmeansMaxIterations int
}

// Belief is one entry of Q, for an unordered pair or on the diagonal: above 0 together, below 0 apart.
type Belief struct {
	I, J  int32
	Value float64
}

// BetaRule is how the lower bound of the constraints' satisfaction is chosen.
type BetaRule uint8

// The rules for beta.
const (
	BetaAuto BetaRule = iota
	BetaStrict
	BetaGiven
)

// Discretization is how k > 2 clusters come out of k - 1 vectors.
type Discretization uint8

// The discretizations. Two clusters are always split by sign.
const (
	DiscretizePlain    Discretization = iota // k-means on the vectors' rows
	DiscretizeSign                           // on the rows of their signs, Wang2014 (15)
	DiscretizeWeighted                       // on the vectors divided by their costs
)

// SpectralReport is about the eigenvectors that were used, in the order of their use.
type SpectralReport struct {
	Beta            *float64 // of ConstrainedSpectral, as what follows
	FeasibleVectors *int
	Volume          float64
	Eigenvalues     []float64
	Costs           []float64 // v' Lbar v with v'v = vol
	Satisfaction    []float64 // u' Q u
	Residuals       []float64
	Products        int
}

// Embedding is the coordinates of the points, row by row.
type Embedding struct {
	Rows, Columns int
	Values        []float64
}
