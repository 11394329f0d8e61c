// Package cut is the spectral family: clusters from the eigenvectors of an affinity, with constraints as in
// Kulis2009, Kamvar et al. 2003 and Wang2014. The matrix is that of the cuts of kernel k-means, and so is its
// Executor.
package cut

import (
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/kernel"
)

// SpectralAlgorithm is one of the spectral family.
type Algorithm uint8

// The algorithms of the spectral family.
const (
	Spectral    Algorithm = iota + 1 // leading eigenvectors, Kulis2009 4.3
	Learning                         // constrained affinities are 1 and 0
	Constrained                      // Wang2014
)

func (a Algorithm) String() string {
	return [...]string{"", "spectral", "spectral-learning", "constrained-spectral"}[a]
}

// Spectral are the options of the spectral family.
type Options struct {
	Algorithm Algorithm
	// Objective of SpectralClustering: normalized-cut (the default) or ratio-association.
	Objective kernelkmeans.Objective
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
