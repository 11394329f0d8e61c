package exchange

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"math"
	"time"

	"google.golang.org/grpc"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/dial"
	"github.com/cleave-project/cleave/internal/signal"
	"github.com/cleave-project/cleave/internal/wire"
)

const (
	// piecesAtOnce is how many pieces a share fetches at the same time from the coordinator or another worker. A piece
	// can be passed on once it is here, so more would only delay that.
	piecesAtOnce = 2
	// storePiecesAtOnce is the same for the object store, which takes a while to answer.
	storePiecesAtOnce = 4
	// unreadPieces is how many pieces of a whole data set may be in memory, or on their way there, if they are not
	// kept.
	unreadPieces = 4
)

// fetchPieces fetches one piece after the other until ctx ends. Several goroutines do it at the same time.
func (s *Share) fetchPieces(ctx context.Context) error {
	for {
		piece, hash, changed := s.nextPiece()
		if piece < 0 {
			select {
			case <-changed:
				continue
			case <-ctx.Done():
				return nil
			}
		}
		if err := s.fetchPiece(ctx, piece, hash); err != nil {
			return err
		}
	}
}

// nextPiece returns the first piece that is needed and may be fetched now, and marks it as being on its way. If there
// is none, it returns -1, and what tells when to ask again.
func (s *Share) nextPiece() (piece int, hash [sha256.Size]byte, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.first < s.pieces && (s.has[s.first] || !s.wantsLocked(s.first)) {
		s.first++
	}
	if s.source.Source == nil || len(s.fetching) >= s.atOnceLocked() {
		return -1, hash, s.changed.Wait()
	}
	full := s.whole && !s.keeps && len(s.memory)+len(s.fetching) >= unreadPieces
	for p := s.first; p < len(s.hashes); p++ {
		if s.has[p] || s.fetching[p] || !s.wantsLocked(p) {
			continue
		}
		if full && p != s.awaited {
			break
		}
		s.fetching[p] = true
		return p, s.hashes[p], nil
	}
	return -1, hash, s.changed.Wait()
}

func (s *Share) wantsLocked(piece int) bool { return s.wanted == nil || s.wanted[piece] }

// atOnceLocked returns how many pieces may be on their way.
func (s *Share) atOnceLocked() int {
	if s.source.GetStore() != nil {
		return storePiecesAtOnce
	}
	return piecesAtOnce
}

// fetchPiece fetches a piece, checks it, and keeps it. If its source fails, it comes from the coordinator.
func (s *Share) fetchPiece(ctx context.Context, piece int, hash [sha256.Size]byte) error {
	e := s.exchange
	buffer := e.buffer()[:wire.PieceSize(s.bytes, piece)]
	for {
		from := s.currentSource()
		err := s.read(ctx, from, piece, buffer)
		if err == nil && sha256.Sum256(buffer) != hash {
			err = errWrongBytes
		}
		switch {
		case err == nil:
			s.keep(piece, hash, buffer)
			return nil
		case ctx.Err() != nil:
			e.reuse(buffer)
			return nil
		case !from.direct():
			s.giveUp(from, piece, err)
		case err == errWrongBytes:
			return fmt.Errorf("worker: piece %d of data set %s arrived damaged from the coordinator", piece, s.id)
		default:
			return err
		}
	}
}

func (s *Share) currentSource() source {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.source
}

// giveUp tells the coordinator that a source failed, and reads from the coordinator until it says another one. It does
// nothing if there is another source already.
func (s *Share) giveUp(from source, piece int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.source.Source != from.Source {
		return
	}
	message := messageOf(err)
	parent := from.GetParent()
	s.exchange.cfg.Logger.Warn("a piece of a data set did not arrive; it comes from the coordinator, which is asked "+
		"for another source",
		"dataset", s.id, "piece", piece, "from", cmp.Or(parent.GetName(), "the object store"), "address",
		parent.GetAddress(), "error", message)
	if parent != nil {
		s.exchange.peers.drop(parent.GetAddress())
	}
	s.source.end()
	s.source.Source = &workerv1.Source{Number: from.GetNumber()}
	s.failed = &workerv1.SourceFailed{Number: from.GetNumber(), Message: message}
	s.changed.Notify()
	signal.Wake(s.wake)
}

// read reads a piece from its source into a buffer of its size.
func (s *Share) read(ctx context.Context, from source, piece int, buffer []byte) error {
	offset := int64(piece) * wire.PieceBytes
	switch where := from.GetFrom().(type) {
	case nil:
		return s.fromCoordinator(ctx, offset, buffer)
	case *workerv1.Source_Parent:
		request := &workerv1.FetchPieceRequest{
			DatasetId: s.id, Piece: uint32(piece), SessionId: s.coordinator.PeerID, Ticket: where.Parent.GetTicket(),
		}
		stall := s.exchange.cfg.Stall
		limits := patience{waits: 6 * stall, sends: 2 * stall}
		return s.watched(from.ctx, FromPeer, limits, func(ctx context.Context, arrived func(int)) error {
			return s.exchange.peers.fetch(ctx, where.Parent.GetAddress(), request, buffer, arrived)
		})
	case *workerv1.Source_Store:
		return s.watched(from.ctx, FromStore, patience{}, func(ctx context.Context, arrived func(int)) error {
			return s.exchange.fromStore(ctx, where.Store, offset, buffer, arrived)
		})
	}
	return fmt.Errorf("this worker does not know the kind of source %T", from.GetFrom())
}

// patience is how long a source may take, beyond sending nothing at all. 0 means that there is no limit.
type patience struct {
	waits time.Duration // until the first bytes of a piece: a source that waits for the piece itself says so
	sends time.Duration // from then on
}

// watched runs a transfer. It ends it with errStalled if nothing arrives for too long, with errBehind if only signs of
// life arrive for too long, and with errSlow if the bytes take too long.
func (s *Share) watched(
	ctx context.Context, source string, limits patience, transfer func(ctx context.Context, arrived func(int)) error,
) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stall := s.exchange.cfg.Stall
	silent := time.AfterFunc(stall, func() { cancel(errStalled) })
	defer silent.Stop()
	limit := limitedTimer(limits.waits, func() { cancel(errBehind) })
	defer func() { limit.Stop() }()
	sending := false
	err := transfer(ctx, func(bytes int) {
		silent.Reset(stall)
		s.alive.Store(true)
		if bytes > 0 && !sending {
			sending = true
			limit.Stop()
			limit = limitedTimer(limits.sends, func() { cancel(errSlow) })
		}
		s.exchange.cfg.Arrived(source, bytes)
	})
	switch cause := context.Cause(ctx); cause {
	case errStalled, errBehind, errSlow:
		if err != nil {
			return cause
		}
	}
	return err
}

// limitedTimer is time.AfterFunc, or a timer that never fires if the limit is 0.
func limitedTimer(limit time.Duration, f func()) *time.Timer {
	if limit == 0 {
		limit = math.MaxInt64
	}
	return time.AfterFunc(limit, f)
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

// Range returns a reader of this many bytes of a data set from an offset on, which the coordinator sends. If the
// connection breaks, it continues where it was. The caller ends ctx, unless it reads to the end.
func (e *Exchange) Range(ctx context.Context, coordinator Coordinator, datasetID string,
	offset, length int64) *wire.PartReader {
	var stream grpc.ServerStreamingClient[workerv1.FetchDatasetResponse]
	end, pause := offset+length, dial.NewBackoff(rejoinPolicy)
	return &wire.PartReader{Next: func() ([]byte, error) {
		for {
			if offset >= end {
				return nil, io.EOF
			}
			var m *workerv1.FetchDatasetResponse
			var err error
			if stream == nil {
				stream, err = coordinator.Client.FetchDataset(ctx, &workerv1.FetchDatasetRequest{
					SessionId: coordinator.SessionID, DatasetId: datasetID, Offset: uint64(offset),
					Length: uint64(end - offset),
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

// keep stores a piece that has arrived and been checked. If the cache has no room for it, the share goes on without:
// the pieces then stay in memory until they are read. A part gives up what was asked for, because that may be more than
// there is memory for.
func (s *Share) keep(piece int, hash [sha256.Size]byte, data []byte) {
	s.mu.Lock()
	keeps := s.keeps
	s.mu.Unlock()
	var failed error
	if keeps {
		failed = s.exchange.cfg.Cache.Put(s.id, piece, hash, data)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if keeps && failed == nil {
		s.exchange.reuse(data)
	} else {
		s.memory[piece] = data
	}
	s.has[piece] = true
	delete(s.fetching, piece)
	if failed != nil && s.keeps {
		s.stopKeepingLocked()
		clear(s.wanted)
		s.exchange.cfg.Logger.Warn("a data set does not fit into the cache; this worker does not pass it on",
			"dataset", s.id, "error", failed)
	}
	s.changed.Notify()
}

// stopKeepingLocked gives up the cache, which the coordinator is told.
func (s *Share) stopKeepingLocked() {
	s.keeps = false
	s.rejoin = true
	signal.Wake(s.wake)
}
