// Package kernelkmeans is weighted kernel k-means on points, graphs and kernel matrices (Kulis2009), and with
// it ratio association, ratio cut and normalized cut. A Problem is a spec made exact for its data, an
// Executor runs the operations over all rows of the matrix wherever they live, and Run runs the one on the
// other.
package kernelkmeans

import (
	"cmp"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/catalog"
	"github.com/cleave-project/cleave/internal/kernel"
)

// Options are the options of kernel k-means (Kulis2009).
type Options struct {
	Objective    Objective
	Function     kernel.Function // 0: gaussian on points; must be 0 on graphs and kernel matrices
	Rho          float64         // 0: auto, the median distance
	Gamma        *float64        // nil: 1
	Coef0        *float64        // nil: 0
	Degree       int             // 0: 2
	Sigma        float64         // the diagonal shift
	SigmaAuto    bool            // the least shift that makes the kernel positive semidefinite
	OnRise       RisePolicy
	RiseOpen     bool // OnRise is a default; see method.endsAtRise
	KeepBest     bool // the best labeling of a run is its answer, not the last
	LocalSearch  int  // how many moves a chain of local search has at most; 0: there is none, or LocalSearchByShape
	KeepEmpty    bool // leave empty clusters empty instead of filling them
	KeepDiagonal bool // graph objectives on points: keep the diagonal of the affinity
	Weights      []float64
	Landmarks    int // 0: none; else see package landmark

	// MatrixOf is the algorithm that these options make a matrix for, to be named in errors; "": kernel k-means itself.
	MatrixOf string
}

// NewOptions are what a request asks for, which the catalog has accepted, without the weights.
func NewOptions(r catalog.Request) *Options {
	o := &Options{
		Objective: catalog.Named(r.Values["objective"], ObjectiveNormalizedCut),
		Function:  kernel.FunctionNamed(r.Values["kernel"]),
		Rho:       r.NumberOr("rho", 0), Gamma: r.Number("gamma"), Coef0: r.Number("coef0"), Degree: int(r.WholeOr("degree", 0)),
		Sigma: r.NumberOr("sigma", 0), SigmaAuto: r.Is("sigma", "auto"),
		OnRise:      catalog.Named(r.Values["on-rise"], RiseIgnore),
		Landmarks:   int(r.WholeOr("landmarks", 0)),
		LocalSearch: int(r.WholeOr("local-search", 0)),
		KeepEmpty:   r.Is("empty", "keep"), KeepDiagonal: r.Is("affinity-diagonal", "keep"),
	}
	if !r.Is("paper", "true") {
		o.KeepBest = true
		if r.Values["on-rise"] == "" {
			o.OnRise, o.RiseOpen = RiseIgnore, true
		}
		if r.Values["local-search"] == "" {
			o.LocalSearch = LocalSearchByShape
		}
	}
	return o
}

// Name implements clustering.Algorithm.
func (o *Options) Name() string { return cmp.Or(o.MatrixOf, "kernel-kmeans") }

// field is the path of an option in the API.
func (o *Options) field(option string) string { return clustering.Field(o, option) }

// Objective is what is minimized or maximized, and reported.
type Objective uint8

// The objectives. ObjectiveDefault: kernel-kmeans on points and kernel matrices, normalized-cut on
// graphs.
const (
	ObjectiveDefault Objective = iota
	ObjectiveKernelKmeans
	ObjectiveRatioAssociation
	ObjectiveRatioCut
	ObjectiveNormalizedCut
)

func (o Objective) String() string {
	return [...]string{"default", "kernel-kmeans", "ratio-association", "ratio-cut", "normalized-cut"}[o]
}

// RisePolicy says what happens when a step raises the objective or repeats a labeling.
type RisePolicy uint8

// The rise policies.
const (
	RiseShift  RisePolicy = iota // undo, set the shift as by auto, go on
	RiseStop                     // undo and stop
	RiseIgnore                   // go on
)

// String is the name of a policy in the catalog.
func (p RisePolicy) String() string { return [...]string{"shift", "stop", "ignore"}[p] }
