// Package centroid is the vector family: k-means and its seeded, constrained and metric-learning relatives,
// whose clusters are described by centroids. A Problem is a spec made exact for its data, an Executor runs
// the operations over all rows wherever they live, and Run runs the one on the other.
package centroid

import (
	"github.com/cleave-project/cleave/internal/inference"
	"github.com/cleave-project/cleave/internal/metric"
)

// Algorithm is one of the vector family.
type Algorithm uint8

// The algorithms of the vector family.
const (
	Kmeans            Algorithm = iota + 1
	SeededKmeans                // Basu2002: starts at the means of the seeds
	ConstrainedKmeans           // Basu2002: and never moves them
	CopKmeans                   // hard constraints
	PCKmeans                    // Basu2003 (1)
	MKmeans                     // Basu2003: metric learning without constraints
	MPCKmeans                   // Basu2003 (4)
	HMRFKmeans                  // Bilenko2004 (6)
)

func (a Algorithm) String() string {
	return [...]string{"", "kmeans", "seeded-kmeans", "constrained-kmeans", "cop-kmeans", "pc-kmeans", "m-kmeans", "mpc-kmeans", "hmrf-kmeans"}[a]
}

// Vector are the options of the vector family. A field of 0 takes the algorithm's default:
//
//	algorithm                          start           distortion         penalty       metric
//	kmeans                             kmeans++        squared Euclidean
//	seeded-kmeans, constrained-kmeans  seeds           squared Euclidean
//	cop-kmeans                         random          squared Euclidean
//	pc-kmeans                          neighbourhoods  squared Euclidean  potts         identity
//	m-kmeans                           neighbourhoods  squared Euclidean                diagonal
//	mpc-kmeans                         neighbourhoods  squared Euclidean  basu2003      diagonal
//	hmrf-kmeans                        neighbourhoods  squared Euclidean  bilenko2004   diagonal
//
// Inference is ICM where there is any. Distortions other than the squared Euclidean learn no metric.
type Options struct {
	Algorithm        Algorithm
	Distortion       metric.Distortion // Cosine stands for the spherical geometry of the first four
	Metric           metric.Form
	Penalty          metric.Convention
	Inference        inference.Engine
	MaxRestarts      int       // of COP-KMeans in a dead end; 0 means 10
	InitialCentroids []float64 // for StartCentroids, row by row
}

// constrained tells whether the algorithm weighs constraints against distortions.
func (a Algorithm) constrained() bool { return a == PCKmeans || a == MPCKmeans || a == HMRFKmeans }

// seeded tells whether the algorithm takes seeds.
func (a Algorithm) seeded() bool { return a == SeededKmeans || a == ConstrainedKmeans }

// withParts tells whether the algorithm is one of Basu2003 and Bilenko2004, whose objective has parts.
func (a Algorithm) withParts() bool { return a >= PCKmeans }

// withDefaults fills in what the algorithm implies.
func (v Options) withDefaults() Options {
	setDefault(&v.Distortion, metric.SquaredEuclidean)
	setDefault(&v.MaxRestarts, 10)
	switch v.Algorithm {
	case PCKmeans:
		setDefault(&v.Penalty, metric.Potts)
		setDefault(&v.Metric, metric.Identity)
	case MKmeans:
		setDefault(&v.Metric, metric.Diagonal)
	case MPCKmeans:
		setDefault(&v.Penalty, metric.Basu2003)
		setDefault(&v.Metric, metric.Diagonal)
	case HMRFKmeans:
		setDefault(&v.Penalty, metric.Bilenko2004)
		if v.Distortion == metric.SquaredEuclidean {
			setDefault(&v.Metric, metric.Diagonal)
		}
	}
	if v.Algorithm.constrained() {
		setDefault(&v.Inference, inference.ICM)
	}
	setDefault(&v.Metric, metric.Identity)
	return v
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
