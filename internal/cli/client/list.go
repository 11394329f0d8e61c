package client

import (
	"context"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// maxPage is the largest page that a coordinator gives.
const maxPage = 1000

// ListJobs lists the jobs that a request asks for, from its first page on: at most so many, or all when the limit is 0.
func (c *Client) ListJobs(ctx context.Context, request *cleavev1.ListJobsRequest, limit int) ([]*cleavev1.Job, error) {
	size := maxPage
	if limit > 0 {
		size = min(limit, maxPage)
	}
	return pages(c, limit, (*cleavev1.ListJobsResponse).GetJobs, func(token string) (*cleavev1.ListJobsResponse, error) {
		request.PageToken, request.PageSize = token, int32(size)
		return c.Jobs.ListJobs(ctx, request)
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
func allPages[P interface{ GetNextPageToken() string }, T any](c *Client, items func(P) []T, list func(token string) (P, error)) ([]T, error) {
	return pages(c, 0, items, list)
}

// pages joins the items of pages until there are so many, or all when the limit is 0.
func pages[P interface{ GetNextPageToken() string }, T any](c *Client, limit int, items func(P) []T, list func(token string) (P, error)) (all []T, _ error) {
	for token := ""; ; {
		page, err := list(token)
		if err != nil {
			return nil, c.Explain(err)
		}
		all = append(all, items(page)...)
		if limit > 0 && len(all) >= limit {
			return all[:limit], nil
		}
		if token = page.GetNextPageToken(); token == "" {
			return all, nil
		}
	}
}
