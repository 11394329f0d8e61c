package report

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/table"
	"github.com/cleave-project/cleave/internal/text"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// ReadFolder reads the report of a run from the folder that it wrote. filter is the one of its data, nil if all rows were
// clustered, or if the data are not at hand: then rows that were dropped are not known.
func ReadFolder(folder string, result *cleavev1.Result, filter *jobflags.RowFilter) (*Report, error) {
	o := &client.Outcome{Result: result}
	var err error
	if o.Labels, err = ReadLabels(folder, result, filter); err != nil {
		return nil, err
	}
	if result.GetModel() != nil {
		if o.Model, _, err = LoadModel(folder, result); err != nil && !missing(folder, centroidsFile) {
			return nil, err
		}
	}
	if result.GetEmbedding() != nil && !missing(folder, embeddingFile) {
		if o.Embedding, err = readEmbedding(folder, len(o.Labels)); err != nil {
			return nil, err
		}
	}
	return &Report{o, filter}, nil
}

// missing tells whether a folder has no such file: some are left out because they would be too large.
func missing(folder, name string) bool {
	_, err := os.Stat(filepath.Join(folder, name))
	return errors.Is(err, fs.ErrNotExist)
}

// ReadLabels reads the labels that a run gave to its points.
func ReadLabels(folder string, result *cleavev1.Result, filter *jobflags.RowFilter) ([]int32, error) {
	path := filepath.Join(folder, LabelsFile)
	_, all, err := format.LoadTable(path, table.Labels, 0)
	if err != nil {
		return nil, err
	}
	if filter != nil {
		kept, err := filter.Truth(&jobflags.Truth{Labels: all})
		if err != nil {
			return nil, err
		}
		all = kept.Labels
	} else {
		all = slices.DeleteFunc(all, func(label int64) bool { return label == -1 })
	}
	if len(all) != int(result.GetRows()) {
		return nil, fault.Invalid("SIZE_MISMATCH", "%s: there are labels of %s; %s says that there are %d", path, text.Plural(len(all), "row"), ResultFile, result.GetRows())
	}
	labels := make([]int32, len(all))
	for i, label := range all {
		if label < 0 || label >= int64(result.GetK()) {
			return nil, fault.Invalid("LABEL_OUT_OF_RANGE", "%s: there is a label %d; %s says that there are %s", path, label, ResultFile, text.Plural(int(result.GetK()), "cluster"))
		}
		labels[i] = int32(label)
	}
	return labels, nil
}

// readEmbedding reads embedding.csv, whose first column numbers the rows.
func readEmbedding(folder string, rows int) (*clustering.Embedding, error) {
	path := filepath.Join(folder, embeddingFile)
	points, _, err := format.LoadPoints(path)
	if err != nil {
		return nil, err
	}
	if points.N != rows || points.D < 2 {
		return nil, fault.Invalid("SIZE_MISMATCH", "%s: there are %s of %s; there must be coordinates of %s", path, text.Plural(points.N, "row"), text.Plural(points.D, "column"), text.Plural(rows, "row"))
	}
	e := &clustering.Embedding{Rows: rows, Columns: points.D - 1}
	for i := range rows {
		e.Values = append(e.Values, points.Row(i)[1:]...)
	}
	return e, nil
}
