package coordinator

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/coordinator/jobs"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/coordinator/runner"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/dial"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/planning"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script replaces the clustering of a run in a test.
type script func(ctx context.Context, o clustering.Observer) (*clustering.Result, error)

// scripted is an engine that needs no workers and runs a script.
func scripted(run script) jobs.Engine {
	return jobs.Engine{
		Await: func(context.Context, *fleet.Fleet, func(fleet.Status), []planning.Workload) error { return nil },
		Execute: func(_ runner.Runner, ctx context.Context, _ *fleet.Fleet, task fleet.Task,
			o clustering.Observer) (*clustering.Result, *fleet.Usage, error) {
			task.Report(fleet.Status{Workers: 2, Tiles: 1, TilesBuilt: 1})
			r, err := run(ctx, o)
			return r, &fleet.Usage{Stored: 1, EverStored: true, EntryBytes: 256}, err
		},
	}
}

// steps is a script of n iterations that converges.
func steps(n int) script {
	return func(_ context.Context, o clustering.Observer) (*clustering.Result, error) {
		o.Observe(clustering.PhaseInitialize)
		o.Observe(clustering.PhaseIterate)
		for i := range n + 1 {
			o.Observe(clustering.IterationDone{Restart: 0, HistoryEntry: entry(i)})
		}
		return result(n, clustering.StopConverged), nil
	}
}

func entry(i int) clustering.HistoryEntry {
	return clustering.HistoryEntry{Iteration: i, Objective: 100 / float64(i+1), Moved: 10 - i%10}
}

func result(iterations int, stop clustering.StopReason) *clustering.Result {
	r := &clustering.Result{
		Labels: []int32{0, 1, 0, 1}, StopReason: stop, Iterations: iterations,
		ObjectiveName: "kernel-kmeans", Objective: entry(iterations).Objective, ClusterSizes: []int{2, 2},
	}
	for i := range iterations + 1 {
		r.History = append(r.History, entry(i))
	}
	return r
}

// barrier is a script that does one iteration and then waits until the barrier is opened or the job canceled.
type barrier struct {
	entered chan struct{}
	open    chan struct{}
}

func newBarrier() *barrier {
	return &barrier{entered: make(chan struct{}, 100), open: make(chan struct{})}
}

func (b *barrier) run(ctx context.Context, o clustering.Observer) (*clustering.Result, error) {
	o.Observe(clustering.IterationDone{Restart: 0, HistoryEntry: entry(0)})
	b.entered <- struct{}{}
	select {
	case <-b.open:
		o.Observe(clustering.IterationDone{Restart: 0, HistoryEntry: entry(1)})
		return result(1, clustering.StopConverged), nil
	case <-ctx.Done():
		return result(0, clustering.StopCanceled), nil
	}
}

// harness is a coordinator and clients, connected in-process.
type harness struct {
	t        *testing.T
	c        *Coordinator
	conn     *grpc.ClientConn
	jobs     cleavev1.JobServiceClient
	datasets cleavev1.DatasetServiceClient
	cluster  cleavev1.ClusterServiceClient
	listener *dial.PipeListener
	served   chan error
	stop     context.CancelFunc
	once     sync.Once
}

func testConfig() Config {
	cfg := DefaultConfig()
	cfg.Store = storeMemory
	cfg.ShutdownTimeout = 2 * time.Second
	return cfg
}

// with is a configuration with another engine.
func with(cfg Config, e jobs.Engine) Config {
	cfg.Engine = e
	return cfg
}

func newHarness(t *testing.T, cfg Config, e jobs.Engine) *harness {
	t.Helper()
	h := &harness{t: t, listener: dial.ListenPipe(dial.PipeAddr{}), served: make(chan error, 1)}
	cfg.Listener = h.listener
	var err error
	if h.c, err = New(t.Context(), with(cfg, e)); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	h.stop = stop
	go func() { h.served <- h.c.Serve(ctx) }()
	h.conn, err = grpc.NewClient("passthrough:///test",
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return h.listener.Dial(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	h.jobs = cleavev1.NewJobServiceClient(h.conn)
	h.datasets = cleavev1.NewDatasetServiceClient(h.conn)
	h.cluster = cleavev1.NewClusterServiceClient(h.conn)
	t.Cleanup(h.close)
	return h
}

// awaitSweep waits until what an earlier coordinator left is deleted, which happens in the background.
func (h *harness) awaitSweep() {
	if h.c.cfg.Retention == (records.RetentionConfig{}) { // otherwise sweeping goes on
		h.c.sweeping.Wait()
	}
}

// useState replaces the state store of a coordinator that runs.
func (h *harness) useState(state store.State) {
	h.awaitSweep()
	h.c.state, h.c.writer.State = state, state
}

// useBlobs replaces the blob store of a coordinator that runs, but for what reads and writes data sets and tables.
func (h *harness) useBlobs(blobs store.Blobs) {
	h.c.blobs = blobs
	h.c.parts.Blobs = blobs
	h.c.room.Blobs = blobs
}

// close shuts the coordinator down.
func (h *harness) close() {
	h.once.Do(func() {
		h.stop()
		if err := within(h.t, h.served, "the shutdown"); err != nil {
			h.t.Errorf("serving ended with %v", err)
		}
		h.conn.Close()
	})
}

// crash closes the store first, so that nothing more is written, as in a power cut.
func (h *harness) crash() {
	h.once.Do(func() {
		if err := h.c.state.Close(); err != nil {
			h.t.Error(err)
		}
		h.c.Close()
		_ = within(h.t, h.served, "the crash")
		h.stop()
		h.conn.Close()
	})
}

// within waits for a value, but not for long.
func within[T any](t *testing.T, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(20 * time.Second):
		t.Fatalf("%s takes too long", what)
		panic("unreachable")
	}
}

// await waits until something happens that nothing announces, such as that the server notices a broken connection.
func await(t *testing.T, what string, happened func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !happened(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s takes too long", what)
		}
	}
}

// upload uploads four points on a line.
func (h *harness) upload() string {
	h.t.Helper()
	points, err := dataset.NewPoints(4, 1, []float64{0, 10, 1, 11})
	if err != nil {
		h.t.Fatal(err)
	}
	d, err := wire.SendDataset(h.t.Context(), h.datasets, "line", points, wire.UploadStart{})
	if err != nil {
		h.t.Fatal(err)
	}
	return d.GetDatasetId()
}

func spec(dataset string) *cleavev1.JobSpec {
	return &cleavev1.JobSpec{
		Data: &cleavev1.JobSpec_DatasetId{DatasetId: dataset}, Clusters: &cleavev1.JobSpec_K{K: 2},
		Algorithm: &cleavev1.JobSpec_KernelKmeans{KernelKmeans: &cleavev1.KernelKmeans{}},
	}
}

func (h *harness) create(s *cleavev1.JobSpec) string {
	h.t.Helper()
	return h.submit(&cleavev1.CreateJobRequest{Spec: s, DisplayName: "test"})
}

// submit creates a job by a whole request.
func (h *harness) submit(request *cleavev1.CreateJobRequest) string {
	h.t.Helper()
	response, err := h.jobs.CreateJob(h.t.Context(), request)
	if err != nil {
		h.t.Fatal(err)
	}
	return response.GetJob().GetJobId()
}

func (h *harness) job(id string) *cleavev1.Job {
	h.t.Helper()
	response, err := h.jobs.GetJob(h.t.Context(), &cleavev1.GetJobRequest{JobId: id})
	if err != nil {
		h.t.Fatal(err)
	}
	return response.GetJob()
}

// watch returns the events with larger numbers and the progress, once the stream has ended.
func (h *harness) watch(id string, after uint32) ([]*cleavev1.Event, []*cleavev1.Progress) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), 2*time.Minute)
	defer cancel()
	stream, err := h.jobs.WatchJob(ctx, &cleavev1.WatchJobRequest{JobId: id, AfterSequence: after})
	if err != nil {
		h.t.Fatal(err)
	}
	var events []*cleavev1.Event
	var progress []*cleavev1.Progress
	for {
		item, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return events, progress
		}
		if err != nil {
			h.t.Fatal(err)
		}
		if e := item.GetEvent(); e != nil {
			if want := after + uint32(len(events)) + 1; e.GetSequence() != want {
				h.t.Fatalf("event %d came where %d should", e.GetSequence(), want)
			}
			events = append(events, e)
		} else {
			progress = append(progress, item.GetProgress())
		}
	}
}

// end waits until a job has ended.
func (h *harness) end(id string) *cleavev1.Job {
	h.t.Helper()
	events, _ := h.watch(id, 0)
	if len(events) == 0 || events[len(events)-1].GetEnded() == nil {
		h.t.Fatalf("the watch ended without the end of the job: %v", events)
	}
	return h.job(id)
}

func (h *harness) labels(id string) []uint32 {
	h.t.Helper()
	stream, err := h.jobs.GetLabels(h.t.Context(), &cleavev1.GetLabelsRequest{JobId: id})
	if err != nil {
		h.t.Fatal(err)
	}
	var labels []uint32
	for {
		part, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return labels
		}
		if err != nil {
			h.t.Fatal(err)
		}
		if int(part.GetFirstIndex()) != len(labels) {
			h.t.Fatalf("labels from %d on came where %d should", part.GetFirstIndex(), len(labels))
		}
		labels = append(labels, part.GetLabels()...)
	}
}

// reason is the google.rpc.ErrorInfo reason of an error.
func reason(err error) string {
	for _, d := range status.Convert(err).Details() {
		if info, is := d.(*errdetails.ErrorInfo); is && info.GetDomain() == wire.Domain {
			return info.GetReason()
		}
	}
	return ""
}

func wantError(t *testing.T, err error, code codes.Code, why string) {
	t.Helper()
	if status.Code(err) != code || reason(err) != why {
		t.Errorf("got %v %q (%v), want %v %q", status.Code(err), reason(err), err, code, why)
	}
}
