// Package kmeans implements k-means and its relatives with seeds, constraints and learned metrics: every algorithm that
// describes a cluster by its centroid. A Problem is a spec checked against its data, an Executor runs one operation
// over all rows wherever they live, and Run solves the problem on the executor.
package kmeans

import (
	"cmp"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/catalog"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/inference"
	"github.com/cleave-project/cleave/internal/invalid"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/text"
)

// Algorithm is one of the algorithms of this package.
type Algorithm uint8

// The algorithms.
const (
	Kmeans            Algorithm = iota + 1
	SeededKmeans                // Basu2002: starts from the means of the seeds
	ConstrainedKmeans           // Basu2002: the same, and seeds never move
	CopKmeans                   // hard constraints
	PCKmeans                    // Basu2003 (1)
	MKmeans                     // Basu2003: metric learning without constraints
	MPCKmeans                   // Basu2003 (4)
	HMRFKmeans                  // Bilenko2004 (6)
)

func (a Algorithm) String() string {
	return text.Name(a, "", "kmeans", "seeded-kmeans", "constrained-kmeans", "cop-kmeans", "pc-kmeans", "m-kmeans",
		"mpc-kmeans", "hmrf-kmeans")
}

// Options selects an algorithm and its options. Fields that are 0 take the values of the algorithm's paper:
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
// The default of Inference is ICM. A metric is learned only for the squared Euclidean distortion.
type Options struct {
	Algorithm        Algorithm
	Distortion       metric.Distortion // Cosine means the spherical geometry in the first four
	Metric           metric.Form
	Penalty          metric.PenaltyKind
	Inference        inference.Engine
	MaxRestarts      int       // of COP-KMeans after a dead end; 0 means 10
	InitialCentroids []float64 // for StartCentroids, k x d, row by row
	// Contract makes PC-KMeans assign must-linked points as one; see blocks.
	Contract bool
	// Race runs the restarts on a sample of the rows if there are many, and only the best of them on all rows.
	Race bool
	// FromSample means that the caller finds a start on a sample and passes it to BeginAt, so that one run suffices.
	FromSample bool
}

// NewOptions returns the options of a request that the catalog has accepted. Both the spherical geometry and the cosine
// distortion scale rows to length 1.
func NewOptions(r catalog.Request) *Options {
	distortions := map[string]metric.Distortion{
		"euclidean": metric.SquaredEuclidean, "spherical": metric.Cosine, "cosine": metric.Cosine, "kl": metric.KL,
		"i-divergence": metric.IDivergence,
	}
	o := &Options{
		Algorithm:   text.Named[Algorithm](r.Algorithm),
		Distortion:  distortions[cmp.Or(r.Values["distortion"], r.Values["geometry"])],
		Metric:      text.Named[metric.Form](r.Values["metric"]),
		Penalty:     text.Named[metric.PenaltyKind](r.Values["penalty"]),
		Inference:   text.Named[inference.Engine](r.Values["inference"]),
		MaxRestarts: int(r.WholeOr("max-restarts", 0)),
		Race:        r.ChoosesDefaults() && r.WholeOr("restarts", 0) == 0,
	}
	if o.Algorithm == MPCKmeans && !r.Is("paper", "true") {
		o.Penalty = cmp.Or(o.Penalty, metric.Bilenko2004)
	}
	return o
}

// constrained reports whether the algorithm weighs constraints against distortions.
func (a Algorithm) constrained() bool { return a == PCKmeans || a == MPCKmeans || a == HMRFKmeans }

// seeded reports whether the algorithm takes seeds.
func (a Algorithm) seeded() bool { return a == SeededKmeans || a == ConstrainedKmeans }

// hasParts reports whether the objective has several terms, as in Basu2003 and Bilenko2004.
func (a Algorithm) hasParts() bool { return a == MKmeans || a.constrained() }

// withDefaults fills in the algorithm's defaults.
func (o Options) withDefaults() Options {
	o.Distortion = cmp.Or(o.Distortion, metric.SquaredEuclidean)
	o.MaxRestarts = cmp.Or(o.MaxRestarts, 10)
	if o.Algorithm.constrained() {
		o.Inference = cmp.Or(o.Inference, inference.ICM)
	}
	switch o.Algorithm {
	case PCKmeans:
		o.Penalty = cmp.Or(o.Penalty, metric.Potts)
	case MPCKmeans:
		o.Penalty = cmp.Or(o.Penalty, metric.Basu2003)
	case HMRFKmeans:
		o.Penalty = cmp.Or(o.Penalty, metric.Bilenko2004)
	}
	learns := o.Algorithm == MKmeans || o.Algorithm == MPCKmeans ||
		o.Algorithm == HMRFKmeans && o.Distortion == metric.SquaredEuclidean
	if learns {
		o.Metric = cmp.Or(o.Metric, metric.Diagonal)
	}
	o.Metric = cmp.Or(o.Metric, metric.Identity)
	return o
}

// Name implements clustering.Algorithm.
func (o *Options) Name() string { return o.Algorithm.String() }

// Validate implements clustering.Algorithm.
func (o *Options) Validate(_ int, spec clustering.Spec) error {
	if len(spec.Supervision.Seeds) == 0 && o.Algorithm.seeded() {
		return invalid.New(invalid.NoSeeds, "algorithm", o.Algorithm)
	}
	return nil
}

// OnPart implements clustering.Algorithm. No option is about rows.
func (o *Options) OnPart(int, []int32) clustering.Algorithm { return o }

// SearchesEigenvectors implements clustering.Algorithm.
func (*Options) SearchesEigenvectors(*dataset.Graph, clustering.Spec) bool { return false }
