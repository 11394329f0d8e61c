package jobflags

import (
	"errors"
	"slices"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
)

// LoadUsablePoints reads points, the names of their columns, and which rows were dropped because they cannot
// be clustered: those with missing values and, where directions are compared, those of zeros.
func LoadUsablePoints(path string, directions bool) (dataset.Dataset, []string, *RowFilter, error) {
	return (&inputFlags{files: []string{path}}).loadUsable(path, directions)
}

// loadUsable is LoadUsablePoints of what the flags name; errors call it by its name.
func (f *inputFlags) loadUsable(name string, directions bool) (dataset.Dataset, []string, *RowFilter, error) {
	data, header, incomplete, err := f.loadComplete()
	if err != nil {
		return nil, nil, nil, err
	}
	filter, data, err := newRowFilter(data, incomplete, directions).usable(name, data)
	return data, header, filter, err
}

// usable are the points of a file that are kept, without the rows of zeros that are dropped; the filter is nil if nothing
// is.
func (f *RowFilter) usable(path string, data dataset.Dataset) (*RowFilter, dataset.Dataset, error) {
	switch {
	case len(f.Kept) == len(f.position):
		return nil, data, nil
	case len(f.Kept) == 0:
		return nil, nil, fault.Invalid("EMPTY_DATA", "%s: no row is left; %s", path, f)
	case f.zero > 0:
		data, err := withoutZeros(data)
		return f, data, err
	}
	return f, data, nil
}

// DropsRows tells whether the user wants rows with missing values to be dropped.
func (f *Flags) DropsRows() bool { return f.missing.text == "drop" }

func allZero(data dataset.Dataset, row int) bool {
	switch data := data.(type) {
	case *dataset.Points:
		return !slices.ContainsFunc(data.Row(row), func(v float64) bool { return v != 0 })
	case *dataset.SparsePoints:
		return data.RowStart[row] == data.RowStart[row+1]
	}
	return false
}

// withoutZeros are the points without the rows of zeros. In sparse points such rows have no entries, and only
// the row starts change.
func withoutZeros(data dataset.Dataset) (dataset.Dataset, error) {
	switch data := data.(type) {
	case *dataset.Points:
		var values []float64
		for i := range data.N {
			if !allZero(data, i) {
				values = append(values, data.Row(i)...)
			}
		}
		left, err := dataset.NewPoints(len(values)/data.D, data.D, values)
		if err != nil {
			return nil, err
		}
		left.Words = data.Words
		return left, nil
	case *dataset.SparsePoints:
		starts := slices.Compact(slices.Clone(data.RowStart))
		return asDataset(dataset.NewSparsePoints(len(starts)-1, data.D, starts, data.Column, data.Value))
	}
	return data, nil
}

// hintMissingDrop adds --missing drop to the error about a file with missing values.
func hintMissingDrop(err error) error {
	bad, ok := errors.AsType[*fault.Error](err)
	if !ok || bad.Reason != "MISSING_VALUE" && bad.Reason != "NOT_FINITE" {
		return err
	}
	hinted := *bad
	hinted.Message += "; cleave run --missing drop leaves rows with missing values out"
	return &hinted
}
