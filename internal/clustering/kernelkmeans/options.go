// Package kernelkmeans implements weighted kernel k-means on points, graphs and kernel matrices (Kulis2009), and with
// it ratio association, ratio cut and normalized cut. A Problem is a spec checked against its data, an Executor runs
// the operations over all rows of the matrix wherever they live, and Run solves the problem on the executor.
package kernelkmeans

import (
	"cmp"
	"math"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/catalog"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/invalid"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/text"
)

// Options are the options of kernel k-means (Kulis2009).
type Options struct {
	Objective    Objective
	Function     kernel.Function // 0 means Gaussian on points; must be 0 on graphs and kernel matrices
	Rho          float64         // 0 means auto, the median distance
	Gamma        *float64        // nil means 1
	Coef0        *float64        // nil means 0
	Degree       int             // 0 means 2
	Sigma        float64         // diagonal shift
	SigmaAuto    bool            // use the least shift that makes the kernel positive semidefinite
	OnRise       RisePolicy
	RiseOpen     bool // whether OnRise is only a default; see riseConverges
	KeepBest     bool // return the best labeling of a run, not the last
	LocalSearch  int  // maximum length of local search chains; 0 disables it; or localSearchByShape
	KeepEmpty    bool // leave empty clusters empty
	KeepDiagonal bool // keep the diagonal of the affinity in graph objectives on points
	Weights      []float64
	Landmarks    int // number of landmarks, 0 for none; see package landmark
	// HalfPrecision rounds dense matrices to float16, which halves the memory but changes the numeric class.
	HalfPrecision bool

	// MatrixOf is the algorithm that uses the matrix, for error messages; "" means kernel k-means.
	MatrixOf string
}

// NewOptions returns the options of a request that the catalog has accepted. The caller adds the weights.
func NewOptions(r catalog.Request) *Options {
	o := &Options{
		Objective: text.Named[Objective](r.Values["objective"]),
		Function:  text.Named[kernel.Function](r.Values["kernel"]),
		Rho:       r.NumberOr("rho", 0), Gamma: r.Number("gamma"), Coef0: r.Number("coef0"),
		Degree: int(r.WholeOr("degree", 0)),
		Sigma:  r.NumberOr("sigma", 0), SigmaAuto: r.Is("sigma", "auto"),
		OnRise:      text.Named[RisePolicy](r.Values["on-rise"]),
		Landmarks:   int(r.WholeOr("landmarks", 0)),
		LocalSearch: int(r.WholeOr("local-search", 0)),
		KeepEmpty:   r.Is("empty", "keep"), KeepDiagonal: r.Is("affinity-diagonal", "keep"),
		HalfPrecision: r.Is("storage", "float16"),
	}
	if !r.Is("paper", "true") {
		o.KeepBest = true
		if r.Values["on-rise"] == "" {
			o.OnRise, o.RiseOpen = RiseIgnore, true
		}
		if r.Values["local-search"] == "" {
			o.LocalSearch = localSearchByShape
		}
	}
	return o
}

// Name implements clustering.Algorithm.
func (o *Options) Name() string { return cmp.Or(o.MatrixOf, "kernel-kmeans") }

// Validate implements clustering.Algorithm.
func (o *Options) Validate(rows int, spec clustering.Spec) error {
	for at, s := range spec.Supervision.Seeds {
		if s.Probability != 0 && o.MatrixOf == "" {
			return invalid.New(invalid.ProbabilityUnused, "seed", at)
		}
	}
	if len(o.Weights) > 0 && len(o.Weights) != rows {
		return invalid.New(invalid.PointWeightCount, "weights", len(o.Weights), "rows", rows, "algorithm", o.Name())
	}
	for i, a := range o.Weights {
		if !(a > 0) || math.IsInf(a, 0) {
			return invalid.New(invalid.PointWeight, "point", i, "weight", a, "algorithm", o.Name())
		}
	}
	return nil
}

// OnPart implements clustering.Algorithm.
func (o *Options) OnPart(_ int, rows []int32) clustering.Algorithm {
	if rows == nil {
		return o
	}
	part := *o
	part.Weights = choose.At(o.Weights, rows)
	part.Landmarks = min(o.Landmarks, len(rows))
	return &part
}

// SearchesEigenvectors implements clustering.Algorithm.
func (*Options) SearchesEigenvectors(_ *dataset.Graph, spec clustering.Spec) bool {
	return spec.Initialization.Start == clustering.StartSpectral
}

// Objective is what is optimized and reported.
type Objective uint8

// The objectives. ObjectiveDefault means kernel-kmeans on points and kernel matrices, and normalized-cut on graphs.
const (
	ObjectiveDefault Objective = iota
	ObjectiveKernelKmeans
	ObjectiveRatioAssociation
	ObjectiveRatioCut
	ObjectiveNormalizedCut
)

func (o Objective) String() string {
	return text.Name(o, "default", "kernel-kmeans", "ratio-association", "ratio-cut", "normalized-cut")
}

// RisePolicy is what happens if a step raises the objective or repeats a labeling.
type RisePolicy uint8

// The rise policies.
const (
	RiseShift  RisePolicy = iota // undo, set the automatic shift, continue
	RiseStop                     // undo and stop
	RiseIgnore                   // continue
	// riseConverges undoes a step that raises the objective, and the run has converged; a repeated labeling is ignored.
	// Prepare chooses it if OnRise is open and runs begin with labels of package multilevel: no single move improves
	// these, and steps that continue from worse labels seldom lead to better ones.
	riseConverges
)

// String returns the name of the policy in the catalog.
func (p RisePolicy) String() string { return text.Name(p, "shift", "stop", "ignore") }
