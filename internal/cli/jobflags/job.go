package jobflags

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/refusal"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// Request is what creates a job, besides its data.
type Request struct {
	Spec       *cleavev1.JobSpec
	Name       string // the display name
	Scheduling *cleavev1.Scheduling
}

// Proto returns the request of the API. The spec is that of the job, with its data and tables by their ids. A request
// id makes the call idempotent; it may be empty.
func (r *Request) Proto(spec *cleavev1.JobSpec, requestID string) *cleavev1.CreateJobRequest {
	return &cleavev1.CreateJobRequest{Spec: spec, RequestId: requestID, DisplayName: r.Name, Scheduling: r.Scheduling}
}

// Job is a job to submit: its spec, with the tables of files inline, and its data unless the coordinator has them. A
// row is a row of the data file, a point is one of those that are clustered; Filter converts between them. Nothing
// changes a job that Prepare, SentTable.Complete or SentTable.Named has returned.
type Job struct {
	Request
	Loaded
	Stream  *Stream  // sends the table while it is read, so that the points are not loaded; nil for other data
	Points  int      // how many there are; 0 for a table that is not sent yet
	Columns int      // the number of columns of points; 0 if only the coordinator knows
	Notices []string // what to tell the user about the input, besides the notices of Table
	Chosen  string   // why the algorithm is not the default although none was named, for the user; may be ""
	// Constraints are those of the spec, or nil if only the coordinator has them.
	Constraints []constraint.Constraint

	classes     table.Classes     // the classes that seeds name; the truth has its own
	seeds       []constraint.Seed // of rows of the data file; labels are indexes of classes.Names if it has any
	columnTruth *Truth            // the classes in the label column, of all rows of the file
}

// Prepare makes a job of the flags and the files that they name. It checks the flags before it reads large files.
// describe asks the coordinator about a data set; it is nil if there is no coordinator yet.
func (f *Flags) Prepare(ctx context.Context, describe func(ctx context.Context,
	datasetID string) (*cleavev1.Dataset, error)) (*Job, error) {
	source, err := f.source()
	if err != nil {
		return nil, err
	}
	if err := f.CheckStandardInput(); err != nil {
		return nil, err
	}
	if err := f.checkGraph(source); err != nil {
		return nil, err
	}
	if err := f.checkLabels(); err != nil {
		return nil, err
	}
	request, err := readJobFile(f.jobFile)
	if err != nil {
		return nil, err
	}
	j := &Job{Request: *request}
	spec := j.Spec
	switch {
	case source == "" && spec.GetDatasetId() == "":
		return nil, shell.Usage("no data to cluster; give --data, --graph or --kernel-matrix")
	case source == "" && describe == nil:
		return nil,
			shell.Usage("%s names a data set by its id, which only a coordinator knows: give --server, or the file "+
				"with --data, --graph or --kernel-matrix", f.jobFile)
	}
	if err := f.checkTable(source); err != nil { // it may read the beginning of standard input
		return nil, err
	}
	kind := f.kindOf(source)
	if source == "" {
		described, err := describe(ctx, spec.GetDatasetId())
		if err != nil {
			return nil, err
		}
		kind = wire.Kind(described.GetKind())
		j.Points = int(described.GetRows())
		j.Columns = int(described.GetColumns())
	}
	if err := f.apply(j, kind); err != nil {
		return nil, err
	}
	if source == "" {
		return j, f.loadTables(j)
	}
	if f.importsObjects() {
		if err := f.checkImport(); err != nil {
			return nil, err
		}
	}
	if f.importsObjects() || f.streams() {
		return j, f.openLater(j)
	}
	l, err := f.Load(ctx, Reading{Drop: f.DropsRows(), Directions: wire.ComparesDirections(spec)})
	if source == "data" && !f.IsTable() {
		err = hintMissingDrop(err)
	}
	if err != nil {
		return nil, err
	}
	j.Loaded, j.Points, j.Columns = *l, l.Data.Rows(), ColumnsOf(l.Data)
	return j, f.loadTables(j)
}

// AllNotices returns what to tell the user before the job begins. A remote coordinator reports how columns became
// features, so that part is left out if remote is set. If brief is set, the report will list the notices about the
// table, and of many only the first are returned.
func (j *Job) AllNotices(remote, brief bool) []string {
	const few = 4
	var all []string
	if j.Table != nil {
		all = append(all, j.Table.Notices...)
		if !remote {
			all = append(all, j.Table.Fitted...)
		}
	}
	if more := len(all) - few; brief && more > 1 {
		all = append(all[:few:few], fmt.Sprintf("and %d more guesses about the table; report.html has all of them",
			more))
	}
	all = append(all, j.Notices...)
	if j.Chosen != "" {
		all = append(all, j.Chosen)
	}
	return all
}

// rememberInputs keeps the tables of the spec as they are before dropped rows are removed from them: a coordinator
// that gets the table drops the rows itself.
func (j *Job) rememberInputs() {
	if j.Table == nil || j.Filter == nil {
		return
	}
	j.Table.inputs = map[string]*cleavev1.TableInput{}
	for _, used := range wire.UsedTables(j.Spec) {
		// Apply replaces the source and never changes it
		j.Table.inputs[used.Field] = &cleavev1.TableInput{Source: used.Input.GetSource()}
	}
}

// RemoteSpec returns the spec for a coordinator that makes points of the rows of the table, which it knows by tableID.
func (j *Job) RemoteSpec(tableID string) *cleavev1.JobSpec {
	spec := proto.CloneOf(j.Spec)
	points := wire.TablePointsProto(j.Table.options)
	points.TableId = tableID
	spec.Data = &cleavev1.JobSpec_Table{Table: points}
	if spec.GetTable().GetLabelColumn() != "" {
		wire.UseLabelsAs(spec, wire.LabelsTruth) // the spec has tables of what is used
	}
	for _, used := range wire.UsedTables(spec) {
		if before := j.Table.inputs[used.Field]; before != nil {
			used.Input.Source = before.GetSource()
		}
	}
	return spec
}

// Locate adds the line of a file to an error of the coordinator about a row: a row of the data, or of a table that
// only the coordinator could check, because it has the ids of the rows.
func (j *Job) Locate(err error) error {
	bad, ok := errors.AsType[*fault.Error](refusal.Of(err))
	if !ok {
		return err
	}
	row, column, problem, ok := bad.Problem()
	if !ok {
		return err
	}
	located := *bad
	if j.Stream == nil {
		located.Message = j.placeOf(row, column)
	} else {
		located.Message = j.streamedPlaceOf(row, bad.Field)
		located.Field = ""
	}
	if located.Message == "" {
		return err
	}
	located.Message += problem
	return &located
}

// streamedPlaceOf names a row of a table that was sent as it was read. It returns "" for other fields.
func (j *Job) streamedPlaceOf(row int, field string) string {
	for _, used := range wire.UsedTables(j.Spec) {
		if path := j.Stream.files[used.Name()]; used.Field == field && path != "" {
			return fmt.Sprintf("%s, line %d", path, table.LineOf(row))
		}
	}
	return ""
}

// placeOf names a row of the table that was read, and a column if it is not negative. It returns "" if there is no
// such row.
func (j *Job) placeOf(point, column int) string {
	if j.Table == nil || j.Table.Source == nil || point < 0 || point >= j.Points {
		return ""
	}
	place := "the row " + j.Table.Source.Place(j.Filter.FileRow(point))
	switch {
	case column >= len(j.Header):
		place += fmt.Sprintf(", column %d", column)
	case column >= 0:
		place += fmt.Sprintf(", column %q", j.Header[column])
	}
	return place
}

// LocalizeLive is Rows.Localize while the job runs. It returns "" for a notice about rows or columns of a table that is
// streamed: their names are known once the job has ended.
func (j *Job) LocalizeLive(n *cleavev1.Notice) string {
	if j.Stream != nil && len(n.GetParts()) > 0 {
		return ""
	}
	return j.Rows.Localize(n)
}
