package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/pflag"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// serverVariable names the coordinator when --server does not.
const serverVariable = "CLEAVE_SERVER"

// retryPolicy is the gRPC service config by which a call is repeated when the coordinator is UNAVAILABLE.
// Its answer may have been lost on the way, so that only those methods are named that may be called twice:
// jobs are created with a request id, and data sets are identified by their content. A second
// DeleteDataset would fail.
func retryPolicy() string {
	var names []string
	for _, method := range []string{
		cleavev1.JobService_PlanJob_FullMethodName,
		cleavev1.JobService_CreateJob_FullMethodName,
		cleavev1.JobService_GetJob_FullMethodName,
		cleavev1.JobService_ListJobs_FullMethodName,
		cleavev1.JobService_CancelJob_FullMethodName,
		cleavev1.JobService_DeleteJob_FullMethodName,
		cleavev1.JobService_WatchJob_FullMethodName,
		cleavev1.JobService_GetResult_FullMethodName,
		cleavev1.JobService_GetLabels_FullMethodName,
		cleavev1.JobService_GetModel_FullMethodName,
		cleavev1.JobService_GetEmbedding_FullMethodName,
		cleavev1.JobService_PredictJob_FullMethodName,
		cleavev1.JobService_EvaluateJob_FullMethodName,
		cleavev1.DatasetService_CreateDataset_FullMethodName,
		cleavev1.DatasetService_GetDataset_FullMethodName,
		cleavev1.DatasetService_ListDatasets_FullMethodName,
		cleavev1.ClusterService_ListWorkers_FullMethodName,
		cleavev1.ClusterService_DrainWorker_FullMethodName,
	} {
		service, name := path.Split(method)
		names = append(names, fmt.Sprintf(`{"service": %q, "method": %q}`, strings.Trim(service, "/"), name))
	}
	return `{"methodConfig": [{"name": [` + strings.Join(names, ", ") + `], "retryPolicy": {
		"maxAttempts": 5, "initialBackoff": "0.1s", "maxBackoff": "2s", "backoffMultiplier": 2,
		"retryableStatusCodes": ["UNAVAILABLE"]}}]}`
}

// A watch may be silent for long; pings find out whether anybody is still there.
const (
	pingEvery   = 30 * time.Second
	pingTimeout = 10 * time.Second
)

// largestMessage is the most that one answer may take.
const largestMessage = 64 << 20

// client speaks to one coordinator, remote or embedded.
type client struct {
	connection *grpc.ClientConn
	address    string
	datasets   cleavev1.DatasetServiceClient
	jobs       cleavev1.JobServiceClient
	cluster    cleavev1.ClusterServiceClient
}

// connect prepares a connection; it is made when the first call needs it.
func connect(address string, options ...grpc.DialOption) (*client, error) {
	options = append([]grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultServiceConfig(retryPolicy()),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: pingEvery, Timeout: pingTimeout}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(largestMessage), grpc.MaxCallSendMsgSize(largestMessage)),
	}, options...)
	connection, err := grpc.NewClient(address, options...)
	if err != nil {
		return nil, shell.Usage("%q is no address of a coordinator, use HOST:PORT: %v", address, err)
	}
	return &client{
		connection: connection,
		address:    address,
		datasets:   cleavev1.NewDatasetServiceClient(connection),
		jobs:       cleavev1.NewJobServiceClient(connection),
		cluster:    cleavev1.NewClusterServiceClient(connection),
	}, nil
}

func (c *client) close() { c.connection.Close() }

// explain turns the error of a call back into the fault it was, and names the coordinator where
// nobody answered.
func (c *client) explain(err error) error {
	if status.Code(err) == codes.Unavailable {
		return fmt.Errorf("the coordinator at %s does not answer: %s", c.address, innermost(status.Convert(err).Message()))
	}
	return wire.Fault(err)
}

// innermost is what happened, without gRPC's wrapping: `... code = Unavailable desc = "reason"`.
func innermost(message string) string {
	if at := strings.LastIndex(message, "desc = "); at >= 0 {
		message = message[at+len("desc = "):]
	}
	return strings.TrimPrefix(strings.Trim(message, `"`), "transport: Error while dialing: ")
}

// addServerFlag declares --server.
func addServerFlag(set *pflag.FlagSet) *string {
	return set.String("server", "", "coordinator to use, `HOST:PORT` (default $"+serverVariable+")")
}

// remote connects to the coordinator that --server or the environment names.
func (a *app) remote(server string) (*client, error) {
	if server == "" {
		server = a.env(serverVariable)
	}
	if server == "" {
		return nil, shell.Usage("which coordinator? Give --server HOST:PORT or set %s", serverVariable)
	}
	return connect(server)
}

// createJob creates a job. With a request id of the user's the call may be repeated later, with the
// one made here only within this call's own retries.
func (c *client) createJob(ctx context.Context, spec *cleavev1.JobSpec, requestID string) (*cleavev1.Job, error) {
	if requestID == "" {
		requestID = uuid.NewString()
	}
	response, err := c.jobs.CreateJob(ctx, &cleavev1.CreateJobRequest{Spec: spec, RequestId: requestID})
	if err != nil {
		return nil, c.explain(err)
	}
	return response.GetJob(), nil
}

// labels fetches the labels of a job that has ended.
func (c *client) labels(ctx context.Context, jobID string) ([]int32, error) {
	stream, err := c.jobs.GetLabels(ctx, &cleavev1.GetLabelsRequest{JobId: jobID})
	if err != nil {
		return nil, c.explain(err)
	}
	return receiveLabels(c, stream.Recv)
}

// labelPart is a portion of labels, of a job's own points or of new ones.
type labelPart interface {
	GetFirstIndex() uint32
	GetLabels() []uint32
}

// receiveLabels puts the portions of a stream together.
func receiveLabels[P labelPart](c *client, receive func() (P, error)) ([]int32, error) {
	var labels []int32
	for {
		part, err := receive()
		if errors.Is(err, io.EOF) {
			return labels, nil
		}
		if err != nil {
			return nil, c.explain(err)
		}
		if int(part.GetFirstIndex()) != len(labels) {
			return nil, fmt.Errorf("the coordinator sent labels from %d on where %d was next", part.GetFirstIndex(), len(labels))
		}
		for _, label := range part.GetLabels() {
			labels = append(labels, int32(label))
		}
	}
}

// model fetches the model of a job of the vector family.
func (c *client) model(ctx context.Context, jobID string) (*clustering.Model, error) {
	stream, err := c.jobs.GetModel(ctx, &cleavev1.GetModelRequest{JobId: jobID})
	if err != nil {
		return nil, c.explain(err)
	}
	model, err := wire.ReceiveModel(stream.Recv)
	if err != nil {
		return nil, c.explain(err)
	}
	return model, nil
}

// modelHead fetches what a model is, without its values.
func (c *client) modelHead(ctx context.Context, jobID string) (*cleavev1.ModelHead, error) {
	ctx, cancel := context.WithCancel(ctx) // lets go of the rest
	defer cancel()
	stream, err := c.jobs.GetModel(ctx, &cleavev1.GetModelRequest{JobId: jobID})
	if err != nil {
		return nil, c.explain(err)
	}
	part, err := stream.Recv()
	if err != nil {
		return nil, c.explain(err)
	}
	return part.GetHead(), nil
}
