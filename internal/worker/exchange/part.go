package exchange

import (
	"context"
	"errors"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/wire"
)

// This file has the parts of data sets: pieces that are fetched because somebody asked for them, each of which is
// checked by its hash whenever it is read.

// Want asks for the pieces first <= p < end of the data set. Those that were read must be asked for again, and those
// that are far ahead of the ones that are read may be, in case there is no room for them in the cache.
func (s *Share) Want(first, end int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wantLocked(first, end)
}

// wantLocked is Want for callers that hold s.mu.
func (s *Share) wantLocked(first, end int) {
	fresh := false
	for p := first; p < min(end, s.pieces); p++ {
		_, here := s.memory[p]
		if s.has[p] && !here && !s.kept(p) { // it was read before
			s.forgetLocked(p)
		}
		if s.wanted != nil && !s.wanted[p] {
			s.wanted[p], fresh = true, true
		}
	}
	if fresh {
		s.queueLocked(&workerv1.DistributeRequest{Message: &workerv1.DistributeRequest_Wanted{
			Wanted: &workerv1.PiecesWanted{First: uint32(first), Count: uint32(end - first)},
		}})
	}
}

// kept reports whether a piece is on disk or still in memory.
func (s *Share) kept(piece int) bool {
	cache := s.exchange.cfg.Cache
	return cache != nil && cache.Has(s.id, piece) || s.exchange.unused.has(s.id, piece)
}

// Piece waits for a piece that Want has asked for, and returns its bytes, in a buffer of its own. release must be
// called once they are no longer used. Without a cache on disk they stay in memory then, while there is room.
func (s *Share) Piece(ctx context.Context, piece int) (data []byte, release func(), err error) {
	data, err = s.take(ctx, piece, true)
	if errors.Is(err, errDirect) {
		data = s.exchange.buffer()[:wire.PieceSize(s.bytes, piece)]
		return data, func() { s.exchange.reuse(data) }, s.fromCoordinator(ctx, int64(piece)*wire.PieceBytes, data)
	}
	if err != nil {
		return nil, nil, err
	}
	return data, func() {
		if !s.exchange.unused.put(s.id, piece, data) {
			s.exchange.reuse(data)
		}
	}, nil
}

// Pieces returns the pieces of a data set that contain some of its bytes.
func Pieces(offset, length int64) (first, end int) {
	return int(offset / wire.PieceBytes), int((offset + length + wire.PieceBytes - 1) / wire.PieceBytes)
}

// Within returns where in its piece a byte of a data set is.
func Within(offset int64) int { return int(offset % wire.PieceBytes) }
