package exchange

import (
	"context"
	"io"
	"time"

	"github.com/cleave-project/cleave/internal/wire"
)

// Reader returns a reader of the data set. It waits for pieces that have not arrived yet. Only one reader may be used
// at a time.
func (s *Share) Reader(ctx context.Context) io.Reader {
	piece := 0
	var buffer []byte // of the piece before
	return &wire.PartReader{Next: func() (data []byte, err error) {
		if buffer != nil {
			s.exchange.reuse(buffer)
			buffer = nil
		}
		if piece == s.pieces {
			return nil, io.EOF
		}
		buffer, err = s.awaitPiece(ctx, piece, false)
		if err == nil {
			piece++
		}
		return buffer, err
	}}
}

// Want asks for the pieces first <= p < end of a part. Those that were read must be asked for again, and those that are
// far ahead of the ones that are read may be, in case there is no room for them in the cache.
func (s *Share) Want(first, end int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wantLocked(first, end)
}

// wantLocked is Want for callers that hold s.mu.
func (s *Share) wantLocked(first, end int) {
	for p := first; p < min(end, s.pieces); p++ {
		_, here := s.memory[p]
		if s.has[p] && !here && !s.kept(p) { // it was read before
			s.has[p] = false
		}
		if s.wanted != nil {
			s.wanted[p] = true
		}
		s.first = min(s.first, p)
	}
	s.changed.Notify()
}

// kept reports whether a piece is on disk or still in memory.
func (s *Share) kept(piece int) bool {
	cache := s.exchange.cfg.Cache
	return cache != nil && cache.Has(s.id, piece) || s.exchange.unused.has(s.id, piece)
}

// Piece waits for a piece that Want has asked for, and returns its bytes, in a buffer of its own. release must be
// called once they are no longer used. Without a cache on disk they stay in memory then, while there is room.
func (s *Share) Piece(ctx context.Context, piece int) (data []byte, release func(), err error) {
	data, err = s.awaitPiece(ctx, piece, true)
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

// awaitPiece waits for a piece and returns it, in a buffer of its own. If check is set, what comes from the cache is
// checked by its hash; what has just arrived was.
func (s *Share) awaitPiece(ctx context.Context, piece int, check bool) ([]byte, error) {
	for {
		data, has, changed, err := s.look(piece)
		if data != nil {
			return data, nil
		}
		if has {
			if data, ok := s.fromCache(piece, check); ok {
				return data, nil
			}
			s.lose(piece)
			continue
		}
		if err != nil {
			return nil, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// look returns a piece that is in memory, or whether it has arrived, and otherwise asks for it.
func (s *Share) look(piece int) (data []byte, has bool, changed <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if data = s.memory[piece]; data != nil {
		delete(s.memory, piece)
		s.changed.Notify() // there is room for another one
		return data, true, nil, nil
	}
	if piece < s.pieces && s.has[piece] {
		return nil, true, nil, nil
	}
	if s.awaited != piece || !s.wantsLocked(piece) {
		s.awaited = piece
		s.wantLocked(piece, piece+1)
	}
	return nil, false, s.changed.Wait(), s.err
}

// fromCache returns a piece that is still in memory, or reads it from the cache.
func (s *Share) fromCache(piece int, check bool) ([]byte, bool) {
	e := s.exchange
	if data := e.unused.get(s.id, piece); data != nil {
		return data, true
	}
	if e.cfg.Cache == nil {
		return nil, false
	}
	buffer := e.buffer()
	data, err := e.cfg.Cache.Get(s.id, piece, buffer, check)
	if err != nil || int64(len(data)) != wire.PieceSize(s.bytes, piece) {
		e.reuse(buffer)
		return nil, false
	}
	e.cfg.Arrived(FromCache, len(data))
	return data, true
}

// lose fetches a piece again.
func (s *Share) lose(piece int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.has[piece] = false
	s.first = min(s.first, piece)
	s.changed.Notify()
}

// Recheck drops pieces of the cache because the whole is not what it should be: the damaged ones, or all if none is.
// The second time it drops all and gives up the cache, whose disk seems to fail. It reports whether another attempt
// to read the data set may succeed.
func (s *Share) Recheck() bool {
	cache := s.exchange.cfg.Cache
	s.mu.Lock()
	s.wrong++
	wrong := s.wrong
	s.mu.Unlock()
	if cache == nil || wrong > 2 {
		return false
	}
	damaged := s.damagedPieces(cache)
	s.exchange.cfg.Logger.Warn("the pieces of a data set in the cache do not make up the data set; fetching it again",
		"dataset", s.id, "damaged", len(damaged))
	if wrong == 1 && len(damaged) > 0 {
		for _, p := range damaged {
			s.lose(p)
		}
		return true
	}
	cache.Drop(s.id)
	for p := range s.pieces {
		s.lose(p)
	}
	if wrong == 2 {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.stopKeepingLocked()
	}
	return true
}

// damagedPieces returns the pieces that are not in the cache, or not as they should be.
func (s *Share) damagedPieces(cache *Cache) (damaged []int) {
	buffer := s.exchange.buffer()
	defer s.exchange.reuse(buffer)
	for p := range s.pieces {
		if _, err := cache.Get(s.id, p, buffer, true); err != nil {
			damaged = append(damaged, p)
		}
	}
	return damaged
}

// awaitKept waits until a piece is in the cache, and calls waiting once in a while until then. It returns errNotCached
// if the piece will not get there.
func (s *Share) awaitKept(ctx context.Context, piece int, every time.Duration, waiting func() error) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		has, changed, err := s.keptOrChanged(piece)
		if has || err != nil {
			return err
		}
		select {
		case <-changed:
		case <-ticker.C:
			if err := waiting(); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// keptOrChanged reports whether a piece is in the cache, or what to wait for.
func (s *Share) keptOrChanged(piece int) (has bool, changed <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if piece >= s.pieces || !s.passesOnLocked() {
		return false, nil, errNotCached
	}
	return s.has[piece], s.changed.Wait(), nil
}
