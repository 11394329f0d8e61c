package format

import (
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
			return nil, bad.Invalid("BAD_FILES",
				"the file is not of the same kind as %s; all parts of a data set must be", files[0])
		case kind == InputSparse && suffix != scan.NPZSuffix:
			return nil, bad.Invalid("BAD_FILES",
				"svmlight files may number features from 0 or from 1, which is ambiguous across files; concatenate "+
					"them into one file first (cat)")
		}
	}
	return parts, nil
}

// LoadPoints reads dense points, and the names of their columns from the first part. If drop is set, it drops rows with
// missing values and returns their numbers; otherwise such a row is a fault.
func (p PointParts) LoadPoints(drop bool) (points *dataset.Points, header []string, incomplete []int32, err error) {
	all := &dataset.Points{}
	for at, in := range p {
		part, names, gaps, err := in.points(drop)
		switch {
		case err != nil:
			return nil, nil, nil, err
		case len(p) == 1:
			return part, names, gaps, nil
		case at == 0:
			header, all.D = names, part.D
		case part.D != all.D:
			return nil, nil, nil, fault.Invalid("COLUMNS_DIFFER",
				"%s: the file has %s, but %s has %d; all parts of a data set must have the same columns", in.Path,
				text.Plural(part.D, "column"), p[0].Path, all.D)
		}
		incomplete = appendGaps(incomplete, gaps, all.N)
		all.N += part.N
		all.Values = append(all.Values, part.Values...)
	}
	points, err = dataset.NewPoints(all.N, all.D, all.Values)
	return points, header, incomplete, err
}

// LoadSparsePoints reads sparse points. They have the given number of features, or as many as the files need if it is
// 0. See LoadPoints for drop, with which the files determine the number.
func (p PointParts) LoadSparsePoints(features int,
	drop bool) (points *dataset.SparsePoints, incomplete []int32, err error) {
	all := &dataset.SparsePoints{RowStart: []int64{0}}
	for _, in := range p {
		part, gaps, err := in.sparsePoints(features, drop)
		if err != nil {
			return nil, nil, err
		}
		if len(p) == 1 {
			return part, gaps, nil
		}
		incomplete = appendGaps(incomplete, gaps, all.N)
		for _, start := range part.RowStart[1:] {
			all.RowStart = append(all.RowStart, int64(len(all.Column))+start)
		}
		all.N, all.D = all.N+part.N, max(all.D, part.D)
		all.Column = append(all.Column, part.Column...)
		all.Value = append(all.Value, part.Value...)
	}
	points, err = dataset.NewSparsePoints(all.N, all.D, all.RowStart, all.Column, all.Value)
	return points, incomplete, err
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
