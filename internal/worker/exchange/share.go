package exchange

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/dial"
	"github.com/cleave-project/cleave/internal/signal"
	"github.com/cleave-project/cleave/internal/wire"
)

// rejoinPolicy is the backoff between attempts to join.
var rejoinPolicy = dial.BackoffPolicy{First: 100 * time.Millisecond, Max: 500 * time.Millisecond}

// errRejoin ends a stream because the worker can no longer keep the data set, and so cannot pass it on.
var errRejoin = errors.New("the pieces can no longer be kept")

// Share is a data set that this worker reads, as a whole or in part. This file keeps the stream on which the
// coordinator says where to read; fetch.go fetches the pieces, and read.go hands them out.
type Share struct {
	exchange    *Exchange
	coordinator Coordinator
	id          string
	bytes       int64
	pieces      int
	whole       bool // otherwise only the pieces that Want names are fetched
	cancel      context.CancelFunc
	users       int           // guarded by Exchange.mu
	wake        chan struct{} // signals that there is something to tell the coordinator
	alive       atomic.Bool   // something has arrived from the source since the coordinator was told so

	// mu guards the fields below.
	mu       sync.Mutex
	hashes   [][sha256.Size]byte    // of the first pieces
	source   source                 // where pieces come from now
	failed   *workerv1.SourceFailed // to be sent; nil if there is nothing to send
	keeps    bool                   // pieces go to the cache
	rejoin   bool                   // the coordinator has to be told that they no longer do
	wrong    int                    // how often the whole was not what it should be
	has      []bool                 // by piece: it has arrived
	wanted   []bool                 // by piece: it is needed; nil for the whole data set
	first    int                    // all pieces before have arrived, or are not needed
	fetching map[int]bool           // pieces on their way
	awaited  int                    // the piece that a reader waits for, or waited for last
	memory   map[int][]byte         // pieces that are not in the cache, until they are read
	changed  signal.Broadcast       // something of the above has changed
	err      error                  // why the share ended; nil while it runs
}

// source is where the pieces of a share come from. Its context ends when there is another one.
type source struct {
	*workerv1.Source // nil before the coordinator has said it
	ctx              context.Context
	end              context.CancelFunc
}

// direct reports whether pieces come from the coordinator.
func (s source) direct() bool { return s.GetFrom() == nil }

// maxPieces limits the memory that a share takes for a data set that nobody has: those of 16 TiB.
const maxPieces = 1 << 22

func newShare(e *Exchange, coordinator Coordinator, id string, bytes int64, whole bool,
	cancel context.CancelFunc) *Share {
	s := &Share{
		exchange: e, coordinator: coordinator, id: id, bytes: bytes, whole: whole, cancel: cancel, users: 1,
		wake: make(chan struct{}, 1), keeps: e.cfg.Cache != nil, fetching: map[int]bool{}, memory: map[int][]byte{},
		source: source{end: func() {}},
	}
	if bytes > maxPieces*wire.PieceBytes {
		s.err = fmt.Errorf("worker: a data set of %d bytes", bytes)
		return s
	}
	s.pieces = wire.PieceCount(bytes)
	s.has = make([]bool, s.pieces)
	if !whole {
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

// passesOn reports whether other workers may read from this one.
func (s *Share) passesOn() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.passesOnLocked()
}

func (s *Share) passesOnLocked() bool {
	return s.whole && s.keeps && s.err == nil && s.exchange.Serves()
}

// run fetches pieces, except for those that the worker has already, until ctx ends or the coordinator ends the
// delivery.
func (s *Share) run(ctx context.Context) {
	held := s.exchange.unused.of(s.id)
	if cache := s.exchange.cfg.Cache; cache != nil {
		var release func()
		held, release = cache.Use(s.id)
		defer release()
	}
	s.noteHeld(held)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var fetching sync.WaitGroup
	for range storePiecesAtOnce {
		fetching.Go(func() {
			if err := s.fetchPieces(ctx); err != nil {
				cancel(err)
			}
		})
	}
	err := s.attendAlways(ctx)
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	cancel(err)
	fetching.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
	s.changed.Notify()
}

func (s *Share) noteHeld(pieces []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range pieces {
		if p < s.pieces {
			s.has[p] = true
		}
	}
	s.changed.Notify()
}

// attendAlways attends until ctx ends or the coordinator ends the delivery for good, and returns why. If the connection
// breaks, the share joins again and keeps its pieces.
func (s *Share) attendAlways(ctx context.Context) error {
	for pause := dial.NewBackoff(rejoinPolicy); ; {
		err := s.attend(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, errRejoin):
			continue
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
		// the coordinator waits for its stores; count progress so that it does not think that this worker hangs
		e.cfg.Arrived("", 0)
	}
	return pause.Wait(ctx)
}

// attend joins the delivery, and takes sources and hashes until the stream breaks.
func (s *Share) attend(ctx context.Context) error {
	streaming, cancel := context.WithCancel(ctx)
	stream, err := s.coordinator.Client.Deliver(streaming)
	if err != nil {
		cancel()
		return err
	}
	received := make(chan error, 1)
	go func() { received <- s.receive(ctx, stream) }()
	err = s.report(ctx, stream, received)
	if err == nil {
		err = <-received
		cancel()
		return err
	}
	cancel()
	<-received
	return err
}

// report tells the coordinator what this worker reads, and which sources fail. It returns nil if the stream breaks, and
// received then has or gets the reason.
func (s *Share) report(ctx context.Context, stream workerv1.WorkerService_DeliverClient, received chan error) error {
	if stream.Send(s.join()) != nil {
		return nil
	}
	ticker := time.NewTicker(aliveEvery)
	defer ticker.Stop()
	for {
		var message *workerv1.DeliverRequest
		select {
		case err := <-received:
			received <- err
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
			message = s.takeAlive()
		case <-s.wake:
			failed, rejoin := s.takeFailed()
			if rejoin {
				return errRejoin
			}
			message = failed
		}
		if message != nil && stream.Send(message) != nil {
			return nil
		}
	}
}

// join returns the first message of a stream.
func (s *Share) join() *workerv1.DeliverRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rejoin = false
	return &workerv1.DeliverRequest{Message: &workerv1.DeliverRequest_Join{Join: &workerv1.Join{
		SessionId: s.coordinator.SessionID, DatasetId: s.id, Bytes: uint64(s.bytes), PassesOn: s.passesOnLocked(),
		Part: !s.whole,
	}}}
}

// takeFailed returns what to say about a source that failed, or nil, and whether the worker has to join again.
func (s *Share) takeFailed() (message *workerv1.DeliverRequest, rejoin bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		message = &workerv1.DeliverRequest{Message: &workerv1.DeliverRequest_Failed{Failed: s.failed}}
		s.failed = nil
	}
	return message, s.rejoin
}

// takeAlive returns what to say about a source that is alive, or nil.
func (s *Share) takeAlive() *workerv1.DeliverRequest {
	if !s.alive.Swap(false) {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return &workerv1.DeliverRequest{Message: &workerv1.DeliverRequest_Alive{
		Alive: &workerv1.SourceAlive{Number: s.source.GetNumber()},
	}}
}

// receive takes what the coordinator says until the stream ends.
func (s *Share) receive(ctx context.Context, stream workerv1.WorkerService_DeliverClient) error {
	for first := true; ; first = false {
		m, err := stream.Recv()
		if err == io.EOF {
			return status.Error(codes.Unavailable, "the coordinator ended the stream")
		}
		if err != nil {
			return err
		}
		if err := s.take(ctx, m, first); err != nil {
			return err
		}
	}
}

// take takes a message. The first one of a stream starts anew.
func (s *Share) take(ctx context.Context, m *workerv1.DeliverResponse, first bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if first {
		s.hashes = nil
		s.failed = nil
	}
	if len(m.GetSha256())%sha256.Size != 0 || len(s.hashes)+len(m.GetSha256())/sha256.Size > s.pieces {
		return fmt.Errorf("worker: the coordinator says %d bytes of hashes of a data set of %d pieces",
			len(m.GetSha256()), s.pieces)
	}
	for hash := range slices.Chunk(m.GetSha256(), sha256.Size) {
		s.hashes = append(s.hashes, [sha256.Size]byte(hash))
	}
	if m.GetSource() != nil {
		s.setSourceLocked(ctx, m.GetSource())
	}
	s.changed.Notify()
	return nil
}

// setSourceLocked ends transfers from the source before, unless that was the coordinator.
func (s *Share) setSourceLocked(ctx context.Context, now *workerv1.Source) {
	s.source.end()
	s.source = source{Source: now}
	s.source.ctx, s.source.end = context.WithCancel(ctx)
}
