package cli

import (
	"context"
	"time"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/dataset"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// job is a job made ready: its spec, and its data unless the coordinator has them already.
type job struct {
	spec    *cleavev1.JobSpec
	data    dataset.Dataset
	rows    int
	columns int      // of points
	header  []string // the names of the columns, nil when they have none
	left    *selection
}

// prepare makes a job of the flags and their files. Everything that can be wrong with the flags
// alone is found before a large file is read. remote is nil when there is no coordinator that may
// know a data set already.
func (f *jobFlags) prepare(ctx context.Context, remote *client) (*job, error) {
	source, err := f.source()
	if err != nil {
		return nil, err
	}
	spec, err := readJobFile(f.file)
	if err != nil {
		return nil, err
	}
	switch {
	case source == "" && spec.GetDatasetId() == "":
		return nil, shell.Usage("what is to be clustered? Give --data, --graph or --kernel-matrix")
	case source == "" && remote == nil:
		return nil, shell.Usage("%s names a data set by its id, which only a coordinator knows: give --server, or the file by --data, --graph or --kernel-matrix", f.file)
	}
	if f.given("missing") && source != "data" {
		return nil, shell.Usage("--missing goes with --data only: it is about rows of a file of points")
	}
	if err := f.apply(spec); err != nil {
		return nil, err
	}
	j := &job{spec: spec}
	if source == "" {
		described, err := remote.datasets.GetDataset(ctx, &cleavev1.GetDatasetRequest{DatasetId: spec.GetDatasetId()})
		if err != nil {
			return nil, remote.explain(err)
		}
		if err := f.check(spec, described.GetDataset().GetKind()); err != nil {
			return nil, err
		}
		j.rows, j.columns = int(described.GetDataset().GetRows()), int(described.GetDataset().GetColumns())
		return j, f.loadTables(j)
	}
	if err := f.check(spec, f.kindOf(source)); err != nil {
		return nil, err
	}
	if f.missing.value == "drop" {
		j.data, j.header, j.left, err = loadSelected(f.data, comparesDirections(spec))
	} else if j.data, j.header, err = f.loadData(); source == "data" {
		err = orDrop(err)
	}
	if err != nil {
		return nil, err
	}
	j.rows, j.columns = j.data.Rows(), columnsOf(j.data)
	return j, f.loadTables(j)
}

// submit uploads the data, if need be, and creates the job.
func (c *client) submit(ctx context.Context, j *job, requestID string, p *progress) (*cleavev1.Job, error) {
	if j.data != nil {
		id, err := c.upload(ctx, j.data, j.spec.GetDisplayName(), p)
		if err != nil {
			return nil, err
		}
		j.spec.DatasetId = id
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	// An interrupt must not leave a job behind whose id nobody knows: hear the answer out.
	ctx, cancel := lingering(ctx)
	defer cancel()
	return c.createJob(ctx, j.spec, requestID)
}

// graceTime is how long the last calls may take after the user has interrupted.
const graceTime = 5 * time.Second

// lingering is a context that outlives another by the grace time.
func lingering(ctx context.Context) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(graceTime, cancel)
		context.AfterFunc(longer, func() { timer.Stop() })
	})
	return longer, func() {
		stop()
		cancel()
	}
}
