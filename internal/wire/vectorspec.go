package wire

import (
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering/centroid"
	"github.com/cleave-project/cleave/internal/fault"
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
		v.MaxRestarts = copRestarts(r, a.CopKmeans)
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
	if p.GetStorage() != cleavev1.StorageMode_STORAGE_MODE_UNSPECIFIED {
		r.note(fault.Invalid("OPTION_DOES_NOT_APPLY", "storage is about the kernel matrix, and the vector family has none").OnField("spec.storage"))
	}
	if centroids := p.GetInitialization().GetCentroids(); len(centroids) > 0 {
		v.InitialCentroids = centroids
	}
	return v
}

// copRestarts: in the domain no restarts mean the default, so that a zero that was given must not pass for
// it.
func copRestarts(r *specReader, p *cleavev1.CopKmeans) int {
	if p != nil && p.MaxRestarts != nil && p.GetMaxRestarts() == 0 {
		r.note(fault.Invalid("BAD_MAX_RESTARTS", "max_restarts is 0; it must be at least 1, or absent for 10").OnField("spec.cop_kmeans.max_restarts"))
	}
	return int(p.GetMaxRestarts())
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
