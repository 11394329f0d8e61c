package jobflags

import (
	"slices"
	"strings"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/text"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// LoadPoints reads points and the names of their columns. Sparse ones have that many columns, or as many as the file needs if columns is 0.
func LoadPoints(path string, columns int) (dataset.Dataset, []string, error) {
	return (&inputFlags{files: []string{path}}).loadPoints(columns)
}

// ColumnsOf is the number of columns of points, 0 for other data.
func ColumnsOf(data dataset.Dataset) int {
	switch data := data.(type) {
	case *dataset.Points:
		return data.D
	case *dataset.SparsePoints:
		return data.D
	}
	return 0
}

// asDataset makes an interface of a pointer, and nil of a nil pointer.
func asDataset[D dataset.Dataset](data D, err error) (dataset.Dataset, error) {
	if err != nil {
		return nil, err
	}
	return data, nil
}

// loadSeeds reads the file of seeds; their labels are cluster numbers, or classes, each of which becomes a cluster.
func (f *Flags) loadSeeds(rows int, j *Job) error {
	in, naming := f.small("seeds"), j.naming()
	path := in.Name()
	t, seeds, err := format.LoadNamedFrom(in, table.Seeds, rows, naming)
	if err == nil {
		err = within(path, j.checkClasses())
	}
	if err != nil {
		return err
	}
	clusters := 0
	for _, s := range seeds {
		clusters = max(clusters, int(s.Label)+1)
	}
	j.beginRange(clusters)
	spec := j.Spec
	k := FirstK(spec)
	for _, s := range seeds {
		if int64(s.Label) >= int64(k) {
			most := max(k, spec.GetKRange().GetMax())
			return fault.Invalid("LABEL_OUT_OF_RANGE", "%s: point %s has label %d; seeds name clusters, 0..%d for k = %d",
				path, naming.IDs.Of(int(s.Index)), s.Label, int64(most)-1, most)
		}
		if s.Probability != 0 && spec.GetKernelKmeans() != nil {
			return fault.Invalid("OPTION_DOES_NOT_APPLY", "%s: point %s has a label with a probability; seeds with probabilities go with auto, seeded-kmeans and constrained-kmeans",
				path, naming.IDs.Of(int(s.Index)))
		}
	}
	t = t.WithoutIgnored(table.Seeds.Columns)
	if s := j.Stream(); s != nil {
		s.seeds = t.Named(naming.IDs)
	}
	return j.useSeeds(t, naming.IDs)
}

// LoadStartLabels reads the labels to start from. They are cluster numbers, except those of dropped rows.
func LoadStartLabels(path string, rows int, k uint32, filter *RowFilter, naming table.Naming) (*cleavev1.TableInput, error) {
	t, labels, err := format.LoadNamed(path, table.Labels, rows, naming)
	if err != nil {
		return nil, err
	}
	for i, label := range labels {
		if filter.keeps(i) && (label < 0 || label >= int64(k)) {
			return nil, fault.Invalid("LABEL_OUT_OF_RANGE", "%s: point %s has label %d; a start names clusters, 0..%d for k = %d",
				path, naming.IDs.Of(i), label, int64(k)-1, k)
		}
	}
	return wire.InlineTable(t.WithoutIgnored(table.Labels.Columns).Named(naming.IDs)), nil
}

// loadCentroids reads the centroids to start from: a row for each cluster, in the columns of the data.
func loadCentroids(path string, j *Job) ([]float64, error) {
	points, header, err := format.LoadPointsOf(path, j.Header)
	if err != nil {
		return nil, err
	}
	k := int(j.Spec.GetK())
	switch {
	case points.N != k:
		return nil, fault.Invalid("SIZE_MISMATCH", "%s: the file has %s for %s; each cluster needs one", path, text.Plural(points.N, "centroid"), text.Plural(k, "cluster"))
	case j.Columns == 0: // only the coordinator knows
	case points.D != j.Columns:
		return nil, fault.Invalid("SIZE_MISMATCH", "%s: the centroids have %s, the data %d", path, text.Plural(points.D, "column"), j.Columns)
	case header != nil && j.Header != nil && !slices.Equal(header, j.Header):
		return nil, fault.Invalid("OTHER_COLUMNS", "%s: the columns are called %s, those of the data %s; they must be the same in the same order",
			path, Abridged(header), Abridged(j.Header))
	}
	return points.Values, nil
}

// Abridged lists names of columns, at most the first eight.
func Abridged(names []string) string {
	const limit = 8
	if len(names) > limit {
		return strings.Join(names[:limit], ",") + ",..."
	}
	return strings.Join(names, ",")
}
