package wire

import (
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/auto"
	"github.com/cleave-project/cleave/internal/clustering/catalog"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/clustering/spectral"
	"github.com/cleave-project/cleave/internal/data/recipe"
	"github.com/cleave-project/cleave/internal/data/table"
)

// Spec reads a job's specification, which Validate has accepted, for so many points, with its tables. It refuses
// rows of tables that make no sense whatever the algorithm.
func Spec(p *cleavev1.JobSpec, points int, tables Tables) (clustering.Spec, error) {
	return readSpec(p, &tableReader{points: points, tables: tables})
}

// SpecOfRows is Spec for points that are rows of a table, by whose ids or numbers they go.
func SpecOfRows(p *cleavev1.JobSpec, rows *recipe.Rows, tables Tables) (clustering.Spec, error) {
	return readSpec(p, &tableReader{points: rows.Points(), rows: rows, tables: tables})
}

func readSpec(p *cleavev1.JobSpec, r *tableReader) (clustering.Spec, error) {
	request := Request(p, 0)
	spec := clustering.NewSpec(request)
	spec.MaxK = int(p.GetKRange().GetMax())
	spec.Constraints = readTable(r, p.GetSupervision().GetConstraints(), fieldConstraints, table.Constraints)
	spec.Seeds = readTable(r, p.GetSupervision().GetSeeds(), fieldSeeds, table.Seeds)
	spec.InitialLabels = readTable(r, p.GetInitialization().GetLabels(), fieldLabels, table.Clusters)
	switch Algorithm(p).Family {
	case catalog.AutoFamily:
		spec.Algorithm = auto.NewOptions(request)
	case catalog.KernelFamily:
		o := kernelkmeans.NewOptions(request)
		o.Weights = readTable(r, p.GetKernelKmeans().GetWeights(), fieldWeights, table.Weights)
		spec.Algorithm = o
	case catalog.CentroidFamily:
		o := kmeans.NewOptions(request)
		o.InitialCentroids = p.GetInitialization().GetCentroids()
		spec.Algorithm = o
	case catalog.SpectralFamily:
		o := spectral.NewOptions(request)
		o.Transfer = p.GetConstrainedSpectral().GetTransfer()
		o.Beliefs = readTable(r, p.GetConstrainedSpectral().GetBeliefs(), fieldBeliefs, table.Beliefs)
		spec.Algorithm = o
	}
	return spec, r.err
}

// tableReader reads the tables of a specification, and keeps the first fault.
type tableReader struct {
	points int
	rows   *recipe.Rows // that they are; nil: they are a data set of their own
	tables Tables
	err    error
}

// LabelsProto is labels as they travel.
func LabelsProto(list []int32) []uint32 {
	converted := make([]uint32, len(list))
	for at, label := range list {
		converted[at] = uint32(label)
	}
	return converted
}
