package jobflags

import (
	"cmp"
	"context"
	"io"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// Job is a job to be submitted: its spec, with the tables from files inline, and its data unless the
// coordinator has them already.
type Job struct {
	Spec *cleavev1.JobSpec
	Name string // for people
	// Scheduling is when and how the job runs.
	Scheduling *cleavev1.Scheduling
	Data       dataset.Dataset
	Rows       int
	Columns    int        // of points
	Header     []string   // the names of the columns, nil when they have none
	Filter     *RowFilter // nil: no row was dropped
	Table      *Rows      // what else an ordinary table says; nil: the data are none
	Notices    []string   // what there is to say about the input, besides what Table says
	Chosen     string     // for people: why the algorithm is not the default though none was named; "": there is nothing to say
	// Constraints are those of the spec, unless only the coordinator has them.
	Constraints []constraint.Constraint

	classes table.Classes // those that seeds and the truth name
	seeds   [][2]int32    // rows of the file and their classes
	stdin   io.Reader
	known   *Truth // what the column of classes says, about the rows of the file
}

// Prepare makes a job of the flags and their files. What is wrong with the flags alone is found before a
// large file is read. describe asks the coordinator about a data set that it has; it is nil when there is no
// coordinator yet.
func (f *Flags) Prepare(ctx context.Context, describe func(ctx context.Context, datasetID string) (*cleavev1.Dataset, error)) (*Job, error) {
	source, err := f.source()
	if err != nil {
		return nil, err
	}
	file, err := readJobFile(f.file)
	if err != nil {
		return nil, err
	}
	spec := file.spec
	switch {
	case source == "" && spec.GetDatasetId() == "":
		return nil, shell.Usage("what is to be clustered? Give --data, --graph or --kernel-matrix")
	case source == "" && describe == nil:
		return nil, shell.Usage("%s names a data set by its id, which only a coordinator knows: give --server, or the file by --data, --graph or --kernel-matrix", f.file)
	}
	if err := cmp.Or(f.checkStandardInput(), f.checkTable(source), f.checkGraph(source), f.checkLabels()); err != nil {
		return nil, err
	}
	j, kind := &Job{Spec: spec, Name: file.name, Scheduling: file.scheduling, stdin: f.Stdin}, f.kindOf(source)
	if source == "" {
		described, err := describe(ctx, spec.GetDatasetId())
		if err != nil {
			return nil, err
		}
		kind, j.Rows, j.Columns = wire.Kind(described.GetKind()), int(described.GetRows()), int(described.GetColumns())
	}
	if err := f.apply(j, kind); err != nil {
		return nil, err
	}
	if err := f.check(spec, kind); err != nil {
		return nil, err
	}
	if source == "" {
		return j, f.loadTables(j)
	}
	if f.streams() {
		return j, f.openLater(j)
	}
	if f.IsTable() {
		j.Data, j.Header, j.Filter, j.Table, err = f.loadTable(wire.ComparesDirections(spec))
	} else if f.DropsRows() {
		j.Data, j.Header, j.Filter, err = f.loadUsable(f.data, wire.ComparesDirections(spec))
	} else if j.Data, j.Header, err = f.Load(); source == "data" {
		err = hintMissingDrop(err)
	}
	if source == "graph" {
		j.Table = f.Rows
	}
	if err != nil {
		return nil, err
	}
	j.Rows, j.Columns = j.Data.Rows(), ColumnsOf(j.Data)
	return j, f.loadTables(j)
}

// Request returns the request that creates the job. The spec is that of the job, with its data and tables by their ids. A
// request id makes the call repeatable; it may be empty.
func (j *Job) Request(spec *cleavev1.JobSpec, requestID string) *cleavev1.CreateJobRequest {
	return &cleavev1.CreateJobRequest{Spec: spec, RequestId: requestID, DisplayName: j.Name, Scheduling: j.Scheduling}
}

// AllNotices are what there is to say before the job begins, here or on a remote coordinator.
func (j *Job) AllNotices(remote bool) []string {
	var all []string
	if j.Table != nil {
		all = append(all, j.Table.Notices...)
		if !remote { // else the coordinator says it
			all = append(all, j.Table.Fitted...)
		}
	}
	all = append(all, j.Notices...)
	if j.Chosen != "" {
		all = append(all, j.Chosen)
	}
	return all
}
