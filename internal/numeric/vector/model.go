package vector

import (
	"errors"
	"fmt"
	"math"

	"github.com/cleave-project/cleave/internal/numeric/metric"
)

// Model holds the centroids and how the distance of points from them is measured.
//
// The distortions are those of package metric, applied to prepared rows: squared Euclidean to Plain and Unit rows,
// cosine to Unit, KL to Probability, I-divergence to NonNegative. Only squared Euclidean can have a matrix A. In the
// logarithm of a divergence, an exact 0 in a centroid counts as 1e-12. A mean has a 0 only where no member of its
// cluster has mass; other points that do are then far away, but not infinitely far.
type Model struct {
	Distortion metric.Distortion
	Clusters   int
	Centroids  []float64 // cluster after cluster, one value per feature, without background
	Absent     []bool    // per cluster: whether to treat it as infinitely far from every point; nil if none is
	Metric     []float64 // A: nil for the identity, or the diagonal, or the full matrix row by row
}

// form returns the form of the metric.
func (m *Model) form(columns int) metric.Form {
	switch len(m.Metric) {
	case 0:
		return metric.Identity
	case columns:
		return metric.Diagonal
	}
	return metric.Full
}

// check returns an error if the model does not fit the spec, or would give infinite distances or NaN.
func (m *Model) check(spec *RowSpec) error {
	d := spec.Columns
	suits := false
	switch m.Distortion {
	case metric.SquaredEuclidean:
		suits = spec.Preparation == Plain || spec.Preparation == Unit
	case metric.Cosine:
		suits = spec.Preparation == Unit
	case metric.KL:
		suits = spec.Preparation == Probability
	case metric.IDivergence:
		suits = spec.Preparation == NonNegative
	}
	switch {
	case !suits:
		return fmt.Errorf("vector: distortion %s does not suit preparation %d", m.Distortion, spec.Preparation)
	case m.Clusters < 1 || m.Clusters > math.MaxInt32 || len(m.Centroids)/m.Clusters != d ||
		len(m.Centroids)%m.Clusters != 0:
		return fmt.Errorf("vector: Centroids has %d entries, want %d for each of %d clusters", len(m.Centroids),
			d, m.Clusters)
	case m.Absent != nil && len(m.Absent) != m.Clusters:
		return fmt.Errorf("vector: Absent has %d entries, want %d", len(m.Absent), m.Clusters)
	case len(m.Metric) != 0 && m.Distortion != metric.SquaredEuclidean:
		return fmt.Errorf("vector: distortion %s has no metric", m.Distortion)
	case len(m.Metric) != 0 && len(m.Metric) != d && (len(m.Metric)/d != d || len(m.Metric)%d != 0):
		return fmt.Errorf("vector: Metric has %d entries, want 0, %d or its square", len(m.Metric), d)
	}
	for i, v := range m.Centroids {
		if !(max(v, -v) <= maxCentroid) || v < 0 && m.divergence() {
			return fmt.Errorf("vector: feature %d of centroid %d is %v", i%d, i/d, v)
		}
	}
	for i, v := range m.Metric {
		if !(max(v, -v) <= maxValue) {
			return fmt.Errorf("vector: value %d of the metric is %v", i, v)
		}
	}
	return nil
}

func (m *Model) divergence() bool {
	return m.Distortion == metric.KL || m.Distortion == metric.IDivergence
}

func (m *Model) absent(c int) bool { return m.Absent != nil && m.Absent[c] }

// errNoCluster reports a model whose clusters are all absent.
var errNoCluster = errors.New("vector: every cluster is absent")
