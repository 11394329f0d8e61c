package report

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/text"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// ReadFolder reads the report of a run back from its output folder.
func ReadFolder(folder string, result *cleavev1.Result, run *cleavev1.RunRecord) (*Report, error) {
	r, err := ReadLabels(folder, result, run)
	if err != nil {
		return nil, err
	}
	if result.GetModel() != nil {
		if r.Model, _, err = LoadModel(folder, result); err != nil && !r.lacksModel(folder) {
			return nil, err
		}
	}
	if result.GetEmbedding() != nil && !missing(folder, embeddingFile) {
		if r.Embedding, err = readEmbedding(folder, len(r.Labels)); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// lacksModel reports whether a part of the model is missing from a folder.
func (r *Report) lacksModel(folder string) bool {
	if r.Result.GetModel().GetLandmarks() != nil && (missing(folder, landmarksFile) || missing(folder, projectionFile)) {
		return true
	}
	if r.Result.GetModel().GetForest() != nil && missing(folder, forestFile) {
		return true
	}
	if r.Result.GetModel().GetMixture() != nil && missing(folder, mixtureFile) {
		return true
	}
	return !byClassifier(r.Result) && missing(folder, centroidsFile)
}

// missing reports whether a folder does not have a file; some are left out because they would be too large.
func missing(folder, name string) bool {
	_, err := os.Stat(filepath.Join(folder, name))
	return errors.Is(err, fs.ErrNotExist)
}

// ReadLabels reads labels.csv: the labels, scores and ids of the rows, and which rows were left out.
func ReadLabels(folder string, result *cleavev1.Result, run *cleavev1.RunRecord) (*Report, error) {
	path := filepath.Join(folder, LabelsFile)
	rows, err := format.LoadLabelRows(path)
	if err != nil {
		return nil, err
	}
	o := &client.Outcome{Result: result, SolverSteps: run.GetSolverSteps()}
	var kept []int32
	for row, label := range rows.Labels {
		if label >= int32(result.GetK()) {
			return nil, fault.Invalid("LABEL_OUT_OF_RANGE", "%s: label %d is out of range; according to %s there are %s", path, label, ResultFile, text.Plural(int(result.GetK()), "cluster"))
		}
		if label >= 0 {
			kept, o.Labels = append(kept, int32(row)), append(o.Labels, label)
		}
	}
	if len(kept) != int(result.GetRows()) {
		return nil, fault.Invalid("SIZE_MISMATCH", "%s: the file has labels for %s; according to %s there are %d", path, text.Plural(len(kept), "row"), ResultFile, result.GetRows())
	}
	r := &Report{Outcome: o, Run: run, ids: rows.IDs, classes: rows.Classes}
	if len(kept) < len(rows.Labels) {
		r.filter = jobflags.FilterOf(kept, len(rows.Labels))
	}
	if head := result.GetRowScores(); head != nil {
		o.Rows = &clustering.RowScores{
			Runs: int(head.GetRuns()), Posterior: head.GetPosterior(), Distance: choose.At(rows.Distance, kept), Margin: choose.At(rows.Margin, kept), Confidence: choose.At(rows.Confidence, kept),
		}
	}
	return r, nil
}

// readEmbedding reads embedding.csv, whose first column numbers the rows.
func readEmbedding(folder string, rows int) (*clustering.Embedding, error) {
	path := filepath.Join(folder, embeddingFile)
	found, columns, values, err := format.LoadEmbedding(path)
	if err != nil {
		return nil, err
	}
	if found != rows || columns < 1 {
		return nil, fault.Invalid("SIZE_MISMATCH", "%s: there are %s of %s; there must be coordinates of %s", path, text.Plural(found, "row"), text.Plural(columns, "column"), text.Plural(rows, "row"))
	}
	return &clustering.Embedding{Rows: rows, Columns: columns, Values: values}, nil
}
