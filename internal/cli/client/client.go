// Package client adds to the public package client what the command line needs: a coordinator and workers in its own
// process, and data sets, tables and results as the types of this module.
package client

import (
	"context"
	"iter"

	"google.golang.org/grpc"

	"github.com/cleave-project/cleave/client"
	"github.com/cleave-project/cleave/internal/dial"
	"github.com/cleave-project/cleave/internal/security/credentials"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// Client calls the coordinator that leads, remote or embedded. It is safe for concurrent use.
type Client struct {
	*client.Client

	// Warn tells the user that calls are retried. It may be nil. Set it before the first call.
	Warn func(format string, args ...any)

	embedded *Cluster // nil if the coordinator is another process
}

// Connect returns a client of the coordinator at an address, or of the one that leads among several, see client.Dial.
func Connect(address string, to credentials.Dial, options ...grpc.DialOption) (*Client, error) {
	c := &Client{}
	with := []client.Option{
		client.WithTLS(to.Dir), client.WithCA(to.CA), client.WithCertificate(to.Cert, to.Key),
		client.WithServerName(to.ServerName), client.WithToken(to.Token), client.WithWarnings(c.warn),
		client.WithGRPC(options...), func(s *dial.Settings) { s.Dial.Terms = credentials.FlagTerms() },
	}
	if to.Insecure {
		with = append(with, client.WithoutEncryption())
	}
	var err error
	if c.Client, err = client.Dial(address, with...); err != nil {
		return nil, err
	}
	return c, nil
}

// warn calls Warn if it is set.
func (c *Client) warn(format string, args ...any) {
	if c.Warn != nil {
		c.Warn(format, args...)
	}
}

// Close closes the connections and stops an embedded cluster.
func (c *Client) Close() {
	c.Client.Close()
	if c.embedded != nil {
		c.embedded.Stop()
	}
}

// Remote reports whether the coordinator is another process.
func (c *Client) Remote() bool { return c.embedded == nil }

// Context returns a copy of ctx that also ends, with the cause, when a part of an embedded cluster fails.
func (c *Client) Context(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.embedded == nil {
		return context.WithCancel(ctx)
	}
	return c.embedded.Context(ctx)
}

// DescribeDataset returns what the coordinator knows about a data set.
func (c *Client) DescribeDataset(ctx context.Context, id string) (*cleavev1.Dataset, error) {
	response, err := c.Datasets.GetDataset(ctx, &cleavev1.GetDatasetRequest{DatasetId: id})
	return response.GetDataset(), err
}

// maxPage is the largest page that a coordinator returns.
const maxPage = 1000

// AllJobs lists the jobs that match a request, at most limit of them, or all if limit is 0. It changes the page
// fields of the request.
func (c *Client) AllJobs(ctx context.Context, request *cleavev1.ListJobsRequest, limit int) ([]*cleavev1.Job, error) {
	request.PageSize = maxPage
	if limit > 0 {
		request.PageSize = int32(min(limit, maxPage))
	}
	return first(c.ListJobs(ctx, request), limit)
}

// All returns the items of a list.
func All[T any](items iter.Seq2[T, error]) ([]T, error) { return first(items, 0) }

// first returns the items of a list, at most limit of them, or all if limit is 0.
func first[T any](items iter.Seq2[T, error], limit int) (all []T, _ error) {
	for item, err := range items {
		if err != nil {
			return nil, err
		}
		if all = append(all, item); len(all) == limit {
			break
		}
	}
	return all, nil
}
