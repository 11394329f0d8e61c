package cli

import (
	"context"
	"fmt"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/table"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// inputOf is the spec of a job for a coordinator, and the data to be sent for it. A remote coordinator gets an ordinary table as
// it is, and makes the points, so that its result has the recipe; in this process the points are there already, and the same
// to the last bit.
func (a *app) inputOf(ctx context.Context, c *client.Client, j *jobflags.Job, w client.Watcher) (*cleavev1.JobSpec, dataset.Dataset, error) {
	if !c.Remote() {
		return j.Spec, j.Data, nil
	}
	if s := j.Stream(); s != nil {
		id, err := a.stream(ctx, c, j, s)
		if err != nil {
			return nil, nil, err
		}
		spec, _ := j.OfRows()
		spec.Table.TableId = id
		return spec, nil, nil
	}
	spec, table := j.OfRows()
	if table == nil {
		return j.Spec, j.Data, nil
	}
	id, err := c.UploadTable(ctx, spec.GetDisplayName(), table, w)
	spec.Table.TableId = id
	return spec, nil, err
}

// stream sends a table as it is read, completes the spec by what was read of it, and returns its id.
func (a *app) stream(ctx context.Context, c *client.Client, j *jobflags.Job, s *jobflags.Stream) (string, error) {
	var notices []string
	stored, err := c.StreamTable(ctx, j.Spec.GetDisplayName(), func(send func(next func() (*table.Table, error)) error) (err error) {
		notices, err = s.Read(send)
		return err
	})
	if err == nil {
		var more []string
		more, err = j.Sent(int(stored.GetRows()))
		notices = append(notices, more...)
	}
	for _, notice := range notices {
		fmt.Fprintf(a.stderr, "cleave: %s\n", notice)
	}
	return stored.GetTableId(), err
}
