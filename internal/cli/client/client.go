// Package client calls a coordinator for the command line: it uploads data, creates jobs, follows them and fetches their
// results. The coordinator is another process, or is embedded in this one with its workers; all calls are the same.
package client

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/security/credentials"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// A watch may be silent for a long time; pings detect whether the coordinator is still there.
const (
	pingEvery   = 10 * time.Second
	pingTimeout = 5 * time.Second
)

// maxMessageBytes is the size limit of one request or response.
const maxMessageBytes = 64 << 20

// Client calls the coordinator that leads, remote or embedded. It is safe for concurrent use.
type Client struct {
	Datasets cleavev1.DatasetServiceClient
	Tables   cleavev1.TableServiceClient
	Jobs     cleavev1.JobServiceClient
	Cluster  cleavev1.ClusterServiceClient

	// Warn tells the user that calls are retried. It may be nil. Set it before the first call.
	Warn func(format string, args ...any)

	address  string
	leader   *leader
	embedded *Cluster // nil if the coordinator is another process
}

// Connect returns a client of the coordinator at an address, or of the one that leads among several, whose addresses are
// separated by commas. It sends nothing before the first call. The caller closes the client.
func Connect(address string, dial credentials.Dial, options ...grpc.DialOption) (*Client, error) {
	c := &Client{address: address}
	own := []grpc.DialOption{
		grpc.WithUnaryInterceptor(c.repeatUnary),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: pingEvery, Timeout: pingTimeout}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessageBytes), grpc.MaxCallSendMsgSize(maxMessageBytes)),
	}
	var err error
	c.leader, err = newLeader(address, func(address string) ([]grpc.DialOption, error) {
		secured, err := dial.Options(nil, address)
		return slices.Concat(own, secured, options), err
	})
	if err != nil {
		return nil, err
	}
	c.leader.warn = c.warn
	c.Datasets, c.Tables = cleavev1.NewDatasetServiceClient(c.leader), cleavev1.NewTableServiceClient(c.leader)
	c.Jobs, c.Cluster = cleavev1.NewJobServiceClient(c.leader), cleavev1.NewClusterServiceClient(c.leader)
	return c, nil
}

// Close closes the connections and stops an embedded cluster.
func (c *Client) Close() {
	c.leader.close()
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

// Explain converts the error of a call to the fault that the coordinator reported, or to an error that names the coordinator
// if it did not answer. It returns nil for nil.
func (c *Client) Explain(err error) error {
	if status.Code(err) != codes.Unavailable {
		return wire.Fault(err)
	}
	if reason := wire.Reason(err); reason != "" && reason != wire.NotLeader {
		return fault.New(fault.Unavailable, reason, "the coordinator at %s cannot do it now: %s", c.address, status.Convert(err).Message())
	}
	message, reason := innermost(status.Convert(err).Message()), "NOT_REACHABLE"
	explained := credentials.Explain(message)
	if explained != message || strings.Contains(status.Convert(err).Message(), "authentication handshake failed") {
		reason = shell.HandshakeFailed
	}
	return fault.New(fault.Unavailable, reason, "the coordinator at %s does not answer: %s", c.address, explained)
}

// innermost returns the cause of a failed connection without gRPC's wrapping: `... code = Unavailable desc = "reason"`.
func innermost(message string) string {
	if at := strings.LastIndex(message, "desc = "); at >= 0 {
		message = message[at+len("desc = "):]
	}
	message = strings.Trim(message, `"`)
	for _, wrapping := range []string{"transport: Error while dialing: ", "transport: authentication handshake failed: "} {
		message = strings.TrimPrefix(message, wrapping)
	}
	return message
}

// DescribeDataset returns what the coordinator knows about a data set.
func (c *Client) DescribeDataset(ctx context.Context, id string) (*cleavev1.Dataset, error) {
	response, err := c.Datasets.GetDataset(ctx, &cleavev1.GetDatasetRequest{DatasetId: id})
	if err != nil {
		return nil, c.Explain(err)
	}
	return response.GetDataset(), nil
}

// DescribeTable returns the number of rows of a table and its id, or the id alone if the coordinator no longer has the table.
func (c *Client) DescribeTable(ctx context.Context, input *cleavev1.TableInput) string {
	if columns := input.GetInline().GetColumns(); len(columns) > 0 {
		return fmt.Sprint(len(columns[0].GetIntegers().GetValues()))
	}
	response, err := c.Tables.GetTable(ctx, &cleavev1.GetTableRequest{TableId: input.GetTableId()})
	if err != nil {
		return input.GetTableId()
	}
	return fmt.Sprintf("%d (%s)", response.GetTable().GetRows(), input.GetTableId())
}

// maxPage is the largest page that a coordinator returns.
const maxPage = 1000

// ListJobs lists the jobs that match a request, at most limit of them, or all if limit is 0. It changes the page fields of the
// request.
func (c *Client) ListJobs(ctx context.Context, request *cleavev1.ListJobsRequest, limit int) ([]*cleavev1.Job, error) {
	request.PageSize = maxPage
	if limit > 0 {
		request.PageSize = int32(min(limit, maxPage))
	}
	return pages(c, limit, (*cleavev1.ListJobsResponse).GetJobs, func(token string) (*cleavev1.ListJobsResponse, error) {
		request.PageToken = token
		return c.Jobs.ListJobs(ctx, request)
	})
}

// ListDatasets lists all data sets.
func (c *Client) ListDatasets(ctx context.Context) ([]*cleavev1.Dataset, error) {
	return pages(c, 0, (*cleavev1.ListDatasetsResponse).GetDatasets, func(token string) (*cleavev1.ListDatasetsResponse, error) {
		return c.Datasets.ListDatasets(ctx, &cleavev1.ListDatasetsRequest{PageToken: token})
	})
}

// ListTables lists all tables.
func (c *Client) ListTables(ctx context.Context) ([]*cleavev1.Table, error) {
	return pages(c, 0, (*cleavev1.ListTablesResponse).GetTables, func(token string) (*cleavev1.ListTablesResponse, error) {
		return c.Tables.ListTables(ctx, &cleavev1.ListTablesRequest{PageToken: token})
	})
}

// ListWorkers lists all workers.
func (c *Client) ListWorkers(ctx context.Context) ([]*cleavev1.Worker, error) {
	return pages(c, 0, (*cleavev1.ListWorkersResponse).GetWorkers, func(token string) (*cleavev1.ListWorkersResponse, error) {
		return c.Cluster.ListWorkers(ctx, &cleavev1.ListWorkersRequest{PageToken: token})
	})
}

// pages joins the items of pages until there are limit items, or all if limit is 0.
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
