package cli

import (
	"context"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/dataset"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// inputOf is the spec of a job for a coordinator, and the data to be sent for it. A remote coordinator gets an ordinary table as
// it is, and makes the points, so that its result has the recipe; in this process the points are there already, and the same
// to the last bit.
func inputOf(ctx context.Context, c *client.Client, j *jobflags.Job, w client.Watcher) (*cleavev1.JobSpec, dataset.Dataset, error) {
	spec, table := j.OfRows()
	if table == nil || !c.Remote() {
		return j.Spec, j.Data, nil
	}
	id, err := c.UploadTable(ctx, spec.GetDisplayName(), table, w)
	spec.Table.TableId = id
	return spec, nil, err
}
