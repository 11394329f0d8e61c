package format

import (
	"slices"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format/scan"
	"github.com/cleave-project/cleave/internal/text"
)

// PointParts are files of points (not tables) that together form one data set, in order.
type PointParts []Input

// PointPartsOf returns the files at paths; folders stand for their files. All files must be of the same kind.
func PointPartsOf(paths []string, like Input) (PointParts, error) {
	files, err := expand(paths)
	if err != nil {
		return nil, err
	}
	var parts PointParts
	var first InputKind
	for at, file := range files {
		part := like
		part.Path = file
		parts = append(parts, part)
		if len(files) == 1 {
			break // the error shows up again when the file is read
		}
		bad := &scan.Source{Name: part.Name()}
		if file == "-" {
			return nil, bad.Invalid("BAD_FILES", "cannot be combined with files; use standard input or files, not both")
		}
		kind, err := part.Kind()
		if err != nil {
			return nil, err
		}
		if at == 0 {
			first = kind
		}
		suffix, err := part.suffix()
		switch {
		case err != nil:
			return nil, err
		case kind != first:
			return nil, bad.Invalid("BAD_FILES", "the file is not of the same kind as %s; all parts of a data set must be", files[0])
		case kind == InputSparse && suffix != scan.NPZSuffix:
			return nil, bad.Invalid("BAD_FILES", "svmlight files may number features from 0 or from 1, which is ambiguous across files; concatenate them into one file first (cat)")
		}
	}
	return parts, nil
}

// LoadPoints is Input.LoadPoints for all parts.
func (p PointParts) LoadPoints() (*dataset.Points, []string, error) {
	points, header, _, err := p.loadDense(func(in Input) (*dataset.Points, []string, []int32, error) {
		points, header, err := in.LoadPoints()
		return points, header, nil, err
	})
	return points, header, err
}

// LoadCompletePoints is Input.LoadCompletePoints for all parts.
func (p PointParts) LoadCompletePoints() (points *dataset.Points, header []string, incomplete []int32, err error) {
	return p.loadDense(Input.LoadCompletePoints)
}

func (p PointParts) loadDense(load func(Input) (*dataset.Points, []string, []int32, error)) (*dataset.Points, []string, []int32, error) {
	all, header, incomplete, err := load(p[0])
	if err != nil || len(p) == 1 {
		return all, header, incomplete, err
	}
	values, rows := all.Values, all.N
	for _, in := range p[1:] {
		part, _, gaps, err := load(in)
		if err != nil {
			return nil, nil, nil, err
		}
		if part.D != all.D {
			return nil, nil, nil, fault.Invalid("COLUMNS_DIFFER", "%s: the file has %s, but %s has %d; all parts of a data set must have the same columns", in.Path, text.Plural(part.D, "column"), p[0].Path, all.D)
		}
		incomplete = appendGaps(incomplete, gaps, rows)
		values, rows = append(values, part.Values...), rows+part.N
	}
	joined, err := dataset.NewPoints(rows, all.D, values)
	return joined, header, incomplete, err
}

// LoadSparsePoints is Input.LoadSparsePoints for all parts.
func (p PointParts) LoadSparsePoints(features int) (*dataset.SparsePoints, error) {
	points, _, err := p.loadSparse(func(in Input) (*dataset.SparsePoints, []int32, error) {
		points, err := in.LoadSparsePoints(features)
		return points, nil, err
	})
	return points, err
}

// LoadCompleteSparsePoints is Input.LoadCompleteSparsePoints for all parts.
func (p PointParts) LoadCompleteSparsePoints() (*dataset.SparsePoints, []int32, error) {
	return p.loadSparse(Input.LoadCompleteSparsePoints)
}

func (p PointParts) loadSparse(load func(Input) (*dataset.SparsePoints, []int32, error)) (*dataset.SparsePoints, []int32, error) {
	all, incomplete, err := load(p[0])
	if err != nil || len(p) == 1 {
		return all, incomplete, err
	}
	features, starts, columns, values := all.D, slices.Clone(all.RowStart), all.Column, all.Value
	for _, in := range p[1:] {
		part, gaps, err := load(in)
		if err != nil {
			return nil, nil, err
		}
		incomplete = appendGaps(incomplete, gaps, len(starts)-1)
		for _, start := range part.RowStart[1:] {
			starts = append(starts, int64(len(columns))+start)
		}
		features, columns, values = max(features, part.D), append(columns, part.Column...), append(values, part.Value...)
	}
	joined, err := dataset.NewSparsePoints(len(starts)-1, features, starts, columns, values)
	return joined, incomplete, err
}

// appendGaps appends the incomplete rows of a part, shifted by the number of rows before it, of which complete are
// complete.
func appendGaps(all, part []int32, complete int) []int32 {
	before := int32(complete + len(all))
	for _, row := range part {
		all = append(all, before+row)
	}
	return all
}
