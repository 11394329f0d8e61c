package format

import (
	"io"

	"github.com/cleave-project/cleave/internal/fault"
)

// ReadWeights reads the columns index and weight; a point that is not listed has the weight 1.
func ReadWeights(r io.Reader, name string, points int) ([]float64, error) {
	if points < 1 {
		return nil, fault.Invalid("EMPTY_DATA", "%s: there are no points to weigh", name)
	}
	t, err := openTable(r, name, column{name: "index"}, column{name: "weight"})
	if err != nil {
		return nil, err
	}
	weights := make([]float64, points)
	for i := range weights {
		weights[i] = 1
	}
	seen := seenIndices{}
	err = t.each(func() error {
		index, err := t.index(0, points)
		if err != nil {
			return err
		}
		if weights[index], err = t.weight(1); err != nil {
			return err
		}
		return seen.add(t, index)
	})
	return emptyNotNil(weights, err)
}

// LoadWeights is ReadWeights of a path.
func LoadWeights(path string, points int) ([]float64, error) {
	return loadSized(path, points, ReadWeights)
}

// ReadIndices reads the column index: distinct points, in the order of the file. They must be below
// points, unless that is 0, for not known.
func ReadIndices(r io.Reader, name string, points int) ([]int32, error) {
	t, err := openTable(r, name, column{name: "index"})
	if err != nil {
		return nil, err
	}
	var indices []int32
	seen := seenIndices{}
	err = t.each(func() error {
		index, err := t.index(0, points)
		if err != nil {
			return err
		}
		indices = append(indices, index)
		return seen.add(t, index)
	})
	return emptyNotNil(indices, err)
}

// LoadIndices is ReadIndices of a path.
func LoadIndices(path string, points int) ([]int32, error) {
	return loadSized(path, points, ReadIndices)
}
