package wire

import (
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering/centroid"
)

// vectorSpec reads the options of the vector family.
func vectorSpec(r *specReader, p *cleavev1.JobSpec) *centroid.Options {
	v := &centroid.Options{}
	switch a := p.GetAlgorithm().(type) {
	case *cleavev1.JobSpec_Kmeans:
		v.Algorithm = centroid.Kmeans
		v.Distortion = geometries.read(r, a.Kmeans.GetGeometry(), "spec.kmeans.geometry")
	case *cleavev1.JobSpec_SeededKmeans:
		v.Algorithm = centroid.SeededKmeans
		v.Distortion = geometries.read(r, a.SeededKmeans.GetGeometry(), "spec.seeded_kmeans.geometry")
	case *cleavev1.JobSpec_ConstrainedKmeans:
		v.Algorithm = centroid.ConstrainedKmeans
		v.Distortion = geometries.read(r, a.ConstrainedKmeans.GetGeometry(), "spec.constrained_kmeans.geometry")
	case *cleavev1.JobSpec_CopKmeans:
		v.Algorithm = centroid.CopKmeans
		v.Distortion = geometries.read(r, a.CopKmeans.GetGeometry(), "spec.cop_kmeans.geometry")
		v.MaxRestarts = int(a.CopKmeans.GetMaxRestarts())
	case *cleavev1.JobSpec_PcKmeans:
		v.Algorithm = centroid.PCKmeans
		v.Inference = inferences.read(r, a.PcKmeans.GetInference(), "spec.pc_kmeans.inference")
	case *cleavev1.JobSpec_MKmeans:
		v.Algorithm = centroid.MKmeans
		v.Metric = metrics.read(r, a.MKmeans.GetMetric(), "spec.m_kmeans.metric")
	case *cleavev1.JobSpec_MpcKmeans:
		v.Algorithm = centroid.MPCKmeans
		penalized(r, v, a.MpcKmeans, "spec.mpc_kmeans.")
	case *cleavev1.JobSpec_HmrfKmeans:
		v.Algorithm = centroid.HMRFKmeans
		v.Distortion = distortions.read(r, a.HmrfKmeans.GetDistortion(), "spec.hmrf_kmeans.distortion")
		penalized(r, v, a.HmrfKmeans, "spec.hmrf_kmeans.")
	}
	if centroids := p.GetInitialization().GetCentroids(); len(centroids) > 0 {
		v.InitialCentroids = centroids
	}
	return v
}

// penalized reads the options of the methods that learn a metric under penalties.
func penalized(r *specReader, v *centroid.Options, p interface {
	GetPenalty() cleavev1.Penalty
	GetMetric() cleavev1.Metric
	GetInference() cleavev1.Inference
}, field string) {
	v.Penalty = penalties.read(r, p.GetPenalty(), field+"penalty")
	v.Metric = metrics.read(r, p.GetMetric(), field+"metric")
	v.Inference = inferences.read(r, p.GetInference(), field+"inference")
}
