package coordinator

import (
	"context"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/recipe"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/wire"
)

// freshPoints are points that a job did not have.
type freshPoints struct {
	data    dataset.Dataset
	rows    *recipe.Rows // of the table that they are made of; nil: they are a data set
	notices []clustering.Notice
}

// freshPoints loads the new points of a request. Of a table, the recipe of the job makes them.
func (c *Coordinator) freshPoints(ctx context.Context, record *statev1.JobRecord, request *cleavev1.PredictJobRequest) (*freshPoints, error) {
	id := request.GetTableId()
	if id == "" {
		if err := fault.Required("dataset_id", request.GetDatasetId()); err != nil {
			return nil, err
		}
		data, err := c.datasets.Load(ctx, request.GetDatasetId())
		return &freshPoints{data: data}, err
	}
	if request.GetDatasetId() != "" {
		return nil, fault.Invalid("TWO_INPUTS", "the request names a data set and a table; new points are one of them").OnField("table_id")
	}
	outcome, err := c.readOutcome(ctx, record)
	if err != nil {
		return nil, err
	}
	steps := wire.Recipe(outcome.GetResult().GetRecipe())
	if steps == nil {
		return nil, fault.New(fault.FailedPrecondition, "JOB_HAS_NO_RECIPE",
			"job %s did not cluster a table, so that nothing says how points are made of rows; give the new points as a data set", record.GetJob().GetJobId()).
			OnField("table_id").With("job_id", record.GetJob().GetJobId())
	}
	made, err := c.preparedTable(ctx, id, steps)
	if err != nil {
		return nil, wire.OnField(err, "table_id")
	}
	return &freshPoints{data: made.Points, rows: made.Rows(), notices: wire.TableNotices(made.Notices)}, nil
}

// preparedTable makes points of a table by a recipe.
func (c *Coordinator) preparedTable(ctx context.Context, id string, steps *recipe.Recipe) (*recipe.Prepared, error) {
	if err := c.checkTableRows(ctx, id); err != nil {
		return nil, err
	}
	if err := c.checkTable(ctx, id); err != nil {
		return nil, err
	}
	t, err := c.tables.Load(ctx, id)
	if err != nil {
		return nil, err
	}
	return c.applyRecipe(steps, t, c.cfg.MaxDatasetBytes)
}

// trainedOn is what a job clustered.
func (c *Coordinator) trainedOn(ctx context.Context, p *cleavev1.JobSpec) (*input, dataset.Dataset, error) {
	in, err := c.findInput(ctx, p, anySize)
	if err == nil {
		err = in.open()
	}
	if err != nil {
		return nil, nil, err
	}
	data, err := in.load()
	return in, data, err
}
