// Package report presents a job to people and programs: its progress on the terminal (Progress), the summary at its
// end, and the files of an output folder, except for pictures and report.html, which resultpage makes. It also reads
// such a folder back, to label new rows.
package report

import (
	"io"
	"slices"
	"strconv"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/evaluate"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/text"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// The files of an output folder. Each run writes labels.csv and result.json; the others depend on its algorithm, its
// data and its flags. docs/guide/files.md lists them all.
const (
	LabelsFile     = "labels.csv"
	formattedFile  = "labels.%s"      // the labels in another format
	joinedFile     = "joined.%s"      // the rows of the table with their labels, in some format
	kLabelsFile    = "labels-k%d.csv" // the labels for another number of clusters
	centroidsFile  = "centroids.csv"
	metricFile     = "metric.csv"
	unitsFile      = "units.csv"
	mixtureFile    = "mixture.csv"
	landmarksFile  = "landmarks.csv"
	projectionFile = "projection.csv"
	forestFile     = "forest.csv"
	embeddingFile  = "embedding.csv"
	SuspectsFile   = "suspects.csv"
	ResultFile     = "result.json"
)

// tables are the files of an output folder that a run could also read, so that it must not overwrite an input of this
// name. %s stands for a format, %d for a number of clusters.
var tables = []string{LabelsFile, formattedFile, joinedFile, kLabelsFile, centroidsFile, metricFile, unitsFile,
	mixtureFile, landmarksFile, projectionFile, forestFile, embeddingFile, SuspectsFile}

// maxTableBytes limits each table of a model or an embedding, which can be much larger than sparse data.
const maxTableBytes = 200 << 20

// Scene holds the inputs that pictures and report.html show in addition to the outcome.
type Scene struct {
	Data        dataset.Dataset // nil if the data is not at hand; then the clusters are not drawn
	Header      []string        // the names of its columns
	Constraints []constraint.Constraint
	Truth       *jobflags.Truth // nil if it was not given
	Title       string          // the name of the data; "" for none
	// Sample lists the points that Data and Table have a row for if the data is too large; nil means all. The other
	// fields are about all points.
	Sample []int32

	// What only report.html shows.

	Spec        *cleavev1.JobSpec // nil means the one of the origin, if there is one
	Table       *table.Table      // the data file as it was given; nil if the data has columns of numbers, or none
	LabelColumn string            // the column of the table with the known classes; "" for none
}

// Report is the outcome of a job and what is needed to write it: which rows of the data file its points are, and the
// names of rows and clusters.
type Report struct {
	*client.Outcome
	Run     *cleavev1.RunRecord // what result.json has besides the result
	Filter  *jobflags.RowFilter // nil if all rows of the data file were clustered
	RowIDs  []string            // of all rows of the data file; nil if rows are identified by number
	Classes []string            // of the clusters, "" for none; nil if none has a class
	// ClassesFor returns the classes of the clusters of other labels, for a range of k; nil if none has a class.
	ClassesFor func(labels []int32) []string
}

// Naming returns how tables name the rows of the data file.
func (r *Report) Naming() table.Naming { return table.Naming{IDs: table.NewIDs(r.RowIDs)} }

// PointNames returns the ids of the points that were clustered, or their rows in the data file; nil if both are the
// numbers of the points.
func (r *Report) PointNames() []string {
	if r.RowIDs == nil && r.Filter == nil {
		return nil
	}
	names := make([]string, len(r.Labels))
	for point := range names {
		row := r.Filter.FileRow(point)
		if names[point] = strconv.Itoa(row); r.RowIDs != nil {
			names[point] = r.RowIDs[row]
		}
	}
	return names
}

// AddRecipe adds the notices about a table, and the recipe of its points unless the coordinator made them. Nil adds
// nothing.
func (r *Report) AddRecipe(rows *jobflags.TableInfo) {
	if rows == nil {
		return
	}
	notices := rows.Notices
	if r.Result.GetRecipe() == nil {
		r.Result.Recipe = wire.RecipeProto(rows.Recipe)
		notices = slices.Concat(notices, rows.Fitted)
	}
	r.Result.Warnings = append(r.Result.Warnings, wire.NoticesProto(wire.TableNotices(notices))...)
}

// maxSolverSteps is how many steps of an eigensolver a result keeps.
const maxSolverSteps = 2000

// New returns the report of a job that clustered these rows. It changes nothing in the outcome: the report has a copy
// of the result, with messages about these rows.
func New(received *client.Outcome, rows jobflags.Rows) *Report {
	o := *received
	o.Result = rows.LocalizeResult(received.Result)
	if rows.Filter != nil {
		o.Result.DroppedRows = uint32(rows.Filter.Dropped())
		o.Result.Warnings = append(o.Result.Warnings, &cleavev1.Notice{Reason: wire.MissingRows,
			Message: rows.Filter.String()})
	}
	o.SolverSteps = choose.At(o.SolverSteps, choose.Even[int](len(o.SolverSteps), maxSolverSteps))
	return &Report{Outcome: &o, Run: &cleavev1.RunRecord{SolverSteps: o.SolverSteps}, Filter: rows.Filter,
		RowIDs: rows.IDs.All()}
}

// NameClusters names the clusters after the classes of the seeds in them.
func (r *Report) NameClusters(classes *jobflags.SeedClasses) {
	r.Classes = classes.Of(r.Labels)
	r.ClassesFor = classes.Of
}

// Score compares the labels with the truth. It does nothing if t is nil.
func (r *Report) Score(t *jobflags.Truth) error {
	if t == nil {
		return nil
	}
	if len(t.Labels) != len(r.Labels) {
		return fault.Invalid("SIZE_MISMATCH", "the truth has %s for %s; each point needs one",
			text.Plural(len(t.Labels), "label"), text.Plural(len(r.Labels), "point"))
	}
	scores, err := evaluate.Compare(r.Labels, t.Labels, t.ScoreOn)
	if err != nil {
		return err
	}
	r.Run.Evaluation = wire.EvaluationProto(scores)
	return nil
}

// Files returns the files of an output folder, result.json last. drawn are the pictures and the page. Files leaves out
// what is too large, and warns about it: the result must not be lost.
func (r *Report) Files(s Scene, drawn []File, warn func(format string, args ...any)) []File {
	files := []File{{LabelsFile, func(w io.Writer) error { return format.WriteLabelTable(w, "csv", r.labelRows()) }}}
	files = append(files, r.kLabelFiles()...)
	files = append(files, r.suspectFiles()...)
	files = append(files, r.modelFiles(s, warn)...)
	files = append(files, r.embeddingFiles(warn)...)
	files = append(files, drawn...)
	return append(files, File{ResultFile, func(w io.Writer) error { return WriteResult(w, r.Result, r.Run) }})
}
