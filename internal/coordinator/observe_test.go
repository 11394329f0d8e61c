package coordinator_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/coordinator"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/observe"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/test/coordinatortest"
)

// silentState is a state that does not answer.
type silentState struct{ store.State }

func (silentState) Get(context.Context, string) (store.Entry, error) {
	return store.Entry{}, coordinatortest.ErrLostAnswer
}

func (silentState) Commit(context.Context, store.Txn) (int64, error) { return 0, store.ErrConflict }

func TestReady(t *testing.T) {
	h := coordinatortest.StartScripted(t, coordinatortest.Config(), coordinatortest.Steps(1))
	h.Upload() // once it is answered, the coordinator serves
	if err := h.Coordinator.Ready(t.Context()); err != nil {
		t.Errorf("a coordinator that serves: %v", err)
	}
	state := h.State.Behavior()
	h.State.Behave(silentState{state})
	err := h.Coordinator.Ready(t.Context())
	if err == nil || !strings.Contains(err.Error(), coordinatortest.ErrLostAnswer.Error()) {
		t.Errorf("without its store: %v", err)
	}
	h.State.Behave(state)
	h.Close()
	if err := h.Coordinator.Ready(t.Context()); err == nil {
		t.Error("a coordinator that is closed is ready")
	}
}

// watchedBy is a configuration with metrics, and how to read them.
func watchedBy(t *testing.T, cfg coordinator.Config) (coordinator.Config, func() string) {
	t.Helper()
	o, err := observe.Start(t.Context(), observe.Options{Admin: "127.0.0.1:0"}, "coordinator", "test",
		hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.Close)
	cfg.Observe = o.Coordinator()
	return cfg, func() string {
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		response, err := client.Get("http://" + o.AdminAddr() + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
}

func wantLines(t *testing.T, metrics string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains(metrics, "\n"+line+"\n") {
			t.Errorf("there is no line %q", line)
		}
	}
}

func TestMetricsTellHowJobsEnded(t *testing.T) {
	cfg, metrics := watchedBy(t, coordinatortest.Config())
	cfg.MaxConcurrentJobs = 1
	g := coordinatortest.NewBarrier()
	h := coordinatortest.StartScripted(t, cfg,
		func(ctx context.Context, o clustering.Observer) (*clustering.Result, error) {
			if _, err := g.Run(ctx, o); err != nil {
				return nil, err
			}
			return nil, fault.New(fault.Internal, "WORKER_FAILED", "none was left")
		})
	data := h.Upload()
	first := h.Create(coordinatortest.Spec(data))
	second := h.Create(coordinatortest.Spec(data))
	h.FirstEvents(first, 1)
	wantLines(t, metrics(), `cleave_jobs{state="queued"} 1`, `cleave_jobs{state="running"} 1`, "cleave_leader 1",
		"cleave_jobs_accepted_total 2")
	if _, err := h.Jobs.CancelJob(t.Context(), &cleavev1.CancelJobRequest{JobId: second}); err != nil {
		t.Fatal(err)
	}
	h.End(second)
	close(g.Open)
	h.End(first)
	wantLines(t, metrics(), `cleave_jobs{state="queued"} 0`, `cleave_jobs{state="running"} 0`,
		`cleave_jobs_ended_total{reason="CANCELLED",state="cancelled"} 1`,
		`cleave_jobs_ended_total{reason="WORKER_FAILED",state="failed"} 1`,
		`cleave_job_seconds_count{state="failed"} 1`, `cleave_uploads_total{code="OK",kind="dataset"} 1`)
}

// Answers such as that there is no key are no errors of a store.
func TestMetricsOfStores(t *testing.T) {
	cfg, metrics := watchedBy(t, coordinatortest.Config())
	state := store.MeterState(silentState{store.NewMemory()}, cfg.Observe)
	_, lost := state.Get(t.Context(), "key")
	_, conflict := state.Commit(t.Context(), store.Txn{})
	blobs, err := store.OpenBlobs(t.Context(), "mem://")
	if err != nil {
		t.Fatal(err)
	}
	blobs = store.MeterBlobs(blobs, cfg.Observe)
	t.Cleanup(func() { blobs.Close() })
	_, missing := blobs.Open(t.Context(), "missing", 0, -1)
	put := blobs.Put(t.Context(), "blob", func(w io.Writer) error {
		_, err := w.Write(make([]byte, 100))
		return err
	})
	full := blobs.Put(t.Context(), "full", func(io.Writer) error { return errors.New("no space") })
	if lost == nil || conflict == nil || missing == nil || put != nil || full == nil {
		t.Fatal(lost, conflict, missing, put, full)
	}
	r, err := blobs.Open(t.Context(), "blob", 10, 20)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(r); err != nil {
		t.Fatal(err)
	}
	r.Close()
	text := metrics()
	wantLines(t, text, `cleave_store_errors_total{operation="get",store="state"} 1`,
		`cleave_store_errors_total{operation="put",store="blobs"} 1`,
		`cleave_store_seconds_count{operation="commit",store="state"} 1`,
		`cleave_store_seconds_count{operation="open",store="blobs"} 2`,
		`cleave_blob_bytes_total{direction="written"} 100`, `cleave_blob_bytes_total{direction="read"} 20`)
	if strings.Contains(text, `cleave_store_errors_total{operation="commit"`) ||
		strings.Contains(text, `cleave_store_errors_total{operation="open"`) {
		t.Error("a conflict or a missing blob is counted as an error")
	}
}

// A call that waits for its turn until its client leaves is counted.
func TestMetricsOfCallsThatWait(t *testing.T) {
	cfg, metrics := watchedBy(t, coordinatortest.Config())
	cfg.Limits.Calls = 1
	cfg.ShutdownTimeout = time.Minute // the end waits until the call is counted, also on a busy machine
	h := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1))
	data := h.Upload()
	begun := make(chan struct{}, 100)
	answers := make(chan struct{})
	before := h.State.Behavior()
	h.State.Intercept(func(_ int64, commit func() error) error {
		begun <- struct{}{}
		<-answers
		return commit()
	})
	first := make(chan error, 1)
	second := make(chan error, 1)
	call := func(ctx context.Context, ended chan<- error) {
		_, err := h.Jobs.CreateJob(ctx, &cleavev1.CreateJobRequest{Spec: coordinatortest.Spec(data)})
		ended <- err
	}
	go call(t.Context(), first)
	coordinatortest.Within(t, begun, "the first call")
	ctx, leave := context.WithCancel(t.Context())
	go call(ctx, second)
	h.Settle(2, 0)
	leave()
	h.Settle(1, 0)
	if err := coordinatortest.Within(t, second, "the second call"); status.Code(err) != codes.Canceled {
		t.Errorf("the second call: %v", err)
	}
	close(answers)
	if err := coordinatortest.Within(t, first, "the first call"); err != nil {
		t.Error(err)
	}
	h.Coordinator.Writer().Wait()
	h.State.Behave(before)
	h.Close() // a call is counted after its slot is free, and after its caller has left
	wantLines(t, metrics(), `cleave_grpc_requests_total{code="Canceled",method="/cleave.v1.JobService/CreateJob"} 1`)
}
