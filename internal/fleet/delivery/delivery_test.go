package delivery

import (
	"bytes"
	"context"
	"crypto/sha256"
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

// failure is what is reported about a source that failed.
type failure struct{ dataset, worker, parent, message string }

// recorder keeps what is reported.
type recorder struct {
	failed chan failure
	read   chan error
	heard  chan string
}

func newRecorder() *recorder {
	return &recorder{failed: make(chan failure, 10), read: make(chan error, 10), heard: make(chan string, 10)}
}

func (r *recorder) Heard(worker string)             { r.heard <- worker }
func (r *recorder) DatasetRead(_ string, err error) { r.read <- err }
func (r *recorder) SourceFailed(dataset, worker, parent, message string) {
	r.failed <- failure{dataset, worker, parent, message}
}

// stream is a worker that the test plays.
type stream struct {
	grpc.ServerStream
	ctx    context.Context
	cancel context.CancelFunc
	said   chan *workerv1.DeliverRequest
	told   chan *workerv1.DeliverResponse
	ended  chan error
}

func (s *stream) Context() context.Context { return s.ctx }

func (s *stream) Send(m *workerv1.DeliverResponse) error {
	select {
	case s.told <- m:
		return nil
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
}

func (s *stream) Recv() (*workerv1.DeliverRequest, error) {
	select {
	case m := <-s.said:
		return m, nil
	case <-s.ctx.Done():
		return nil, io.EOF
	}
}

// source waits until the worker is told where to read.
func (s *stream) source() *workerv1.Source {
	for m := range s.told {
		if m.GetSource() != nil {
			return m.GetSource()
		}
	}
	return nil
}

// fail says that a source failed.
func (s *stream) fail(number uint32) {
	s.said <- &workerv1.DeliverRequest{
		Message: &workerv1.DeliverRequest_Failed{Failed: &workerv1.SourceFailed{Number: number, Message: "why"}}}
}

// testWorker returns a worker that others reach.
func testWorker(id string) Worker {
	return Worker{ID: id, PeerID: "peer-" + id, Name: id, PeerAddress: id + ":1", PeerKey: []byte(id),
		Done: make(chan struct{})}
}

// join makes a worker join.
func join(t *testing.T, d *Deliveries, w Worker, size int, passesOn bool) *stream {
	t.Helper()
	return joinAs(t, d, w, &workerv1.Join{DatasetId: "data", Bytes: uint64(size), PassesOn: passesOn})
}

func joinAs(t *testing.T, d *Deliveries, w Worker, first *workerv1.Join) *stream {
	t.Helper()
	s := &stream{said: make(chan *workerv1.DeliverRequest), told: make(chan *workerv1.DeliverResponse, 10),
		ended: make(chan error, 1)}
	s.ctx, s.cancel = context.WithCancel(t.Context())
	go func() {
		err := d.Serve(s, first, w, int64(first.GetBytes()))
		s.cancel() // as gRPC does when the handler returns
		s.ended <- err
	}()
	t.Cleanup(s.cancel)
	return s
}

// The first workers read from the coordinator and the next ones from them, with a ticket, until one of them fails or
// leaves.
func TestADataSetIsPassedOn(t *testing.T) {
	data := []byte("a data set of one piece")
	reports := newRecorder()
	d := New(source{data: data}, reports, hclog.NewNullLogger())
	var streams []*stream
	for _, id := range []string{"a", "b", "c"} {
		s := join(t, d, testWorker(id), len(data), true)
		streams = append(streams, s)
		from := s.source()
		number := len(streams)
		if direct := from.GetFrom() == nil; direct != (number <= 2) {
			t.Errorf("worker %d reads from %v", number, from)
		}
	}
	if err := <-reports.read; err != nil {
		t.Error(err)
	}
	a, b, c := streams[0], streams[1], streams[2]
	d.mu.Lock()
	told := d.sets["data"].sourceOfLocked(d.sets["data"].members["c"])
	d.mu.Unlock()
	if p := told.GetParent(); p.GetAddress() != "a:1" || p.GetName() != "a" ||
		!bytes.Equal(p.GetTicket(), wire.PieceTicket([]byte("a"), "data", "peer-c")) {
		t.Errorf("the third worker is told %v", told)
	}
	c.fail(told.GetNumber() + 1) // it was not told that one
	c.fail(told.GetNumber())
	if got := <-reports.failed; got != (failure{"data", "c", "a", "why"}) {
		t.Errorf("reported is %v", got)
	}
	if next := c.source(); next.GetFrom() != nil || next.GetNumber() == told.GetNumber() {
		t.Errorf("after its parent failed, the worker is told %v", next)
	}
	if next := a.source(); next.GetFrom() != nil {
		t.Errorf("the worker that failed is told %v", next)
	}
	c.fail(told.GetNumber()) // again, although it has another source
	again := join(t, d, testWorker("c"), len(data), true)
	if err := <-c.ended; status.Code(err) != codes.Aborted {
		t.Errorf("the stream that was replaced ended with %v", err)
	}
	again.source()
	for _, s := range []*stream{a, b, again} {
		s.cancel()
		// Which of the two it notices first, the end of the context or that of the stream, is a matter of chance.
		if err := <-s.ended; err != nil && status.Code(err) != codes.Aborted {
			t.Error(err)
		}
	}
	if len(d.sets) > 0 || len(reports.failed) > 0 {
		t.Errorf("without workers, there are %d data sets; %d failures too many", len(d.sets), len(reports.failed))
	}
}

// Every worker gets the hashes of all pieces in order, also one that comes later, and again on a new stream.
func TestHashes(t *testing.T) {
	data := make([]byte, 3*wire.PieceBytes+5)
	for at := range data {
		data[at] = byte(at / wire.PieceBytes)
	}
	var want []byte
	for piece := range 4 {
		hash := sha256.Sum256(data[piece*wire.PieceBytes : min(len(data), (piece+1)*wire.PieceBytes)])
		want = append(want, hash[:]...)
	}
	opened := &countedSource{source: source{data: data}}
	d := New(opened, newRecorder(), hclog.NewNullLogger())
	check := func(s *stream) {
		t.Helper()
		var got []byte
		for len(got) < len(want) {
			m := <-s.told
			got = append(got, m.GetSha256()...)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("the hashes are %x", got)
		}
	}
	first := join(t, d, testWorker("a"), len(data), false)
	check(first)
	check(join(t, d, testWorker("b"), len(data), false))
	first.cancel()
	<-first.ended
	check(join(t, d, testWorker("a"), len(data), false))
	if n := opened.opens.Load(); n != 1 {
		t.Errorf("the data set was read %d times", n)
	}
}

// countedSource counts how often a data set is read.
type countedSource struct {
	source
	opens atomic.Int32
}

func (s *countedSource) OpenDataset(ctx context.Context, id string, offset, length int64) (io.ReadCloser, error) {
	s.opens.Add(1)
	return s.source.OpenDataset(ctx, id, offset, length)
}

// When the session of a worker ends, its stream does, and those that read from it get another source at once.
func TestASessionEnds(t *testing.T) {
	data := []byte("x")
	d := New(source{data: data}, newRecorder(), hclog.NewNullLogger())
	done := make(chan struct{})
	lost := testWorker("a")
	lost.Done = done
	a := join(t, d, lost, len(data), true)
	a.source()
	join(t, d, testWorker("b"), len(data), true).source()
	c := join(t, d, testWorker("c"), len(data), true)
	if from := c.source().GetParent().GetName(); from != "a" {
		t.Fatalf("the third worker reads from %q", from)
	}
	close(done)
	if err := <-a.ended; status.Code(err) != codes.Aborted {
		t.Errorf("the stream ended with %v", err)
	}
	if from := c.source(); from.GetFrom() != nil {
		t.Errorf("then it reads from %v", from)
	}
}

// A worker may read a part and the whole of a data set at the same time. Nobody reads from it by the first.
func TestAPartBesideTheWhole(t *testing.T) {
	data := []byte("x")
	d := New(source{data: data}, newRecorder(), hclog.NewNullLogger())
	part := &workerv1.Join{DatasetId: "data", Bytes: 1, PassesOn: true, Part: true}
	whole := &workerv1.Join{DatasetId: "data", Bytes: 1, PassesOn: true}
	var streams []*stream
	for at, first := range []*workerv1.Join{part, whole, part, whole} {
		s := joinAs(t, d, testWorker("a"), first)
		if from := s.source(); from.GetFrom() != nil {
			t.Errorf("stream %d reads from %v", at, from)
		}
		streams = append(streams, s)
	}
	for at, s := range streams[:2] {
		if err := <-s.ended; status.Code(err) != codes.Aborted {
			t.Errorf("stream %d, which was replaced, ended with %v", at, err)
		}
	}
	join(t, d, testWorker("b"), 1, true).source()
	c := join(t, d, testWorker("c"), 1, true)
	if parent := c.source().GetParent().GetName(); parent != "a" {
		t.Errorf("the third reads from %q", parent)
	}
}

// What a worker says is a sign of life of it, and of its parent if it has got something from there.
func TestSignsOfLife(t *testing.T) {
	data := []byte("x")
	reports := newRecorder()
	d := New(source{data: data}, reports, hclog.NewNullLogger())
	var last *stream
	var number uint32
	for _, id := range []string{"a", "b", "c"} {
		last = join(t, d, testWorker(id), len(data), true)
		number = last.source().GetNumber()
	}
	for _, says := range []uint32{number + 1, number} {
		last.said <- &workerv1.DeliverRequest{
			Message: &workerv1.DeliverRequest_Alive{Alive: &workerv1.SourceAlive{Number: says}}}
	}
	for _, want := range []string{"c", "c", "a"} {
		if got := <-reports.heard; got != want {
			t.Errorf("heard of %s instead of %s", got, want)
		}
	}
}

// A data set that cannot be read ends the streams of its workers, with the reason.
func TestAnUnreadableDataSet(t *testing.T) {
	for name, s := range map[string]source{
		"unreadable": {err: status.Error(codes.DataLoss, "damaged")}, "too short": {data: []byte("x")},
		"too long": {data: make([]byte, 30)},
	} {
		reports := newRecorder()
		d := New(s, reports, hclog.NewNullLogger())
		a := join(t, d, testWorker("a"), 20, true)
		if err := <-a.ended; err == nil {
			t.Errorf("%s: the stream ended without an error", name)
		}
		if err := <-reports.read; err == nil {
			t.Errorf("%s: no error is reported", name)
		}
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
		a := join(t, d, testWorker("a"), len(s.data), true)
		if from := a.source(); from.GetStore().GetUrl() != "url 1" {
			t.Errorf("the worker is told %v", from)
		}
		time.Sleep(locateEvery + time.Second)
		synctest.Wait()
		if from := a.source(); from.GetStore().GetUrl() != "url 2" {
			t.Errorf("after %v, the worker is told %v", locateEvery, from)
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
	if err := <-join(t, d, testWorker("a"), 1, true).ended; !fault.Is(wire.Fault(err), "PANIC") {
		t.Errorf("while the data set is read: %v", err)
	}
	d = New(p.source, p, hclog.NewNullLogger())
	a := join(t, d, testWorker("a"), 1, true)
	a.fail(a.source().GetNumber())
	if err := <-a.ended; status.Code(err) != codes.Aborted {
		t.Errorf("while a message is handled: %v", err)
	}
}

// silent keeps nothing of what is reported.
type silent struct{}

func (silent) Heard(string)                   {}
func (silent) DatasetRead(string, error)      {}
func (silent) SourceFailed(_, _, _, _ string) {}

// An event costs the coordinator as much with 1,000 workers as with 10: a worker fails another, leaves and joins again,
// and everybody whom that concerns is told.
func BenchmarkEvents(b *testing.B) {
	const bytes = 1 << 30
	for _, workers := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint(workers), func(b *testing.B) {
			d := New(source{}, silent{}, hclog.NewNullLogger())
			d.hashes.put("data", make([][sha256.Size]byte, wire.PieceCount(bytes)))
			members := make([]*member, workers)
			s := &set{}
			enter := func(at int) {
				s, members[at] = d.join(&workerv1.Join{DatasetId: "data", PassesOn: true},
					testWorker(fmt.Sprint("w", at)), bytes, nil)
			}
			for at := range members {
				enter(at)
			}
			at := 0
			for b.Loop() {
				at = (at + 7919) % workers
				m := members[at]
				d.newsFor(s, m)
				d.sourceFailed(s, m, &workerv1.SourceFailed{Number: m.number})
				d.leave(s, m)
				enter(at)
				d.newsFor(s, members[at])
			}
			b.StopTimer()
			for _, m := range members {
				d.leave(s, m)
			}
		})
	}
}
