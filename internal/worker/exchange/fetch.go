package exchange

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/dial/backoff"
	"github.com/cleave-project/cleave/internal/wire"
)

// obtain fetches an assigned piece, checks it, and keeps it. A source other than the coordinator that fails is
// reported, and the coordinator assigns another. An error ends the stream.
func (s *Share) obtain(ctx context.Context, m *workerv1.DistributeResponse) error {
	piece := int(m.GetPiece())
	if piece >= s.pieces || len(m.GetSha256()) != sha256.Size {
		return fmt.Errorf("worker: the coordinator assigns piece %d of %d with a hash of %d bytes", piece, s.pieces, len(m.GetSha256()))
	}
	e := s.exchange
	buffer := e.buffer()[:wire.PieceSize(s.bytes, piece)]
	hash := [sha256.Size]byte(m.GetSha256())
	err := s.fetch(ctx, m, buffer)
	if err == nil && sha256.Sum256(buffer) != hash {
		err = errWrongBytes
	}
	if err == nil {
		return s.keep(piece, hash, buffer)
	}
	e.reuse(buffer)
	if ctx.Err() != nil {
		return nil // the share has ended
	}
	if m.GetSource() == nil {
		if err == errWrongBytes {
			err = fmt.Errorf("worker: piece %d of data set %s arrived damaged from the coordinator", piece, s.id)
		}
		return err
	}
	failure, message := failureOf(err)
	if peer := m.GetPeer(); peer != nil && failure == workerv1.PieceFailure_PIECE_FAILURE_UNREACHABLE {
		e.peers.drop(peer.GetAddress())
	}
	e.cfg.Logger.Warn("a piece of a data set did not arrive; asking for another source", "dataset", s.id, "piece", piece,
		"from", cmp.Or(m.GetPeer().GetName(), "the object store"), "address", m.GetPeer().GetAddress(), "error", message)
	s.report(&workerv1.DistributeRequest{Message: &workerv1.DistributeRequest_Failed{Failed: &workerv1.PieceFailed{
		Piece: m.GetPiece(), Failure: failure, Message: message,
	}}})
	return nil
}

// fetch reads a piece into a buffer of its size from wherever the assignment says.
func (s *Share) fetch(ctx context.Context, m *workerv1.DistributeResponse, buffer []byte) error {
	offset := int64(m.GetPiece()) * wire.PieceBytes
	switch source := m.GetSource().(type) {
	case nil:
		return s.fromCoordinator(ctx, offset, buffer)
	case *workerv1.DistributeResponse_Peer:
		request := &workerv1.FetchPieceRequest{
			DatasetId: s.id, Piece: m.GetPiece(), SessionId: s.coordinator.PeerID, Ticket: source.Peer.GetTicket(),
		}
		return s.watched(ctx, FromPeer, func(ctx context.Context, arrived func(int)) error {
			return s.exchange.peers.fetch(ctx, source.Peer.GetAddress(), request, buffer, arrived)
		})
	case *workerv1.DistributeResponse_Store:
		return s.watched(ctx, FromStore, func(ctx context.Context, arrived func(int)) error {
			return s.exchange.fromStore(ctx, source.Store, offset, buffer, arrived)
		})
	}
	return fmt.Errorf("this worker does not know the kind of source %T", m.GetSource())
}

// watched runs a transfer, and ends it with errStalled if nothing arrives for too long.
func (s *Share) watched(ctx context.Context, source string, transfer func(ctx context.Context, arrived func(int)) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stall := s.exchange.cfg.Stall
	timer := time.AfterFunc(stall, func() { cancel(errStalled) })
	defer timer.Stop()
	err := transfer(ctx, func(bytes int) {
		timer.Reset(stall)
		s.exchange.cfg.Arrived(source, bytes)
	})
	if err != nil && context.Cause(ctx) == errStalled {
		return errStalled
	}
	return err
}

// fromCoordinator reads a range of the data set from the coordinator, again from the beginning if the connection
// breaks.
func (s *Share) fromCoordinator(ctx context.Context, offset int64, buffer []byte) error {
	for pause := backoff.New(rejoinPolicy); ; {
		err := s.receive(ctx, offset, buffer)
		if status.Code(err) != codes.Unavailable {
			return err
		}
		if wire.Reason(err) != "" {
			s.exchange.cfg.Arrived("", 0)
		}
		if err := pause.Wait(ctx); err != nil {
			return err
		}
	}
}

func (s *Share) receive(ctx context.Context, offset int64, buffer []byte) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := s.coordinator.Client.FetchDataset(ctx, &workerv1.FetchDatasetRequest{
		SessionId: s.coordinator.SessionID, DatasetId: s.id, Offset: uint64(offset), Length: uint64(len(buffer)),
	})
	if err != nil {
		return err
	}
	return fill(buffer, stream.Recv, func(bytes int) { s.exchange.cfg.Arrived(FromCoordinator, bytes) })
}

// fill reads messages into a buffer, which they must fill. arrived is called with the size of each.
func fill[M interface{ GetData() []byte }](buffer []byte, receive func() (M, error), arrived func(int)) error {
	for at := 0; ; {
		m, err := receive()
		switch {
		case err == io.EOF && at == len(buffer):
			return nil
		case err == io.EOF, err == nil && at+len(m.GetData()) > len(buffer):
			return errWrongBytes
		case err != nil:
			return err
		}
		at += copy(buffer[at:], m.GetData())
		arrived(len(m.GetData()))
	}
}
