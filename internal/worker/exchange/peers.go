package exchange

import (
	"context"
	"errors"
	"sync"
	"time"

	"google.golang.org/grpc"
	grpcbackoff "google.golang.org/grpc/backoff"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/security/credentials"
)

// connectTimeout is how long a connection to another worker may take.
const connectTimeout = 5 * time.Second

// peers holds connections to other workers, one to each. It is safe for concurrent use.
type peers struct {
	options func(address string) ([]grpc.DialOption, error)

	mu          sync.Mutex
	connections map[string]*grpc.ClientConn // by address
}

// client returns a client of the worker at an address.
func (p *peers) client(address string) (workerv1.PeerServiceClient, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.connections[address]
	if c == nil {
		secured, err := p.options(address)
		if err != nil {
			return nil, err
		}
		c, err = grpc.NewClient("passthrough:///"+address, append(secured,
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(2*peerChunkBytes)),
			grpc.WithInitialWindowSize(windowBytes), grpc.WithInitialConnWindowSize(2*windowBytes),
			grpc.WithConnectParams(grpc.ConnectParams{Backoff: grpcbackoff.DefaultConfig,
				MinConnectTimeout: connectTimeout}),
			grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 5 * time.Second}))...)
		if err != nil {
			return nil, err
		}
		p.connections[address] = c
	}
	return workerv1.NewPeerServiceClient(c), nil
}

// drop closes the connection to a worker that failed. Other transfers on it fail too.
func (p *peers) drop(address string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.connections[address]; c != nil {
		_ = c.Close()
		delete(p.connections, address)
	}
}

func (p *peers) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for address, c := range p.connections {
		_ = c.Close()
		delete(p.connections, address)
	}
}

// fetch reads a piece from another worker into a buffer with the size of the piece. arrived is called with the size of
// each chunk.
func (p *peers) fetch(ctx context.Context, address string, r *workerv1.FetchPieceRequest, buffer []byte,
	arrived func(int)) error {
	client, err := p.client(address)
	if err != nil {
		return err
	}
	stream, err := client.FetchPiece(ctx, r)
	if err != nil {
		return err
	}
	return fill(buffer, stream.Recv, arrived)
}

var (
	// errWrongBytes is the failure of a source that sent other bytes than the piece has.
	errWrongBytes = errors.New("the bytes are not those of the piece")
	// errStalled is the failure of a source that sent nothing for too long.
	errStalled = errors.New("it sent nothing for too long")
	// errSlow is the failure of a worker that took too long for a piece.
	errSlow = errors.New("it sends too slowly")
	// errBehind is the failure of a worker that waits for a piece itself, for too long.
	errBehind = errors.New("it does not get the piece itself")
)

// messageOf returns what people are told about a source that failed.
func messageOf(err error) string {
	if s, is := status.FromError(err); is {
		return credentials.FlagTerms().Explain(s.Message())
	}
	return err.Error()
}
