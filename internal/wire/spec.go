package wire

import (
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/table"
)

// DefaultMaxIterations is what a job does at most when it does not say.
const DefaultMaxIterations = 100

// Spec reads a job's specification, for so many points, with its tables. It refuses what the domain's types
// cannot say: unknown enum values, zeros where absent means a default, rows of tables about points that are
// not there. Whether the rest makes sense for the data is clustering's to judge.
func Spec(p *cleavev1.JobSpec, points int, tables Tables) (clustering.Spec, error) {
	r := &specReader{points: points, tables: tables}
	supervision, start := p.GetSupervision(), p.GetInitialization()
	spec := clustering.Spec{
		K:             int(p.GetK()),
		Seed:          p.GetSeed(),
		Restarts:      int(p.GetRestarts()),
		MaxIterations: int(p.GetMaxIterations()),
		Tolerance:     p.GetTolerance(),
		Entail:        supervision.GetEntail(),
		HalfPrecision: halfPrecision.read(r, p.GetStorage(), "spec.storage"),
		Start:         starts.read(r, start.GetStart(), "spec.initialization.start"),
		FarthestMean:  farthestMean.read(r, start.GetFarthest(), "spec.initialization.farthest"),
		Constraints:   readTable(r, supervision.GetConstraints(), fieldConstraints, table.Constraints),
		Seeds:         readTable(r, supervision.GetSeeds(), fieldSeeds, table.Seeds),
		InitialLabels: readTable(r, start.GetLabels(), fieldLabels, table.Clusters),
	}
	if p.MaxIterations == nil {
		spec.MaxIterations = DefaultMaxIterations
	}
	switch a := p.GetAlgorithm().(type) {
	case nil:
		r.note(fault.Invalid("ALGORITHM_MISSING",
			"the job names no algorithm; set the options of one, such as kernel_kmeans or kmeans (they may be empty)").
			OnField("spec.kernel_kmeans"))
	case *cleavev1.JobSpec_KernelKmeans:
		if len(start.GetCentroids()) > 0 {
			r.note(fault.Invalid("OPTION_DOES_NOT_APPLY", "kernel k-means has no centroids to start from; give labels or seeds").
				OnField("spec.initialization.centroids"))
		}
		spec.Algorithm = kernelKmeans(r, a.KernelKmeans)
	case *cleavev1.JobSpec_Spectral, *cleavev1.JobSpec_SpectralLearning, *cleavev1.JobSpec_ConstrainedSpectral:
		spec.MaxIterations = 0 // its limits are its own
		spec.Algorithm = spectralSpec(r, p)
	default:
		spec.Algorithm = vectorSpec(r, p)
	}
	return spec, r.err
}

// specReader is what reading a specification needs, and the first fault that it finds.
type specReader struct {
	points int
	tables Tables
	err    error
}

// note keeps the first fault.
func (r *specReader) note(err error) {
	if r.err == nil && err != nil {
		r.err = err
	}
}

// LabelsProto is labels as they travel.
func LabelsProto(list []int32) []uint32 {
	converted := make([]uint32, len(list))
	for at, label := range list {
		converted[at] = uint32(label)
	}
	return converted
}
