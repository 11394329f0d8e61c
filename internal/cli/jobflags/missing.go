package jobflags

import (
	"errors"
	"slices"

	"github.com/cleave-project/cleave/internal/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// LoadUsablePoints reads points without the rows that cannot be clustered: those with missing values and,
// where directions are compared, those of zeros.
func LoadUsablePoints(path string, directions bool) (dataset.Dataset, []string, *RowFilter, error) {
	var data dataset.Dataset
	var header []string
	var incomplete []int32
	var err error
	if format.IsSparse(path) {
		var points *dataset.SparsePoints
		points, incomplete, err = format.LoadCompleteSparsePoints(path)
		data = points
	} else {
		var points *dataset.Points
		points, header, incomplete, err = format.LoadCompletePoints(path)
		data = points
	}
	if err != nil {
		return nil, nil, nil, err
	}
	s := newRowFilter(data, incomplete, directions)
	switch {
	case len(s.Kept) == len(s.position):
		return data, header, nil, nil
	case len(s.Kept) == 0:
		return nil, nil, nil, fault.Invalid("EMPTY_DATA", "%s: no row is left; %s", path, s)
	case s.zero > 0:
		data, err = withoutZeros(data)
	}
	return data, header, s, err
}

// DropsRows tells whether rows with missing values are left out.
func (f *Flags) DropsRows() bool { return f.missing.Value == "drop" }

// comparesDirections tells whether a job has no use for rows of zeros.
func comparesDirections(spec *cleavev1.JobSpec) bool {
	if kernelOf(spec).GetFunction() == cleavev1.KernelFunction_KERNEL_FUNCTION_COSINE {
		return true
	}
	return optionName(spec, "geometry") == "spherical" || optionName(spec, "distortion") == "cosine"
}

func allZero(data dataset.Dataset, row int) bool {
	switch data := data.(type) {
	case *dataset.Points:
		return !slices.ContainsFunc(data.Row(row), func(v float64) bool { return v != 0 })
	case *dataset.SparsePoints:
		return data.RowStart[row] == data.RowStart[row+1]
	}
	return false
}

// withoutZeros are the points whose rows are not all zeros. Of sparse ones only the row starts change:
// such rows have no entries.
func withoutZeros(data dataset.Dataset) (dataset.Dataset, error) {
	switch data := data.(type) {
	case *dataset.Points:
		var values []float64
		for i := range data.N {
			if !allZero(data, i) {
				values = append(values, data.Row(i)...)
			}
		}
		return asDataset(dataset.NewPoints(len(values)/data.D, data.D, values))
	case *dataset.SparsePoints:
		starts := slices.Compact(slices.Clone(data.RowStart))
		return asDataset(dataset.NewSparsePoints(len(starts)-1, data.D, starts, data.Column, data.Value))
	}
	return data, nil
}

// hintMissingDrop adds to the refusal of a file what else could be done about it.
func hintMissingDrop(err error) error {
	bad, ok := errors.AsType[*fault.Error](err)
	if !ok || bad.Reason != "MISSING_VALUE" && bad.Reason != "NOT_FINITE" {
		return err
	}
	hinted := *bad
	hinted.Message += "; cleave run --missing drop leaves rows with missing values out"
	return &hinted
}
