package distribution

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/fleet/swarm"
	"github.com/cleave-project/cleave/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// source is one data set, or the error of reading it.
type source struct {
	data []byte
	err  error
}

func (s source) OpenDataset(context.Context, string, int64, int64) (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(s.data)), s.err
}

// recorder keeps what is reported.
type recorder struct {
	failed chan swarm.Source
	read   chan error
}

func newRecorder() *recorder {
	return &recorder{failed: make(chan swarm.Source, 10), read: make(chan error, 10)}
}

func (r *recorder) Heard(string)                    {}
func (r *recorder) Arrived(string, swarm.Source)    {}
func (r *recorder) DatasetRead(_ string, err error) { r.read <- err }
func (r *recorder) SourceFailed(_, _ string, from swarm.Source, _ *workerv1.PieceFailed) {
	r.failed <- from
}

// stream is a worker that the test plays.
type stream struct {
	grpc.ServerStream
	ctx    context.Context
	cancel context.CancelFunc
	said   chan *workerv1.DistributeRequest
	told   chan *workerv1.DistributeResponse
	ended  chan error
}

func (s *stream) Context() context.Context { return s.ctx }

func (s *stream) Send(m *workerv1.DistributeResponse) error {
	select {
	case s.told <- m:
		return nil
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
}

func (s *stream) Recv() (*workerv1.DistributeRequest, error) {
	select {
	case m := <-s.said:
		return m, nil
	case <-s.ctx.Done():
		return nil, io.EOF
	}
}

// join makes a worker join.
func join(t *testing.T, d *Distributor, id string, size int, keeps bool) *stream {
	t.Helper()
	s := &stream{said: make(chan *workerv1.DistributeRequest), told: make(chan *workerv1.DistributeResponse, 10), ended: make(chan error, 1)}
	s.ctx, s.cancel = context.WithCancel(t.Context())
	first := &workerv1.Join{DatasetId: "data", Bytes: uint64(size), PieceBytes: wire.PieceBytes, Keeps: keeps}
	w := Worker{ID: id, PeerID: "peer-" + id, Name: id, PeerAddress: id + ":1", PeerKey: []byte(id), Serves: true, Done: make(chan struct{})}
	go func() {
		err := d.Serve(s, first, w, int64(size), false)
		s.cancel() // as gRPC does when the handler returns
		s.ended <- err
	}()
	t.Cleanup(s.cancel)
	return s
}

func (s *stream) arrived(piece uint32) {
	s.said <- &workerv1.DistributeRequest{Message: &workerv1.DistributeRequest_Arrived{Arrived: &workerv1.PieceArrived{Piece: piece}}}
}

// A piece comes from the coordinator once, and then from the worker that has it, until that one sends wrong bytes.
func TestAPieceIsPassedOn(t *testing.T) {
	data, reports := []byte("a data set of one piece"), newRecorder()
	d := New(source{data: data}, reports, hclog.NewNullLogger())
	a := join(t, d, "a", len(data), true)
	m := <-a.told
	if hash := sha256.Sum256(data); m.GetSource() != nil || !bytes.Equal(m.GetSha256(), hash[:]) {
		t.Errorf("the first worker is told %v", m)
	}
	if err := <-reports.read; err != nil {
		t.Error(err)
	}
	a.arrived(0)
	b := join(t, d, "b", len(data), true)
	m = <-b.told
	if peer := m.GetPeer(); peer.GetAddress() != "a:1" || !bytes.Equal(peer.GetTicket(), wire.PieceTicket([]byte("a"), "data", "peer-b")) {
		t.Fatalf("the second worker is told %v", m)
	}
	b.said <- &workerv1.DistributeRequest{Message: &workerv1.DistributeRequest_Failed{
		Failed: &workerv1.PieceFailed{Piece: 0, Failure: workerv1.PieceFailure_PIECE_FAILURE_WRONG},
	}}
	if from := <-reports.failed; from != (swarm.Source{Kind: swarm.Peer, Peer: "a"}) {
		t.Errorf("the source that failed is %v", from)
	}
	if m = <-b.told; m.GetSource() != nil {
		t.Errorf("after wrong bytes, the worker is told %v", m)
	}
	again := join(t, d, "b", len(data), true)
	if err := <-b.ended; status.Code(err) != codes.Aborted {
		t.Errorf("the stream that was replaced ended with %v", err)
	}
	<-again.told
	a.cancel()
	again.cancel()
	if err := errors.Join(<-a.ended, <-again.ended); err != nil {
		t.Error(err)
	}
	if len(d.sets) > 0 {
		t.Error("the distribution goes on without workers")
	}
}

// A data set that cannot be read ends the streams of its workers, with the reason.
func TestAnUnreadableDataSet(t *testing.T) {
	for name, s := range map[string]source{
		"unreadable": {err: status.Error(codes.DataLoss, "damaged")}, "too short": {data: []byte("x")}, "too long": {data: make([]byte, 30)},
	} {
		reports := newRecorder()
		d := New(s, reports, hclog.NewNullLogger())
		a := join(t, d, "a", 20, true)
		if err := <-a.ended; err == nil {
			t.Errorf("%s: the stream ended without an error", name)
		}
		if err := <-reports.read; err == nil {
			t.Errorf("%s: no error is reported", name)
		}
	}
}

// A worker that keeps nothing, and has nobody else to fetch from, is told to fetch the data set as a whole.
func TestAWorkerAlone(t *testing.T) {
	d := New(source{data: []byte("x")}, newRecorder(), hclog.NewNullLogger())
	if err := <-join(t, d, "a", 1, false).ended; status.Code(err) != codes.Unimplemented {
		t.Errorf("the stream ended with %v", err)
	}
}

// located is a data set in an object store. Reading it takes the coordinator forever after its first piece.
type located struct {
	source
	urls atomic.Int32
}

func (s *located) LocateDataset(context.Context, string) (url, sealedName string, err error) {
	return fmt.Sprint("url ", s.urls.Add(1)), "", nil
}

func (s *located) OpenDataset(ctx context.Context, _ string, _, _ int64) (io.ReadCloser, error) {
	r, w := io.Pipe()
	go func() {
		_, _ = w.Write(s.data[:wire.PieceBytes]) // it fails if nobody reads anymore
		<-ctx.Done()
		_ = w.CloseWithError(ctx.Err())
	}()
	return r, nil
}

// The URL of a data set is renewed before it expires, also while the coordinator still reads the data set.
func TestAURLIsRenewedWhileADataSetIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &located{source: source{data: make([]byte, 2*wire.PieceBytes)}}
		d := New(s, newRecorder(), hclog.NewNullLogger())
		a := join(t, d, "a", len(s.data), true)
		if m := <-a.told; m.GetStore().GetUrl() != "url 1" {
			t.Errorf("the first worker is told %v", m)
		}
		a.arrived(0)
		time.Sleep(locateEvery + time.Second)
		synctest.Wait()
		a.said <- &workerv1.DistributeRequest{Message: &workerv1.DistributeRequest_Lost{Lost: &workerv1.PieceLost{Needed: true}}}
		if m := <-a.told; m.GetStore().GetUrl() != "url 2" {
			t.Errorf("after %v, the worker is told %v", locateEvery, m)
		}
		a.cancel()
		<-a.ended
	})
}

// panicking panics when a data set is read, or when a worker sends something.
type panicking struct {
	*recorder
	source
}

func (panicking) Heard(string) { panic("a defect") }

func (panicking) OpenDataset(context.Context, string, int64, int64) (io.ReadCloser, error) {
	panic("a defect")
}

// A panic ends the distribution of its data set, or the stream that sent the message, and not the program.
func TestAPanicEndsADistribution(t *testing.T) {
	p := panicking{recorder: newRecorder(), source: source{data: []byte("x")}}
	d := New(p, p.recorder, hclog.NewNullLogger())
	if err := <-join(t, d, "a", 1, true).ended; !fault.Is(wire.Fault(err), "PANIC") {
		t.Errorf("while the data set is read: %v", err)
	}
	d = New(p.source, p, hclog.NewNullLogger())
	a := join(t, d, "a", 1, true)
	<-a.told
	a.arrived(0)
	if err := <-a.ended; status.Code(err) != codes.Aborted {
		t.Errorf("while a message is handled: %v", err)
	}
}
