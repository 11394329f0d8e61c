package wire

import (
	"fmt"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	vectors "github.com/cleave-project/cleave/internal/numeric/vector"
)

// VectorSpecToProto converts a spec of vectors. Its two arrays may be large, so the caller packs them: PackFloat64s
// of spec.Mean, nil if there is none, and PackInt32s of spec.Grids.
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

// VectorSpecFromProto is the inverse of VectorSpecToProto. The caller has fetched the two arrays. It fails for values
// that make no sense.
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

// FeaturesToProto converts how kernel features are computed. The caller packs the arrays: the mean of the points, nil
// if there is none, the landmarks and the projection.
func FeaturesToProto(f *kernel.FeatureSpec,
	mean, landmarks, projection, points *workerv1.Payload) *workerv1.KernelFeatures {
	return &workerv1.KernelFeatures{Matrix: MatrixSpecToProto(f.Matrix, mean, nil), Landmarks: landmarks,
		Projection: projection, Points: points}
}

// FeaturesFromProto is the inverse of FeaturesToProto for this number of feature columns. The caller has fetched the
// arrays.
func FeaturesFromProto(p *workerv1.KernelFeatures, columns int, mean []float64, landmarks []int32,
	projection, points []float64) (*kernel.FeatureSpec, error) {
	matrix, err := MatrixSpecFromProto(p.GetMatrix(), mean, nil)
	if err != nil {
		return nil, err
	}
	f := &kernel.FeatureSpec{Matrix: matrix, Landmarks: landmarks, Rank: columns, Projection: projection}
	if len(points) > 0 {
		if len(points) != len(landmarks)*matrix.Columns {
			return nil, fmt.Errorf("wire: %d values of %d landmarks with %d columns", len(points), len(landmarks),
				matrix.Columns)
		}
		f.Points = &dataset.Points{N: len(landmarks), D: matrix.Columns, Values: points}
	}
	return f, f.Check()
}

// QueriesToProto converts queries. The caller packs their arrays: those of QueryValues and QueryIntegers.
func QueriesToProto(queries []vectors.Query, values, integers *workerv1.Payload) *workerv1.VectorQueries {
	p := &workerv1.VectorQueries{Values: values, Integers: integers}
	for _, q := range queries {
		p.Queries = append(p.Queries, &workerv1.VectorQuery{
			Lane: uint32(q.Lane), Distortion: workerDistortions.write(q.Model.Distortion),
			Clusters: uint32(q.Model.Clusters), Kind: workerScatterKinds.write(q.Kind),
			Metric: uint32(len(q.Model.Metric)), Absent: uint32(len(absentClusters(q.Model))),
			Points: uint32(len(q.Points)), Counts: uint32(len(q.Counts)),
		})
	}
	return p
}

// QueryValues returns the centroids and the metric of each query.
func QueryValues(queries []vectors.Query) []float64 {
	var values []float64
	for _, q := range queries {
		values = append(append(values, q.Model.Centroids...), q.Model.Metric...)
	}
	return values
}

// QueryIntegers returns the absent clusters, the points and the counts of each query.
func QueryIntegers(queries []vectors.Query) []int32 {
	var integers []int32
	for _, q := range queries {
		integers = append(append(append(integers, absentClusters(q.Model)...), q.Points...), q.Counts...)
	}
	return integers
}

func absentClusters(m *vectors.Model) []int32 {
	var absent []int32
	for c, is := range m.Absent {
		if is {
			absent = append(absent, int32(c))
		}
	}
	return absent
}

// QueriesFromProto is the inverse of QueriesToProto for rows of this many columns. The caller has fetched the arrays.
// The shard checks that the queries fit its vectors.
func QueriesFromProto(p *workerv1.VectorQueries, columns int, values []float64,
	integers []int32) ([]vectors.Query, error) {
	queries := make([]vectors.Query, len(p.GetQueries()))
	for at, of := range p.GetQueries() {
		distortion, err := workerDistortions.decode(of.GetDistortion())
		if err != nil {
			return nil, err
		}
		if of.GetClusters() < 1 || of.GetClusters() > dataset.MaxRows || of.GetLane() >= vectors.MaxLanes {
			return nil, fmt.Errorf("wire: a model of %d clusters in lane %d", of.GetClusters(), of.GetLane())
		}
		m := &vectors.Model{Distortion: distortion, Clusters: int(of.GetClusters())}
		q := vectors.Query{Lane: int(of.GetLane()), Model: m}
		m.Centroids = take(&values, int64(columns)*int64(m.Clusters), &err)
		m.Metric = take(&values, int64(of.GetMetric()), &err)
		absent := take(&integers, int64(of.GetAbsent()), &err)
		q.Points = take(&integers, int64(of.GetPoints()), &err)
		q.Counts = take(&integers, int64(of.GetCounts()), &err)
		if err != nil {
			return nil, err
		}
		if len(absent) > 0 {
			m.Absent = make([]bool, m.Clusters)
		}
		for _, c := range absent {
			if c < 0 || int(c) >= m.Clusters {
				return nil, fmt.Errorf("wire: cluster %d of %d is absent", c, m.Clusters)
			}
			m.Absent[c] = true
		}
		if of.GetKind() != workerv1.ScatterKind_SCATTER_KIND_UNSPECIFIED {
			if q.Kind, err = workerScatterKinds.decode(of.GetKind()); err != nil {
				return nil, err
			}
		}
		queries[at] = q
	}
	if len(values) > 0 || len(integers) > 0 {
		return nil, fmt.Errorf("wire: %d values and %d integers more than the queries have", len(values), len(integers))
	}
	return queries, nil
}

// take splits off the first count values of a list. It returns nil if count is 0, or if the list is too short, which
// it reports in err.
func take[T any](list *[]T, count int64, err *error) []T {
	if count > int64(len(*list)) {
		*err = fmt.Errorf("wire: %d of %d values", count, len(*list))
		return nil
	}
	if count == 0 {
		return nil
	}
	first := (*list)[:count:count]
	*list = (*list)[count:]
	return first
}
