// Package client calls a Cleave coordinator: it uploads data, creates jobs, follows them and fetches their results. The
// command line uses it, too.
//
// A client finds the coordinator that leads, and repeats calls if the connection breaks, the leader changes, or the
// coordinator is overloaded. That is safe: jobs are created with a request ID, and data sets and tables are identified
// by their content. Errors are of type *Error, except for those of a context that has ended.
//
// The messages are those of the API, package cleavev1. The fields of Client have all methods of the API; the methods of
// Client do what takes several calls.
package client

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"google.golang.org/grpc"
	grpcbackoff "google.golang.org/grpc/backoff"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/protobuf/proto"

	"github.com/cleave-project/cleave/internal/dial"
	"github.com/cleave-project/cleave/internal/security/credentials"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// A call may be silent for a long time; pings detect whether the coordinator is still there. The answer to a ping waits
// behind the data of an upload, so that a busy coordinator needs some time.
const (
	pingEvery   = 10 * time.Second
	pingTimeout = 20 * time.Second
)

// connectTimeout limits one attempt to connect. So a client soon tries another coordinator if a machine drops its
// packets.
const connectTimeout = 5 * time.Second

// maxMessageBytes is the size limit of one request or response.
const maxMessageBytes = 64 << 20

// Client calls the coordinator that leads. It is safe for concurrent use.
type Client struct {
	// The methods of the API. They repeat calls as the methods of Client do, except for streams.
	Datasets cleavev1.DatasetServiceClient
	Tables   cleavev1.TableServiceClient
	Jobs     cleavev1.JobServiceClient
	Cluster  cleavev1.ClusterServiceClient

	address string
	leader  *leader
	terms   credentials.Terms
}

// Dial returns a client of the coordinator at an address, HOST:PORT, or of the one that leads among several, whose
// addresses are separated by commas. It sends nothing before the first call. The caller closes the client.
func Dial(addresses string, options ...Option) (*Client, error) {
	s := settings{Warn: func(string, ...any) {}, Dial: credentials.Dial{Terms: optionTerms}}
	for _, option := range options {
		option(&s)
	}
	c := &Client{address: addresses, terms: s.Dial.Terms}
	own := []grpc.DialOption{
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: grpcbackoff.DefaultConfig,
			MinConnectTimeout: connectTimeout}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: pingEvery, Timeout: pingTimeout}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessageBytes), grpc.MaxCallSendMsgSize(maxMessageBytes)),
	}
	var err error
	c.leader, err = newLeader(addresses, func(address string) ([]grpc.DialOption, error) {
		secured, err := s.Dial.Options(nil, address)
		return slices.Concat(own, secured, s.GRPC), err
	})
	if err != nil {
		return nil, asError(err)
	}
	c.leader.warn = s.Warn
	c.leader.explain = c.explain
	c.Datasets = cleavev1.NewDatasetServiceClient(c.leader)
	c.Tables = cleavev1.NewTableServiceClient(c.leader)
	c.Jobs = cleavev1.NewJobServiceClient(c.leader)
	c.Cluster = cleavev1.NewClusterServiceClient(c.leader)
	return c, nil
}

// optionTerms are the terms of messages that name the options of Dial.
var optionTerms = credentials.Terms{
	Server: "the coordinator", Dir: "WithTLS", CA: "WithCA", CAFile: "WithCA", Pair: "WithCertificate",
	ServerName: "WithServerName", Insecure: "WithoutEncryption", Certs: "cleave certs init",
}

// Close closes all connections. Calls in progress fail, and the client must not be used afterward. It returns no error,
// because there is nothing to do about one.
func (c *Client) Close() { c.leader.close() }

// Address returns the addresses that Dial was given.
func (c *Client) Address() string { return c.address }

// Retry calls do until it succeeds, fails for good, or has been tried for long enough. Use it for streams: do opens a
// new one on every call. Calls that do makes with the context that it gets are not repeated by themselves. If another
// attempt would continue after what this one has received, do calls progressed, so that the next failure is the first
// one again. Without that, an attempt that received something is repeated from the start a few times only. Retry
// converts the error of a call that do returns to an *Error.
func (c *Client) Retry(ctx context.Context, do func(ctx context.Context, progressed func()) error) error {
	err := c.leader.repeat(ctx, c.leader.warn, do)
	if final, is := errors.AsType[finalError](err); is {
		return final.err
	}
	return c.explain(ctx, err)
}

// Final returns an error by which a function that Retry calls ends it: Retry returns err as it is, even if it is one
// for which calls to a coordinator are repeated. It returns nil for nil.
func Final(err error) error {
	if err == nil {
		return nil
	}
	return finalError{err}
}

// finalError hides its cause, so that it is no error for which calls are repeated.
type finalError struct{ err error }

func (e finalError) Error() string { return e.err.Error() }

// ListJobs lists the jobs that match a request. It fetches pages as they are needed.
func (c *Client) ListJobs(ctx context.Context, request *cleavev1.ListJobsRequest) iter.Seq2[*cleavev1.Job, error] {
	request = proto.CloneOf(request)
	return pages((*cleavev1.ListJobsResponse).GetJobs, func(token string) (*cleavev1.ListJobsResponse, error) {
		request.PageToken = token
		return c.Jobs.ListJobs(ctx, request)
	})
}

// ListDatasets lists the data sets that the caller may use.
func (c *Client) ListDatasets(ctx context.Context) iter.Seq2[*cleavev1.Dataset, error] {
	return pages((*cleavev1.ListDatasetsResponse).GetDatasets,
		func(token string) (*cleavev1.ListDatasetsResponse, error) {
			return c.Datasets.ListDatasets(ctx, &cleavev1.ListDatasetsRequest{PageToken: token})
		})
}

// ListTables lists the tables that the caller may use.
func (c *Client) ListTables(ctx context.Context) iter.Seq2[*cleavev1.Table, error] {
	return pages((*cleavev1.ListTablesResponse).GetTables, func(token string) (*cleavev1.ListTablesResponse, error) {
		return c.Tables.ListTables(ctx, &cleavev1.ListTablesRequest{PageToken: token})
	})
}

// ListWorkers lists the workers of the coordinator.
func (c *Client) ListWorkers(ctx context.Context) iter.Seq2[*cleavev1.Worker, error] {
	return pages((*cleavev1.ListWorkersResponse).GetWorkers, func(token string) (*cleavev1.ListWorkersResponse, error) {
		return c.Cluster.ListWorkers(ctx, &cleavev1.ListWorkersRequest{PageToken: token})
	})
}

// pages returns the items of all pages. It ends with the first error.
func pages[P interface{ GetNextPageToken() string }, T any](items func(P) []T,
	list func(token string) (P, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for token := ""; ; {
			page, err := list(token)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range items(page) {
				if !yield(item, nil) {
					return
				}
			}
			if token = page.GetNextPageToken(); token == "" {
				return
			}
		}
	}
}

type settings = dial.Settings

// Option changes a setting of Dial.
type Option func(*settings)

// WithTLS encrypts connections with the files in a folder that cleave certs made: ca.pem, and, if they are there,
// cert.pem and key.pem.
func WithTLS(folder string) Option { return func(s *settings) { s.Dial.Dir = folder } }

// WithCA encrypts connections, and trusts the authority whose certificate is in a file.
func WithCA(file string) Option { return func(s *settings) { s.Dial.CA = file } }

// WithCertificate presents the client certificate and its key in these files.
func WithCertificate(certificate, key string) Option {
	return func(s *settings) { s.Dial.Cert, s.Dial.Key = certificate, key }
}

// WithServerName sets the name that the certificate of the coordinator must have, if it differs from the host in the
// address.
func WithServerName(name string) Option { return func(s *settings) { s.Dial.ServerName = name } }

// WithToken sends a token with every call.
func WithToken(token string) Option { return func(s *settings) { s.Dial.Token = token } }

// WithoutEncryption allows unencrypted connections to other machines: anyone on the network path can read
// and change everything.
func WithoutEncryption() Option { return func(s *settings) { s.Dial.Insecure = true } }

// WithWarnings sets a function that is called with messages for the user about retries and reconnecting.
func WithWarnings(warn func(format string, args ...any)) Option {
	return func(s *settings) { s.Warn = warn }
}

// WithGRPC adds options of gRPC to every connection.
func WithGRPC(options ...grpc.DialOption) Option {
	return func(s *settings) { s.GRPC = append(s.GRPC, options...) }
}
