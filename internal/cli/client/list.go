package client

import (
	"context"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// ListJobs lists all jobs in a state, or in any state when it is unspecified.
func (c *Client) ListJobs(ctx context.Context, state cleavev1.JobState) ([]*cleavev1.Job, error) {
	return allPages(c, (*cleavev1.ListJobsResponse).GetJobs, func(token string) (*cleavev1.ListJobsResponse, error) {
		return c.Jobs.ListJobs(ctx, &cleavev1.ListJobsRequest{State: state, PageToken: token})
	})
}

// ListDatasets lists all data sets.
func (c *Client) ListDatasets(ctx context.Context) ([]*cleavev1.Dataset, error) {
	return allPages(c, (*cleavev1.ListDatasetsResponse).GetDatasets, func(token string) (*cleavev1.ListDatasetsResponse, error) {
		return c.Datasets.ListDatasets(ctx, &cleavev1.ListDatasetsRequest{PageToken: token})
	})
}

// ListTables lists all tables.
func (c *Client) ListTables(ctx context.Context) ([]*cleavev1.Table, error) {
	return allPages(c, (*cleavev1.ListTablesResponse).GetTables, func(token string) (*cleavev1.ListTablesResponse, error) {
		return c.Tables.ListTables(ctx, &cleavev1.ListTablesRequest{PageToken: token})
	})
}

// ListWorkers lists all workers.
func (c *Client) ListWorkers(ctx context.Context) ([]*cleavev1.Worker, error) {
	return allPages(c, (*cleavev1.ListWorkersResponse).GetWorkers, func(token string) (*cleavev1.ListWorkersResponse, error) {
		return c.Cluster.ListWorkers(ctx, &cleavev1.ListWorkersRequest{PageToken: token})
	})
}

// allPages joins the items of all pages of a list.
func allPages[P interface{ GetNextPageToken() string }, T any](c *Client, items func(P) []T, list func(token string) (P, error)) (all []T, _ error) {
	for token := ""; ; {
		page, err := list(token)
		if err != nil {
			return nil, c.Explain(err)
		}
		all = append(all, items(page)...)
		if token = page.GetNextPageToken(); token == "" {
			return all, nil
		}
	}
}
