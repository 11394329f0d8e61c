package wire

import (
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/inference"
	"github.com/cleave-project/cleave/internal/metric"
)

// vectorSpec reads the options of the vector family. Distortions, metrics, penalties and engines have the
// same numbers in the API and in the domain, 0 for the algorithm's default.
func vectorSpec(p *cleavev1.JobSpec) (*clustering.Vector, error) {
	if p.GetStorage() != cleavev1.StorageMode_STORAGE_MODE_UNSPECIFIED {
		return nil, fault.Invalid("OPTION_DOES_NOT_APPLY", "storage is about the kernel matrix, and the vector family has none").OnField("spec.storage")
	}
	v := &clustering.Vector{InitialCentroids: p.GetInitialization().GetCentroids()}
	if len(v.InitialCentroids) == 0 {
		v.InitialCentroids = nil
	}
	var err error
	switch a := p.GetAlgorithm().(type) {
	case *cleavev1.JobSpec_Kmeans:
		v.Algorithm = clustering.Kmeans
		err = spherical(v, a.Kmeans.GetGeometry(), "spec.kmeans.")
	case *cleavev1.JobSpec_SeededKmeans:
		v.Algorithm = clustering.SeededKmeans
		err = spherical(v, a.SeededKmeans.GetGeometry(), "spec.seeded_kmeans.")
	case *cleavev1.JobSpec_ConstrainedKmeans:
		v.Algorithm = clustering.ConstrainedKmeans
		err = spherical(v, a.ConstrainedKmeans.GetGeometry(), "spec.constrained_kmeans.")
	case *cleavev1.JobSpec_CopKmeans:
		v.Algorithm = clustering.CopKmeans
		err = copKmeans(v, a.CopKmeans)
	case *cleavev1.JobSpec_PcKmeans:
		v.Algorithm = clustering.PCKmeans
		err = learned(v, 0, 0, a.PcKmeans.GetInference(), "spec.pc_kmeans.")
	case *cleavev1.JobSpec_MKmeans:
		v.Algorithm = clustering.MKmeans
		err = learned(v, 0, a.MKmeans.GetMetric(), 0, "spec.m_kmeans.")
	case *cleavev1.JobSpec_MpcKmeans:
		v.Algorithm = clustering.MPCKmeans
		err = learned(v, a.MpcKmeans.GetPenalty(), a.MpcKmeans.GetMetric(), a.MpcKmeans.GetInference(), "spec.mpc_kmeans.")
	case *cleavev1.JobSpec_HmrfKmeans:
		v.Algorithm = clustering.HMRFKmeans
		v.Distortion = metric.Distortion(a.HmrfKmeans.GetDistortion())
		err = firstError(
			known(a.HmrfKmeans.GetDistortion(), cleavev1.Distortion_name, "spec.hmrf_kmeans.distortion"),
			learned(v, a.HmrfKmeans.GetPenalty(), a.HmrfKmeans.GetMetric(), a.HmrfKmeans.GetInference(), "spec.hmrf_kmeans."))
	}
	if err != nil {
		return nil, err
	}
	return v, nil
}

// spherical reads the geometry: rows of length 1 are the cosine distortion.
func spherical(v *clustering.Vector, geometry cleavev1.Geometry, field string) error {
	switch geometry {
	case cleavev1.Geometry_GEOMETRY_EUCLIDEAN:
		v.Distortion = metric.SquaredEuclidean
	case cleavev1.Geometry_GEOMETRY_SPHERICAL:
		v.Distortion = metric.Cosine
	}
	return known(geometry, cleavev1.Geometry_name, field+"geometry")
}

// copKmeans: in the domain no restarts mean the default, so that a zero that was given must not pass for
// it.
func copKmeans(v *clustering.Vector, p *cleavev1.CopKmeans) error {
	v.MaxRestarts = int(p.GetMaxRestarts())
	if p != nil && p.MaxRestarts != nil && v.MaxRestarts == 0 {
		return fault.Invalid("BAD_MAX_RESTARTS", "max_restarts is 0; it must be at least 1, or absent for 10").OnField("spec.cop_kmeans.max_restarts")
	}
	return spherical(v, p.GetGeometry(), "spec.cop_kmeans.")
}

// learned reads the options of the methods whose objective has parts.
func learned(v *clustering.Vector, penalty cleavev1.Penalty, form cleavev1.Metric, engine cleavev1.Inference, field string) error {
	v.Penalty, v.Metric, v.Inference = metric.Convention(penalty), metric.Form(form), inference.Engine(engine)
	return firstError(
		known(penalty, cleavev1.Penalty_name, field+"penalty"),
		known(form, cleavev1.Metric_name, field+"metric"),
		known(engine, cleavev1.Inference_name, field+"inference"),
	)
}

// setVector writes the options of the vector family. What an algorithm implies has no field there.
func setVector(p *cleavev1.JobSpec, v *clustering.Vector) {
	p.Initialization.Centroids = v.InitialCentroids
	geometry := cleavev1.Geometry(v.Distortion) // squared Euclidean and cosine have the numbers of their geometries
	distortion, penalty := cleavev1.Distortion(v.Distortion), cleavev1.Penalty(v.Penalty)
	form, engine := cleavev1.Metric(v.Metric), cleavev1.Inference(v.Inference)
	switch v.Algorithm {
	case clustering.Kmeans:
		p.Algorithm = &cleavev1.JobSpec_Kmeans{Kmeans: &cleavev1.Kmeans{Geometry: geometry}}
	case clustering.SeededKmeans:
		p.Algorithm = &cleavev1.JobSpec_SeededKmeans{SeededKmeans: &cleavev1.SeededKmeans{Geometry: geometry}}
	case clustering.ConstrainedKmeans:
		p.Algorithm = &cleavev1.JobSpec_ConstrainedKmeans{ConstrainedKmeans: &cleavev1.ConstrainedKmeans{Geometry: geometry}}
	case clustering.CopKmeans:
		cop := &cleavev1.CopKmeans{Geometry: geometry}
		if v.MaxRestarts != 0 {
			restarts := uint32(v.MaxRestarts)
			cop.MaxRestarts = &restarts
		}
		p.Algorithm = &cleavev1.JobSpec_CopKmeans{CopKmeans: cop}
	case clustering.PCKmeans:
		p.Algorithm = &cleavev1.JobSpec_PcKmeans{PcKmeans: &cleavev1.PcKmeans{Inference: engine}}
	case clustering.MKmeans:
		p.Algorithm = &cleavev1.JobSpec_MKmeans{MKmeans: &cleavev1.MKmeans{Metric: form}}
	case clustering.MPCKmeans:
		p.Algorithm = &cleavev1.JobSpec_MpcKmeans{MpcKmeans: &cleavev1.MpcKmeans{Penalty: penalty, Metric: form, Inference: engine}}
	case clustering.HMRFKmeans:
		p.Algorithm = &cleavev1.JobSpec_HmrfKmeans{HmrfKmeans: &cleavev1.HmrfKmeans{
			Distortion: distortion, Penalty: penalty, Metric: form, Inference: engine}}
	}
}
