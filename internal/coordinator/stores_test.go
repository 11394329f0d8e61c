package coordinator_test

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
	"github.com/cleave-project/cleave/internal/coordinator"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/test/coordinatortest"
)

// A coordinator does not start empty where its jobs and data were.
func TestMissingStateBesideBlobs(t *testing.T) {
	cfg := coordinatortest.DurableConfig(t)
	h := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1))
	h.Upload()
	h.Close()
	coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1)).Close()
	if err := os.Remove(filepath.Join(cfg.DataDir, "state.db")); err != nil {
		t.Fatal(err)
	}
	cfg.Listen = "127.0.0.1:0"
	for range 2 { // it does not get used to it
		_, err := coordinator.New(t.Context(), cfg)
		if !fault.Is(err, "STATE_MISSING") || !strings.Contains(err.Error(), "1 blob") ||
			!strings.Contains(err.Error(), cfg.DataDir) {
			t.Fatalf("got %v", err)
		}
	}
	cfg.Blobs = filepath.Join(cfg.DataDir, "others")
	coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1)).Upload()
}

// A coordinator leaves the state of a newer version alone.
func TestStateOfANewerVersion(t *testing.T) {
	cfg := coordinatortest.DurableConfig(t)
	h := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1))
	h.Upload()
	if err := h.Coordinator.Writer().Commit(store.Txn{Put: []store.Entry{{Key: records.CreatedKey,
		Value: []byte("3")}}}); err !=
		nil {
		t.Fatal(err)
	}
	h.Close()
	cfg.Listen = "127.0.0.1:0"
	for range 2 {
		if _, err := coordinator.New(t.Context(), cfg); !fault.Is(err, "NEWER_STATE") ||
			!strings.Contains(err.Error(), `its layout is "3", but this version knows layouts up to 2`) {
			t.Fatalf("got %v", err)
		}
	}
}

// Unfinished jobs do not fail because the disk with the blobs is not there.
func TestMissingBlobsBesideState(t *testing.T) {
	cfg := coordinatortest.DurableConfig(t)
	g := coordinatortest.NewBarrier()
	h := coordinatortest.StartScripted(t, cfg, g.Run)
	id := h.Create(coordinatortest.Spec(h.Upload()))
	h.FirstEvents(id, 1)
	h.Crash()
	blobs := filepath.Join(cfg.DataDir, "blobs")
	if err := os.Rename(blobs, blobs+".elsewhere"); err != nil {
		t.Fatal(err)
	}
	cfg.Listen = "127.0.0.1:0"
	for range 2 {
		if _, err := coordinator.New(t.Context(), cfg); !fault.Is(err, "BLOBS_MISSING") ||
			!strings.Contains(err.Error(), blobs) {
			t.Fatalf("got %v", err)
		}
	}
	if err := errors.Join(os.RemoveAll(blobs), os.Rename(blobs+".elsewhere", blobs)); err != nil {
		t.Fatal(err)
	}
	if job := coordinatortest.StartScripted(t, cfg,
		coordinatortest.Steps(1)).End(id); job.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED {
		t.Errorf("the job ended as %v", job)
	}
}

// A crash between the first blob and its record leaves a blob that nobody knows. That is no reason not to start.
func TestBlobsOfAnUnfinishedUpload(t *testing.T) {
	cfg := coordinatortest.DurableConfig(t)
	h := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1))
	if err := h.Blobs.Put(t.Context(), "datasets/1/2", func(w io.Writer) error {
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
	h.Crash()
	next := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1))
	next.Upload()
	next.Coordinator.AwaitCleanup()
	if _, err := os.Stat(temporary); !os.IsNotExist(err) {
		t.Errorf("the temporary file of a write that a crash ended is left: %v", err)
	}
}

// While the disk is full, clients are refused at once and running jobs wait; then they go on.
func TestFullDiskPausesJobs(t *testing.T) {
	g := coordinatortest.NewBarrier()
	h := coordinatortest.StartScripted(t, coordinatortest.Config(), g.Run)
	data := h.Upload()
	id := h.Create(coordinatortest.Spec(data))
	h.FirstEvents(id, 1)
	var full atomic.Bool
	full.Store(true)
	tried := make(chan struct{}, 100)
	h.State.Intercept(func(_ int64, commit func() error) error {
		if !full.Load() {
			return commit()
		}
		tried <- struct{}{}
		return fault.New(fault.ResourceExhausted, store.DiskFull, "the disk is full")
	})
	_, err := h.Jobs.CreateJob(t.Context(), &cleavev1.CreateJobRequest{Spec: coordinatortest.Spec(data)})
	coordinatortest.WantError(t, err, codes.ResourceExhausted, store.DiskFull)
	coordinatortest.Within(t, tried, "the refusal")
	points, err := dataset.NewPoints(2, 1, []float64{1, 2})
	if err != nil {
		t.Fatal(err)
	}
	_, err = wire.SendDataset(t.Context(), h.Datasets, "refused", points, wire.UploadStart{})
	if !fault.Is(wire.Fault(err), store.DiskFull) {
		t.Errorf("an upload gives %v", err)
	}
	coordinatortest.Within(t, tried, "the refusal of an upload")
	if _, blobs := h.Leftovers(); len(blobs) != 2 { // a data set and a spec
		t.Errorf("what was refused left %q", blobs)
	}
	close(g.Open)
	coordinatortest.Within(t, tried, "the first attempt to store events")
	coordinatortest.Within(t, tried, "the second")
	full.Store(false)
	if job := h.End(id); job.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED || job.GetIterations() != 1 {
		t.Errorf("the job ended as %v", job)
	}
	if list, err := h.Jobs.ListJobs(t.Context(), &cleavev1.ListJobsRequest{}); err != nil || len(list.GetJobs()) != 1 {
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

// lostLead is a state whose leader has lost its term at once.
type lostLead struct{ store.State }

func (s lostLead) Lead(ctx context.Context, name string) (store.Leadership, error) {
	term, err := s.State.Lead(ctx, name)
	return lostTerm{term}, err
}

// A coordinator whose store cannot go on ends, and says why. If the store does not answer, another coordinator may
// lead.
func TestServeEndsWithTheStore(t *testing.T) {
	failed := &store.Failure{Fault: fault.New(fault.Unavailable, "STORE_FAILED", "no space is left")}
	for err, want := range map[error]error{
		failed: failed,
		fault.New(fault.Unavailable, "STORE_UNAVAILABLE", "it does not answer"):     coordinator.ErrDeposed,
		fault.New(fault.Unavailable, "STORE_ACCESS_DENIED", "the password changed"): coordinator.ErrDeposed,
	} {
		cfg := coordinatortest.Config()
		cfg.Listen = "127.0.0.1:0"
		state := coordinatortest.NewState(lostLead{store.NewMemory()})
		cfg.Stores.State = state
		c, open := coordinator.New(t.Context(), cfg)
		if open != nil {
			t.Fatal(open)
		}
		state.Behave(failingState{state.Behavior(), err})
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
	blobs, err := store.OpenBlobs(t.Context(), "mem://")
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	cfg := coordinatortest.Config()
	cfg.Listen = "127.0.0.1:0"
	cfg.Stores = coordinator.Stores{State: store.NewMemory(), Blobs: hiddenBlobs{blobs}}
	cfg.Logger = hclog.New(&hclog.LoggerOptions{Output: &out, Level: hclog.Error})
	if _, err := coordinator.New(t.Context(), cfg); !fault.Is(err, "BLOBS_UNAVAILABLE") ||
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
	cfg := coordinatortest.Config()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	state := &closingState{State: store.NewMemory()}
	cfg.Listener, cfg.Stores.State = listener, state
	cfg.Security.AuditLog = filepath.Join(t.TempDir(), "missing", "audit.log")
	if _, err := coordinator.New(t.Context(), cfg); err == nil {
		t.Fatal("the coordinator opens")
	}
	if err := listener.Close(); !errors.Is(err, net.ErrClosed) || !state.closed {
		t.Errorf("closing the listener again gives %v; the state is closed: %v", err, state.closed)
	}
}

func TestOpenFailsCleanly(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		change func(*coordinator.Config)
		words  string
	}{
		{"no address", func(cfg *coordinator.Config) { cfg.Listen = "" }, "address"},
		{"bad address", func(cfg *coordinator.Config) { cfg.Listen = "127.0.0.1:99999" }, "listen"},
		{"no data directory", func(cfg *coordinator.Config) { cfg.Store = "embedded" }, "data directory"},
		{"data directory is a file", func(cfg *coordinator.Config) { cfg.Store, cfg.DataDir = "embedded", file },
			"data directory"},
		{"unknown store", func(cfg *coordinator.Config) {
			cfg.Store = "paper"
			cfg.DataDir = t.TempDir()
		}, "paper"},
		{"unknown blobs", func(cfg *coordinator.Config) { cfg.Blobs = "pigeon://post" }, "pigeon"},
		{"no jobs", func(cfg *coordinator.Config) { cfg.MaxConcurrentJobs = 0 }, "--max-running"},
		{"lost at once", func(cfg *coordinator.Config) { cfg.LostAfter = cfg.HeartbeatInterval }, "heartbeat"},
		{"no time to come back", func(cfg *coordinator.Config) { cfg.ReconnectWithin = 0 }, "reconnect"},
		{"stalled at once", func(cfg *coordinator.Config) { cfg.StalledAfter = cfg.HeartbeatInterval }, "heartbeat"},
		{"no bytes", func(cfg *coordinator.Config) { cfg.MaxDatasetBytes = 0 }, "--max-dataset"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := coordinatortest.Config()
			cfg.Listen = "127.0.0.1:0"
			c.change(&cfg)
			_, err := coordinator.New(t.Context(), cfg)
			if err == nil || !strings.Contains(err.Error(), c.words) {
				t.Errorf("got %v, want something about %q", err, c.words)
			}
		})
	}
	cfg := coordinatortest.Config()
	cfg.Listen = "127.0.0.1:0"
	c, err := coordinator.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// A store that is slow at first delays the start of a coordinator; one that refuses it does not.
func TestASlowStoreDelaysTheStart(t *testing.T) {
	h := coordinatortest.StartScripted(t, coordinatortest.Config(), coordinatortest.Steps(1))
	for _, c := range []struct {
		err   error
		calls int
	}{
		{fault.New(fault.Unavailable, "STATE_UNAVAILABLE", "the state store does not answer now"), 3},
		{fault.New(fault.DataLoss, "STATE_DAMAGED", "the state store is damaged"), 1},
	} {
		calls := 0
		err := h.Coordinator.Retry(t.Context(), "trying again", func() error {
			if calls++; calls < 3 {
				return c.err
			}
			return nil
		})
		if calls != c.calls || (err == nil) != (calls == 3) {
			t.Errorf("%v: %d calls, then %v", c.err, calls, err)
		}
	}
}

// A cluster that is started on the blobs of another one while the blob store is away ends when it is back.
func TestBlobsTurnOutToBeAnotherCluster(t *testing.T) {
	shared := coordinatortest.SharedBlobs(t)
	cfg := coordinatortest.Config()
	cfg.Stores = coordinator.Stores{State: store.NewMemory(), Blobs: shared}
	coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1)).Close()

	open := store.SharedMemory()
	cfg.Stores = coordinator.Stores{State: open(), Blobs: coordinatortest.SharedBlobs(t)}
	coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1)).Close()
	blobs := &coordinatortest.AwayBlobs{Blobs: shared}
	blobs.Refuse.Store(2)
	cfg.Listen, cfg.Stores = "127.0.0.1:0", coordinator.Stores{State: open(), Blobs: blobs}
	c, err := coordinator.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Serve(t.Context()); !fault.Is(err, records.ForeignBlobs) {
		t.Errorf("serving ended with %v", err)
	}
}

// A blob store whose owner turns out to be unreadable ends the coordinator, which would refuse it at its next start.
func TestBlobsTurnOutToBeUnusable(t *testing.T) {
	open := store.SharedMemory()
	blobs := &coordinatortest.AwayBlobs{Blobs: coordinatortest.SharedBlobs(t)}
	cfg := coordinatortest.Config()
	cfg.Stores = coordinator.Stores{State: open(), Blobs: blobs}
	coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1)).Close()
	if err := blobs.Delete(t.Context(), records.IdentityBlob); err != nil {
		t.Fatal(err)
	}
	if err := blobs.Put(t.Context(), records.IdentityBlob, func(w io.Writer) error {
		_, err := w.Write([]byte("?"))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	blobs.Refuse.Store(2)
	cfg.Listen, cfg.Stores.State = "127.0.0.1:0", open()
	c, err := coordinator.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := c.Serve(ctx); !fault.Is(err, store.BlobDamaged) {
		t.Errorf("serving ended with %v", err)
	}
}
