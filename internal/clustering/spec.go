// Package clustering is what all algorithms share: the spec of a job, the Method that an algorithm is, the
// one loop that runs methods and their restarts, and the result. The algorithms themselves are in the rooms
// below: centroid, kernelkmeans and cut. Nothing here logs, knows a clock, or where rows live.
package clustering

import (
	"strings"

	"github.com/cleave-project/cleave/internal/constraint"
)

// Spec is what the user asks for. With the data set it determines the answer to the last bit.
type Spec struct {
	K    int
	Seed uint64
	// The next three are 0 in the spectral family, which has its own: see cut.Eigenvectors.
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

	// Algorithm is one of the families' options.
	Algorithm Algorithm
}

// AnyAlgorithm is an algorithm with its options.
type Algorithm interface {
	// Name is the algorithm's name in the catalog.
	Name() string
	// Validate checks the tables of a spec of this algorithm. What goes with what is the catalog's to say.
	Validate(rows int, spec Spec) error
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
	StartNeighborhoods
	StartWeightedFarthestFirst
	StartCentroids
	StartSpectral // kernel family: k-means on the leading eigenvectors
)

// Field is the API's name of an option of an algorithm.
func Field(a Algorithm, option string) string {
	return "spec." + strings.ReplaceAll(a.Name(), "-", "_") + "." + option
}

// Random tells whether a start depends on chance.
func (s Start) Random() bool { return s == StartRandom || s == StartKmeansPlusPlus }
