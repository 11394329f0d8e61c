package coordinator

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc/codes"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/internal/wire"
)

// A coordinator does not start empty where its jobs and data were.
func TestMissingStateBesideBlobs(t *testing.T) {
	cfg := durableConfig(t)
	h := newHarness(t, cfg, scripted(steps(1)))
	h.upload()
	h.close()
	newHarness(t, cfg, scripted(steps(1))).close()
	if err := os.Remove(filepath.Join(cfg.DataDir, "state.db")); err != nil {
		t.Fatal(err)
	}
	cfg.Listen = "127.0.0.1:0"
	for range 2 { // it does not get used to it
		_, err := New(t.Context(), cfg)
		if !fault.Is(err, "STATE_MISSING") || !strings.Contains(err.Error(), "1 blob") ||
			!strings.Contains(err.Error(), cfg.DataDir) {
			t.Fatalf("got %v", err)
		}
	}
	cfg.Blobs = filepath.Join(cfg.DataDir, "others")
	newHarness(t, cfg, scripted(steps(1))).upload()
}

// A coordinator leaves the state of a newer version alone.
func TestStateOfANewerVersion(t *testing.T) {
	cfg := durableConfig(t)
	h := newHarness(t, cfg, scripted(steps(1)))
	h.upload()
	if err := h.c.writer.Commit(store.Txn{Put: []store.Entry{{Key: records.CreatedKey, Value: []byte("3")}}}); err !=
		nil {
		t.Fatal(err)
	}
	h.close()
	cfg.Listen = "127.0.0.1:0"
	for range 2 {
		if _, err := New(t.Context(), cfg); !fault.Is(err, "NEWER_STATE") ||
			!strings.Contains(err.Error(), `its layout is "3", but this version knows layouts up to 2`) {
			t.Fatalf("got %v", err)
		}
	}
}

// Unfinished jobs do not fail because the disk with the blobs is not there.
func TestMissingBlobsBesideState(t *testing.T) {
	cfg := durableConfig(t)
	g := newBarrier()
	h := newHarness(t, cfg, scripted(g.run))
	id := h.create(spec(h.upload()))
	h.firstEvents(id, 1)
	h.crash()
	blobs := filepath.Join(cfg.DataDir, "blobs")
	if err := os.Rename(blobs, blobs+".elsewhere"); err != nil {
		t.Fatal(err)
	}
	cfg.Listen = "127.0.0.1:0"
	for range 2 {
		if _, err := New(t.Context(), cfg); !fault.Is(err, "BLOBS_MISSING") || !strings.Contains(err.Error(), blobs) {
			t.Fatalf("got %v", err)
		}
	}
	if err := errors.Join(os.RemoveAll(blobs), os.Rename(blobs+".elsewhere", blobs)); err != nil {
		t.Fatal(err)
	}
	if job := newHarness(t, cfg, scripted(steps(1))).end(id); job.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED {
		t.Errorf("the job ended as %v", job)
	}
}

// A crash between the first blob and its record leaves a blob that nobody knows. That is no reason not to start.
func TestBlobsOfAnUnfinishedUpload(t *testing.T) {
	cfg := durableConfig(t)
	h := newHarness(t, cfg, scripted(steps(1)))
	if err := h.c.blobs.Put(t.Context(), "datasets/1/2", func(w io.Writer) error {
		_, err := w.Write([]byte("x"))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	temporary := filepath.Join(cfg.DataDir, "blobs", "datasets", "1", "3.sealed.17ab.tmp")
	before := time.Now().Add(-time.Second)
	if err := errors.Join(os.WriteFile(temporary, make([]byte, 100), 0o600),
		os.Chtimes(temporary, before, before)); err != nil {
		t.Fatal(err)
	}
	h.crash()
	next := newHarness(t, cfg, scripted(steps(1)))
	next.upload()
	next.c.sweeping.Wait()
	if _, err := os.Stat(temporary); !os.IsNotExist(err) {
		t.Errorf("the temporary file of a write that a crash ended is left: %v", err)
	}
}

// While the disk is full, clients are refused at once and running jobs wait; then they go on.
func TestFullDiskPausesJobs(t *testing.T) {
	g := newBarrier()
	h := newHarness(t, testConfig(), scripted(g.run))
	data := h.upload()
	id := h.create(spec(data))
	h.firstEvents(id, 1)
	var full atomic.Bool
	full.Store(true)
	tried := make(chan struct{}, 100)
	h.intercept(func(_ int64, commit func() error) error {
		if !full.Load() {
			return commit()
		}
		tried <- struct{}{}
		return fault.New(fault.ResourceExhausted, store.DiskFull, "the disk is full")
	})
	_, err := h.jobs.CreateJob(t.Context(), &cleavev1.CreateJobRequest{Spec: spec(data)})
	wantError(t, err, codes.ResourceExhausted, store.DiskFull)
	within(t, tried, "the refusal")
	points, err := dataset.NewPoints(2, 1, []float64{1, 2})
	if err != nil {
		t.Fatal(err)
	}
	_, err = wire.SendDataset(t.Context(), h.datasets, "refused", points, wire.UploadStart{})
	if !fault.Is(wire.Fault(err), store.DiskFull) {
		t.Errorf("an upload gives %v", err)
	}
	within(t, tried, "the refusal of an upload")
	if _, blobs := h.leftovers(); len(blobs) != 2 { // a data set and a spec
		t.Errorf("what was refused left %q", blobs)
	}
	close(g.open)
	within(t, tried, "the first attempt to store events")
	within(t, tried, "the second")
	full.Store(false)
	if job := h.end(id); job.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED || job.GetIterations() != 1 {
		t.Errorf("the job ended as %v", job)
	}
	if list, err := h.jobs.ListJobs(t.Context(), &cleavev1.ListJobsRequest{}); err != nil || len(list.GetJobs()) != 1 {
		t.Errorf("the jobs are %v, %v", list, err)
	}
}

// failingState is a state whose reads fail.
type failingState struct {
	store.State
	err error
}

func (s failingState) Get(context.Context, string) (store.Entry, error) { return store.Entry{}, s.err }

type lostTerm struct{ store.Leadership }

func (lostTerm) Lost() <-chan struct{} {
	lost := make(chan struct{})
	close(lost)
	return lost
}

// A coordinator whose store cannot go on ends, and says why. If the store does not answer, another coordinator may
// lead.
func TestServeEndsWithTheStore(t *testing.T) {
	failed := &store.Failure{Fault: fault.New(fault.Unavailable, "STORE_FAILED", "no space is left")}
	for err, want := range map[error]error{
		failed: failed,
		fault.New(fault.Unavailable, "STORE_UNAVAILABLE", "it does not answer"):     errDeposed,
		fault.New(fault.Unavailable, "STORE_ACCESS_DENIED", "the password changed"): errDeposed,
	} {
		cfg := testConfig()
		cfg.Listen = "127.0.0.1:0"
		c, open := New(t.Context(), with(cfg, scripted(steps(1))))
		if open != nil {
			t.Fatal(open)
		}
		c.term = lostTerm{c.term}
		c.state = failingState{c.state, err}
		c.writer.State = c.state
		if got := c.Serve(t.Context()); !errors.Is(got, want) {
			t.Errorf("%v: serving ended with %v", err, got)
		}
	}
}

// hiddenBlobs do not answer, for a reason that is for the log.
type hiddenBlobs struct{ store.Blobs }

func (hiddenBlobs) List(context.Context, string) ([]string, error) {
	return nil, fault.New(fault.Unavailable, "BLOBS_UNAVAILABLE", "the log of the coordinator has more").Because(
		errors.New("no such host"))
}

// A coordinator that cannot start says why: its message leaves that to the log.
func TestTheLogSaysWhyTheStoresCannotBeUsed(t *testing.T) {
	blobs, err := store.OpenBlobs(t.Context(), blobsInMemory)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	cfg := testConfig()
	cfg.Listen = "127.0.0.1:0"
	cfg.Stores = Stores{State: store.NewMemory(), Blobs: hiddenBlobs{blobs}}
	cfg.Logger = hclog.New(&hclog.LoggerOptions{Output: &out, Level: hclog.Error})
	if _, err := New(t.Context(), cfg); !fault.Is(err, "BLOBS_UNAVAILABLE") ||
		!strings.Contains(out.String(), "no such host") {
		t.Errorf("%v, and the log has %q", err, out.String())
	}
}

// closingState notes that it was closed.
type closingState struct {
	store.State
	closed bool
}

func (s *closingState) Close() error {
	s.closed = true
	return s.State.Close()
}

// A coordinator that cannot be opened closes the listener and the stores that it was given.
func TestAFailedStartClosesWhatItWasGiven(t *testing.T) {
	cfg := testConfig()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	state := &closingState{State: store.NewMemory()}
	cfg.Listener, cfg.Stores.State = listener, state
	cfg.Security.AuditLog = filepath.Join(t.TempDir(), "missing", "audit.log")
	if _, err := New(t.Context(), cfg); err == nil {
		t.Fatal("the coordinator opens")
	}
	if err := listener.Close(); !errors.Is(err, net.ErrClosed) || !state.closed {
		t.Errorf("closing the listener again gives %v; the state is closed: %v", err, state.closed)
	}
}
