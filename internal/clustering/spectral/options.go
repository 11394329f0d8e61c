// Package spectral cuts an affinity graph by its eigenvectors, with constraints as in Kulis2009, Kamvar et al. 2003 and
// Wang2014. It uses the matrix and the Executor of package kernelkmeans.
package spectral

import (
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/catalog"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/invalid"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/text"
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
	return text.Name(a, "", "spectral", "spectral-learning", "constrained-spectral")
}

// Options selects an algorithm and its options.
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

	// Only for Constrained:
	BetaRule       BetaRule
	Beta           float64 // for BetaGiven
	Discretization Discretization
	Beliefs        []constraint.Belief // all of Q, instead of constraints
	Transfer       bool                // whether Q is another graph on the same vertices
}

// NewOptions returns the options of a request that the catalog has accepted. The caller adds the beliefs.
func NewOptions(r catalog.Request) *Options {
	matrix := kernelkmeans.NewOptions(r)
	o := &Options{
		Algorithm: text.Named[Algorithm](r.Algorithm),
		Objective: matrix.Objective, Function: matrix.Function,
		Rho: matrix.Rho, Gamma: matrix.Gamma, Coef0: matrix.Coef0, Degree: matrix.Degree,
		KeepDiagonal: matrix.KeepDiagonal,
		Eigenvectors: Eigenvectors{
			Tolerance: r.NumberOr("tolerance", 0), KmeansRestarts: int(r.WholeOr("restarts", 0)),
			KmeansMaxIterations: int(r.WholeOr("max-iterations", 0)),
		},
		Discretization: text.Named[Discretization](r.Values["discretize"]),
		Components:     text.Named[ComponentPolicy](r.Values["components"]),
	}
	switch beta := r.Number("beta"); {
	case beta != nil:
		o.BetaRule, o.Beta = BetaGiven, *beta
	case r.Is("beta", "strict"):
		o.BetaRule = BetaStrict
	case r.Is("beta", "paper") || r.Values["discretize"] != "": // it applies to the cuts of the paper
		o.BetaRule = BetaPaper
	case r.Values["beta"] == "" && r.Is("paper", "true") && o.Algorithm == Constrained:
		o.BetaRule = BetaPaper
	}
	return o
}

// Eigenvectors controls the precision of eigenvectors and how k-means clusters their rows. Fields that are 0 take the
// defaults of package embedding.
type Eigenvectors struct {
	Tolerance           float64
	KmeansRestarts      int
	KmeansMaxIterations int
}

// ComponentPolicy is what happens to the pieces of a graph that is not connected.
type ComponentPolicy uint8

// The policies.
const (
	ComponentsAuto ComponentPolicy = iota // small pieces are left out, and join clusters afterward
	ComponentsKeep                        // all are included, each with its own eigenvector
	ComponentsJoin                        // pieces are connected by weak edges
)

// String returns the name of the policy in the catalog.
func (p ComponentPolicy) String() string { return text.Name(p, "auto", "keep", "join") }

// BetaRule is how beta, the lower bound of how well cuts satisfy the constraints, is chosen.
type BetaRule uint8

// The rules for beta.
const (
	BetaAuto   BetaRule = iota // held-out constraints choose; BetaPaper if all of Q is given
	BetaPaper                  // Wang2014 (19)
	BetaStrict                 // so that exactly k - 1 cuts are feasible
	BetaGiven
)

// Discretization is how k > 2 clusters are derived from k - 1 vectors.
type Discretization uint8

// The discretizations. Two clusters are always split by sign.
const (
	DiscretizePlain    Discretization = iota // k-means on the vectors' rows
	DiscretizeSign                           // on the rows of their signs, Wang2014 (15)
	DiscretizeWeighted                       // on the vectors divided by their costs
)

// String returns the name of the discretization in the catalog.
func (d Discretization) String() string { return text.Name(d, "plain", "sign", "weighted") }

// Name implements clustering.Algorithm.
func (o *Options) Name() string { return o.Algorithm.String() }

// Validate implements clustering.Algorithm.
func (o *Options) Validate(_ int, spec clustering.Spec) error {
	switch {
	case o.Algorithm != Constrained || len(o.Beliefs)+len(spec.Supervision.Constraints) > 0:
		return nil
	case len(spec.Supervision.Seeds) == 0:
		return invalid.New(invalid.NoBeliefs)
	case !slices.ContainsFunc(spec.Supervision.Seeds, func(s constraint.Seed) bool {
		return s.Index != spec.Supervision.Seeds[0].Index
	}):
		return invalid.New(invalid.SeedsOfOnePoint, "point", spec.Supervision.Seeds[0].Index)
	}
	return nil
}

// OnPart implements clustering.Algorithm.
func (o *Options) OnPart(n int, rows []int32) clustering.Algorithm {
	if rows == nil {
		return o
	}
	part := *o
	part.Beliefs = constraint.Among(n, rows, o.Beliefs)
	return &part
}

// SearchesEigenvectors implements clustering.Algorithm.
func (*Options) SearchesEigenvectors(*dataset.Graph, clustering.Spec) bool { return true }
