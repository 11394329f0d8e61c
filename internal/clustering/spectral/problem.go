package spectral

import (
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/invalid"
)

// Problem is a spec with every choice resolved for its data. The affinity and the reported objective are those of the
// cuts of kernel k-means (Kulis2009 Table 3).
type Problem struct {
	*kernelkmeans.Problem
	options Options
	spec    clustering.Spec // as given; the spec of the embedded problem describes only the matrix
	n       int
	data    dataset.Dataset   // for single affinities
	beliefs *beliefs          // Q; only for Constrained
	given   *constraint.Set   // the constraints, even if they are not part of the matrix
	pairs   []constraint.Pair // constraints and seeds; only for Constrained with BetaAuto
	shared  *Shared           // shared with problems of other k; nil if there are none
}

// Prepare checks a spec against the data and resolves it. The error is an *invalid.Error if the spec or the data is
// invalid.
func Prepare(data dataset.Dataset, spec clustering.Spec) (*Problem, error) {
	if err := clustering.Validate(data.Rows(), spec); err != nil {
		return nil, err
	}
	o := *spec.Algorithm.(*Options)
	p := &Problem{options: o, spec: spec, n: data.Rows()}
	base := spec
	base.Restarts, base.Choose = 1, false
	matrix := &kernelkmeans.Options{
		Objective: kernelkmeans.ObjectiveNormalizedCut, MatrixOf: o.Algorithm.String(), KeepDiagonal: o.KeepDiagonal,
		Function: o.Function, Rho: o.Rho, Gamma: o.Gamma, Coef0: o.Coef0, Degree: o.Degree,
	}
	weight := constraint.UnitWeight
	if o.Algorithm == Spectral {
		weight = constraint.KulisWeight(data.Rows(), spec.K)
		if o.Objective == kernelkmeans.ObjectiveRatioAssociation {
			matrix.Objective = kernelkmeans.ObjectiveRatioAssociation
		}
	} else {
		base.Supervision.Constraints, base.Supervision.Entail = nil, false // they are not part of the matrix
	}
	base.Algorithm = matrix
	var err error
	if p.Problem, err = kernelkmeans.Prepare(data, base); err != nil {
		return nil, err
	}
	if p.data, err = p.Units.Apply(data); err != nil {
		return nil, err
	}
	if p.given, err = clustering.NewConstraintSet(p.n, spec, weight); err != nil {
		return nil, err
	}
	if notice, conflicting := clustering.ConflictNotice(p.given); conflicting && o.Algorithm != Spectral {
		p.Warnings = append(p.Warnings, notice)
	}
	switch {
	case o.Algorithm != Constrained:
	case p.choosesByPairs():
		p.pairs = p.allPairs()
		if len(p.pairs) == 0 {
			err = invalid.New(invalid.NoPairs)
		}
	default:
		p.beliefs, err = p.allBeliefs()
	}
	return p, err
}
