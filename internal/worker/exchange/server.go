package exchange

import (
	"crypto/hmac"
	"net"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/wire"
)

const (
	// peerChunkBytes is the size of the messages that a piece is cut into.
	peerChunkBytes = 256 << 10
	// windowBytes is how much of a stream may be on its way.
	windowBytes = 1 << 20
	// servedAtOnce is how many pieces a worker reads and sends at the same time; more requests wait.
	servedAtOnce = 8
	// requestBytes limits the size of a request.
	requestBytes = 4 << 10
	// pieceTimeout is how long a worker may wait for its turn, and then how long it may take to accept a piece.
	pieceTimeout = time.Minute
	// aliveEvery is how often a worker that waits for a piece itself says so, and how often the coordinator is told
	// that a source is alive.
	aliveEvery = time.Second
)

// server serves pieces of the cache to other workers. It hands out a piece only for a ticket of the coordinator.
type server struct {
	workerv1.UnimplementedPeerServiceServer
	exchange *Exchange
	slots    chan struct{}
	key      atomic.Pointer[[]byte] // of tickets; nil before the first welcome
}

// allows reports whether a ticket is good. Nothing is allowed before the coordinator has sent a key.
func (s *server) allows(r *workerv1.FetchPieceRequest) bool {
	key := s.key.Load()
	return key != nil && len(*key) > 0 &&
		hmac.Equal(r.GetTicket(), wire.PieceTicket(*key, r.GetDatasetId(), r.GetSessionId()))
}

// FetchPiece implements PeerService.
func (s *server) FetchPiece(r *workerv1.FetchPieceRequest, stream workerv1.PeerService_FetchPieceServer) error {
	if !s.allows(r) {
		from, _ := peer.FromContext(stream.Context())
		s.exchange.cfg.Logger.Warn("refused a worker that asked for a piece without a ticket from the coordinator",
			"from", from.Addr)
		return status.Error(codes.PermissionDenied, "the ticket is not one of the coordinator for this worker")
	}
	for {
		passing, err := s.awaitPiece(r, stream)
		if err != nil {
			return err
		}
		err = s.sendInTurn(r, stream)
		if err != errNotCached {
			return err
		}
		if passing == nil {
			return status.Error(codes.NotFound, notHere)
		}
		passing.lose(int(r.GetPiece())) // what was on disk was damaged
	}
}

// notHere is the message for a piece that the worker does not have and does not fetch.
const notHere = "the worker does not have the piece"

// awaitPiece waits until the cache has a piece that this worker fetches, and tells the other one meanwhile that it is
// alive. passing is the share that fetches it, or nil if there is none.
func (s *server) awaitPiece(r *workerv1.FetchPieceRequest,
	stream workerv1.PeerService_FetchPieceServer) (passing *Share, err error) {
	if passing = s.exchange.passing(r.GetDatasetId()); passing == nil {
		return nil, nil // the cache may have it
	}
	err = passing.awaitKept(stream.Context(), int(r.GetPiece()), aliveEvery, func() error {
		return stream.Send(&workerv1.FetchPieceResponse{})
	})
	if err == errNotCached {
		return nil, status.Error(codes.NotFound, notHere)
	}
	return passing, err
}

// sendInTurn sends a piece when it is its turn. A goroutine sends, so that a worker that accepts nothing cannot hold a
// slot forever.
func (s *server) sendInTurn(r *workerv1.FetchPieceRequest, stream workerv1.PeerService_FetchPieceServer) error {
	timer := time.NewTimer(pieceTimeout)
	defer timer.Stop()
	select {
	case s.slots <- struct{}{}:
	case <-timer.C:
		return status.Error(codes.ResourceExhausted, "the worker serves too many others")
	case <-stream.Context().Done():
		return stream.Context().Err()
	}
	timer.Reset(pieceTimeout)
	sent := make(chan error, 1)
	go func() {
		defer func() { <-s.slots }()
		sent <- s.send(r, stream)
	}()
	select {
	case err := <-sent:
		return err
	case <-timer.C:
		return status.Error(codes.DeadlineExceeded, "the piece was not accepted in time")
	}
}

// send reads a piece, checks it and sends it. It returns errNotCached if the cache does not have it.
func (s *server) send(r *workerv1.FetchPieceRequest, stream workerv1.PeerService_FetchPieceServer) error {
	e := s.exchange
	buffer := e.buffer()
	defer e.reuse(buffer)
	data, err := e.cfg.Cache.Get(r.GetDatasetId(), int(r.GetPiece()), buffer, true)
	if err != nil {
		return err
	}
	for len(data) > 0 {
		n := min(len(data), peerChunkBytes)
		// Send has encoded the message when it returns, and no handler of statistics looks at it later, so that the
		// buffer can be used again.
		if err := stream.Send(&workerv1.FetchPieceResponse{Data: data[:n]}); err != nil {
			return err
		}
		e.cfg.Served(n)
		data = data[n:]
	}
	return nil
}

// serve serves other workers on a listener until stop is called.
func (s *server) serve(listener net.Listener, secured grpc.ServerOption) (stop func()) {
	g := grpc.NewServer(secured,
		grpc.MaxRecvMsgSize(requestBytes), grpc.MaxConcurrentStreams(4*servedAtOnce),
		grpc.ConnectionTimeout(connectTimeout),
		grpc.MaxHeaderListSize(requestBytes),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second,
			PermitWithoutStream: true}),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 10 * time.Second, Timeout: 10 * time.Second,
			MaxConnectionIdle: 5 * time.Minute}))
	workerv1.RegisterPeerServiceServer(g, s)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := g.Serve(listener); err != nil {
			s.exchange.cfg.Logger.Warn("this worker no longer serves others", "error", err)
		}
	}()
	return func() {
		g.Stop()
		<-done
	}
}
