package exchange

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/dial"
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

// fromCoordinator reads a range of the data set from the coordinator into a buffer of its size.
func (s *Share) fromCoordinator(ctx context.Context, offset int64, buffer []byte) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	_, err := io.ReadFull(s.exchange.Range(ctx, s.coordinator, s.id, offset, int64(len(buffer))), buffer)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return errWrongBytes
	}
	return err
}

// Range returns a reader of this many bytes of a data set from an offset on, which the coordinator sends; 0 means all up
// to the end. If the connection breaks, it continues where it was. The caller ends ctx, unless it reads to the end.
func (e *Exchange) Range(ctx context.Context, coordinator Coordinator, datasetID string, offset, length int64) *wire.PartReader {
	var stream grpc.ServerStreamingClient[workerv1.FetchDatasetResponse]
	end, pause := offset+length, dial.NewBackoff(rejoinPolicy)
	return &wire.PartReader{Next: func() ([]byte, error) {
		for {
			if length > 0 && offset >= end {
				return nil, io.EOF
			}
			var m *workerv1.FetchDatasetResponse
			var err error
			if stream == nil {
				stream, err = coordinator.Client.FetchDataset(ctx, &workerv1.FetchDatasetRequest{
					SessionId: coordinator.SessionID, DatasetId: datasetID, Offset: uint64(offset), Length: uint64(max(0, end-offset)),
				})
			}
			if err == nil {
				m, err = stream.Recv()
			}
			if err == nil {
				offset += int64(len(m.GetData()))
				e.cfg.Arrived(FromCoordinator, len(m.GetData()))
				return m.GetData(), nil
			}
			if err := e.await(ctx, pause, err); err != nil {
				return nil, err
			}
			stream = nil
		}
	}}
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
