package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/cleave-project/cleave/internal/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// kindOf is the kind of data that a source flag names.
func (f *jobFlags) kindOf(flag string) cleavev1.DatasetKind {
	switch flag {
	case "data":
		if format.IsSparse(f.data) {
			return cleavev1.DatasetKind_DATASET_KIND_SPARSE_POINTS
		}
		return cleavev1.DatasetKind_DATASET_KIND_POINTS
	case "graph":
		return cleavev1.DatasetKind_DATASET_KIND_GRAPH
	case "kernel-matrix":
		return cleavev1.DatasetKind_DATASET_KIND_KERNEL
	}
	return cleavev1.DatasetKind_DATASET_KIND_UNSPECIFIED
}

// loadData reads the data that the flags name, nil when they name none, and the names of its columns
// where it has any.
func (f *jobFlags) loadData() (dataset.Dataset, []string, error) {
	flag, err := f.source()
	if err != nil {
		return nil, nil, err
	}
	var data dataset.Dataset
	var header []string
	switch flag {
	case "data":
		data, header, err = loadPoints(f.data, 0)
	case "graph":
		data, err = orNil(format.LoadGraph(f.graph, int(f.vertices.value)))
	case "kernel-matrix":
		data, err = orNil(format.LoadKernel(f.kernelMatrix))
	}
	return data, header, err
}

// loadPoints reads points, sparse ones by their suffix; columns is the number that sparse ones have, 0
// to take it from the file.
func loadPoints(path string, columns int) (dataset.Dataset, []string, error) {
	if format.IsSparse(path) {
		data, err := orNil(format.LoadSparsePoints(path, columns))
		return data, nil, err
	}
	points, header, err := format.LoadPoints(path)
	data, err := orNil(points, err)
	return data, header, err
}

// columnsOf is the number of columns of points, 0 of other data.
func columnsOf(data dataset.Dataset) int {
	switch data := data.(type) {
	case *dataset.Points:
		return data.D
	case *dataset.SparsePoints:
		return data.D
	}
	return 0
}

// orNil keeps a nil pointer from becoming a data set that is not nil.
func orNil[D dataset.Dataset](data D, err error) (dataset.Dataset, error) {
	if err != nil {
		return nil, err
	}
	return data, nil
}

// identify is the name that a data set has everywhere: the SHA-256 of its canonical bytes.
func identify(data dataset.Dataset) (string, error) {
	hash := sha256.New()
	if err := dataset.Encode(hash, data); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// loadSeeds reads seeds; their labels are cluster numbers.
func loadSeeds(path string, rows int, spec *cleavev1.JobSpec) ([]*cleavev1.Seed, error) {
	seeds, err := format.LoadSeeds(path, rows)
	if err != nil {
		return nil, err
	}
	wired := make([]*cleavev1.Seed, len(seeds))
	for at, s := range seeds {
		if s.Label < 0 || s.Label >= int64(spec.K) {
			return nil, fault.Invalid("LABEL_OUT_OF_RANGE", "%s: point %d has label %d; seeds name clusters, 0..%d for k = %d",
				path, s.Index, s.Label, int64(spec.K)-1, spec.K)
		}
		wired[at] = &cleavev1.Seed{Index: uint32(s.Index), Label: uint32(s.Label)}
		if s.Probability == 0 {
			continue
		}
		if spec.GetKernelKmeans() != nil {
			return nil, fault.Invalid("OPTION_DOES_NOT_APPLY", "%s: point %d has a label with a probability; seeds with probabilities go with seeded-kmeans and constrained-kmeans",
				path, s.Index)
		}
		wired[at].Probability = &seeds[at].Probability
	}
	return wired, nil
}

// loadStart reads the labels to start from; they are cluster numbers, but for rows that are left out.
func loadStart(path string, rows int, k uint32, left *selection) ([]uint32, error) {
	labels, err := format.LoadLabels(path, rows)
	if err != nil {
		return nil, err
	}
	wired := make([]uint32, len(labels))
	for i, label := range labels {
		if !left.keeps(i) {
			continue
		}
		if label < 0 || label >= int64(k) {
			return nil, fault.Invalid("LABEL_OUT_OF_RANGE", "%s: point %d has label %d; a start names clusters, 0..%d for k = %d",
				path, i, label, int64(k)-1, k)
		}
		wired[i] = uint32(label)
	}
	return wired, nil
}

// loadCentroids reads the centroids to start from: a row for each cluster, in the columns of the data.
func loadCentroids(path string, j *job) ([]float64, error) {
	points, header, err := format.LoadPoints(path)
	if err != nil {
		return nil, err
	}
	k := int(j.spec.GetK())
	switch {
	case points.N != k:
		return nil, fault.Invalid("SIZE_MISMATCH", "%s: the file has %s for %s; each cluster needs one", path, plural(points.N, "centroid"), plural(k, "cluster"))
	case points.D != j.columns:
		return nil, fault.Invalid("SIZE_MISMATCH", "%s: the centroids have %s, the data %d", path, plural(points.D, "column"), j.columns)
	case header != nil && j.header != nil && !slices.Equal(header, j.header):
		return nil, fault.Invalid("OTHER_COLUMNS", "%s: the columns are called %s, those of the data %s; they must be the same in the same order",
			path, abridged(header), abridged(j.header))
	}
	return points.Values, nil
}

// abridged lists the first names of columns.
func abridged(names []string) string {
	const most = 8
	if len(names) > most {
		return strings.Join(names[:most], ",") + ",..."
	}
	return strings.Join(names, ",")
}

// truth is what the labels are scored against.
type truth struct {
	labels  []int64
	scoreOn []int32 // nil: all points
}

// loadTruth reads the truth, nil when there is none to read.
func loadTruth(path, scoreOn string, rows int) (*truth, error) {
	if path == "" {
		return nil, nil
	}
	labels, err := format.LoadLabels(path, rows)
	if err != nil {
		return nil, err
	}
	t := &truth{labels: labels}
	if scoreOn != "" {
		if t.scoreOn, err = format.LoadIndices(scoreOn, len(labels)); err != nil {
			return nil, err
		}
		if len(t.scoreOn) == 0 {
			return nil, fault.Invalid("NOTHING_TO_SCORE", "%s: the file names no point to score", scoreOn)
		}
	}
	return t, nil
}

// cause is the reason of a failed file operation, without the path that the message names anyway.
func cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
