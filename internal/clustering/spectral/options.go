// Package spectral cuts an affinity graph by its eigenvectors, with constraints as in Kulis2009, Kamvar et al. 2003 and
// Wang2014. It uses the matrix and the Executor of package kernelkmeans.
package spectral

import (
	"github.com/cleave-project/cleave/internal/clustering/catalog"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/kernel"
)

// Algorithm is one of the spectral family.
type Algorithm uint8

// The algorithms of the spectral family.
const (
	Spectral    Algorithm = iota + 1 // leading eigenvectors, Kulis2009 4.3
	Learning                         // constrained affinities are 1 and 0, Kamvar et al. 2003
	Constrained                      // Wang2014
)

func (a Algorithm) String() string {
	return [...]string{"", "spectral", "spectral-learning", "constrained-spectral"}[a]
}

// Options are an algorithm and its options.
type Options struct {
	Algorithm Algorithm
	// Objective of Spectral: normalized-cut (the default) or ratio-association.
	Objective kernelkmeans.Objective
	// The kernel on points, as for kernel k-means.
	Function     kernel.Function
	Rho          float64
	Gamma        *float64
	Coef0        *float64
	Degree       int
	KeepDiagonal bool // keep the diagonal of the affinity

	Eigenvectors Eigenvectors
	Components   ComponentPolicy

	// The rest is of Constrained alone.
	BetaRule       BetaRule
	Beta           float64 // for BetaGiven
	Discretization Discretization
	Beliefs        []constraint.Belief // a whole Q, instead of constraints
	Transfer       bool                // Q is another graph on the same vertices
}

// NewOptions are what a request asks for, which the catalog has accepted, without the beliefs.
func NewOptions(r catalog.Request) *Options {
	matrix := kernelkmeans.NewOptions(r)
	o := &Options{
		Algorithm: catalog.Named(r.Algorithm, Constrained),
		Objective: matrix.Objective, Function: matrix.Function,
		Rho: matrix.Rho, Gamma: matrix.Gamma, Coef0: matrix.Coef0, Degree: matrix.Degree, KeepDiagonal: matrix.KeepDiagonal,
		Eigenvectors: Eigenvectors{
			Tolerance: r.NumberOr("tolerance", 0), KmeansRestarts: int(r.WholeOr("restarts", 0)), KmeansMaxIterations: int(r.WholeOr("max-iterations", 0)),
		},
		Discretization: catalog.Named(r.Values["discretize"], DiscretizeWeighted),
		Components:     catalog.Named(r.Values["components"], ComponentsJoin),
	}
	switch beta := r.Number("beta"); {
	case beta != nil:
		o.BetaRule, o.Beta = BetaGiven, *beta
	case r.Is("beta", "strict"):
		o.BetaRule = BetaStrict
	case r.Is("beta", "paper") || r.Values["discretize"] != "": // which is about the cuts of the paper
		o.BetaRule = BetaPaper
	case r.Values["beta"] == "" && r.Is("paper", "true") && o.Algorithm == Constrained:
		o.BetaRule = BetaPaper
	}
	return o
}

// Eigenvectors is how precise eigenvectors are, and how k-means clusters their rows. Fields of 0 take the
// defaults of package embedding.
type Eigenvectors struct {
	Tolerance           float64
	KmeansRestarts      int
	KmeansMaxIterations int
}

// ComponentPolicy is what becomes of the pieces of a graph that is not connected.
type ComponentPolicy uint8

// The policies.
const (
	ComponentsAuto ComponentPolicy = iota // small pieces take no part, and join clusters afterwards
	ComponentsKeep                        // all take part, each with an eigenvector of its own
	ComponentsJoin                        // they are connected by weak edges
)

// String is the name of a policy in the catalog.
func (p ComponentPolicy) String() string { return [...]string{"auto", "keep", "join"}[p] }

// BetaRule is how beta is chosen, the lower bound of how much cuts satisfy the constraints.
type BetaRule uint8

// The rules for beta.
const (
	BetaAuto   BetaRule = iota // constraints that are held out choose; BetaPaper where Q is given as a whole
	BetaPaper                  // Wang2014 (19)
	BetaStrict                 // such that exactly k - 1 cuts are feasible
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

// String is the name of a discretization in the catalog.
func (d Discretization) String() string { return [...]string{"plain", "sign", "weighted"}[d] }
