package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/dataset"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// inputOf is the spec of a job for a coordinator, and the data to be sent for it. A remote coordinator gets an ordinary table as
// it is, and makes the points, so that its result has the recipe; in this process the points are there already, and the same
// to the last bit.
func (a *app) inputOf(ctx context.Context, c *client.Client, j *jobflags.Job, w client.Watcher) (*cleavev1.JobSpec, dataset.Dataset, error) {
	if !c.Remote() {
		return j.Spec, j.Data, nil
	}
	spec, table := j.OfRows()
	if open := j.Open(); open != nil {
		id, err := a.stream(ctx, c, spec.GetDisplayName(), open)
		spec.Table.TableId = id
		return spec, nil, err
	}
	if table == nil {
		return j.Spec, j.Data, nil
	}
	id, err := c.UploadTable(ctx, spec.GetDisplayName(), table, w)
	spec.Table.TableId = id
	return spec, nil, err
}

// stream sends a table as it is read, and returns its id.
func (a *app) stream(ctx context.Context, c *client.Client, name string, open func() (*format.TableReader, error)) (string, error) {
	r, err := open()
	if err != nil {
		return "", err
	}
	defer r.Close()
	for {
		stored, err := wire.SendBatches(ctx, c.Tables, name, r.Next)
		if errors.Is(err, format.ErrRestarted) {
			continue
		}
		for _, notice := range r.Notices() {
			fmt.Fprintf(a.stderr, "cleave: %s\n", notice)
		}
		return stored.GetTableId(), c.Explain(err)
	}
}

// called gives the rows of a table that was sent as it was read their numbers and ids, which come with the labels.
func called(j *jobflags.Job, o *client.Outcome) []string {
	if j.Open() == nil {
		return j.IDs().All()
	}
	if o.IDs == nil && o.Kept != nil {
		j.Filter = jobflags.FilterOf(o.Kept, len(o.Labels)+int(o.Result.GetDroppedRows()))
	}
	return o.IDs
}
