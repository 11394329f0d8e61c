package wire

import (
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/table"
)

// DefaultMaxIterations is what a job does at most when it does not say.
const DefaultMaxIterations = 100

// Spec reads a job's specification, which Validate has accepted, for so many points, with its tables. It refuses
// unknown enum values, and rows of tables that make no sense whatever the algorithm.
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
	case nil: // which Validate refuses
	case *cleavev1.JobSpec_KernelKmeans:
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
