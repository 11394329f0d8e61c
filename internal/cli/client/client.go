// Package client speaks to a coordinator for the command line: it uploads data, creates jobs, follows them
// and fetches what they found. The coordinator is another process, or one embedded in this process with its
// workers; all calls are the same.
package client

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"github.com/cleave-project/cleave/internal/security/credentials"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// A watch may be silent for a long time; pings find out whether the coordinator is still there.
const (
	pingEvery   = 10 * time.Second
	pingTimeout = 5 * time.Second
)

// maxMessageBytes is the size limit of one request or answer.
const maxMessageBytes = 64 << 20

// Client speaks to the coordinator that leads, remote or embedded.
type Client struct {
	Datasets cleavev1.DatasetServiceClient
	Tables   cleavev1.TableServiceClient
	Jobs     cleavev1.JobServiceClient
	Cluster  cleavev1.ClusterServiceClient

	// Warn tells the user that calls are repeated; nil: nobody is told.
	Warn func(format string, args ...any)

	address  string
	leader   *leader
	embedded *Cluster // nil: the coordinator is another process
}

// Connect prepares a connection to a coordinator, or to that of several, with commas between their addresses, which
// leads. Nothing is sent before the first call.
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

// Close ends the connection, and an embedded cluster with it.
func (c *Client) Close() {
	c.leader.close()
	if c.embedded != nil {
		c.embedded.Stop()
	}
}

// Context is ctx, but it also ends, with the cause, when a part of an embedded cluster breaks down.
func (c *Client) Context(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.embedded == nil {
		return context.WithCancel(ctx)
	}
	return c.embedded.Context(ctx)
}

// Explain turns the error of a call into the fault that the coordinator reported, and names the coordinator
// when it did not answer.
func (c *Client) Explain(err error) error {
	if status.Code(err) == codes.Unavailable {
		if reason := wire.Reason(err); reason != "" && reason != wire.NotLeader {
			return fmt.Errorf("the coordinator at %s cannot do it now: %s", c.address, status.Convert(err).Message())
		}
		return fmt.Errorf("the coordinator at %s does not answer: %s", c.address, credentials.Explain(innermost(status.Convert(err).Message())))
	}
	return wire.Fault(err)
}

// innermost is the cause of a failed connection without gRPC's wrapping: `... code = Unavailable desc = "reason"`.
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

// DescribeDataset is what the coordinator knows about a data set.
func (c *Client) DescribeDataset(ctx context.Context, id string) (*cleavev1.Dataset, error) {
	response, err := c.Datasets.GetDataset(ctx, &cleavev1.GetDatasetRequest{DatasetId: id})
	if err != nil {
		return nil, c.Explain(err)
	}
	return response.GetDataset(), nil
}

// DescribeTable is how many rows a table has, and its id; of one that the coordinator has no more, the id
// alone.
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

// createJob creates a job. A request id from the user also makes later calls idempotent; one made here only
// the retries of this call.
func (c *Client) createJob(ctx context.Context, request *cleavev1.CreateJobRequest) (*cleavev1.Job, error) {
	if request.GetRequestId() == "" {
		request.RequestId = uuid.NewString()
	}
	response, err := c.Jobs.CreateJob(ctx, request)
	if err != nil {
		return nil, c.Explain(err)
	}
	return response.GetJob(), nil
}
