package clustering

import (
	"github.com/cleave-project/cleave/internal/constraint"
	"github.com/cleave-project/cleave/internal/dataset"
)

// SpectralProblem is a spec of the spectral family made exact for its data. The affinity is that of the
// cuts of kernel k-means (Kulis2009 Table 3), and so is what is reported of the labels.
type SpectralProblem struct {
	*Problem
	options Spectral
	asked   Spec            // the whole of it: the problem's own spec is that of its matrix
	data    dataset.Dataset // for single affinities
	beliefs beliefs         // Q of ConstrainedSpectral
	// Constraints as they are given, also where they are not part of the matrix.
	given *constraint.Set
}

// PrepareSpectral checks a spec of the spectral family against the data and resolves it.
func PrepareSpectral(data dataset.Dataset, spec Spec) (*SpectralProblem, error) {
	if err := Validate(data.Kind(), data.Rows(), spec); err != nil {
		return nil, err
	}
	o := *spec.Spectral
	p := &SpectralProblem{options: o, asked: spec, data: data}
	base := spec
	base.Spectral = nil
	base.Restarts = 1
	base.KernelKmeans = &KernelKmeans{
		Objective: ObjectiveNormalizedCut, Function: o.Function, Rho: o.Rho, Gamma: o.Gamma, Coef0: o.Coef0, Degree: o.Degree, KeepDiag: o.KeepDiag,
		behalf: o.Algorithm,
	}
	weight := constraint.UnitWeight
	if o.Algorithm == SpectralClustering {
		weight = constraint.KulisWeight(data.Rows(), spec.K)
		if o.Objective == ObjectiveRatioAssociation {
			base.KernelKmeans.Objective = ObjectiveRatioAssociation
		}
	} else {
		base.Constraints, base.Entail = nil, false // they are no part of the matrix
	}
	var err error
	if p.Problem, err = Prepare(data, base); err != nil {
		return nil, err
	}
	if p.given, err = newSet(p.n, spec, weight); err != nil {
		return nil, err
	}
	if notice, conflicting := conflicts(p.given); conflicting && o.Algorithm != SpectralClustering {
		p.Warnings = append(p.Warnings, notice)
	}
	if o.Algorithm == ConstrainedSpectral {
		p.beliefs, err = p.allBeliefs()
	}
	return p, err
}
