package report

import (
	"errors"
	"io"
	"path/filepath"
	"slices"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/forest"
	"github.com/cleave-project/cleave/internal/clustering/mixture"
	"github.com/cleave-project/cleave/internal/clustering/model"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/render/profile"
	"github.com/cleave-project/cleave/internal/text"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// modelFiles returns the files of the model, which docs/guide/files.md describes. Most have the columns of the data,
// and its header if there is one. Of a classifier, landmarks.csv has the known rows that it was fitted to,
// projection.csv their coefficients, and centroids.csv the means of the columns, which are not a part of the model.
func (r *Report) modelFiles(s Scene, warn func(format string, args ...any)) []File {
	if r.Model == nil {
		return nil
	}
	var files []File
	add := func(name string, values []float64, columns int, header []string) {
		if bytes := textBytes(values); bytes > maxTableBytes {
			warn("%s was not written: it would take about %s; the coordinator's GetModel has it", name,
				text.Bytes(bytes))
			return
		}
		rows := &dataset.Points{N: len(values) / columns, D: columns, Values: values}
		files = append(files, File{name, func(w io.Writer) error { return format.WritePoints(w, header, rows) }})
	}
	columns := r.Model.Columns()
	header := s.Header
	switch l := r.Model.Landmarks; {
	case l != nil && byClassifier(r.Result):
		if means := r.columnMeans(s); means != nil {
			add(centroidsFile, means, columns, header)
		}
		add(landmarksFile, l.Points.Values, columns, header)
		projection, trees := byCluster(r.Model)
		add(projectionFile, projection, r.Model.K, nil)
		if trees != nil {
			add(forestFile, trees.Values(), forest.ValueColumns, []string{"column", "threshold"})
		}
	case l != nil: // centroids are means of features, which have no names
		add(centroidsFile, r.Model.Centroids, r.Model.D, nil)
		add(landmarksFile, l.Points.Values, columns, header)
		add(projectionFile, l.Projection, r.Model.D, nil)
	default:
		add(centroidsFile, r.Model.Centroids, columns, header)
	}
	if r.Model.Metric.Form() != metric.Identity {
		add(metricFile, r.Model.Metric.Values(), columns, header)
	}
	if r.Model.Mixture != nil {
		add(mixtureFile, r.Model.Mixture.Values(), columns, header)
	}
	if r.Model.Units != nil {
		add(unitsFile, slices.Concat(r.Model.Units.Center, r.Model.Units.Scale), columns, header)
	}
	return files
}

// textBytes estimates the size of numbers as text: most have 17 digits, a sign, a point and a comma.
func textBytes(values []float64) uint64 {
	bytes := uint64(0)
	for _, v := range values {
		if v == 0 {
			bytes += 2
		} else {
			bytes += 20
		}
	}
	return bytes
}

// LoadModel reads the model that a result describes from its folder, and returns the names of its columns. It believes
// no size in result.json before a file has confirmed it.
func LoadModel(folder string, result *cleavev1.Result) (*model.Model, []string, error) {
	var names []string // of the columns, if the recipe of the run tells them
	if steps := wire.Recipe(result.GetRecipe()); steps != nil {
		names = steps.Names()
	}
	r, head := &modelReader{folder: folder}, result.GetModel()
	k := int(head.GetK())
	features := int(head.GetColumns())
	columns := int(head.GetColumns())
	landmarks := head.GetLandmarks()
	classifier := landmarks != nil && byClassifier(result)
	var header []string
	if !classifier {
		header = r.read(centroidsFile, names, k, features)
	}
	if landmarks != nil {
		columns = int(landmarks.GetColumns())
		header = r.read(landmarksFile, names, int(landmarks.GetCount()), columns)
		r.read(projectionFile, nil, int(landmarks.GetCount()), features)
	}
	if classifier && r.err == nil {
		if k < 1 || features != k || k > int(landmarks.GetCount()) {
			return nil, nil, fault.Invalid("BAD_MODEL", "%s: there is no classifier of %s fitted to %s",
				filepath.Join(folder, ResultFile),
				text.Count(k, "class", "classes"), text.Plural(int(landmarks.GetCount()), "row"))
		}
		r.lists = slices.Insert(r.lists, 0, model.IdealScores(k))
	}
	if of := head.GetForest(); of != nil {
		r.read(forestFile, nil, int(of.GetNodes()), forest.ValueColumns)
	}
	if head.GetMixture() != nil {
		r.read(mixtureFile, names, int(mixture.ValueRows(uint64(k), uint64(features))), features)
	}
	switch head.GetMetric() {
	case cleavev1.Metric_METRIC_DIAGONAL:
		r.read(metricFile, names, 1, features)
	case cleavev1.Metric_METRIC_FULL:
		r.read(metricFile, names, features, features)
	}
	if head.GetScaled() {
		r.read(unitsFile, names, 2, columns)
	}
	if r.err != nil {
		return nil, nil, r.err
	}
	m, err := wire.NewModel(head, slices.Concat(r.lists...))
	if bad, ok := errors.AsType[*wire.ModelError](err); ok {
		name := ResultFile
		if bad.Part != "" {
			name = bad.Part + ".csv" // files are named after the parts
		}
		return nil, nil, fault.Invalid("BAD_MODEL", "%s: %v", filepath.Join(folder, name), bad.Err)
	}
	return m, header, err
}

// modelReader reads the files of a model. After the first error, which err keeps, it reads nothing.
type modelReader struct {
	folder string
	lists  [][]float64 // the values of the files that were read, in the order of wire.WriteModel
	err    error
}

// read reads a file that must have the given size, and returns the names of its columns.
func (r *modelReader) read(name string, names []string, rows, columns int) (header []string) {
	if r.err != nil {
		return nil
	}
	path := filepath.Join(r.folder, name)
	points, header, err := format.Input{Path: path, Names: names}.LoadPoints()
	switch {
	case err != nil:
		r.err = err
	case points.N != rows || points.D != columns:
		r.err = fault.Invalid("SIZE_MISMATCH", "%s: the file has %s of %s; according to %s there must be %d of %d",
			path,
			text.Plural(points.N, "row"), text.Plural(points.D, "column"), ResultFile, rows, columns)
	default:
		r.lists = append(r.lists, points.Values)
	}
	return header
}

// byClassifier reports whether a classifier that was fitted to known rows predicted the classes of the others. The
// features of its model are the scores of a row, one for each class, and its centroids are the scores that the rows of
// a class should have.
func byClassifier(r *cleavev1.Result) bool {
	return r.GetChoice().GetChosen().GetConstraintUse() == cleavev1.ConstraintUse_CONSTRAINT_USE_DISCRIMINANT
}

// byCluster returns the projection of a classifier with its columns, which are classes, in the order of the clusters,
// and its trees with clusters in place of classes, nil if there are none. The class of a cluster is the one in which
// its centroid scores highest.
func byCluster(m *model.Model) ([]float64, *forest.Forest) {
	class := make([]int, m.K)
	cluster := make([]int32, m.K)
	for c := range class {
		scores := m.Centroids[c*m.D : (c+1)*m.D]
		class[c] = slices.Index(scores, slices.Max(scores))
		cluster[class[c]] = int32(c)
	}
	var ordered []float64
	for row := range slices.Chunk(m.Landmarks.Projection, m.D) {
		for _, g := range class {
			ordered = append(ordered, row[g])
		}
	}
	if m.Forest == nil {
		return ordered, nil
	}
	return ordered, m.Forest.Trees.Renumbered(cluster)
}

// columnMeans returns the means of the columns in each cluster, in the coordinates of the data, or nil if not all
// points are at hand.
func (r *Report) columnMeans(s Scene) []float64 {
	points, dense := s.Data.(*dataset.Points)
	if !dense || s.Sample != nil || points.N != len(r.Labels) || points.D != r.Model.Columns() {
		return nil
	}
	means, _ := profile.Means(points, r.Labels, r.Model.K)
	return means
}

// ReadFolder reads the report of a run back from its output folder.
func ReadFolder(folder string, result *cleavev1.Result, run *cleavev1.RunRecord) (*Report, error) {
	r, err := ReadLabels(folder, result, run)
	if err != nil {
		return nil, err
	}
	if result.GetModel() != nil {
		// Files that would have been too large were not written.
		if r.Model, _, err = LoadModel(folder, result); err != nil && !fault.Is(err, "FILE_NOT_READABLE") {
			return nil, err
		}
	}
	if result.GetEmbedding() != nil {
		if r.Embedding, err = readEmbedding(folder, len(r.Labels)); err != nil && !fault.Is(err, "FILE_NOT_READABLE") {
			return nil, err
		}
	}
	return r, nil
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
			return nil, fault.Invalid("LABEL_OUT_OF_RANGE",
				"%s: label %d is out of range; according to %s there are %s", path, label, ResultFile,
				text.Plural(int(result.GetK()), "cluster"))
		}
		if label >= 0 {
			kept = append(kept, int32(row))
			o.Labels = append(o.Labels, label)
		}
	}
	if len(kept) != int(result.GetRows()) {
		return nil, fault.Invalid("SIZE_MISMATCH", "%s: the file has labels for %s; according to %s there are %d", path,
			text.Plural(len(kept), "row"), ResultFile, result.GetRows())
	}
	r := &Report{Outcome: o, Run: run, RowIDs: rows.IDs, Classes: rows.Classes}
	if len(kept) < len(rows.Labels) {
		r.Filter = jobflags.FilterOf(kept, len(rows.Labels))
	}
	if head := result.GetRowScores(); head != nil {
		o.Rows = &clustering.RowScores{
			Runs: int(head.GetRuns()), Posterior: head.GetPosterior(),
			Distance: choose.At(rows.Distance, kept), Margin: choose.At(rows.Margin, kept),
			Confidence: choose.At(rows.Confidence, kept),
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
		return nil, fault.Invalid("SIZE_MISMATCH", "%s: there are %s of %s; there must be coordinates of %s",
			path, text.Plural(found, "row"), text.Plural(columns, "column"), text.Plural(rows, "row"))
	}
	return &clustering.Embedding{Rows: rows, Columns: columns, Values: values}, nil
}

// embeddingFiles returns embedding.csv: a row for each point that was clustered, with its row number in the data file.
func (r *Report) embeddingFiles(warn func(format string, args ...any)) []File {
	e := r.Embedding
	if e == nil {
		return nil
	}
	if bytes := textBytes(e.Values); bytes > maxTableBytes {
		warn("%s was not written: it would take about %s; the coordinator's GetEmbedding has it", embeddingFile,
			text.Bytes(bytes))
		return nil
	}
	var index []int32
	if r.Filter != nil {
		index = r.Filter.Kept
	}
	return []File{{embeddingFile, func(w io.Writer) error {
		return format.WriteEmbedding(w, r.RowIDs, index, e.Columns, e.Values)
	}}}
}
