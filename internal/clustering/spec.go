// Package clustering is the methods: each a state machine over an Executor, which runs its
// operations over every row wherever the rows live. It logs nothing, knows no clock and no wire.
package clustering

import (
	"github.com/cleave-project/cleave/internal/constraint"
	"github.com/cleave-project/cleave/internal/kernel"
)

// Spec is what the user asks for. With the data set it determines the answer to the last bit.
type Spec struct {
	K    int
	Seed uint64
	// The next three are 0 in the spectral family, which has its own: see Eigenvectors.
	Restarts      int // 0 means 1
	MaxIterations int // 0 only initializes
	Tolerance     float64

	Constraints []constraint.Constraint
	Entail      bool // turn every implied pair into a constraint
	Seeds       []Seed

	Start         Start
	InitialLabels []int32 // for StartLabels
	FarthestMean  bool    // farthest-first by mean instead of total distance

	// HalfPrecision rounds dense matrices to float16: half the memory, another numeric class.
	HalfPrecision bool

	// Exactly one is set.
	KernelKmeans *KernelKmeans
	Vector       *Vector
	Spectral     *Spectral
}

// Seed is a point whose label is known, or one of its labels and how likely it is.
type Seed struct {
	Index, Label int32
	// Probability is 0 for certain. The seeds of one point are a distribution, scaled to the sum 1.
	Probability float64
}

// Start is a way to make the first labels.
type Start uint8

// The starts. StartDefault, kernel family: seeds if there are any, else farthest-first if there are
// constraints, else k-means++. Vector family: see Vector.
const (
	StartDefault Start = iota
	StartFarthestFirst
	StartRandom
	StartKmeansPlusPlus
	StartLabels
	StartSeeds
	StartNeighbourhoods
	StartWeightedFarthestFirst
	StartCentroids
	StartSpectral // kernel family: k-means on the leading eigenvectors
)

// KernelKmeans are the options of the kernel family (Kulis2009).
type KernelKmeans struct {
	Objective Objective
	Function  kernel.Function // 0: gaussian on points; must be 0 on graphs and kernel matrices
	Rho       float64         // 0: auto, the median distance
	Gamma     *float64        // nil: 1
	Coef0     *float64        // nil: 0
	Degree    int             // 0: 2
	Sigma     float64
	SigmaAuto bool
	OnRise    RisePolicy
	KeepEmpty bool // leave empty clusters empty instead of filling them
	KeepDiag  bool // graph objectives on points: keep the diagonal of the affinity
	Weights   []float64

	behalf SpectralAlgorithm // whose matrix it is, for the advice in errors; 0: kernel k-means' own
}

// field is the path of one of the options in a request: that of the algorithm which asks for the matrix.
func (o KernelKmeans) field(name string) string {
	return "spec." + spectralFields[o.behalf] + "." + name
}

// Objective is what is minimised or maximised, and reported.
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
