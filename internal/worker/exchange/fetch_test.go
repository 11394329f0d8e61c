package exchange

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/wire"
)

// testCoordinator sends a data set itself. Each connection breaks after so many bytes.
type testCoordinator struct {
	workerv1.WorkerServiceClient
	data    []byte
	sources chan *workerv1.Source         // told to workers
	failed  chan *workerv1.DeliverRequest // what workers say
	breaks  int                           // 0 means never

	mu    sync.Mutex
	asked []uint64 // the offsets
}

func newTestCoordinator(pieces int) *testCoordinator {
	c := &testCoordinator{
		data: make([]byte, pieces*wire.PieceBytes+1000), sources: make(chan *workerv1.Source, 10),
		failed: make(chan *workerv1.DeliverRequest, 10),
	}
	random := rand.NewChaCha8([32]byte{})
	_, _ = random.Read(c.data)
	c.sources <- &workerv1.Source{Number: 1}
	return c
}

// hashes returns those of all pieces.
func (c *testCoordinator) hashes() (all []byte) {
	for piece := range slices.Chunk(c.data, wire.PieceBytes) {
		hash := sha256.Sum256(piece)
		all = append(all, hash[:]...)
	}
	return all
}

func (c *testCoordinator) Deliver(ctx context.Context,
	_ ...grpc.CallOption) (grpc.BidiStreamingClient[workerv1.DeliverRequest, workerv1.DeliverResponse], error) {
	return &deliverStream{ctx: ctx, coordinator: c, hashes: c.hashes()}, nil
}

type deliverStream struct {
	grpc.BidiStreamingClient[workerv1.DeliverRequest, workerv1.DeliverResponse]
	ctx         context.Context
	coordinator *testCoordinator
	hashes      []byte // told with the first source
}

func (s *deliverStream) Send(m *workerv1.DeliverRequest) error {
	s.coordinator.failed <- m
	return nil
}

func (s *deliverStream) Recv() (*workerv1.DeliverResponse, error) {
	select {
	case source := <-s.coordinator.sources:
		m := &workerv1.DeliverResponse{Source: source, Sha256: s.hashes}
		s.hashes = nil
		return m, nil
	case <-s.ctx.Done():
		return nil, status.FromContextError(s.ctx.Err()).Err()
	}
}

func (c *testCoordinator) FetchDataset(_ context.Context, r *workerv1.FetchDatasetRequest,
	_ ...grpc.CallOption) (grpc.ServerStreamingClient[workerv1.FetchDatasetResponse], error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, r.GetOffset())
	data := c.data[min(uint64(len(c.data)), r.GetOffset()):]
	data = data[:min(len(data), int(r.GetLength()))]
	s := &rangeStream{left: data, end: io.EOF}
	if c.breaks > 0 && len(data) > c.breaks {
		s.left, s.end = data[:c.breaks], status.Error(codes.Unavailable, "the connection broke")
	}
	return s, nil
}

type rangeStream struct {
	grpc.ServerStreamingClient[workerv1.FetchDatasetResponse]
	left []byte
	end  error
}

func (s *rangeStream) Recv() (*workerv1.FetchDatasetResponse, error) {
	if len(s.left) == 0 {
		return nil, s.end
	}
	n := min(len(s.left), wire.ChunkBytes)
	m := &workerv1.FetchDatasetResponse{Data: s.left[:n]}
	s.left = s.left[n:]
	return m, nil
}

// A data set comes as a whole or in part, and a transfer that breaks goes on where it was.
func TestDataSetsFromTheCoordinator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestCoordinator(2)
		c.breaks = wire.PieceBytes/2 + 1000
		e := New(quiet())
		defer e.Close()
		whole := e.Join(t.Context(), Coordinator{Client: c}, datasetID(1), int64(len(c.data)))
		if got, err := io.ReadAll(whole.Reader(t.Context())); err != nil || !bytes.Equal(got, c.data) {
			t.Errorf("%d of %d bytes, %v", len(got), len(c.data), err)
		}
		slices.Sort(c.asked)
		const p = wire.PieceBytes
		if b := uint64(c.breaks); !slices.Equal(c.asked, []uint64{0, b, p, p + b, 2 * p}) {
			t.Errorf("asked for the bytes from %v on", c.asked)
		}
		whole.Close()
		c.sources <- &workerv1.Source{Number: 1}
		part := e.JoinPartly(t.Context(), Coordinator{Client: c}, datasetID(1), int64(len(c.data)))
		defer part.Close()
		part.Want(1, 3)
		for piece := 1; piece < 3; piece++ {
			got, release, err := part.Piece(t.Context(), piece)
			if err != nil || !bytes.Equal(got, c.data[piece*p:min(len(c.data), (piece+1)*p)]) {
				t.Fatalf("piece %d has %d bytes, %v", piece, len(got), err)
			}
			release()
		}
		c.data = c.data[:p]
		if _, _, err := part.Piece(t.Context(), 1); err == nil {
			t.Error("a piece that is too short is taken")
		}
	})
}

// Without a cache, a worker holds a few pieces of a data set that nobody reads yet, and not all of it.
func TestUnreadPiecesTakeLittleMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestCoordinator(10)
		e := New(quiet())
		defer e.Close()
		s := e.Join(t.Context(), Coordinator{Client: c}, datasetID(1), int64(len(c.data)))
		defer s.Close()
		synctest.Wait()
		if held := len(s.memory); held != unreadPieces {
			t.Errorf("%d pieces are in memory", held)
		}
		if got, err := io.ReadAll(s.Reader(t.Context())); err != nil || !bytes.Equal(got, c.data) {
			t.Errorf("%d of %d bytes, %v", len(got), len(c.data), err)
		}
	})
}

// failingParent returns a source that cannot be reached.
func failingParent(number uint32) *workerv1.Source {
	return &workerv1.Source{Number: number,
		From: &workerv1.Source_Parent{Parent: &workerv1.ParentSource{Address: "nowhere", Name: "lost"}}}
}

// When its source fails, a worker says so once, and reads from the coordinator until it is told another one.
func TestASourceThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestCoordinator(3)
		<-c.sources
		c.sources <- failingParent(7)
		cfg := quiet()
		cfg.Peers = func(string) ([]grpc.DialOption, error) { return nil, errors.New("nobody is there") }
		e := New(cfg)
		defer e.Close()
		s := e.Join(t.Context(), Coordinator{Client: c}, datasetID(1), int64(len(c.data)))
		defer s.Close()
		if got, err := io.ReadAll(s.Reader(t.Context())); err != nil || !bytes.Equal(got, c.data) {
			t.Errorf("%d of %d bytes, %v", len(got), len(c.data), err)
		}
		synctest.Wait()
		if join := <-c.failed; join.GetJoin().GetDatasetId() != datasetID(1) || join.GetJoin().GetPassesOn() {
			t.Errorf("the worker joins with %v", join)
		}
		if failed := <-c.failed; failed.GetFailed().GetNumber() != 7 ||
			failed.GetFailed().GetMessage() != "nobody is there" {
			t.Errorf("the worker says %v", failed)
		}
		if len(c.failed) > 0 {
			t.Errorf("the worker also says %v", <-c.failed)
		}
	})
}

// A transfer ends when nothing arrives, and when it takes too long once something has arrived. Signs of life of a
// source that waits itself put off the first and do not begin the second.
func TestWhenATransferIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := quiet()
		cfg.Stall = 10 * time.Second
		e := New(cfg)
		defer e.Close()
		s := newShare(e, Coordinator{}, datasetID(1), 10, true, func() {})
		for name, c := range map[string]struct {
			first, bytes int // seconds of signs of life, and then so many chunks, one each second
			gap          time.Duration
			want         error
		}{
			"waits":            {50, 15, time.Second, nil},
			"waits forever":    {1000, 15, time.Second, errBehind},
			"sends for long":   {0, 30, time.Second, errSlow},
			"sends nothing":    {0, 1, 11 * time.Second, errStalled},
			"goes silent":      {5, 2, 11 * time.Second, errStalled},
			"just fast enough": {0, 19, time.Second, nil},
		} {
			err := s.watched(t.Context(), FromPeer, patience{waits: time.Minute, sends: 20 * time.Second},
				func(ctx context.Context, arrived func(int)) error {
					for at := range c.first + c.bytes {
						select {
						case <-time.After(c.gap):
						case <-ctx.Done():
							return ctx.Err()
						}
						arrived(min(1, at/max(1, c.first)))
					}
					return nil
				})
			if err != c.want {
				t.Errorf("a source that %s: %v", name, err)
			}
		}
	})
}

// refusingCoordinator delivers nothing.
type refusingCoordinator struct{ workerv1.WorkerServiceClient }

func (refusingCoordinator) Deliver(context.Context,
	...grpc.CallOption) (grpc.BidiStreamingClient[workerv1.DeliverRequest, workerv1.DeliverResponse], error) {
	return nil, status.Error(codes.PermissionDenied, "not for you")
}

// A reader whose share has ended returns the error again, not the end of the data set.
func TestAReaderKeepsItsError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := New(quiet())
		defer e.Close()
		s := e.Join(t.Context(), Coordinator{Client: refusingCoordinator{}}, datasetID(1), 1000)
		defer s.Close()
		r := s.Reader(t.Context())
		for range 2 {
			if n, err := r.Read(make([]byte, 10)); n != 0 || status.Code(err) != codes.PermissionDenied {
				t.Errorf("%d bytes, %v", n, err)
			}
		}
	})
}
