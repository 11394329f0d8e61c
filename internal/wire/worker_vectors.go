package wire

import (
	"fmt"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/dataset"
	"github.com/cleave-project/cleave/internal/metric"
	vectors "github.com/cleave-project/cleave/internal/vector"
)

// VectorSpecToProto converts a spec of vectors. Its two arrays may be large, so the caller packs them:
// PackFloat64s of spec.Mean, nil when there is none, and PackInt32s of spec.Grids.
func VectorSpecToProto(spec *vectors.RowSpec, mean, grids *workerv1.Payload) *workerv1.VectorSpec {
	return &workerv1.VectorSpec{
		Preparation:    workerPreparations.write(spec.Preparation),
		Rows:           uint64(spec.Rows),
		Columns:        uint64(spec.Columns),
		Mean:           mean,
		Grids:          grids,
		BackgroundGrid: spec.BackgroundGrid,
	}
}

// VectorSpecFromProto reads a spec of vectors. The caller has fetched its two arrays.
func VectorSpecFromProto(p *workerv1.VectorSpec, mean []float64, grids []int32) (*vectors.RowSpec, error) {
	preparation, err := workerPreparations.decode(p.GetPreparation())
	if err != nil {
		return nil, err
	}
	switch {
	case p.GetRows() < 1 || p.GetRows() > dataset.MaxRows || p.GetColumns() < 1 || p.GetColumns() > dataset.MaxColumns:
		return nil, fmt.Errorf("wire: vectors of %d rows of %d columns", p.GetRows(), p.GetColumns())
	case p.GetFullMetric() && p.GetColumns() > metric.MaxFullFeatures:
		return nil, fmt.Errorf("wire: a full metric of %d columns", p.GetColumns())
	case mean != nil && uint64(len(mean)) != p.GetColumns() || uint64(len(grids)) != p.GetColumns():
		return nil, fmt.Errorf("wire: %d means and %d grids for %d columns", len(mean), len(grids), p.GetColumns())
	}
	return &vectors.RowSpec{
		Preparation:    preparation,
		Rows:           int(p.GetRows()),
		Columns:        int(p.GetColumns()),
		Mean:           mean,
		Grids:          grids,
		BackgroundGrid: p.GetBackgroundGrid(),
	}, nil
}

// VectorModelToProto converts a model. The caller packs its arrays: PackFloat64s of m.Centroids and
// m.Metric, PackBools of m.Absent.
func VectorModelToProto(m *vectors.Model, centroids, absent, metric *workerv1.Payload) *workerv1.VectorModel {
	return &workerv1.VectorModel{
		Distortion: workerDistortions.write(m.Distortion), Clusters: uint32(m.Clusters), Centroids: centroids, Absent: absent, Metric: metric,
	}
}

// VectorModelFromProto reads a model. The caller has fetched its arrays. The shard checks that they fit
// its vectors.
func VectorModelFromProto(p *workerv1.VectorModel, centroids []float64, absent []bool, matrix []float64) (*vectors.Model, error) {
	distortion, err := workerDistortions.decode(p.GetDistortion())
	if err != nil {
		return nil, err
	}
	if p.GetClusters() < 1 || p.GetClusters() > dataset.MaxRows {
		return nil, fmt.Errorf("wire: a model of %d clusters", p.GetClusters())
	}
	m := &vectors.Model{Distortion: distortion, Clusters: int(p.GetClusters()), Centroids: centroids}
	if len(absent) > 0 {
		m.Absent = absent
	}
	if len(matrix) > 0 {
		m.Metric = matrix
	}
	return m, nil
}
