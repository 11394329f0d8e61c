package cli

import (
	"context"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/recipe"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// jobPredictor assigns points by a job. The coordinator does so for auto, kernel k-means and neighbor graphs; the
// centroids of other jobs are fetched, and points are assigned here.
func (a *app) jobPredictor(ctx context.Context, c *client.Client, jobID string) (*predictor, error) {
	response, err := c.Jobs.GetJob(ctx, &cleavev1.GetJobRequest{JobId: jobID})
	if err != nil {
		return nil, err
	}
	result, err := c.Result(ctx, jobID)
	if err != nil {
		return nil, err
	}
	spec := response.GetSpec()
	steps := wire.Recipe(result.GetRecipe())
	p := &predictor{clusters: int(result.GetK())}
	if spec.GetAuto() != nil || spec.GetKernelKmeans() != nil || spec.GetNeighborGraph() != nil {
		// New points for kernel k-means may have more features than the old ones.
		if steps == nil && (spec.GetAuto() != nil || spec.GetNeighborGraph() != nil) {
			old, err := c.DescribeDataset(ctx, spec.GetDatasetId())
			if err != nil {
				return nil, err
			}
			p.columns = int(old.GetColumns())
		}
		p.assign = func(ctx context.Context, points dataset.Dataset) (*clustering.Prediction, error) {
			return c.Predict(ctx, jobID, points, client.Silent{})
		}
	} else {
		model, err := c.FetchModel(ctx, jobID)
		if err != nil {
			return nil, err
		}
		p = modelPredictor(model)
	}
	p.recipe = steps
	p.directions = wire.ComparesDirections(spec)
	p.classes, err = jobClasses(ctx, c, spec, steps, func() (*client.Outcome, error) {
		return c.Fetch(ctx, jobID, client.LabelsOnly)
	})
	return p, err
}

// jobClasses returns the classes of the clusters of a job whose seeds are the classes in a column of its table, "" for
// a cluster without one. The coordinator keeps numbers of classes only, so their names are read from the table. It
// returns nil for other jobs, and if the tables were deleted. It calls fetch, which returns the job's labels, if it
// needs them.
func jobClasses(ctx context.Context, c *client.Client, spec *cleavev1.JobSpec, steps *recipe.Recipe,
	fetch func() (*client.Outcome, error)) ([]string, error) {
	if steps == nil || steps.Label == "" || spec.GetSupervision().GetSeeds() == nil {
		return nil, nil
	}
	o, err := fetch()
	if err != nil {
		return nil, err
	}
	seeds, err := fetchSeeds(ctx, c, spec, o)
	if err != nil || len(seeds) == 0 {
		return nil, err
	}
	filter := (*jobflags.RowFilter)(nil)
	names := map[int]string{}
	first := 0
	if o.Kept != nil {
		filter = jobflags.FilterOf(o.Kept, o.TableRows())
	}
	for _, seed := range seeds {
		names[int(seed.Index)] = ""
	}
	err = c.EachTableRows(ctx, spec.GetTable().GetTableId(), func(t *table.Table) error {
		for row := range t.Rows() {
			if _, seed := names[first+row]; seed {
				names[first+row] = t.Columns[0].CellText(row)
			}
		}
		first += t.Rows()
		return nil
	}, steps.Label)
	if fault.Is(err, wire.TableNotFound) {
		return nil, nil
	}
	classes := jobflags.NameSeeds(spec.GetK(), seeds, filter, func(row int) string { return names[row] })
	return classes.Of(o.Labels), err
}
