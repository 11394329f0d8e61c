package client

import (
	"context"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// ListJobs lists all jobs in a state, or in any state when it is unspecified.
func (c *Client) ListJobs(ctx context.Context, state cleavev1.JobState) ([]*cleavev1.Job, error) {
	var jobs []*cleavev1.Job
	for token := ""; ; {
		page, err := c.Jobs.ListJobs(ctx, &cleavev1.ListJobsRequest{State: state, PageToken: token})
		if err != nil {
			return nil, c.Explain(err)
		}
		jobs = append(jobs, page.GetJobs()...)
		if token = page.GetNextPageToken(); token == "" {
			return jobs, nil
		}
	}
}

// ListDatasets lists all data sets.
func (c *Client) ListDatasets(ctx context.Context) ([]*cleavev1.Dataset, error) {
	var datasets []*cleavev1.Dataset
	for token := ""; ; {
		page, err := c.Datasets.ListDatasets(ctx, &cleavev1.ListDatasetsRequest{PageToken: token})
		if err != nil {
			return nil, c.Explain(err)
		}
		datasets = append(datasets, page.GetDatasets()...)
		if token = page.GetNextPageToken(); token == "" {
			return datasets, nil
		}
	}
}

// ListTables lists all tables.
func (c *Client) ListTables(ctx context.Context) ([]*cleavev1.Table, error) {
	var tables []*cleavev1.Table
	for token := ""; ; {
		page, err := c.Tables.ListTables(ctx, &cleavev1.ListTablesRequest{PageToken: token})
		if err != nil {
			return nil, c.Explain(err)
		}
		tables = append(tables, page.GetTables()...)
		if token = page.GetNextPageToken(); token == "" {
			return tables, nil
		}
	}
}

// ListWorkers lists all workers.
func (c *Client) ListWorkers(ctx context.Context) ([]*cleavev1.Worker, error) {
	var workers []*cleavev1.Worker
	for token := ""; ; {
		page, err := c.Cluster.ListWorkers(ctx, &cleavev1.ListWorkersRequest{PageToken: token})
		if err != nil {
			return nil, c.Explain(err)
		}
		workers = append(workers, page.GetWorkers()...)
		if token = page.GetNextPageToken(); token == "" {
			return workers, nil
		}
	}
}
