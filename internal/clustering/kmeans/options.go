// Package kmeans implements k-means and its relatives with seeds, constraints and learned metrics: every algorithm that
// describes a cluster by its centroid. NewProblem checks a spec against its data, an Executor runs one operation over
// all rows wherever they live, and Run solves the problem on the executor.
package kmeans

import (
	"cmp"

	"github.com/cleave-project/cleave/internal/clustering/catalog"
	"github.com/cleave-project/cleave/internal/inference"
	"github.com/cleave-project/cleave/internal/numeric/metric"
)

// Algorithm is one of the algorithms of this package.
type Algorithm uint8

// The algorithms.
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

// Options are an algorithm and its options. A field of 0 takes the value of the algorithm's paper:
//
//	algorithm                          start           distortion         penalty       metric
//	kmeans                             kmeans++        squared Euclidean
//	seeded-kmeans, constrained-kmeans  seeds           squared Euclidean
//	cop-kmeans                         random          squared Euclidean
//	pc-kmeans                          neighborhoods   squared Euclidean  potts         identity
//	m-kmeans                           neighborhoods   squared Euclidean                diagonal
//	mpc-kmeans                         neighborhoods   squared Euclidean  basu2003      diagonal
//	hmrf-kmeans                        neighborhoods   squared Euclidean  bilenko2004   diagonal
//
// The default of Inference is ICM. A metric is learned for the squared Euclidean distortion only.
type Options struct {
	Algorithm        Algorithm
	Distortion       metric.Distortion // Cosine stands for the spherical geometry of the first four
	Metric           metric.Form
	Penalty          metric.PenaltyKind
	Inference        inference.Engine
	MaxRestarts      int       // of COP-KMeans in a dead end; 0 means 10
	InitialCentroids []float64 // for StartCentroids, row by row
	// Contract makes PC-KMeans assign must-linked points as one: see blocks.
	Contract bool
}

// NewOptions are what a request asks for, which the catalog has accepted. Rows of length 1 are what the spherical
// geometry and the cosine distortion have in common.
func NewOptions(r catalog.Request) *Options {
	distortions := map[string]metric.Distortion{
		"euclidean": metric.SquaredEuclidean, "spherical": metric.Cosine, "cosine": metric.Cosine, "kl": metric.KL, "i-divergence": metric.IDivergence,
	}
	o := &Options{
		Algorithm:   catalog.Named(r.Algorithm, HMRFKmeans),
		Distortion:  distortions[cmp.Or(r.Values["distortion"], r.Values["geometry"])],
		Metric:      catalog.Named(r.Values["metric"], metric.Full),
		Penalty:     catalog.Named(r.Values["penalty"], metric.Bilenko2004),
		Inference:   catalog.Named(r.Values["inference"], inference.Exact),
		MaxRestarts: int(r.WholeOr("max-restarts", 0)),
	}
	if o.Algorithm == MPCKmeans && !r.Is("paper", "true") {
		setDefault(&o.Penalty, metric.Bilenko2004)
	}
	return o
}

// constrained tells whether the algorithm weighs constraints against distortions.
func (a Algorithm) constrained() bool { return a == PCKmeans || a == MPCKmeans || a == HMRFKmeans }

// seeded tells whether the algorithm takes seeds.
func (a Algorithm) seeded() bool { return a == SeededKmeans || a == ConstrainedKmeans }

// hasParts tells whether the algorithm is one of Basu2003 and Bilenko2004, whose objective has parts.
func (a Algorithm) hasParts() bool { return a == MKmeans || a.constrained() }

// withDefaults fills in the algorithm's defaults.
func (o Options) withDefaults() Options {
	setDefault(&o.Distortion, metric.SquaredEuclidean)
	setDefault(&o.MaxRestarts, 10)
	switch o.Algorithm {
	case PCKmeans:
		setDefault(&o.Penalty, metric.Potts)
		setDefault(&o.Metric, metric.Identity)
	case MKmeans:
		setDefault(&o.Metric, metric.Diagonal)
	case MPCKmeans:
		setDefault(&o.Penalty, metric.Basu2003)
		setDefault(&o.Metric, metric.Diagonal)
	case HMRFKmeans:
		setDefault(&o.Penalty, metric.Bilenko2004)
		if o.Distortion == metric.SquaredEuclidean {
			setDefault(&o.Metric, metric.Diagonal)
		}
	}
	if o.Algorithm.constrained() {
		setDefault(&o.Inference, inference.ICM)
	}
	setDefault(&o.Metric, metric.Identity)
	return o
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
