package exchange

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/dial"
	"github.com/cleave-project/cleave/internal/signal"
	"github.com/cleave-project/cleave/internal/wire"
)

// errDirect is the error of a data set that the coordinator does not distribute in pieces: it is read by FetchDataset.
var errDirect = errors.New("the coordinator does not distribute the data set in pieces")

// errRejoin ends a stream because the worker has to tell the coordinator that it can no longer keep pieces.
var errRejoin = errors.New("the pieces can no longer be kept")

// rejoinPolicy is the backoff between attempts to join.
var rejoinPolicy = dial.BackoffPolicy{First: 100 * time.Millisecond, Max: 500 * time.Millisecond}

// Share is a worker's part in the distribution of one data set.
type Share struct {
	exchange    *Exchange
	coordinator Coordinator
	id          string
	bytes       int64
	pieces      int
	cancel      context.CancelFunc
	users       int           // guarded by Exchange.mu
	wake        chan struct{} // signals that there are reports

	// mu guards the fields below.
	mu      sync.Mutex
	wanted  []bool                        // by piece: it is needed; nil means all are
	keeps   bool                          // pieces go to the cache
	wrong   int                           // how often the whole was not what it should be
	has     []bool                        // by piece: it has arrived
	memory  map[int][]byte                // pieces that are not kept, until they are read
	rejoin  bool                          // the coordinator has to be told that nothing is kept anymore
	reports []*workerv1.DistributeRequest // to send
	changed signal.Broadcast              // a piece has arrived, or the share has ended
	err     error                         // why it ended; nil while it runs
}

// maxPieces limits the memory that a share takes for a data set that nobody has: those of 16 TiB.
const maxPieces = 1 << 22

func newShare(e *Exchange, coordinator Coordinator, id string, bytes int64, partial bool, cancel context.CancelFunc) *Share {
	s := &Share{
		exchange: e, coordinator: coordinator, id: id, bytes: bytes, cancel: cancel, users: 1, wake: make(chan struct{}, 1),
		keeps: e.cfg.Cache != nil, memory: map[int][]byte{},
	}
	if bytes > maxPieces*wire.PieceBytes {
		s.pieces, s.err = 1, errDirect
	} else {
		s.pieces = wire.PieceCount(bytes)
	}
	s.has = make([]bool, s.pieces)
	if partial {
		s.wanted = make([]bool, s.pieces)
	}
	return s
}

// Over reports whether the share has ended.
func (s *Share) Over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err != nil
}

// run takes part in the distribution, with the pieces that the worker has.
func (s *Share) run(ctx context.Context) {
	held := s.exchange.unused.of(s.id)
	if cache := s.exchange.cfg.Cache; cache != nil {
		var release func()
		held, release = cache.Use(s.id)
		defer release()
	}
	s.mu.Lock()
	for _, p := range held {
		if p < s.pieces {
			s.has[p] = true
		}
	}
	s.changed.Notify()
	s.mu.Unlock()
	err := s.attendAlways(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
	s.changed.Notify()
}

// attendAlways attends until ctx ends or the coordinator ends the distribution for good, and returns why. If the
// connection breaks, the share joins again and keeps its pieces.
func (s *Share) attendAlways(ctx context.Context) error {
	for pause := dial.NewBackoff(rejoinPolicy); ; {
		err := s.attend(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, errRejoin):
			continue
		case status.Code(err) == codes.Unimplemented:
			return errDirect
		}
		if err := s.exchange.await(ctx, pause, err); err != nil {
			return err
		}
	}
}

// await pauses before a call that failed is repeated. It returns the error if that would not help.
func (e *Exchange) await(ctx context.Context, pause *dial.Backoff, err error) error {
	if status.Code(err) != codes.Unavailable {
		return err
	}
	if wire.Reason(err) != "" {
		e.cfg.Arrived("", 0) // the coordinator waits for its stores; count progress so that it does not think that this worker hangs
	}
	return pause.Wait(ctx)
}

// attend joins the distribution and fetches what the coordinator assigns, until the stream breaks.
func (s *Share) attend(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stream, err := s.coordinator.Client.Distribute(ctx)
	if err != nil {
		return err
	}
	var fetching sync.WaitGroup
	defer fetching.Wait()
	defer cancel(nil)
	received := make(chan error, 1)
	if err := stream.Send(s.join()); err != nil {
		_, err := stream.Recv() // returns the reason
		return err
	}
	fetching.Go(func() {
		for {
			m, err := stream.Recv()
			if err != nil {
				received <- err
				return
			}
			fetching.Go(func() {
				if err := s.obtain(ctx, m); err != nil {
					cancel(err)
				}
			})
		}
	})
	for {
		select {
		case err := <-received:
			if cause := context.Cause(ctx); cause != nil {
				return cause
			}
			if err == io.EOF {
				err = status.Error(codes.Unavailable, "the coordinator ended the stream")
			}
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.wake:
		}
		reports, rejoin := s.takeReports()
		if rejoin {
			return errRejoin
		}
		for _, m := range reports {
			if stream.Send(m) != nil {
				break // Recv returns the reason
			}
		}
	}
}

// join returns the first message of a stream. Earlier reports are part of it.
func (s *Share) join() *workerv1.DistributeRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reports, s.rejoin = nil, false
	return &workerv1.DistributeRequest{Message: &workerv1.DistributeRequest_Join{Join: &workerv1.Join{
		SessionId: s.coordinator.SessionID, DatasetId: s.id, Bytes: uint64(s.bytes), PieceBytes: wire.PieceBytes, Held: bitsOf(s.has), Keeps: s.keeps,
		Partial: s.wanted != nil, Wanted: bitsOf(s.wanted),
	}}}
}

// bitsOf returns one bit per piece, lowest bit first.
func bitsOf(pieces []bool) []byte {
	bits := make([]byte, (len(pieces)+7)/8)
	for p, set := range pieces {
		if set {
			bits[p/8] |= 1 << (p % 8)
		}
	}
	return bits
}

// report queues a message for the coordinator.
func (s *Share) report(m *workerv1.DistributeRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queueLocked(m)
}

// queueLocked is report for callers that hold s.mu.
func (s *Share) queueLocked(m *workerv1.DistributeRequest) {
	s.reports = append(s.reports, m)
	signal.Wake(s.wake)
}

func (s *Share) takeReports() (reports []*workerv1.DistributeRequest, rejoin bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	reports = s.reports
	s.reports = nil
	return reports, s.rejoin
}

// keep stores a piece that has arrived and been checked, and reports it. If it cannot be stored in the cache, the
// share goes on without: pieces then come in order and stay in memory until they are read. A part gives up what was
// asked for, because that may be more than there is memory for.
func (s *Share) keep(piece int, hash [32]byte, data []byte) error {
	s.mu.Lock()
	keeps := s.keeps
	s.mu.Unlock()
	var failed error
	if keeps {
		failed = s.exchange.cfg.Cache.Put(s.id, piece, hash, data)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !keeps || failed != nil {
		s.memory[piece] = data
	} else {
		s.exchange.reuse(data)
	}
	s.has[piece] = true
	s.changed.Notify()
	if failed == nil {
		s.queueLocked(&workerv1.DistributeRequest{Message: &workerv1.DistributeRequest_Arrived{Arrived: &workerv1.PieceArrived{Piece: uint32(piece)}}})
		return nil
	}
	if s.keeps {
		s.keeps = false
		clear(s.wanted)
		s.exchange.cfg.Logger.Warn("a data set does not fit into the cache; this worker does not pass it on", "dataset", s.id, "error", failed)
	}
	return errRejoin
}

// Reader returns a reader of the data set. It waits for pieces that have not arrived yet. Only one reader may be used
// at a time.
func (s *Share) Reader(ctx context.Context) io.Reader {
	piece, buffer := 0, []byte(nil) // the next piece, and the bytes of the one before
	var rest *wire.PartReader       // what follows, if it does not come in pieces
	return &wire.PartReader{Next: func() (data []byte, err error) {
		if buffer != nil {
			s.exchange.reuse(buffer)
			buffer = nil
		}
		switch {
		case rest != nil:
			return rest.Next()
		case piece == s.pieces:
			return nil, io.EOF
		}
		buffer, err = s.take(ctx, piece, false)
		if errors.Is(err, errDirect) {
			rest = s.exchange.Range(ctx, s.coordinator, s.id, int64(piece)*wire.PieceBytes, 0)
			return rest.Next()
		}
		if err == nil {
			piece++
		}
		return buffer, err
	}}
}

// take waits for a piece and returns it, in a buffer of its own. If check is set, what comes from the cache is
// checked by its hash; what has just arrived was. It returns errDirect if the piece must be read by FetchDataset.
func (s *Share) take(ctx context.Context, piece int, check bool) ([]byte, error) {
	for {
		s.mu.Lock()
		data, inMemory := s.memory[piece]
		delete(s.memory, piece)
		has, err, changed := piece < s.pieces && s.has[piece], s.err, s.changed.Wait()
		if !has {
			s.wantLocked(piece, piece+1) // if keep gave it up
		}
		s.mu.Unlock()
		if inMemory {
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

// lose asks for a piece again.
func (s *Share) lose(piece int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgetLocked(piece)
}

// forgetLocked is lose for callers that hold s.mu.
func (s *Share) forgetLocked(piece int) {
	s.has[piece] = false
	s.queueLocked(&workerv1.DistributeRequest{Message: &workerv1.DistributeRequest_Lost{Lost: &workerv1.PieceLost{Piece: uint32(piece), Needed: true}}})
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
	var damaged []int
	buffer := s.exchange.buffer()
	defer s.exchange.reuse(buffer)
	for p := range s.pieces {
		if _, err := cache.Get(s.id, p, buffer, true); err != nil {
			damaged = append(damaged, p)
		}
	}
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
		s.keeps, s.rejoin = false, true
	}
	return true
}
