package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"

	"github.com/cleave-project/cleave/internal/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// kindOf is the kind of data that a source flag names.
func kindOf(flag string) cleavev1.DatasetKind {
	switch flag {
	case "data":
		return cleavev1.DatasetKind_DATASET_KIND_POINTS
	case "graph":
		return cleavev1.DatasetKind_DATASET_KIND_GRAPH
	case "kernel-matrix":
		return cleavev1.DatasetKind_DATASET_KIND_KERNEL
	}
	return cleavev1.DatasetKind_DATASET_KIND_UNSPECIFIED
}

// loadData reads the data that the flags name, nil when they name none.
func (f *jobFlags) loadData() (dataset.Dataset, error) {
	switch flag, err := f.source(); {
	case err != nil:
		return nil, err
	case flag == "data":
		points, _, err := format.LoadPoints(f.data)
		return orNil(points, err)
	case flag == "graph":
		graph, err := format.LoadGraph(f.graph, int(f.vertices.value))
		return orNil(graph, err)
	case flag == "kernel-matrix":
		kernel, err := format.LoadKernel(f.kernelMatrix)
		return orNil(kernel, err)
	}
	return nil, nil
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
func loadSeeds(path string, rows int, k uint32) ([]*cleavev1.Seed, error) {
	seeds, err := format.LoadSeeds(path, rows)
	if err != nil {
		return nil, err
	}
	wired := make([]*cleavev1.Seed, len(seeds))
	for at, s := range seeds {
		if s.Label < 0 || s.Label >= int64(k) {
			return nil, fault.Invalid("LABEL_OUT_OF_RANGE", "%s: point %d has label %d; seeds name clusters, 0..%d for k = %d",
				path, s.Index, s.Label, int64(k)-1, k)
		}
		wired[at] = &cleavev1.Seed{Index: uint32(s.Index), Label: uint32(s.Label)}
	}
	return wired, nil
}

// loadStart reads the labels to start from; they are cluster numbers.
func loadStart(path string, rows int, k uint32) ([]uint32, error) {
	labels, err := format.LoadLabels(path, rows)
	if err != nil {
		return nil, err
	}
	wired := make([]uint32, len(labels))
	for i, label := range labels {
		if label < 0 || label >= int64(k) {
			return nil, fault.Invalid("LABEL_OUT_OF_RANGE", "%s: point %d has label %d; a start names clusters, 0..%d for k = %d",
				path, i, label, int64(k)-1, k)
		}
		wired[i] = uint32(label)
	}
	return wired, nil
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
