package worker

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"
	"google.golang.org/grpc"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/dial"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/planning"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/internal/worker/exchange"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeCoordinator is a coordinator whose Attach is a function of the test.
type fakeCoordinator struct {
	workerv1.UnimplementedWorkerServiceServer
	attach func(workerv1.WorkerService_AttachServer) error
}

func (f *fakeCoordinator) Attach(stream workerv1.WorkerService_AttachServer) error {
	return f.attach(stream)
}

// runAgainst runs a worker against a fake coordinator until the worker ends.
func runAgainst(t *testing.T, attach func(workerv1.WorkerService_AttachServer) error) error {
	t.Helper()
	return runKeeping(t, DefaultKeepFor, attach)
}

// runKeeping is runAgainst with another KeepFor.
func runKeeping(t *testing.T, keepFor time.Duration, attach func(workerv1.WorkerService_AttachServer) error) error {
	t.Helper()
	listener := dial.ListenPipe(dial.PipeAddr{})
	server := grpc.NewServer()
	workerv1.RegisterWorkerServiceServer(server, &fakeCoordinator{attach: attach})
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := server.Serve(listener); err != nil {
			t.Error(err)
		}
	})
	defer serving.Wait()
	defer server.Stop()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return Run(ctx, Config{
		Coordinator: "passthrough:///fake",
		Name:        "w",
		Threads:     1,
		KeepFor:     keepFor,
		DialOptions: []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return listener.Dial(ctx)
		})},
	})
}

func welcome(id string, resumed bool) *workerv1.AttachResponse {
	return &workerv1.AttachResponse{
		Message: &workerv1.AttachResponse_Welcome{Welcome: &workerv1.Welcome{SessionId: id, Resumed: resumed,
			HeartbeatMillis: 10}}}
}

func command(c *workerv1.Command) *workerv1.AttachResponse {
	return &workerv1.AttachResponse{Message: &workerv1.AttachResponse_Command{Command: c}}
}

var farewell = &workerv1.AttachResponse{Message: &workerv1.AttachResponse_Farewell{Farewell: &workerv1.Farewell{}}}

func TestARefusedWorkerEndsWithTheReason(t *testing.T) {
	err := runAgainst(t, func(stream workerv1.WorkerService_AttachServer) error {
		if _, err := stream.Recv(); err != nil {
			return err
		}
		return wire.Status(fault.New(fault.FailedPrecondition, "PROTOCOL_VERSION_MISMATCH",
			"run versions that are at most one release apart"))
	})
	if !fault.Is(err, "PROTOCOL_VERSION_MISMATCH") || !strings.Contains(err.Error(), "one release apart") {
		t.Errorf("got %v", err)
	}
}

func TestAWorkerHeartbeatsAndComesBackWithItsSession(t *testing.T) {
	streams := 0
	err := runAgainst(t, func(stream workerv1.WorkerService_AttachServer) error {
		streams++
		m, err := stream.Recv()
		if err != nil {
			return err
		}
		hello := m.GetHello()
		if hello.GetProtocolVersion() != wire.WorkerProtocol || hello.GetNumericClass() != kernel.NumericClass ||
			hello.GetName() != "w" || hello.GetThreads() != 1 {
			t.Errorf("hello %v", hello)
		}
		if want := []string{"", "one", "one", "two"}[streams-1]; hello.GetSessionId() != want {
			t.Errorf("stream %d comes with session %q, want %q", streams, hello.GetSessionId(), want)
		}
		reply := []*workerv1.AttachResponse{welcome("one", false), welcome("one", true), welcome("two", false),
			welcome("two", true)}[streams-1]
		if err := stream.Send(reply); err != nil {
			return err
		}
		for beats := uint64(1); beats <= 2; beats++ {
			m, err := stream.Recv()
			if err != nil {
				return err
			}
			if m.GetHeartbeat().GetSequence() != beats {
				t.Errorf("heartbeat %d is %v", beats, m)
			}
		}
		if streams == 4 {
			return stream.Send(farewell)
		}
		return errors.New("a break")
	})
	if err != nil || streams != 4 {
		t.Errorf("ended after %d streams with %v", streams, err)
	}
}

func TestCommandsOfAnUnknownJobAreUnprepared(t *testing.T) {
	err := runAgainst(t, func(stream workerv1.WorkerService_AttachServer) error {
		if _, err := stream.Recv(); err != nil {
			return err
		}
		if err := errors.Join(stream.Send(welcome("one", false)),
			stream.Send(command(&workerv1.Command{CommandId: 7, JobId: "job",
				Operation: &workerv1.Command_Build{Build: &workerv1.Build{}}}))); err != nil {
			return err
		}
		for {
			m, err := stream.Recv()
			if err != nil {
				return err
			}
			if a := m.GetAnswer(); a != nil {
				if a.GetCommandId() != 7 || a.GetFailure().GetKind() != workerv1.FailureKind_FAILURE_KIND_UNPREPARED {
					t.Errorf("answer %v", a)
				}
				return stream.Send(farewell)
			}
		}
	})
	if err != nil {
		t.Error(err)
	}
}

func newTestJob(t *testing.T) *job {
	t.Helper()
	w := &worker{cfg: Config{Threads: 1}, log: hclog.NewNullLogger(), memory: newMemory(0), kept: newKept()}
	w.datasets, w.exchange = newDatasets(w.memory, w.log), exchange.New(w.exchangeConfig())
	w.memory.reclaim = []func(int64){w.datasets.evict}
	s := newSession(w, nil, &workerv1.Welcome{SessionId: "one", Term: 1})
	t.Cleanup(s.cancel)
	j := newJob(w)
	j.binding = j.newBinding(s, "job")
	return j
}

func TestAPanicIsAnAnswer(t *testing.T) {
	j := newTestJob(t)
	j.rows = 16
	j.shard = &matrix{Shard: &kernel.Shard{}} // a shard without a source panics
	answer := j.execute(&workerv1.Command{CommandId: 1, Tiles: []*workerv1.Tile{{Tile: 0, Epoch: 1}},
		Operation: &workerv1.Command_Build{Build: &workerv1.Build{}}})
	if answer.GetFailure().GetKind() != workerv1.FailureKind_FAILURE_KIND_INTERNAL ||
		!strings.Contains(answer.GetFailure().GetMessage(), "panic") {
		t.Errorf("answer %v", answer)
	}
}

// A coordinator that gave up a command, because its job was canceled, does not take the result. That is no failure.
func TestAResultThatNobodyWaitsFor(t *testing.T) {
	j := &job{perSession: perSession{
		binding: binding{ctx: t.Context(), session: &session{client: nothingToFetch{}}}}}
	if _, err := j.resultPayload(&workerv1.Command{}, make([]byte, wire.InlineBytes+1)); !errors.Is(err,
		kernel.ErrNotReady) {
		t.Errorf("the error is %v", err)
	}
}

func TestARepeatedCommandIsRunOnce(t *testing.T) {
	q := newCommands()
	build := &workerv1.Command{CommandId: 1, Operation: &workerv1.Command_Build{Build: &workerv1.Build{}}}
	for range 2 {
		if answer := q.add(build); answer != nil || len(q.queue) != 1 {
			t.Fatalf("answer %v, queue %v", answer, q.queue)
		}
	}
	if q.next(t.Context()) != build || q.add(build) != nil || len(q.queue) != 0 {
		t.Fatal("a command that runs was queued again")
	}
	if !q.finish(t.Context(), build, done(build, &workerv1.Done{TileBytes: 5})) || q.current() != 0 {
		t.Fatal("the command still runs")
	}
	if again := q.add(build); again.GetDone().GetTileBytes() != 5 || len(q.queue) != 0 {
		t.Errorf("the last answer was given again as %v", again)
	}
}

// A stream breaks, and the coordinator repeats a drop, for which nobody waits, and another command, of which one ran
// before the other. Neither runs again, and the other command has the answer that it had.
func TestADropIsNotRunAgain(t *testing.T) {
	for _, order := range [][]string{{"drop", "build"}, {"build", "drop"}} {
		q := newCommands()
		var commands []*workerv1.Command
		for at, name := range order {
			c := &workerv1.Command{CommandId: uint64(5 + at), Operation: &workerv1.Command_Drop{Drop: &workerv1.Drop{}}}
			if name == "build" {
				c.Operation = &workerv1.Command_Build{Build: &workerv1.Build{}}
			}
			commands = append(commands, c)
		}
		for _, c := range commands {
			q.add(c)
			q.finish(t.Context(), q.next(t.Context()), done(c, &workerv1.Done{TileBytes: 5}))
		}
		for _, c := range commands {
			again := q.add(c)
			if again.GetCommandId() != c.GetCommandId() || again.GetDone() == nil ||
				c.GetBuild() != nil && again.GetDone().GetTileBytes() != 5 {
				t.Errorf("%v: command %d is answered with %v", order, c.GetCommandId(), again)
			}
		}
		if c := q.take(t.Context()); c != nil {
			t.Errorf("%v: command %d runs again", order, c.GetCommandId())
		}
	}
}

// A command whose session is over leaves no answer behind: the next session may have a command of the same id.
func TestAnAnswerDoesNotOutliveItsSession(t *testing.T) {
	q := newCommands()
	ctx, cancel := context.WithCancel(t.Context())
	q.add(&workerv1.Command{CommandId: 1})
	before := q.next(ctx)
	cancel()
	q.reset()
	after := &workerv1.Command{CommandId: 1}
	if q.add(after) != nil || q.finish(ctx, before, done(before, &workerv1.Done{})) || q.take(ctx) != nil {
		t.Fatal("the session that is over still runs commands")
	}
	if q.add(after) != nil || q.next(t.Context()) != after {
		t.Error("the command of the next session does not run")
	}
}

func TestEpochsGuardPlacements(t *testing.T) {
	j := newTestJob(t)
	j.rows = 64
	j.shard = &matrix{Shard: kernel.NewShard(nil, 1)}
	if _, err := j.checkTiles([]*workerv1.Tile{{Tile: 2, Epoch: 5}}); err != nil {
		t.Fatal(err)
	}
	if _, err := j.checkTiles([]*workerv1.Tile{{Tile: 2, Epoch: 4}}); !errors.Is(err, kernel.ErrNotReady) {
		t.Errorf("an old placement: %v", err)
	}
	if _, err := j.checkTiles([]*workerv1.Tile{{Tile: 4, Epoch: 1}}); err == nil {
		t.Error("a tile beyond the last was accepted")
	}
	spec := kernel.MatrixSpec{Function: kernel.Gaussian, Rows: 64, Columns: 1}
	j.need = planning.Workload{Matrix: &planning.Matrix{Spec: spec}, K: 2}
	j.tiles[2] = true
	if j.drop([]*workerv1.Tile{{Tile: 2, Epoch: 4}}); !j.tiles[2] {
		t.Error("an old drop freed a tile that was placed again")
	}
	if j.drop([]*workerv1.Tile{{Tile: 2, Epoch: 5}}); j.tiles[2] {
		t.Error("a drop had no effect")
	}
}

func TestDatasetsAreSharedKeptAndEvicted(t *testing.T) {
	m := newMemory(100)
	d := newDatasets(m, hclog.NewNullLogger())
	m.reclaim = []func(int64){d.evict}
	fetches := 0
	open := func(id string, bytes int64) (*lease, error) {
		return d.open(context.Background(), id, bytes+10, bytes, func(context.Context) (dataset.Dataset, error) {
			fetches++
			return dataset.NewPoints(1, 1, []float64{1})
		})
	}
	a, err := open("a", 60)
	if err != nil {
		t.Fatal(err)
	}
	again, err := open("a", 60)
	if err != nil || fetches != 1 || again.data != a.data {
		t.Fatalf("fetched %d times, %v", fetches, err)
	}
	if _, err := open("b", 60); !fault.Is(err, "NO_MEMORY") {
		t.Errorf("a data set that does not fit: %v", err)
	}
	a.release()
	a.release() // the second time does nothing
	if _, err := open("b", 60); !fault.Is(err, "NO_MEMORY") {
		t.Errorf("a data set in use was evicted: %v", err)
	}
	again.release()
	if kept, err := open("a", 60); err != nil || fetches != 1 {
		t.Errorf("fetched %d times, %v", fetches, err)
	} else {
		kept.release()
	}
	if _, err := open("b", 60); err != nil || fetches != 2 || m.used != 60 {
		t.Errorf("fetched %d times, %d bytes used, %v", fetches, m.used, err)
	}
}

func TestAFetchSurvivesTheCancellationOfAnother(t *testing.T) {
	m := newMemory(0)
	d := newDatasets(m, hclog.NewNullLogger())
	m.reclaim = []func(int64){d.evict}
	first, cancel := context.WithCancel(context.Background())
	fetching := make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		_, err := d.open(first, "a", 2, 1, func(ctx context.Context) (dataset.Dataset, error) {
			close(fetching)
			<-ctx.Done()
			return nil, ctx.Err()
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the canceled fetch ended with %v", err)
		}
	})
	<-fetching
	all.Go(func() {
		l, err := d.open(context.Background(), "a", 2, 1, func(context.Context) (dataset.Dataset, error) {
			return dataset.NewPoints(1, 1, []float64{1})
		})
		if err != nil || l.data == nil {
			t.Errorf("the other fetch: %v", err)
		}
	})
	cancel()
	all.Wait()
}

// A fetch that panics is an error for all who wait for it, and the next fetch can succeed.
func TestAFetchThatPanics(t *testing.T) {
	m := newMemory(100)
	d := newDatasets(m, hclog.NewNullLogger())
	m.reclaim = []func(int64){d.evict}
	_, err := d.open(t.Context(), "a", 20, 10, func(context.Context) (dataset.Dataset, error) { panic("a defect") })
	if !fault.Is(err, "PANIC") || m.used != 0 {
		t.Errorf("%d bytes used, %v", m.used, err)
	}
	l, err := d.open(t.Context(), "a", 20, 10, func(context.Context) (dataset.Dataset, error) {
		return dataset.NewPoints(1, 1, []float64{1})
	})
	if err != nil || l.data == nil || m.used != 10 {
		t.Errorf("%d bytes used, %v", m.used, err)
	}
}

func TestADamagedDatasetIsNotUsed(t *testing.T) {
	points, err := dataset.NewPoints(2, 1, []float64{1, 2})
	if err != nil {
		t.Fatal(err)
	}
	data, err := dataset.Marshal(points)
	if err != nil {
		t.Fatal(err)
	}
	hash := sha256.Sum256(data)
	id := hex.EncodeToString(hash[:])
	if got, err := decodeVerified(id, int64(len(data)), bytes.NewReader(data)); err != nil || got.Rows() != 2 {
		t.Errorf("got %v, %v", got, err)
	}
	for at := range data {
		damaged := bytes.Clone(data)
		damaged[at] ^= 1
		if _, err := decodeVerified(id, int64(len(data)), bytes.NewReader(damaged)); err == nil ||
			!strings.Contains(err.Error(), "damaged") {
			t.Errorf("byte %d flipped: %v", at, err)
		}
	}
	if _, err := decodeVerified(id, int64(len(data)), bytes.NewReader(data[:len(data)-1])); err == nil {
		t.Error("a truncated data set was accepted")
	}
}

// A command may name a list of tiles that an earlier command numbered, as long as it is among the last four.
func TestTileListsAreRemembered(t *testing.T) {
	j := &job{}
	list := func(tile uint32) []*workerv1.Tile { return []*workerv1.Tile{{Tile: tile, Epoch: uint64(tile)}} }
	recall := func(id uint64) uint32 {
		c := &workerv1.Command{TilesId: id}
		if !j.recallTiles(c) {
			return 0
		}
		return c.GetTiles()[0].GetTile()
	}
	for id := range uint64(6) {
		if id > 0 && recall(id) != 0 {
			t.Errorf("list %d is known before it was sent", id)
		}
		if !j.recallTiles(&workerv1.Command{TilesId: id, Tiles: list(uint32(10 + id))}) {
			t.Errorf("list %d is refused", id)
		}
	}
	for id, want := range map[uint64]uint32{1: 0, 2: 12, 3: 13, 4: 14, 5: 15, 6: 0} {
		if got := recall(id); got != want {
			t.Errorf("list %d begins with tile %d instead of %d", id, got, want)
		}
	}
	if none := (&workerv1.Command{}); !j.recallTiles(none) || len(none.GetTiles()) > 0 {
		t.Error("a command without tiles gets some")
	}
}
